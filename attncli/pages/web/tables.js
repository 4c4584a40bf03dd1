// Returns the headings of a cell's row and column.
function attnHeads(cell) {
  var row = cell.parentNode;
  var found = Array.from(row.querySelectorAll("th"));
  var top = row.parentNode.parentNode.querySelector("thead tr");
  if (top) found.push(top.children[cell.cellIndex]);
  return found;
}
// Returns what the next cell in a direction has that `part` finds in it, over cells that have none.
function attnBeside(cell, rows, columns, part) {
  var lines = Array.from(cell.parentNode.parentNode.rows);
  var y = lines.indexOf(cell.parentNode), x = cell.cellIndex, next, found;
  do {
    y += rows;
    x += columns;
    next = lines[y] && lines[y].cells[x];
    found = next && part(next);
  } while (next && !found);
  return found || null;
}

// Points out how a number was made: its formula in a box below, its sources lit in the page.
(function () {
  "use strict";
  var why = document.getElementById("why");
  var made = JSON.parse(document.getElementById("made").textContent);
  var places = {};
  var chosen = null;
  document.body.classList.add("live");
  document.querySelectorAll("td[data-c]").forEach(function (cell) {
    var number = cell.dataset.c;
    (places[number] = places[number] || []).push(cell);
  });
  // One stop of the Tab key a matrix; arrows move inside.
  document.querySelectorAll("table").forEach(function (table) {
    var cells = table.querySelectorAll("td[data-c]");
    if (!cells.length) return;
    table.setAttribute("role", "grid");
    cells.forEach(function (cell) { cell.tabIndex = -1; });
    cells[0].tabIndex = 0;
  });
  function mark(name, cells) {
    document.querySelectorAll("." + name).forEach(function (old) { old.classList.remove(name); });
    cells.forEach(function (cell) { cell.classList.add(name); });
  }
  function numbers(text) {
    var all = [];
    text.split(" ").filter(Boolean).forEach(function (run) {
      var ends = run.split("-").map(Number);
      for (var i = ends[0]; ends[ends.length - 1] - i > -1; i += 1) all.push(i);
    });
    return all;
  }
  function line(text, kind) {
    var p = document.createElement("p");
    p.textContent = text;
    if (kind) p.className = kind;
    why.appendChild(p);
    return p;
  }
  function heads(cell) {
    var row = cell.parentNode;
    var found = Array.from(row.querySelectorAll("th"));
    var top = row.parentNode.parentNode.querySelector("thead tr");
    if (top) found.push(top.children[cell.cellIndex]);
    return found;
  }
  function show(cell) {
    var about = cell ? made[cell.dataset.c] : null;
    why.hidden = !about;
    mark("now", cell ? places[cell.dataset.c] : []);
    mark("here", cell ? heads(cell) : []);
    mark("from", []);
    why.textContent = "";
    if (!about) return;
    var parts = about[0];
    var first = line("", "");
    var name = document.createElement("span");
    name.className = "name";
    name.textContent = parts[0];
    first.append(name, parts.length > 1 ? " = " + parts[1] : "");
    parts.slice(2).forEach(function (part, i) {
      line((about[2] && i === parts.length - 3 ? "≈ " : "= ") + part);
    });
    if (about[3]) line(about[3], "reason");
    var lit = [];
    numbers(about[1]).forEach(function (number) { lit = lit.concat(places[number] || []); });
    mark("from", lit);
  }
  function cellOf(event) {
    return event.target.closest ? event.target.closest("td[data-c]") : null;
  }
  function step(cell, rows, columns) {
    var row = cell.parentNode;
    var lines = Array.from(row.parentNode.rows);
    var y = lines.indexOf(row);
    var x = cell.cellIndex;
    do {
      y += rows;
      x += columns;
      var next = lines[y] ? lines[y].cells[x] : null;
    } while (next ? !next.dataset.c : false);
    return next;
  }
  var moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  document.addEventListener("keydown", function (event) {
    var cell = cellOf(event);
    if (event.key === "Escape") { chosen = null; show(null); }
    if (!cell || event.ctrlKey || event.altKey || event.metaKey) return;
    var next = null;
    if (moves[event.key]) next = step(cell, moves[event.key][0], moves[event.key][1]);
    var row = cell.parentNode.querySelectorAll("td[data-c]");
    if (event.key === "Home") next = row[0];
    if (event.key === "End") next = row[row.length - 1];
    if (moves[event.key] || next) event.preventDefault();
    if (next) next.focus();
  });
  document.addEventListener("focusin", function (event) {
    chosen = cellOf(event);
    if (chosen) {
      var table = chosen.closest("table");
      table.querySelectorAll("td[tabindex='0']").forEach(function (old) { old.tabIndex = -1; });
      chosen.tabIndex = 0;
    }
    show(chosen);
  });
  document.addEventListener("pointerover", function (event) {
    if (event.pointerType === "mouse") show(cellOf(event) || chosen);
  });
  document.addEventListener("click", function (event) {
    if (!cellOf(event) ? !why.contains(event.target) : false) { chosen = null; show(null); }
  });
})();

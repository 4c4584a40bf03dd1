// What each state of a live page shows: the numbers of its steps, what is told of its cells, its
// weighted sums, and the problem as a file. `w` and `d` are the page's window and document, and
// `states` has a list of states for each frame.
var one = w.attnLive.all[0], made = w.attnLive.data;
return states[frames.indexOf(frame)].map(function (state) {
  var error = one.calculate(state);
  if (error) return {error: error};
  one.refresh();
  var steps = {}, told = {};
  one.steps.forEach(function (step, i) {
    if (step.expression || !(step.name in steps)) {
      steps[step.name] = Array.from(one.arrays(i).data, (x) => (isFinite(x) ? x : null));
    }
  });
  one.cells.forEach(function (cell) {
    var about = made.cells[cell.td.dataset.c];
    if (!about) return;
    var box = d.createElement("div");
    box.innerHTML = made.shapes[about[1]];
    w.attnLive.fill(box, about.slice(2), function () {});
    w.attnLive.settle(box, cell.td.dataset.c);
    var walker = d.createTreeWalker(box, 4), texts = [];
    while (walker.nextNode()) texts.push(walker.currentNode.data);
    told[about[2]] = texts.join(" ").replace(/\s+/g, " ");
  });
  var sums = Array.from(d.querySelectorAll(".mixture li"), function (line) {
    var shown = Array.from(line.childNodes).filter((node) => !node.hidden);
    return shown.map((node) => node.textContent).join("").trim().replace(/\s+/g, " ");
  });
  return {steps: steps, told: told, sums: sums, yaml: one.yaml()};
});

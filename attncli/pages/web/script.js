// Tells how a number was made: its formula in a box, its sources lit in the page. A number of the
// formula leads to the cell where it was made, and a button leads back.
(function () {
  "use strict";
  var why = document.getElementById("why");
  var back = why.querySelector("button");
  var told = why.querySelector("div");
  var sources = why.querySelector(".sources");
  var live = window.attnLive; // of a page that recalculates
  var data = live ? live.data : JSON.parse(document.getElementById("made").textContent);
  var places = {}; // the cells of the page by number; the first is where the number was made
  var chosen = null; // the cell that has the focus, or had it last
  var shown = null; // the cell that the box tells of
  var trail = []; // the cells to go back to
  document.body.classList.add("live");
  function enlist(root) {
    root.querySelectorAll("td[data-c]").forEach(function (cell) {
      var number = cell.dataset.c;
      (places[number] = places[number] || []).push(cell);
    });
    // One stop of the Tab key a matrix; arrows move inside.
    root.querySelectorAll("table").forEach(function (table) {
      var cells = table.querySelectorAll("td[data-c]");
      if (!cells.length) return;
      table.setAttribute("role", "grid");
      cells.forEach(function (cell) { cell.tabIndex = -1; });
      cells[0].tabIndex = 0;
    });
  }
  enlist(document);
  // Until a number is told of, the weights of the problem that is read stand where it will be told.
  function mapOf(article) {
    var map = document.createElement("div");
    map.className = "map";
    article.querySelectorAll("table").forEach(function (table) {
      var first = table.querySelector("td.w[data-c]"), head = table.closest(".figure").querySelector(".head");
      if (!first || places[first.dataset.c][0] !== first) return;
      var box = document.createElement("div"), copy = table.cloneNode(true);
      box.className = "scroll";
      box.innerHTML = '<div class="caption"></div>';
      box.firstChild.textContent = table.getAttribute("aria-label") + (head ? ", " + head.textContent : "");
      box.style.setProperty("--count", table.rows[0].cells.length);
      copy.querySelectorAll("td").forEach(function (cell) {
        cell.className = cell.classList.contains("w") ? "w" : "";
        ["data-c", "tabindex"].forEach(function (name) { cell.removeAttribute(name); });
      });
      box.append(copy);
      map.append(box);
    });
    return map;
  }
  if (!live) {
    var beside = document.createElement("div"), articles = Array.from(document.querySelectorAll("article"));
    var maps = articles.map(mapOf);
    beside.id = "map";
    beside.setAttribute("aria-hidden", "true");
    beside.append(maps[0]);
    why.before(beside);
    articles.forEach(function (article, i) {
      new IntersectionObserver(function (entries) {
        if (entries.some(function (entry) { return entry.isIntersecting; })) beside.replaceChildren(maps[i]);
      }, { rootMargin: "-40% 0% -59% 0%" }).observe(article);
    });
  }
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
  // A number of the formula is for pointers; the same cell in the list below it is for keys, too,
  // as what is inside a formula may be told as one thing.
  function link(slot, number) {
    slot.setAttribute("data-to", number);
    if (sources.querySelector("[data-to='" + number + "']")) return;
    var about = data.cells[number];
    var button = document.createElement("button");
    button.type = "button";
    button.textContent = (about ? about[2] + " = " : "") + slot.textContent;
    button.setAttribute("data-to", number);
    sources.append(button);
  }
  function show(cell) {
    if (cell === shown ? cell : false) return;
    var about = cell ? data.cells[cell.dataset.c] : null;
    shown = cell;
    back.hidden = !trail.length;
    why.hidden = !about ? !cell || !trail.length : false;
    document.documentElement.classList.toggle("told", !why.hidden);
    mark("now", cell ? places[cell.dataset.c] : []);
    mark("here", cell ? attnHeads(cell) : []);
    told.innerHTML = about ? data.shapes[about[1]] : "";
    sources.textContent = "";
    if (about) attnFill(told, about.slice(2), link);
    if (about && live) live.settle(told, cell.dataset.c);
    var lit = [];
    numbers(about ? about[0] : "").forEach(function (number) { lit = lit.concat(places[number] || []); });
    mark("from", lit);
    reach(why.closest("#side") || why);
  }
  if (live) Object.assign(live, {
    shown: function () {
      var cell = shown;
      shown = null;
      show(cell);
    },
    tell: function (cell) {
      chosen = cell;
      show(cell);
    },
    enlist: enlist,
    reach: reach,
    placesOf: function (cell) { return places[cell.dataset.c]; },
  });
  function leave() {
    chosen = null;
    trail = [];
    show(null);
  }
  function unfold(place) {
    var fold = place ? place.closest("details") || place.querySelector("details") : null;
    if (fold) fold.open = true;
  }
  function go(cell) {
    unfold(cell);
    shown = null;
    cell.focus({ preventScroll: true });
    show(cell);
    cell.scrollIntoView({ block: "center", inline: "center" });
  }
  function follow(number) {
    if (!places[number]) return;
    trail.push(shown);
    go(places[number][0]);
  }
  function goBack() {
    if (trail.length) go(trail.pop());
  }
  function cellOf(event) {
    return event.target.closest ? event.target.closest("td[data-c]") : null;
  }
  function linkOf(event) {
    return event.target.closest ? event.target.closest("[data-to]") : null;
  }
  // What is larger than its box is moved with the arrow keys where it has the focus.
  function reach(root) {
    root.querySelectorAll(".scroll, .formula, #why, #why p, .follows").forEach(function (box) {
      var isLarge = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight + 1;
      var inside = Array.from(box.querySelectorAll("[tabindex], button"));
      var isReached = inside.some(function (element) { return element.offsetParent !== null; });
      if (isLarge && !isReached && !box.closest("summary")) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    });
  }
  function reachAll() { reach(document); }
  window.addEventListener("resize", reachAll);
  reachAll();
  function numbered(cell) { return cell.dataset.c ? cell : null; }
  var moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  // Returns the cell or the link that a key leads to from a cell.
  function after(cell, key) {
    var row = cell.parentNode.querySelectorAll("td[data-c]");
    if (key === "Home") return row[0];
    if (key === "End") return row[row.length - 1];
    if (key === "Enter") return sources.firstChild || (trail.length ? back : null);
    return moves[key] ? attnBeside(cell, moves[key][0], moves[key][1], numbered) : null;
  }
  document.addEventListener("keydown", function (event) {
    var cell = cellOf(event);
    var inBox = why.contains(event.target);
    var goes = event.key === "Backspace" || (event.altKey && event.key === "ArrowLeft");
    if (goes && (cell || inBox) && trail.length) {
      event.preventDefault();
      goBack();
      return;
    }
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Escape") {
      if (inBox && chosen) chosen.focus();
      else leave();
    }
    if (!cell) return;
    var next = after(cell, event.key);
    if (moves[event.key] || next) event.preventDefault();
    if (next) next.focus();
  });
  // True for what leaves the explanation open: its box, and the controls of a live page.
  function isTool(event) {
    return event.target.closest && event.target.closest("#why, #side, #bar") && !cellOf(event);
  }
  document.addEventListener("focusin", function (event) {
    if (isTool(event)) return;
    chosen = cellOf(event);
    if (chosen) {
      var table = chosen.closest("table");
      table.querySelectorAll("td[tabindex='0']").forEach(function (old) { old.tabIndex = -1; });
      chosen.tabIndex = 0;
    }
    show(chosen);
  });
  document.addEventListener("pointerover", function (event) {
    if (event.pointerType !== "mouse" || isTool(event)) return;
    show(cellOf(event) || chosen);
  });
  document.addEventListener("click", function (event) {
    var from = linkOf(event);
    if (from) follow(from.getAttribute("data-to"));
    else if (back.contains(event.target)) goBack();
  });
  // Not at the click: where a finger opens the box, it is lifted over the box.
  document.addEventListener("mousedown", function (event) {
    if (!cellOf(event) && !isTool(event) && !linkOf(event)) leave();
  });
  // The box does not stay over the cell that it explains.
  new ResizeObserver(function () {
    if (chosen && chosen === document.activeElement) chosen.scrollIntoView({ block: "nearest", inline: "nearest" });
  }).observe(why.closest("#side") || why);
  // Steps that are folded: a link opens the one that it leads to, and paper shows all.
  var folds = Array.from(document.querySelectorAll("details"));
  var folded = [];
  function target(address) {
    try {
      return document.getElementById(decodeURIComponent(address.slice(1).split("~")[0]));
    } catch (cutOff) {
      return null;
    }
  }
  document.querySelectorAll("a[href^='#']").forEach(function (jump) {
    jump.addEventListener("click", function () { unfold(target(jump.getAttribute("href"))); });
  });
  function arrive() {
    var place = target(location.hash);
    unfold(place);
    if (place && /~/.test(location.hash)) place.scrollIntoView(); // else the browser does
  }
  window.addEventListener("hashchange", arrive);
  arrive();
  window.addEventListener("beforeprint", function () {
    folded = folds.filter(function (fold) { return !fold.open; });
    folded.forEach(function (fold) { fold.open = true; });
  });
  window.addEventListener("afterprint", function () {
    folded.forEach(function (fold) { fold.open = false; });
  });
  document.querySelectorAll(".folds button").forEach(function (button) {
    var own = Array.from(button.closest("article").querySelectorAll("details"));
    function closed() { return own.some(function (fold) { return !fold.open; }); }
    function name() { button.textContent = closed() ? "Show all steps" : "Fold all steps"; }
    button.addEventListener("click", function () {
      var open = closed();
      own.forEach(function (fold) { fold.open = open; });
    });
    own.forEach(function (fold) {
      fold.addEventListener("toggle", function () { name(); reach(fold); });
    });
    button.hidden = false;
    name();
  });
})();

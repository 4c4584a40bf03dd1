// The stage, for a lecture: one step in large type between the inputs and the map. Its cells are made one after
// another, with frames that move over what each is made of, as the explanation of the cell says it.
(function () {
  "use strict";
  const { all, make, region, tell, enlist, reach, openers } = window.attnLive;
  const root = document.documentElement, main = document.querySelector("main"), why = document.getElementById("why");
  const stops = Array.from(document.querySelectorAll("article .step"));
  const isStill = matchMedia("(prefers-reduced-motion: reduce)");
  const SIZES = [1.5, 1.3, 1.15, 1, 0.88, 0.76], SMALLEST = 0.88; // of a step, to be read from afar
  const SLOWEST = 900, WHOLE = 9000; // milliseconds for a cell, and for a step of many
  let at = 0, timer = 0, made = [], last = 0; // the step, and its cells, of which the last was just made
  const isOpen = () => root.classList.contains("stage");

  const button = (text, key, action) => {
    const element = make("button", { type: "button", textContent: text, title: `Key: ${key}` });
    element.addEventListener("click", action);
    return element;
  };
  const name = make("span", { className: "stop" });
  name.setAttribute("role", "status");
  const next = button("Next →", "space bar, → or Page Down", () => go(at + 1));
  const bar = make("div", { id: "bar" }, button("← Back", "← or Page Up", () => go(at - 1)), name, next,
    button("Again", "R", () => go(at)), button("Close", "Escape or F", close));
  region(bar, "Stage");
  document.getElementById("side").after(bar);
  openers.forEach((opener) => opener.addEventListener("click", () => open(nearest())));

  // The step that is read, or the first.
  function nearest() {
    const middle = innerHeight / 2;
    return Math.max(0, stops.findLastIndex((stop) => stop.getBoundingClientRect().top < middle));
  }
  function address(place) {
    history.replaceState(null, "", [place, ...location.hash.split("~").slice(1)].join("~"));
  }
  function open(place) {
    if (isOpen() || !stops.length) return;
    root.classList.add("stage");
    address("#stage");
    go(place);
    next.focus({ preventScroll: true });
  }
  function close() {
    if (!isOpen()) return;
    halt();
    tell(null);
    root.classList.remove("stage");
    [why, ...stops].forEach((element) => { element.removeAttribute("style"); });
    address("#");
    stops[at].scrollIntoView();
    openers.find((opener) => opener.offsetParent).focus({ preventScroll: true });
  }

  function go(place) {
    if (place < 0 || place >= stops.length) return;
    halt();
    at = place;
    const stop = stops[at], one = all.find((problem) => problem.article.contains(stop));
    stops.forEach((other) => other.classList.toggle("on", other === stop));
    document.querySelectorAll("details").forEach((fold) => { if (fold.contains(stop) || stop.contains(fold)) fold.open = true; });
    one.show();
    all.forEach((other) => { if (other.inputs) other.inputs.hidden = other !== one; });
    if (!one.inputs) {
      const seen = new Set(one.cells.filter(({ input }) => input).map((cell) => cell.at));
      one.inputs = region(make("div", { className: "inputs" }, ...[...seen].filter((i) => one.tape.views[i]).flatMap((i) => one.matrices(i, false))), "Inputs");
      one.group.before(one.inputs);
      enlist(one.inputs);
      one.refresh();
    }
    name.textContent = `${at + 1} of ${stops.length}: ${stop.querySelector(".formula").getAttribute("aria-label")}`;
    fit(stop);
    reach(stop);
    main.scrollTo(0, 0);
    window.scrollTo(0, 0);
    // A number is made where it is first on the page, unless the problem gives it.
    made = one.cells.filter(({ td, input }) => !input && stop.contains(td) && window.attnLive.isFirst(td)).map(({ td }) => td);
    if (!isStill.matches && made.length > 1) made.forEach((td) => td.classList.add("later"));
    root.style.setProperty("--pace", `${Math.min(120, pace() / 4)}ms`);
    if (made.length) makeCell(0);
    else tell(null);
  }
  const pace = () => Math.min(SLOWEST, WHOLE / made.length);
  function makeCell(i) {
    last = i;
    made[i].classList.remove("later");
    tell(made[i]);
    const cell = made[i].getBoundingClientRect(), seen = main.getBoundingClientRect();
    if (cell.bottom > seen.bottom || cell.top < seen.top) main.scrollTop += cell.bottom - seen.bottom + seen.height / 3;
    if (cell.right > seen.right || cell.left < seen.left) main.scrollLeft += cell.right - seen.right + seen.width / 3;
    frame();
    if (isStill.matches || i + 1 === made.length) return;
    timer = setTimeout(makeCell, pace(), i + 1);
  }
  function halt() {
    clearTimeout(timer);
    made.forEach((td) => td.classList.remove("later"));
    made = [];
  }

  // Chooses the largest type in which the whole step is seen: its heads side by side, or below each other, or with
  // matrices below each other. What is too large for all is scrolled.
  function fit(stop) {
    const fits = (size, way) => {
      stop.style.fontSize = `${size}em`;
      stop.dataset.heads = way;
      return stop.scrollWidth <= main.clientWidth && stop.scrollHeight <= main.clientHeight;
    };
    if (!SIZES.some((size) => size >= SMALLEST && ["beside", "below", "wrapped"].some((way) => fits(size, way)))) fits(1, "wrapped");
  }

  // Chooses the largest type in which the explanation is seen whole, and draws around the cells of each matrix that are lit, or that are made, one frame that moves along.
  function frame() {
    SIZES.some((size) => {
      why.style.fontSize = `${size}em`;
      const isAbove = why.getBoundingClientRect().bottom <= bar.getBoundingClientRect().top;
      return isAbove && why.scrollHeight <= why.clientHeight;
    });
    stops[at].querySelectorAll("table").forEach((table) => {
      const now = table.querySelectorAll("td.now"), lit = Array.from(now.length ? now : table.querySelectorAll("td.from"));
      const box = table.parentNode, mark = box.querySelector(".frame") || make("div", { className: "frame" });
      box.append(mark);
      mark.hidden = !lit.length;
      if (!lit.length) return;
      const origin = box.getBoundingClientRect(), sides = lit.map((td) => td.getBoundingClientRect());
      const edge = (side, most) => most(...sides.map((rect) => rect[side]));
      const left = edge("left", Math.min), top = edge("top", Math.min);
      const [x, y, width, height] = [
        left - origin.left + box.scrollLeft, top - origin.top, edge("right", Math.max) - left, edge("bottom", Math.max) - top,
      ];
      Object.assign(mark.style, { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` });
    });
  }
  window.addEventListener("resize", () => {
    if (!isOpen()) return;
    fit(stops[at]);
    frame();
  });
  // Who points at something, or types, goes on alone.
  document.addEventListener("pointerdown", (event) => { if (isOpen() && !bar.contains(event.target)) halt(); });
  ["focusin", "input", "click"].forEach((kind) => document.addEventListener(kind, () => { if (isOpen()) frame(); }));

  document.addEventListener("keydown", (event) => {
    const isTyped = event.target.matches("input, select, textarea") || event.ctrlKey || event.altKey || event.metaKey;
    if (isTyped || event.defaultPrevented) return;
    const key = event.key.toLowerCase(), isPressed = event.target.matches("button, summary") && key === " ";
    if (key === "f") (isOpen() ? close : () => open(nearest()))();
    if (!isOpen()) return;
    const isInside = event.target.matches("td") && key.startsWith("arrow");
    const by = { " ": 1, arrowright: 1, pagedown: 1, arrowleft: -1, pageup: -1, r: 0 }[key];
    if (key === "escape" && !event.target.matches("td")) close();
    if (key === "." && last + 1 < made.length) {
      makeCell(last + 1);
      clearTimeout(timer);
    }
    if (by === undefined || isInside || isPressed) return;
    event.preventDefault();
    go(at + by);
  });
  const arrive = (id) => {
    if (location.hash.split("~")[0] === "#stage") open(Math.max(0, stops.findIndex((stop) => stop.id === id)));
  };
  window.addEventListener("hashchange", arrive);
  arrive(window.attnEditing.kept.stop);
})();

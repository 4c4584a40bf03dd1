// The stage, for a lecture: one stop in large type between the inputs and the map. The cells of its step are made one
// after another, with frames that move over what each is made of, as the explanation of the cell says it.
(function () {
  "use strict";
  const { all, make, region, tell, enlist, reach, placesOf, openers } = window.attnLive;
  const root = document.documentElement, main = document.querySelector("main"), why = document.getElementById("why");
  const sections = Array.from(document.querySelectorAll("article .step"));
  const isStill = matchMedia("(prefers-reduced-motion: reduce)");
  const SIZES = [1.5, 1.3, 1.15, 1, 0.88, 0.76, 0.64, 0.54];
  const SMALLEST = 0.88, LEGIBLE = 20; // of a step, to be read from afar: its type, and that in pixels if it is less than 1
  const SLOWEST = 900, WHOLE = 9000; // milliseconds for a cell, and for a step of many
  let at = 0, timer = 0, made = [], last = 0; // the stop, and its cells, of which the last was just made
  const isOpen = () => root.classList.contains("stage");

  // The stops: those of the tour of a problem, or else each of its steps but masks that block nothing.
  const stops = all.flatMap((one) => {
    const own = sections.filter((section) => one.article.contains(section));
    one.sectionOf = (step) => {
      const cell = one.cells.find(({ at, td }) => at === step && one.article.contains(td));
      const first = cell ? cell.td : document.getElementById(one.steps[step].name + one.prefix.replace(/(.*):/, "-$1"));
      return (first && first.closest(".step")) || own[0];
    };
    if (!one.tape.tour.length) return own.map((section) => ({ one, section }));
    return one.tape.tour.map(([step, ids, text]) => ({ one, section: one.sectionOf(step), step, ids, text }));
  });
  const isSkipped = ({ section, text }) => !text && !root.classList.contains("tools") &&
    section.querySelector("[aria-label='1, not blocked']") && !section.querySelector("[aria-label='0, blocked']");

  const button = (text, key, action) => {
    const element = make("button", { type: "button", textContent: text, title: `Key: ${key}` });
    element.addEventListener("click", action);
    return element;
  };
  const tool = (...about) => Object.assign(button(...about), { className: "tool" });
  const says = make("p", { id: "says", dir: "auto" }), name = make("span", { className: "stop" });
  says.setAttribute("role", "status");
  name.setAttribute("role", "status");
  const controls = button("Controls", "C", showTools);
  const next = button("Next →", "space bar, → or Page Down", () => move(1));
  const bar = make("div", { id: "bar" }, button("← Back", "← or Page Up", () => move(-1)), name, next,
    tool("Again", "R", () => go(at)), tool("Dark or light", "D", paint), controls, button("Close", "Escape or F", close));
  region(bar, "Stage");
  document.getElementById("side").after(bar);
  main.before(says);
  openers.forEach((opener) => opener.addEventListener("click", () => open(nearest(), true)));

  // The first stop of the step that is read, or of all.
  function nearest() {
    const line = innerHeight / 4, read = sections.findLast((section) => section.getBoundingClientRect().top < line);
    return Math.max(0, stops.findIndex(({ section }) => section === read));
  }
  function address(place) {
    history.replaceState(null, "", [place, ...location.hash.split("~").slice(1)].join("~"));
  }
  function open(place, isAsked) {
    if (isOpen() || !stops.length) return;
    root.classList.add("stage");
    if (isAsked && root.requestFullscreen) root.requestFullscreen().catch(() => {}); // where the browser allows it
    address("#stage");
    go(place);
    if (isSkipped(stops[at])) move(1);
    next.focus({ preventScroll: true });
  }
  function close() {
    if (!isOpen()) return;
    halt();
    tell(null);
    if (document.fullscreenElement) document.exitFullscreen();
    root.classList.remove("stage", "toured");
    [why, ...sections].forEach((element) => { element.removeAttribute("style"); });
    document.querySelectorAll(".map .scroll, .heads > div").forEach((box) => { box.hidden = false; });
    address("#");
    stops[at].section.scrollIntoView();
    openers.find((opener) => opener.offsetParent).focus({ preventScroll: true });
  }
  document.addEventListener("fullscreenchange", () => { if (!document.fullscreenElement) close(); });

  // The rules for dark windows hold where the lecturer wants them, whatever the window is.
  const dark = Array.from(document.styleSheets[0].cssRules).filter((rule) => rule.media && /color-scheme/.test(rule.media.mediaText));
  let isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  function paint() {
    isDark = !isDark;
    dark.forEach((rule) => { rule.media.mediaText = isDark ? "screen" : "not all"; });
    root.style.colorScheme = isDark ? "dark" : "light";
  }
  function showTools() {
    controls.setAttribute("aria-pressed", root.classList.toggle("tools"));
    layOut();
    reveal();
  }

  function move(by) {
    let place = at + by;
    while (stops[place] && isSkipped(stops[place])) place += by;
    go(place);
  }
  function go(place) {
    if (place < 0 || place >= stops.length) return;
    halt();
    at = place;
    const { one, section, step, ids = [], text = "" } = stops[at], { cells } = one;
    sections.forEach((other) => other.classList.toggle("on", other === section));
    document.querySelectorAll("details").forEach((fold) => { if (fold.contains(section) || section.contains(fold)) fold.open = true; });
    one.show();
    all.forEach((other) => { if (other.inputs) other.inputs.hidden = other !== one; });
    if (!one.inputs) {
      const seen = new Set(cells.filter(({ input }) => input).map((cell) => cell.at));
      one.inputs = region(make("div", { className: "inputs" }, ...[...seen].filter((i) => one.tape.views[i]).flatMap((i) => one.matrices(i, false))), "Inputs");
      one.group.before(one.inputs);
      enlist(one.inputs);
      one.refresh();
    }
    // A number is made where it is first on the page, unless the problem gives it.
    const isMade = (cell) => !cell.input && placesOf(cell.td)[0] === cell.td && (step === undefined || cell.at === step);
    const shown = cells.filter((cell) => section.contains(cell.td) && (ids.length ? ids.includes(cell.id) : isMade(cell)));
    made = shown.filter(({ id }, i) => shown.findIndex((cell) => cell.id === id) === i).map(({ td }) => td);
    // Of several heads, a stop of some cells has those with these cells; the map has what was reached, and what is made.
    section.querySelectorAll(".heads > div").forEach((head) => { head.hidden = ids.length && !made.some((td) => head.contains(td)); });
    const reached = Math.max(...stops.slice(0, at + 1).map((stop) => sections.indexOf(stop.section)));
    const boxes = (holder) => Array.from(holder.querySelectorAll(".scroll"), (box) => [box, Number(box.dataset.at)]);
    boxes(one.group).forEach(([box, i]) => { box.hidden = sections.indexOf(one.sectionOf(i)) > reached; });
    // Of several layers, only one has its inputs beside it.
    boxes(one.inputs).forEach(([box, i]) => { box.hidden = !section.id.startsWith(/^(.*layers\.\d+\.)?/.exec(one.steps[i].name)[0]); });
    says.textContent = text;
    root.classList.toggle("toured", Boolean(text));
    const route = stops.filter((stop) => !isSkipped(stop));
    name.textContent = `${route.indexOf(stops[at]) + 1} of ${route.length}: ${section.querySelector(".formula").getAttribute("aria-label")}`;
    layOut();
    reach(section);
    main.scrollTo(0, 0);
    window.scrollTo(0, 0);
    if (!isStill.matches && made.length > 1) made.forEach((td) => placesOf(td).forEach((place) => place.classList.add("later")));
    root.style.setProperty("--pace", `${Math.min(120, pace() / 4)}ms`);
    if (made.length) makeCell(0);
    else tell(null);
  }
  const pace = () => Math.min(SLOWEST, WHOLE / made.length);
  function makeCell(i) {
    last = i;
    placesOf(made[i]).forEach((place) => place.classList.remove("later"));
    tell(made[i]);
    reveal();
    frame();
    if (isStill.matches || i + 1 === made.length) return;
    timer = setTimeout(makeCell, pace(), i + 1);
  }
  function reveal() {
    if (!made.length) return;
    const cell = made[last].getBoundingClientRect(), seen = main.getBoundingClientRect();
    if (cell.bottom > seen.bottom || cell.top < seen.top) main.scrollTop += cell.bottom - seen.bottom + seen.height / 3;
    if (cell.right > seen.right || cell.left < seen.left) main.scrollLeft += cell.right - seen.right + seen.width / 3;
  }
  function halt() {
    clearTimeout(timer);
    made.forEach((td) => placesOf(td).forEach((place) => place.classList.remove("later")));
    made = [];
  }

  // Chooses the largest type in which all inputs are seen, and then that of the step: its heads side by side, or below
  // each other, or with matrices below each other. What is too large for all is scrolled.
  function layOut() {
    const { one: { inputs }, section } = stops[at], tables = Array.from(section.querySelectorAll(".scroll"));
    const isWhole = (box) => box.scrollWidth <= box.clientWidth && box.scrollHeight <= box.clientHeight;
    SIZES.some((size) => {
      inputs.style.fontSize = `${Math.min(size, 1)}em`;
      return [inputs, ...inputs.children].every(isWhole);
    });
    const fits = (size, way) => {
      section.style.fontSize = `${size}em`;
      section.dataset.heads = way;
      return section.scrollWidth <= main.clientWidth && section.scrollHeight <= main.clientHeight && tables.every(isWhole);
    };
    const unit = parseFloat(getComputedStyle(root).fontSize), sizes = SIZES.filter((size) => size >= 1 || (size >= SMALLEST && size * unit >= LEGIBLE));
    // The explanation below gives room to a step that is seen whole with it.
    const isSeen = [false, true].some((isTall) => {
      root.classList.toggle("tall", isTall);
      return sizes.some((size) => ["beside", "below", "wrapped"].some((way) => fits(size, way)));
    });
    if (!isSeen) {
      root.classList.remove("tall");
      fits(sizes.at(-1), "wrapped");
    }
    frame();
  }

  // Chooses the largest type in which the explanation is seen whole, and draws around the cells of each matrix that are lit, or that are made, one frame that moves along.
  function frame() {
    SIZES.slice(0, -1).some((size) => {
      why.style.fontSize = `${size}em`;
      const isAbove = why.getBoundingClientRect().bottom <= bar.getBoundingClientRect().top;
      return isAbove && why.scrollHeight <= why.clientHeight && Array.from(why.querySelectorAll("p")).every((line) => line.scrollWidth <= line.clientWidth);
    });
    const { ids = [], section } = stops[at];
    section.querySelectorAll("table").forEach((table) => {
      const asked = ids.length ? made.filter((td) => table.contains(td)) : [], now = table.querySelectorAll("td.now");
      const lit = asked.length ? asked : Array.from(now.length ? now : table.querySelectorAll("td.from"));
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
  window.addEventListener("resize", () => { if (isOpen()) layOut(); });
  // Who points at something, or types, goes on alone.
  document.addEventListener("pointerdown", (event) => { if (isOpen() && !bar.contains(event.target)) halt(); });
  ["focusin", "input", "click"].forEach((kind) => document.addEventListener(kind, () => { if (isOpen()) frame(); }));

  document.addEventListener("keydown", (event) => {
    const isTyped = event.target.matches("input, select, textarea") || event.ctrlKey || event.altKey || event.metaKey;
    if (isTyped || event.defaultPrevented) return;
    const key = event.key.toLowerCase(), isPressed = event.target.matches("button, summary") && key === " ";
    if (key === "f") (isOpen() ? close : () => open(nearest(), true))();
    if (!isOpen()) return;
    const isInside = event.target.matches("td") && key.startsWith("arrow");
    const by = { " ": 1, arrowright: 1, pagedown: 1, arrowleft: -1, pageup: -1 }[key];
    if (key === "r") go(at);
    if (key === "d") paint();
    if (key === "c") showTools();
    if (key === "escape" && !event.target.matches("td")) close();
    if (key === "." && last + 1 < made.length) {
      makeCell(last + 1);
      clearTimeout(timer);
    }
    if (by === undefined || isInside || isPressed) return;
    event.preventDefault();
    move(by);
  });
  const arrive = (id) => {
    if (location.hash.split("~")[0] === "#stage") open(Math.max(0, stops.findIndex(({ section }) => section.id === id)));
  };
  window.addEventListener("hashchange", arrive);
  arrive(window.attnEditing.kept.stop);
})();

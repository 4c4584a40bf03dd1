// What a reader changes on a page that recalculates: cells by typing, arrows and dragging, mask cells
// by a click, other numbers by sliders and switches; with undo, reset, a file, and the address.
(function () {
  "use strict";
  const { all, homes, make, plainText, pageKey, openers } = window.attnLive;
  const NAMES = {
    scale: "scores", softcap: "soft cap", "normalize.temperature": "temperature", "score.width": "width",
  };
  const TEXT_FIELD = "input:not([type=checkbox], [type=range])";
  const past = []; // states of all problems before each change
  let gesture = null; // what the last change belongs to: one undo takes a whole gesture back
  let saving = 0;

  const cellOf = (event) => (event.target.closest ? event.target.closest("td.given") : null);
  const homeOf = (td) => homes[td.dataset.c];
  const nameOf = (td) => homeOf(td).calculation.nameOf(homeOf(td).id);
  const isMask = (td) => /(^|\.)mask\.\d+$/.test(nameOf(td));
  const textOf = (td) =>
    homeOf(td).calculation.state()[nameOf(td)] ?? plainText(homeOf(td).calculation.valueOf(homeOf(td).id));

  // Changes a problem to a state; returns whether its numbers could be calculated.
  function change(one, next, by) {
    const before = all.map((problem) => problem.state());
    const beyond = one.calculate(next);
    if (beyond) {
      one.told.textContent = /\s/.test(beyond)
        ? `${beyond}.`
        : `With this, ${beyond} would hold a number beyond what a float can hold.`;
      return false;
    }
    if (by === null || by !== gesture) past.push(before);
    gesture = by;
    show(one);
    return true;
  }
  function show(one) {
    one.refresh();
    one.tell();
    window.attnLive.shown();
    clearTimeout(saving);
    saving = setTimeout(save, 250);
  }
  function set(td, text, by) {
    const { calculation, id } = homeOf(td),
      next = { ...calculation.state() },
      name = nameOf(td);
    const [read, wrong] = number(text, calculation.inputOf(id).infinite);
    if (wrong) {
      calculation.told.textContent = wrong;
      return false;
    }
    if (read.value === calculation.inputOf(id).numbers[calculation.placeOf(id)]) delete next[name];
    else next[name] = read.text;
    return change(calculation, next, by);
  }

  // Returns a number that was typed, or what is wrong with it.
  function number(text, isInfinite) {
    if (!text.trim()) return [null, "Type a number."];
    try {
      const read = attnNumbers.read(text);
      if (/0[xo]/i.test(read.text)) read.text = String(read.value);
      return isFinite(read.value) || isInfinite ? [read, ""] : [null, "Only a finite number can stand here."];
    } catch (wrong) {
      return [null, `${wrong.message}.`];
    }
  }

  // The same for a number of an operation, and for either or a cell by its name in the address.
  function settingNumber(one, key, text) {
    const [read, wrong] = number(text, false),
      isScale = key.endsWith("scale");
    if (wrong || (isScale ? read.value !== 0 || !one.tape.settings[key][1] : read.value > 0)) return [read, wrong];
    return [null, isScale ? "The divisor must not be 0." : "This number must be more than 0."];
  }
  function namedNumber(one, name, text) {
    if (Object.hasOwn(one.tape.settings, name)) return settingNumber(one, name, text);
    const input = one.inputAt(name),
      answer = input ? number(text, input.infinite) : [null, "There is no such cell."];
    const isMaskCell = /(^|\.)mask\.\d+$/.test(name);
    if (answer[1] || !isMaskCell || answer[0].value === 0 || answer[0].value === 1) return answer;
    return [null, "A mask is made of 0 and 1."];
  }

  // A text with its last digit changed by some units.
  function stepped(text, by) {
    const read = attnNumbers.read(text),
      digits = /^-?\d*\.?(\d*)$/.exec(read.text);
    const count = digits ? digits[1].length : Number.isInteger(read.value) ? 0 : 4;
    return (read.value + by / 10 ** count).toFixed(count).replace(/^-(?=[0.]*$)/, "");
  }
  function toggle(td) {
    set(td, textOf(td) === "0" ? "1" : "0", null);
  }

  function edit(td, typed) {
    const { calculation } = homeOf(td),
      before = calculation.state(),
      by = {};
    const field = make("input", { value: typed || textOf(td), autocomplete: "off", spellcheck: false });
    field.setAttribute("aria-label", calculation.labelOf(td));
    const box = td.closest(".scroll");
    const count = past.length;
    let isOpen = true;
    function putBack() {
      if (calculation.state() !== before) change(calculation, before, by);
      past.length = count;
      gesture = null;
      calculation.tell();
    }
    // What cannot be read leaves the number as it was, not what its beginning means.
    function accept() {
      const isRight = set(td, field.value, by),
        message = calculation.told.textContent;
      field.setAttribute("aria-invalid", !isRight);
      if (isRight) return;
      putBack();
      calculation.told.textContent = message;
    }
    function end(isKept) {
      if (!isOpen) return; // it is left again when it is removed
      isOpen = false;
      if (!isKept) putBack();
      field.remove();
      box.classList.remove("editing");
    }
    field.addEventListener("input", accept);
    field.addEventListener("blur", () => end(true));
    field.addEventListener("keydown", (event) => {
      event.stopPropagation();
      const way = { ArrowUp: 1, ArrowDown: -1 }[event.key];
      if (way) {
        event.preventDefault();
        try {
          field.value = stepped(field.value, way * (event.shiftKey ? 10 : 1));
        } catch (wrong) {
          return;
        }
        accept();
      }
      const isWrong = field.getAttribute("aria-invalid") === "true";
      if ((event.key === "Enter" && !isWrong) || event.key === "Escape") {
        end(event.key === "Enter");
        td.focus();
      }
    });
    box.classList.toggle("editing", box.scrollWidth <= box.clientWidth);
    td.append(field);
    field.focus();
    if (typed) accept();
    else field.select();
  }

  document.addEventListener(
    "keydown",
    (event) => {
      const td = cellOf(event),
        isPlain = !event.ctrlKey && !event.altKey && !event.metaKey;
      if ((event.ctrlKey || event.metaKey) && event.key === "z" && !event.target.matches(TEXT_FIELD)) {
        event.preventDefault();
        undo();
      }
      if (!td || !isPlain || event.target !== td) return;
      const begins = /^[^ f]$/i.test(event.key); // F opens the stage
      if (event.key === "Enter" || (isMask(td) ? event.key === " " : begins || event.key === "F2")) {
        event.preventDefault();
        event.stopPropagation();
        if (isMask(td)) toggle(td);
        else edit(td, begins ? event.key : "");
      }
    },
    true,
  );

  let drag = null;
  document.addEventListener("pointerdown", (event) => {
    const td = cellOf(event);
    const begins = td && event.target === td && event.button === 0 && !isMask(td);
    drag = begins ? { td, x: event.clientX, text: textOf(td), moved: false } : null;
  });
  document.addEventListener("pointermove", (event) => {
    if (!drag || (!drag.moved && Math.abs(event.clientX - drag.x) < 5)) return;
    drag.moved = true;
    set(drag.td, stepped(drag.text, Math.round((event.clientX - drag.x) / 6) * (event.shiftKey ? 10 : 1)), drag);
  });
  document.addEventListener("pointercancel", () => { drag = null; });
  document.addEventListener("click", (event) => {
    const td = cellOf(event),
      isDragged = drag && drag.moved;
    drag = null;
    if (!td || event.target !== td || isDragged) return;
    if (isMask(td)) toggle(td);
    else edit(td, "");
  });

  function undo() {
    if (!past.length) return;
    const before = past.pop();
    gesture = null;
    all.forEach((one, i) => {
      one.calculate(before[i]);
      show(one);
    });
  }

  const shortest = (x) => String(Number(x.toFixed(4)));
  function settingName(one, key) {
    const short = key
      .replace(/^layers\.\d+\./, (layer) => `${layer.slice(0, -1)}: `)
      .replace(/[\w.]+$/, (name) => NAMES[name] || name);
    return key.endsWith("scale") ? `${short} ${one.tape.settings[key][1] ? "÷" : "×"}` : short;
  }

  // The address: what stands before ~ is a place of the page, then come the key of the problem and the changes.
  function save() {
    clearTimeout(saving);
    const parts = all.flatMap((one) =>
      Object.entries(one.state()).map(([name, text]) => `${one.prefix}${name}=${encodeURIComponent(text)}`),
    );
    if (parts.length) parts.unshift(pageKey);
    history.replaceState(null, "", [location.hash.split("~")[0] || "#", ...parts].join("~"));
  }

  // An address is taken whole or not at all, and only as a page of this problem writes it.
  function load() {
    const [, key, ...parts] = location.hash.split("~");
    const next = all.map(() => new Map());
    const wrong = parts.filter((part) => {
      const [, prefix, name, code] = /^(\d+:|)([\w.]+)=(.+)$/.exec(part) || [],
        i = all.findIndex((one) => one.prefix === prefix);
      if (i < 0 || next[i].has(name)) return true;
      try {
        const text = decodeURIComponent(code),
          [read, message] = namedNumber(all[i], name, text);
        next[i].set(name, text);
        return message || read.text !== text;
      } catch (cutOff) {
        return true;
      }
    });
    const isOwn = (key ?? pageKey) === pageKey;
    const isTaken = isOwn && !wrong.length && all.every((one, i) => !one.calculate(Object.fromEntries(next[i])));
    let says = isTaken ? "" : ` Nothing of the address is taken, because of ${some(wrong.length ? wrong : parts)}.`;
    if (!isOwn) says = " The address belongs to another problem.";
    all.forEach((one) => {
      if (!isTaken) one.calculate({});
      show(one);
      one.told.append(says);
    });
  }
  window.addEventListener("hashchange", () => {
    if (location.hash.includes("~")) load();
    else save();
  });

  const some = (names) =>
    (names.length > 7 ? [...names.slice(0, 5), "…", names[names.length - 1]] : names).join(", ");
  const button = (text, action) => {
    const element = make("button", { type: "button", textContent: text });
    element.addEventListener("click", action);
    return element;
  };

  all.forEach((one) => {
    const told = (one.told = make("p", { className: "follows" }));
    told.setAttribute("role", "status");
    const tools = make("div", { className: "controls" });
    tools.setAttribute("role", "region");
    tools.setAttribute("aria-label", "Change the problem");
    const updates = [], wasShifted = one.isShifted();
    function withSetting(key, text) {
      const next = { ...one.state() };
      if (text === null) delete next[key];
      else next[key] = text;
      return next;
    }

    // A slider and a field for each number that belongs to no matrix.
    Object.entries(one.tape.settings).forEach(([key, [first, divides, symbol]]) => {
      const name = settingName(one, key);
      const slider = make("input", { type: "range", min: -40, max: 40, step: 1 }),
        field = make("input", { className: "setting" });
      slider.setAttribute("aria-label", name);
      field.setAttribute("aria-label", `${name}, as a number`);
      const by = {};
      slider.addEventListener("input", () => {
        const text = Number((first * 2 ** (slider.value / 10)).toPrecision(3)).toString();
        change(one, withSetting(key, slider.value === "0" ? null : text), by);
      });
      field.addEventListener("change", () => {
        const [read, wrong] = settingNumber(one, key, field.value);
        const isTaken = !wrong && change(one, withSetting(key, read.value === first ? null : read.text), null);
        const message = wrong || told.textContent;
        if (isTaken) return;
        updates.forEach((update) => update(true));
        told.textContent = message;
      });
      updates.push((isPutBack) => {
        const x = one.settingOf(key);
        slider.value = Math.round(10 * Math.log2(Math.abs(x / first)));
        if (isPutBack || document.activeElement !== field) field.value = one.state()[key] ?? Number(x.toFixed(4));
      });
      tools.append(make("div", { className: "slider" }, make("span", { textContent: name }), slider, field));
      if (key.endsWith("scale") && divides) {
        const isDivided = () => one.settingOf(key) === first;
        toggleOf(`divide by ${symbol}`, isDivided, (isOn) => withSetting(key, isOn ? null : "1"));
      }
    });

    function toggleOf(name, isOn, next) {
      const box = make("input", { type: "checkbox" });
      box.addEventListener("change", () => {
        change(one, next(box.checked), null);
      });
      updates.push(() => { box.checked = isOn(); });
      tools.append(make("label", { className: "switch" }, box, name));
    }
    const mask = one.steps.find((step) => step.name === "mask" && step.input && one.tape.offset !== null);
    if (mask) {
      const [n, m] = mask.shape.slice(-2);
      const first = mask.input.numbers;
      const row = (i) => Math.floor(i / m) % n;
      const later = [...first.keys()].filter((i) => i % m > row(i) + one.tape.offset);
      const isFirst = later.every((i) => first[i] === 0);
      toggleOf(
        "causal mask",
        () => later.every((i) => Number(one.state()[`mask.${i}`] ?? first[i]) === 0),
        (isOn) => {
          const next = { ...one.state() };
          // Without it a later key is as the problem has it; if that is causal, as for the last query.
          later.forEach((i) => {
            const x = isOn ? 0 : first[isFirst ? i + m * (n - 1 - row(i)) : i];
            if (x === first[i]) delete next[`mask.${i}`];
            else next[`mask.${i}`] = plainText(x);
          });
          return next;
        },
      );
    }
    const opener = button("Stage", () => {});
    opener.title = "For a lecture: one step after another in large type (key F)";
    opener.className = "opener";
    openers.push(opener);
    const buttons = [
      button("Undo", undo),
      button("Put all back", () => change(one, {}, null)),
      button("Save as YAML", () => {
        const link = make("a", { href: URL.createObjectURL(new Blob([one.yaml()], { type: "text/yaml" })) });
        link.download = `${(one.tape.problem.title || "problem").replace(/[^\p{L}\p{N}]+/gu, "_").slice(0, 60)}.yaml`;
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 1000);
      }),
    ];
    const more = make("details", {}, make("summary", { textContent: "Scale, mask and more" }), ...tools.children);
    const isWide = matchMedia("(min-width: 1100px)");
    const unfold = () => { more.open = isWide.matches; };
    isWide.addEventListener("change", unfold);
    unfold();
    if (more.children.length > 1) tools.append(more);
    tools.append(make("div", { className: "buttons" }, ...buttons, opener), told);
    one.tell = () => {
      updates.forEach((update) => update());
      const names = Object.keys(one.state()),
        inputs = new Set(names.map((name) => (one.tape.settings[name] ? name : name.slice(0, name.lastIndexOf(".")))));
      buttons[0].disabled = !past.length;
      buttons[1].disabled = !names.length;
      told.textContent = "";
      if (!names.length) {
        told.textContent = one.cells.some(({ input }) => input)
          ? "Click an underlined number, and type, press ↑ or ↓, or drag it sideways: all that follows changes."
          : "No number of the problem is on this page; what is above can be changed.";
        return;
      }
      const follows = one.following([...inputs]);
      const changed = one.cells.filter(({ td }) => td.classList.contains("changed"));
      const described = ({ td, id, text }) => [id, `${one.labelOf(td)} is ${td.firstChild.data}, was ${text}`];
      const cells = [...new Map(changed.map(described)).values()];
      const wasIs = (name) => `${shortest(one.settingOf(name))}, was ${shortest(one.tape.settings[name][0])}`;
      const others = names
        .filter((name) => one.tape.settings[name])
        .map((name) => `${settingName(one, name)} ${wasIs(name)}`);
      const unseen = [...inputs].filter(
        (input) => !one.tape.settings[input] && !changed.some((cell) => cell.input.name === input),
      );
      const isNamed = (name) => !/ \d+$/.test(name); // others are calculated for the page alone
      const isFixed = ({ name, input }) =>
        input ? input.key && !inputs.has(name) : isNamed(name) && !follows.includes(name);
      const stays = one.steps.filter(isFixed).sort((a, b) => Boolean(b.input) - Boolean(a.input));
      told.append(
        make("b", { textContent: "Changed: " }),
        `${some([...cells, ...others, ...unseen])}. `,
        make("b", { textContent: "What follows: " }),
        `${some(follows.filter(isNamed))}. `,
      );
      const fixed = [...new Set(stays.map((step) => step.name))];
      if (fixed.length) told.append(make("b", { textContent: "What stays: " }), `${some(fixed)}.`);
      if (one.isShifted() === wasShifted) return;
      told.append(` The largest score of each line is ${wasShifted ? "not " : ""}subtracted from the others now.`);
    };
    const map = make("div", { className: "map" }, ...one.tape.map.flatMap((at) => one.matrices(at, true)));
    map.setAttribute("role", "region");
    map.setAttribute("aria-label", "Weights and output");
    one.group = make("div", { className: "group" }, map, tools);
    one.show = () => all.forEach((other) => { other.group.hidden = other !== one; });
  });
  // Beside the page, or below it where it is narrow: the map and the controls of the problem that is read.
  const side = make("div", { id: "side" }, ...all.map((one) => one.group), document.getElementById("why"));
  document.querySelector("main").after(side);
  all.forEach((one) => {
    const isRead = (entries) => { if (entries.some((entry) => entry.isIntersecting)) one.show(); };
    new IntersectionObserver(isRead, { rootMargin: "-40% 0% -59% 0%" }).observe(one.article);
  });
  all[0].show();
  new ResizeObserver(() => {
    document.documentElement.style.setProperty("--side", `${side.offsetHeight}px`);
  }).observe(side);
  load();
})();

// What a reader changes beside the matrices of a page that recalculates: numbers of operations by sliders and
// switches; with reset, a file, and the address.
(function () {
  "use strict";
  const { all, make, region, plainText, pageKey, size, sizes, openers } = window.attnLive;
  const { change, show, undo, past, kept, settingNumber, namedNumber } = window.attnEditing;
  const NAMES = {
    scale: "scores", softcap: "soft cap", "normalize.temperature": "temperature", "score.width": "width",
  };
  let saving = 0;
  Object.assign(window.attnEditing, {
    changes, go,
    changed: () => {
      clearTimeout(saving);
      saving = setTimeout(save, 250);
    },
  });

  const shortest = (x) => String(Number(x.toFixed(4)));
  function settingName(one, key) {
    const short = key
      .replace(/^layers\.\d+\./, (layer) => `${layer.slice(0, -1)}: `)
      .replace(/[\w.]+$/, (name) => NAMES[name] || name);
    if (!key.endsWith("scale")) return short;
    const what = one.tape.steps.some(([name]) => name.includes("scores")) ? short : "output";
    return `${what} ${one.tape.settings[key][1] ? "÷" : "×"}`;
  }

  // The address: what stands before ~ is a place of the page, then come the key of the problem, its size if that is
  // another, and the changes.
  function changes() {
    const parts = all.flatMap((one) =>
      Object.entries(one.state()).map(([name, text]) => `${one.prefix}${name}=${encodeURIComponent(text).replace(/~/g, "%7E")}`),
    );
    if (size) parts.unshift(`size=${size}`);
    return parts.length ? ["", pageKey, ...parts].join("~") : "";
  }
  function save() {
    clearTimeout(saving);
    history.replaceState(null, "", (location.hash.split("~")[0] || "#") + changes());
  }
  // Shows what changes say; a page of another size is loaded.
  function go(next, carried) {
    clearTimeout(saving);
    history.replaceState(null, "", (location.hash.split("~")[0] || "#") + next);
    if (sizeOf(next) === size || !sizes.includes(sizeOf(next))) return load();
    const stop = document.querySelector(".step.on");
    window.name = JSON.stringify({ of: pageKey, past, carried, stop: stop && stop.id });
    return location.reload();
  }
  const sizeOf = (address) => (/~size=([\w-]+)/.exec(address) || ["", ""])[1];
  const sizeName = (name) => (name ? name.replace(/(\w+)s-1$/, "1 $1").replace(/(\w+)-(\d+)$/, "$2 $1") : "As written");
  // Takes another size. Each number that stays in its row and its column is what it is now.
  function resize(name) {
    const one = all[0], carried = {};
    one.steps.forEach((step) => {
      if (!step.input || !step.input.key) return;
      carried[step.name] = [step.shape, step.input.numbers.map((x, i) => one.state()[`${step.name}.${i}`] ?? plainText(x))];
    });
    past.push(changes());
    go(name ? `~${pageKey}~size=${name}` : "", { numbers: carried, others: one.state() });
  }
  function carry({ numbers, others }) {
    const one = all[0], next = {};
    Object.keys(others).forEach((key) => { if (!namedNumber(one, key, others[key])[1] && !one.inputAt(key)) next[key] = others[key]; });
    one.steps.forEach(({ name, shape, input }) => {
      const [old, texts] = (input && numbers[name]) || [[], []];
      (texts.length ? input.numbers : []).forEach((x, i) => {
        let rest = i, from = 0, by = 1;
        for (let axis = shape.length - 1; axis >= 0; by *= old[axis], axis -= 1) {
          from = rest % shape[axis] < old[axis] ? from + (rest % shape[axis]) * by : NaN;
          rest = Math.floor(rest / shape[axis]);
        }
        if (from >= 0 && attnNumbers.read(texts[from]).value !== x) next[`${name}.${i}`] = texts[from];
      });
    });
    if (!one.calculate(next)) show(one);
  }

  // An address is taken whole or not at all, and only as a page of this problem writes it.
  function load() {
    const [, key, ...every] = location.hash.split("~"), parts = every.filter((part) => part !== `size=${size}`);
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
      if (says) one.say(one.told.textContent + says);
    });
  }
  window.addEventListener("hashchange", () => {
    if (location.hash.includes("~")) go(location.hash.slice(location.hash.indexOf("~")));
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
    const legend = make("p", { className: "legend" }); // on paper
    const told = (one.told = make("p", { className: "follows", id: `told-${one.prefix}` }));
    told.setAttribute("role", "status");
    one.say = (message) => {
      told.textContent = message;
      told.classList.remove("idle");
    };
    const tools = region(make("div", { className: "controls" }), "Change the problem");
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
        one.say(message);
        field.setAttribute("aria-describedby", told.id);
      });
      updates.push((isPutBack) => {
        const x = one.settingOf(key);
        slider.setAttribute("aria-valuetext", shortest(x));
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
    const opener = button(one.tape.tour.length ? "Tour" : "Stage", () => {});
    opener.title = "For a lecture: one step after another in large type, on the whole screen (key F)";
    opener.className = "opener";
    openers.push(opener);
    const buttons = [
      button("Undo", undo),
      button("Put all back", () => {
        if (!size) return change(one, {}, null);
        past.push(changes());
        return go("");
      }),
      button("Save as YAML", () => {
        attnSave(one.yaml(), (one.tape.problem.title || "problem").replace(/[^\p{L}\p{N}]+/gu, "_").slice(0, 60));
      }),
    ];
    const more = make("details", {}, make("summary", { textContent: "Scale, mask and more" }), ...tools.children);
    const isWide = matchMedia("(min-width: 1100px)");
    const unfold = () => { more.open = isWide.matches; };
    isWide.addEventListener("change", unfold);
    unfold();
    const others = sizes.filter((name) => name !== size).map((name) => button(sizeName(name), () => resize(name)));
    if (others.length) more.append(make("div", { className: "buttons" }, ...others));
    if (more.children.length > 1) tools.append(more);
    tools.append(make("div", { className: "buttons" }, ...buttons, opener), told);
    one.tell = () => {
      updates.forEach((update) => update());
      const isWord = (name) => /^tokens\.\d+$/.test(name), every = Object.keys(one.state());
      const words = every.filter(isWord).map((name) => `${one.state()[name]}, was ${one.tape.problem.tokens[name.slice(7)]}`);
      const names = every.filter((name) => !isWord(name)),
        inputs = new Set(names.map((name) => (one.tape.settings[name] ? name : name.slice(0, name.lastIndexOf(".")))));
      buttons[0].disabled = !past.length;
      buttons[1].disabled = !every.length && !size;
      told.textContent = legend.textContent = "";
      told.classList.toggle("idle", !every.length && !size);
      if (!every.length && !size) {
        told.textContent = one.cells.some(({ input }) => input)
          ? "Click an underlined number, and type, press ↑ or ↓, or drag it sideways: all that follows changes."
          : "No number of the problem is on this page; what is above can be changed.";
        if (one.article.querySelector("th.word")) told.append(" Click a word to rename it.");
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
      const all = [...(size ? [sizeName(size)] : []), ...cells, ...others, ...unseen, ...words];
      legend.textContent = `Changed (blue): ${all.join("; ")}. What follows from it has a line below it.`;
      told.append(make("b", { textContent: "Changed: " }), `${some(all)}. `);
      if (!names.length) return;
      told.append(make("b", { textContent: "What follows: " }), `${some(follows.filter(isNamed))}. `);
      const fixed = [...new Set(stays.map((step) => step.name))];
      if (fixed.length) told.append(make("b", { textContent: "What stays: " }), `${some(fixed)}.`);
      if (one.isShifted() === wasShifted) return;
      told.append(` The largest score of each line is ${wasShifted ? "not " : ""}subtracted from the others now.`);
    };
    one.article.querySelector("h1, .hint, .step, p").after(legend);
    const map = region(make("div", { className: "map" }, ...one.tape.map.flatMap((at) => one.matrices(at, true))), "Weights and output");
    Array.from(map.children).forEach((box, i, boxes) => box.classList.toggle("again", i > 0 && box.dataset.rows === boxes[i - 1].dataset.rows));
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
  if (kept.carried) carry(kept.carried);
})();

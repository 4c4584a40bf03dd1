// Recalculates the page when a number of the problem is changed: the tape is evaluated, and every
// cell, formula, weighted sum and open explanation gets its numbers again.
window.attnLive = (function () {
  "use strict";
  const page = attnPage;
  const homes = {}; // by the number of a cell in the page: its problem, and its id on the tape
  const DECIMALS_OF_MAP = 2; // at most: beside the page the numbers have them all
  const PLAIN = '<p><span class="name s"></span> <math><mo>=</mo><mn class="s"></mn></math></p>';
  const make = (tag, about, ...parts) => {
    const element = Object.assign(document.createElement(tag), about);
    element.append(...parts);
    return element;
  };

  const region = (element, name) => {
    element.setAttribute("role", "region");
    element.setAttribute("aria-label", name);
    return element;
  };

  // Numbers as the program writes them: core/text/numbers has the rules.
  const needsExponent = (size, decimals) => size >= 1e9 || (size > 0 && size < 0.5 * 10 ** -decimals);
  const isShort = (digits) => (x) => !isFinite(x) || Math.round(x * 10 ** digits) / 10 ** digits === x;
  function styleOf(numbers, decimals) {
    const size = numbers.reduce((most, x) => (isFinite(x) ? Math.max(most, Math.abs(x)) : most), 0);
    if (needsExponent(size, decimals)) return { decimals, exponent: true };
    let digits = 0;
    while (digits < decimals && !numbers.every(isShort(digits))) digits += 1;
    return { decimals: digits };
  }
  function write(x, style) {
    if (!isFinite(x)) return x < 0 ? "−∞" : "∞";
    if (x === 0) return "0";
    const text = style.exponent
      ? x.toExponential(style.decimals).replace(/e([+-])(\d)$/, "e$10$2")
      : x.toFixed(style.decimals);
    return text.replace(/^-(?=[0.]*$)/, "").replace(/-/g, "−");
  }
  const numberText = (x, decimals) => write(x, styleOf([x], decimals));
  const valueOf = (text) => Number(text.replace("∞", "Infinity").replace(/−/g, "-"));
  const plainText = (x) => (x === -Infinity ? "-inf" : String(x));

  // The operations of terms, as in core/explaining/terms.
  const worked = {
    "*": (a, b) => a * b,
    "/": (a, b) => a / b,
    "^": (a, b) => a ** b,
    negative: (x) => -x,
    abs: Math.abs,
    square: (x) => x * x,
    at_least_zero: (x) => Math.max(x, 0),
    max: Math.max,
    exp: Math.exp,
    ln: Math.log,
    tanh: Math.tanh,
    sqrt: Math.sqrt,
    erf: attnNumpy.erf,
  };

  function Calculation(tape, article, prefix) {
    const steps = tape.steps.map(([name, shape, about, numbers, blocks]) => {
      if (!Array.isArray(numbers)) return { name, shape, expression: about, backward: numbers, blocks };
      const [key, ofKey, flips, infinite, isStep] = about;
      const input = { key, shape: ofKey, flips, infinite, isStep, numbers: numbers.map((x) => x ?? -Infinity) };
      return { name, shape, input };
    });
    const self = {}, starts = [], numberOf = {}, uses = [];
    const exact = []; // the numbers of steps before they are rounded
    let numbers = [], settings = {}, state = {}, arrays = [];
    const cells = []; // of the page, in all tables
    const stepsOfIds = [0]; // ids count from 1
    steps.forEach((step, i) => {
      starts.push(stepsOfIds.length);
      for (let rest = step.shape.reduce((a, n) => a * n, 1); rest > 0; rest -= 1) stepsOfIds.push(i);
    });
    const stepOf = (id) => stepsOfIds[id];
    const inputNames = new Map(steps.flatMap((step, i) => (step.input && step.input.key ? [[step.name, i]] : [])));

    // The words of tokens, which the reader may change where they are names alone, and each is there once.
    const { tokens, memory_tokens, embedding } = tape.problem;
    const words = Array.isArray(tokens) && !embedding ? tokens.map(String) : [], named = words.concat(memory_tokens || []);
    const isWord = (text) => isNaN(text) && words.includes(text) && named.indexOf(text) === named.lastIndexOf(text);
    const wordOf = (text) => (isWord(text) && state[`tokens.${words.indexOf(text)}`]) || text;
    const renamed = (text) => wordOf(text).replace(/\[([^\]]*)\]/g, (_, inner) => `[${inner.split(", ").map(wordOf).join(", ")}]`);
    const headings = new Map(); // the elements that hold such a word alone, each with it
    const keepHeadings = (root) => root.querySelectorAll("th, .mixture sub").forEach((element) => {
      if (isWord(element.textContent)) headings.set(element, element.textContent);
    });

    // Returns the changed cells of a state: their ids, and their texts.
    function changedCells(next) {
      return Object.keys(next).flatMap((name) => {
        const dot = name.lastIndexOf("."), at = tape.settings[name] ? undefined : inputNames.get(name.slice(0, dot));
        return at === undefined ? [] : [[starts[at] + Number(name.slice(dot + 1)), next[name]]];
      });
    }
    tape.cells.slice(1).forEach((id, i) => {
      homes[tape.cells[0] + i] = { calculation: self, id };
      numberOf[id] = tape.cells[0] + i;
    });

    // The inputs and numbers of operations that a step depends on, by their names.
    steps.forEach((step, i) => {
      const names = step.input ? [step.name] : step.expression.slice(1).flatMap((x) => (uses[x] ? [...uses[x]] : [x]));
      uses[i] = new Set(names);
    });

    function rounded(x) {
      if (!isFinite(x) || x === 0) return x;
      const { decimals, significant, half } = tape.round;
      const digits = decimals ?? significant - 1 - Math.floor(Math.log10(Math.abs(x)) + 1e-12);
      const size = Math.abs(x) * 10 ** digits,
        below = Math.floor(size + 1e-9 * size);
      const isTie = Math.abs(size - below - 0.5) < 1e-9 * size;
      const whole = isTie ? below + (half === "even" ? below % 2 : 1) : Math.round(size);
      return Math.sign(x) * Number(`${whole}e${-digits}`);
    }

    // Returns the array that a program gives for its operands: steps, and numbers of operations.
    function run([program, ...operands]) {
      const wrapped = operands.map((x) => (typeof x === "number" ? arrays[x] : attnNumpy.scalar(settings[x])));
      return attnNumpy.run(page.programs[program], wrapped);
    }

    // Calculates every step for a state: the texts of the numbers that are changed, by their names.
    function calculate(next) {
      const before = { settings, numbers, arrays };
      settings = {};
      Object.keys(tape.settings).forEach((key) => {
        settings[key] = next[key] === undefined ? tape.settings[key][0] : attnNumbers.read(next[key]).value;
      });
      arrays = [];
      const changes = changedCells(next).map(([id, text]) => [id, attnNumbers.read(text).value]);
      try {
        steps.forEach((step, i) => {
          if (step.input) {
            const data = step.input.numbers.slice();
            changes.forEach(([id, x]) => { if (stepOf(id) === i) data[id - starts[i]] = x; });
            arrays[i] = { shape: step.shape, data: tape.round && step.input.isStep ? data.map(rounded) : data };
            return;
          }
          attnNumpy.noise.level = step.backward ? 2 ** -46 : 0;
          const result = run(step.expression);
          exact[i] = result.data;
          if (tape.round) result.data = Array.from(result.data, rounded);
          const mayBeBlocked = () => step.blocks || step.expression.slice(1).some((x) => arrays[x]?.data.includes(-Infinity));
          if (!result.data.every((x) => isFinite(x) || (x === -Infinity && mayBeBlocked()))) throw step.name;
          arrays[i] = result;
        });
      } catch (name) {
        ({ settings, numbers, arrays } = before);
        return typeof name === "string" ? name : String(name.message);
      }
      numbers = new Float64Array(stepsOfIds.length); // ids count from 1
      arrays.forEach((array, i) => numbers.set(array.data, starts[i]));
      state = next;
      return "";
    }

    // Explanations: what belongs into the empty elements of a shape.
    function leafValue(leaf, variant, read) {
      return Array.isArray(leaf) ? value(variant, leaf[0]) : read(numbers[leaf]);
    }
    function value(variant, place, read = (x) => x) {
      let next = 0;
      const leaves = variant[5 + place];
      function work(part) {
        if (part === "x") return leafValue(leaves[next++], variant, read);
        if (part === null) return -Infinity;
        if (typeof part === "number") return part;
        if (part.setting) return settings[part.setting];
        const [op, ...parts] = part;
        if (op === "+") return parts.reduce((sum, [minus, one]) => (minus ? sum - work(one) : sum + work(one)), 0);
        return worked[op](...parts.map(work));
      }
      return work(page.shapes[variant[1]][2][place]);
    }
    function seen(variant, place) {
      return variant[5 + place].map((leaf) => leafValue(leaf, variant, (x) => x));
    }
    // Steps that are rounded follow from those that short ones stand for as far as it is printed.
    function isNear(a, b) {
      return a === b || Math.abs(a - b) <= (tape.round ? 0.5 * 10 ** -tape.decimals : 1e-9 * Math.max(1, Math.abs(b)));
    }
    // True if the formula of sparsemax's threshold has the scores of all cells with a weight: these sum to 1.
    function isThreshold(variant, place, id) {
      const at = stepOf(id), weight = (leaf) => exact[at][leaf - starts[stepOf(leaf)]];
      const weights = variant[5 + place].map(weight);
      return weights.every((x) => x > 0) && isNear(weights.reduce((a, b) => a + b, 0), 1);
    }
    function fits(variant, result, id) {
      const all = page.shapes[variant[1]][3];
      if (!variant[0].every(([place, most]) => Math.max(...seen(variant, place)) === (most ?? -Infinity)))
        return false;
      const letter = page.shapes[variant[1]][4];
      if (letter !== null && !isThreshold(variant, letter, id)) return false;
      if (!all.length) return true;
      const exact = value(variant, all[0]);
      const shown = tape.round ? valueOf(numberText(exact, tape.decimals)) : exact;
      const isResult = isNear(tape.round ? rounded(exact) : exact, result);
      return isResult && all.every((place) => isNear(value(variant, place), shown));
    }
    function digitsOf(variant, place, wanted) {
      const unit = 10 ** (valueOf(wanted.split("e")[1] || "0") - tape.decimals),
        goal = valueOf(wanted);
      for (let digits = tape.decimals; digits < 17; digits += 1) {
        const shown = value(variant, place, (x) => valueOf(numberText(x, digits)));
        if (shown === goal || Math.abs(shown - goal) <= unit / 2) return digits;
      }
      return 17;
    }
    function explanation(number, id) {
      const variants = page.cells[number],
        result = numbers[id],
        text = numberText(result, tape.decimals);
      if (!variants) return undefined;
      const checks = (one) => one[0].length * 10 + page.shapes[one[1]][3].length;
      const several = variants.slice().sort((a, b) => checks(b) - checks(a));
      const variant =
        several.find((one) => fits(one, result, id)) ||
        (variants.length === 1 && fits([[], ...variants[0].slice(1)], result, id) ? variants[0] : null);
      if (!variant) return [variants[0][2], page.shapes.length - 1, variants[0][3], text];
      const [, shape, lit, name, texts] = variant,
        digits = {},
        about = page.shapes[shape];
      const fills = [name];
      let next = 0;
      about[1].forEach((slot) => {
        if (slot === 0) fills.push(texts[next++]);
        else if (slot === 1) fills.push(text);
        else {
          const [place, leaf, isLoose] = slot,
            all = leaf < 0 && leaf > -3 ? seen(variant, place) : [];
          if (leaf === -1) fills.push(numberText(Math.max(...all), tape.decimals));
          else if (leaf === -2)
            fills.push(all.filter((x) => x === Math.max(...all)).length > 1 ? "the first largest" : "the largest");
          else if (leaf === -3) fills.push(numberText(value(variant, place), tape.decimals));
          else {
            if (digits[place] === undefined && about[2][place] === null) digits[place] = tape.decimals;
            else if (digits[place] === undefined) {
              const isResult = about[3].includes(place) && !tape.round;
              const wanted = isResult ? text : numberText(value(variant, place), tape.decimals);
              digits[place] = digitsOf(variant, place, wanted);
            }
            const from = variant[5 + place][leaf],
              x = leafValue(from, variant, (y) => y);
            const shown = numberText(x, digits[place]);
            fills.push(isLoose && x < 0 ? `(${shown})` : shown);
            if (numberOf[from]) fills.push(numberOf[from]);
          }
        }
      });
      return [lit, shape, ...fills.map((one) => (typeof one === "string" ? renamed(one) : one))];
    }

    // The page.
    calculate({});
    const firstNumbers = numbers, firstArrays = arrays;
    const styleAt = (some, at) => styleOf(Array.from(some[at].data), tape.decimals);
    const isWeights = (step) => /^(layers\.\d+\.)?weights/.test(step.name);
    // Keeps a cell of a table at the number with an id, shaded by its size if it is a weight or is told to be.
    function follow(td, id, isShaded) {
      const at = stepOf(id), step = steps[at], first = firstNumbers[id];
      const input = step.input && step.input.key ? step : null;
      if (isWeights(step) || isShaded) td.classList.add("w");
      if (input && td.dataset.c) td.classList.add("given");
      if (!td.firstChild) td.append(write(first, styleAt(firstArrays, at)));
      cells.push({ td, id, at, input, first, text: td.textContent, isShaded, isScaled: isShaded && !isWeights(step) });
    }
    article.querySelectorAll("td[data-c]").forEach((td) => follow(td, homes[td.dataset.c].id, false));
    keepHeadings(article);
    const sums = Array.from(article.querySelectorAll("[data-z]"), (span) => ({ span, id: Number(span.dataset.z) }));
    const slots = (root) => Array.from(root.querySelectorAll("[data-own]"));
    const firstSlots = slots(article).map((slot) => [slot, slot.innerHTML]);
    // A number of an operation as it was typed, as the program shows it: 2.50, (1/3).
    function settingText(key) {
      if (state[key] === undefined) return null;
      const text = state[key].replace(/sqrt/g, "√").replace(/pi/g, "π").replace(/\*+/g, (by) => "·^"[by.length - 1]);
      return (/^[-+]?[\d.]+(e[-+]?\d+)?$/i.test(text) ? text : `(${text})`).replace(/-/g, "−");
    }

    function refresh() {
      const styles = {},
        style = (at) => styles[at] || (styles[at] = styleAt(arrays, at));
      const largest = {}, changed = new Set(changedCells(state).map(([id]) => id));
      const size = (at) => (largest[at] ??= Math.max(...Array.from(arrays[at].data, (x) => (isFinite(x) ? Math.abs(x) : 0))));
      cells.forEach((cell) => {
        const { td, id, at, first, input } = cell,
          x = numbers[id],
          look = style(at);
        const isChanged = changed.has(id), most = cell.isScaled ? size(at) : 1;
        const isSame = x === cell.x && look.decimals === cell.decimals && look.exponent === cell.exponent;
        if (isSame && isChanged === cell.isChanged && most === cell.most) return;
        Object.assign(cell, { x, decimals: look.decimals, exponent: look.exponent, isChanged, most });
        td.firstChild.data = write(x, cell.isShaded ? { ...look, decimals: Math.min(look.decimals, DECIMALS_OF_MAP) } : look);
        td.classList.toggle("off", !isFinite(x));
        if (input && /(^|\.)mask$/.test(input.name)) td.setAttribute("aria-label", x ? "1, not blocked" : "0, blocked");
        td.classList.toggle("changed", isChanged);
        td.classList.toggle("moved", !isChanged && Math.abs(x - first) > 1e-12 * Math.abs(first));
        if (!td.classList.contains("w")) return;
        td.style.setProperty("--w", Math.min(1, Math.abs(x) / (most || 1)).toFixed(2));
        td.classList.toggle("below", x < 0);
      });
      let last = null;
      sums.forEach(({ span, id }) => {
        const x = numbers[id], look = style(stepOf(id)),
          isFirst = span.parentNode !== last;
        span.hidden = Math.abs(x) <= (look.exponent ? 0 : 0.5 * 10 ** -look.decimals); // which would be written as 0
        if (span.hidden) return;
        last = span.parentNode;
        const sign = x < 0 ? (isFirst ? "= −" : "− ") : isFirst ? "= " : "+ ";
        span.querySelector("span").textContent = sign + write(Math.abs(x), look);
      });
      article.querySelectorAll(".mixture .none").forEach((none) => {
        none.hidden = none.parentNode.querySelector("[data-z]:not([hidden])") !== null;
      });
      firstSlots.forEach(([slot, first]) => settle(slot, first));
      headings.forEach((text, element) => { if (element.textContent !== wordOf(text)) element.textContent = wordOf(text); });
      article.classList.toggle("is-changed", Object.keys(state).length > 0);
    }
    function settle(slot, first) {
      const text = settingText(slot.dataset.own);
      slot.innerHTML = text === null ? first : `<mn>${text}</mn>`;
      slot.classList.toggle("changed", text !== null);
    }

    // Returns the matrices of a step as tables of their own, which follow its numbers, too.
    function matrices(at, isShaded) {
      const [rowLabels, columnLabels, flips] = tape.views[at], { name, shape } = steps[at];
      const [n, m] = shape.slice(-2), isOne = n * m === arrays[at].data.length;
      const sides = [[n, rowLabels], [m, columnLabels]];
      const [[height, left], [width, top]] = flips ? sides.reverse() : sides;
      const head = (scope, text) => make("th", { scope, textContent: text, dir: "auto" });
      return Array.from({ length: arrays[at].data.length / (n * m) }, (_, place) => {
        const [batch, one] = [Math.floor(place / shape[1]), place % shape[1]];
        const words = [...(shape[0] > 1 ? [`batch ${batch + 1}`] : []), ...(shape[1] > 1 ? [`head ${one + 1}`] : [])];
        const caption = isOne || !isShaded ? [name, ...words] : words; // beside the map it is known whose heads these are
        const table = make("table", { ariaLabel: [name, ...words].join(", ") }), rows = table.createTBody();
        if (top.length) table.createTHead().append(make("tr", {}, ...(left.length ? [make("td")] : []), ...top.map((text) => head("col", text))));
        for (let i = 0; i < height; i += 1) {
          const row = rows.insertRow();
          if (left.length) row.append(head("row", left[i]));
          for (let j = 0; j < width; j += 1) {
            const id = starts[at] + place * n * m + (flips ? j * m + i : i * m + j), td = row.insertCell();
            if (numberOf[id]) td.dataset.c = numberOf[id];
            follow(td, id, isShaded);
          }
        }
        const box = make("div", { className: "scroll" }, make("div", { className: "caption", textContent: caption.join(", ") }), table);
        box.style.setProperty("--count", Math.max(height, width));
        box.dataset.at = at;
        box.dataset.rows = left.join();
        keepHeadings(table);
        return box;
      });
    }

    // The problem with its changes, as a file.
    function yaml() {
      const problem = JSON.parse(JSON.stringify(tape.problem));
      const put = (path, x) => {
        const keys = path.split("."),
          last = keys.pop();
        const holder = keys.reduce((one, key) => {
          const at = /^\d+$/.test(key) && Array.isArray(one) ? key - 1 : key;
          if (key === "layers") return one[at];
          const listed = Array.isArray(one[at]) && one[at].find((part) => part && part[last] !== undefined);
          if (typeof one[at] === "string") one[at] = { name: one[at] };
          if (!one[at] || (Array.isArray(one[at]) && !listed)) one[at] = {};
          return listed || one[at];
        }, problem);
        holder[last] = x;
      };
      words.forEach((_, i) => { problem.tokens[i] = state[`tokens.${i}`] ?? problem.tokens[i]; });
      (problem.tour || []).forEach((stop) => {
        stop.step = renamed(String(stop.step));
        if (Array.isArray(stop.cell)) stop.cell = stop.cell.map((word) => wordOf(String(word)));
      });
      Object.keys(settings).forEach((key) => {
        if (state[key] !== undefined) put(key, tape.settings[key][1] ? `1/(${state[key]})` : state[key]);
      });
      steps
        .filter((step) => step.input && step.input.key)
        .forEach((step) => {
          const { key, shape, flips } = step.input,
            head = key.split(".")[0];
          const isChanged = Object.keys(state).some((name) => name.slice(0, name.lastIndexOf(".")) === step.name);
          if (!isChanged && problem[head] !== undefined) return;
          let texts = step.input.numbers.map((x, i) => state[`${step.name}.${i}`] ?? plainText(x));
          const [n, m] = step.shape.slice(-2);
          if (flips)
            texts = texts.map((_, i) => texts[i - (i % (n * m)) + (i % n) * m + Math.floor((i % (n * m)) / n)]);
          const grouped = (items, size) => items.flatMap((_, i) => (i % size ? [] : [items.slice(i, i + size)]));
          put(key, shape.slice(1).reduceRight(grouped, texts));
        });
      return Object.keys(problem).map((key) => `${key}: ${flow(problem[key], key.length + 3)}\n`).join("");
    }
    function flow(x, indent) {
      if (Array.isArray(x))
        return `[${x.map((one) => flow(one, indent)).join(Array.isArray(x[0]) ? `,\n${" ".repeat(indent)}` : ", ")}]`;
      if (x && typeof x === "object")
        return `{${Object.keys(x).map((key) => `${key}: ${flow(x[key], indent)}`).join(", ")}}`;
      return typeof x === "string" && !/^-?[\d.][\d.eE+*/()^-]*$/.test(x) ? JSON.stringify(x) : String(x);
    }

    Object.assign(self, {
      tape, article, steps, cells, matrices, calculate, refresh, explanation, settle, slots, yaml, prefix,
      // True if the largest scores are subtracted from the others, as floats could not hold their powers.
      isShifted: () => tape.shifts.some((call) => run(call).data.some((x) => x !== 0)),
      state: () => state,
      valueOf: (id) => numbers[id],
      settingOf: (key) => settings[key],
      arrays: (i) => arrays[i],
      arrayOf: (name) => arrays[steps.findIndex((step) => step.name === name && !step.input)],
      inputOf: (id) => steps[stepOf(id)].input,
      inputAt: (name) => {
        const [, named, place] = /^(.+)\.(0|[1-9]\d*)$/.exec(name) || [],
          step = steps.find((one) => one.input && one.input.key && one.name === named);
        return step && place < step.input.numbers.length ? step.input : null;
      },
      placeOf: (id) => id - starts[stepOf(id)],
      // The cell by its name, such as X[am, 2].
      labelOf: (td) =>
        page.cells[td.dataset.c] ? renamed(page.cells[td.dataset.c][0][3]) : steps[stepOf(homes[td.dataset.c].id)].name,
      // The place of the token that a heading names, or −1, and whether a token may be called so.
      tokenOf: (th) => words.indexOf(headings.get(th)),
      isFree: (i, text) => isWord(words[i] ?? "") && words.every((word, j) => i === j || wordOf(word) !== text),
      nameOf: (id) => `${steps[stepOf(id)].name}.${id - starts[stepOf(id)]}`,
      // The names of the steps that follow from changed numbers, and of the inputs that do not change.
      following: (names) =>
        steps.filter((step, i) => !step.input && names.some((name) => uses[i].has(name))).map((step) => step.name),
    });
    return self;
  }

  page.shapes.push([PLAIN, [1], [], [], null]);
  const articles = document.querySelectorAll("article");
  const all = page.tapes.map((tape, i) => Calculation(tape, articles[i], i ? `${i + 1}:` : ""));
  const explanations = new Proxy({}, {
    get: (_, number) => homes[number] && homes[number].calculation.explanation(number, homes[number].id),
  });
  return {
    all, homes, make, region, plainText, fill: attnFill, pageKey: page.key, size: page.size, sizes: ["", ...Object.keys(page.others)], openers: [], shown: () => {},
    data: { cells: explanations, shapes: page.shapes.map(([markup]) => markup) },
    // Puts changed numbers of operations into a formula that has just been filled.
    settle: (root, number) => {
      const home = homes[number];
      if (home) home.calculation.slots(root).forEach((slot) => home.calculation.settle(slot, slot.innerHTML));
    },
  };
})();

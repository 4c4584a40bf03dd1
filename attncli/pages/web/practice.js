// The practice page: a field for each number, judged when it is left; hints; a file of answers.
(function () {
  "use strict";
  const STORED = `attn ${attnPage.key}`;
  const all = Array.from(document.querySelectorAll("input.n"));
  const student = document.querySelector(".student");
  const why = document.getElementById("why"), about = why.querySelector("b"), said = why.querySelector(".about span");
  const hints = why.querySelector(".hints"), more = why.querySelector("button");
  const spoken = document.getElementById("spoken"); // what is said of a number that was left, to a reader
  const isWide = window.matchMedia("(min-width: 1100px)");
  let shown = null; // the field that the box tells of
  let stages = {}; // by the number of a field: how many of its hints were asked for
  let isKept = true; // by the browser
  let isSaved = true;
  const SIGNS = { correct: "✓", follows: "→", last_digit: "≈", wrong: "✗", short: "✗", unsure: "?", unreadable: "!" };
  const WORDS = {
    missing: "",
    correct: "Right.",
    follows: "Follows from your earlier numbers, which counts as right.",
    last_digit: "Right but for the last digit.",
    wrong: "Wrong, and not what follows from your earlier numbers.",
    unsure: "Cannot be told here: it depends on how you rounded before.",
  };
  document.body.classList.add("live");

  // The open steps, each with its fields, the place where they are counted, and the mistake that gives its numbers.
  const groups = attnPage.problems.flatMap((problem) => {
    problem.judge = attnJudging(problem, attnPage.programs, attnPage.rules);
    return problem.asked.map(([place, shape]) => {
      const fields = Array(shape.reduce((size, n) => size * n, 1)).fill(null);
      return { problem, place, shape, name: problem.steps[place].name, fields, mistake: null };
    });
  });
  all.forEach((field) => {
    const [problem, place, cell] = attnPage.fields[field.dataset.n];
    field.attnGroup = groups.find((group) => group.problem === attnPage.problems[problem] && group.place === place);
    field.attnGroup.fields[cell] = field;
    const mark = document.createElement("span");
    mark.className = "mark";
    mark.setAttribute("aria-hidden", "true");
    field.after(mark);
  });
  groups.forEach((group) => {
    group.tally = document.createElement("p");
    group.tally.className = "tally";
    group.fields.find(Boolean).closest("section").append(group.tally);
  });

  const textOf = (field) => (field ? field.value.trim() : "");
  const typedIn = (problem) => groups.filter((group) => group.problem === problem && group.fields.some(textOf));

  // What was typed in a problem is judged together: later numbers follow from it, and neighbours tell what a 0 stands for.
  function judge(problem) {
    const some = typedIn(problem), judged = problem.judge(new Map(some.map(({ place, fields }) => [place, fields.map(textOf)])));
    some.forEach((group) => {
      const { codes, faults, mistake } = judged.get(group.place);
      group.mistake = mistake;
      group.fields.forEach((field, cell) => { if (field) mark(field, codes[cell], faults[cell]); });
    });
    tell();
  }

  function mark(field, status, fault) {
    const cell = field.parentNode, { decimals } = field.attnGroup.problem;
    field.attnStatus = cell.dataset.status = status;
    cell.querySelector(".mark").textContent = SIGNS[status] || "";
    if (["wrong", "short", "unreadable"].includes(status)) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
    field.attnSaid = WORDS[status];
    if (status === "unreadable") field.attnSaid = `Cannot be read: ${fault}.`;
    if (status === "short") field.attnSaid = `Right, but ${decimals} ${decimals > 1 ? "decimals are" : "decimal is"} asked for.`;
  }

  function counted(fields) {
    const count = (...some) => fields.filter((field) => some.includes(field.attnStatus)).length;
    const parts = [[count("wrong", "short", "unreadable"), "wrong"], [count("unsure"), "unsure"]].filter(([some]) => some);
    const follow = count("follows"), right = `${count("correct", "follows", "last_digit")} of ${fields.length} right`;
    return [right + (follow ? ` (${follow} follow)` : ""), ...parts.map((part) => part.join(" "))].join(", ");
  }

  function tell() {
    groups.forEach((group) => { group.tally.textContent = `${group.name}: ${counted(group.fields.filter(Boolean))}`; });
    document.querySelector(".total").textContent = counted(all);
  }

  // The box: what is said of the field, and as many of its hints as were asked for. Where it is not
  // beside the page it is below the matrix, so that it covers nothing, and the field stays in place.
  function show(field) {
    shown = field;
    const top = field && (field.attnTop || field.getBoundingClientRect().top);
    why.hidden = !field;
    document.querySelectorAll("th.here").forEach((old) => { old.classList.remove("here"); });
    if (!field) return;
    const before = isWide.matches ? document.body.lastElementChild : field.closest(".figure");
    if (why !== before && why.previousElementSibling !== before) before.after(why);
    attnHeads(field.parentNode).forEach((head) => { head.classList.add("here"); });
    about.textContent = field.getAttribute("aria-label");
    said.textContent = field.attnSaid || "";
    hint(field);
    window.scrollBy(0, field.getBoundingClientRect().top - top);
    field.attnTop = 0;
  }

  // First the mistake, where one gives all numbers of the step, a sentence at a time; then the formula of the cell, the
  // step with its numbers put in, and the number.
  function hint(field) {
    const number = field.dataset.n, told = attnPage.cells[number];
    const mistake = field.attnStatus === "wrong" && field.attnGroup.mistake, sentences = mistake ? mistake.split(/(?<=\.) /) : [];
    hints.innerHTML = told ? attnPage.shapes[told[1]] : "";
    if (told) attnFill(hints, told.slice(2));
    const lines = Array.from(hints.children), count = lines.filter((line) => !line.classList.contains("reason")).length;
    const ends = (told ? [0, 1, count - 1, lines.length] : [0]).filter((end, i, all) => i === 0 || end > all[i - 1]);
    const most = sentences.length + ends.length - 1, asked = Math.min(stages[number] || 0, most);
    lines.forEach((line, place) => { line.hidden = place >= ends[Math.max(0, asked - sentences.length)]; });
    if (sentences[asked - 1]) {
      const says = document.createElement("p");
      says.className = "mistake";
      says.textContent = sentences[asked - 1];
      hints.prepend(says);
    }
    more.hidden = asked === most;
    more.textContent = asked <= sentences.length ? "Hint" : most - asked > 1 ? "Show the step" : "Show the number";
  }

  function askForMore() {
    if (!shown || more.hidden) return;
    if (shown.attnStatus === "missing" && textOf(shown)) judge(shown.attnGroup.problem);
    stages[shown.dataset.n] = (stages[shown.dataset.n] || 0) + 1;
    show(shown);
  }

  // The field keeps the focus, so that nothing moves before the button is let go.
  more.addEventListener("mousedown", (event) => event.preventDefault());
  more.addEventListener("click", () => {
    const field = shown;
    askForMore();
    field.focus({ preventScroll: true });
  });

  document.addEventListener("change", ({ target }) => {
    if (!target.matches("input.n")) return;
    judge(target.attnGroup.problem);
    spoken.textContent = `${target.getAttribute("aria-label")}: ${target.attnSaid}`;
    if (shown) show(shown);
  });
  document.addEventListener("input", ({ target }) => {
    isSaved = false;
    keep();
    if (!target.matches("input.n")) return;
    mark(target, "missing"); // it is judged when it is left
    if (shown === target) said.textContent = "";
  });
  document.addEventListener("focusin", ({ target }) => {
    if (target.matches("input.n")) show(target);
    else if (!why.contains(target)) show(null);
  });
  document.addEventListener("mousedown", ({ target }) => { // before what was typed is judged
    target.attnTop = target.getBoundingClientRect().top;
  });
  document.addEventListener("click", ({ target }) => {
    if (!target.closest("td.open, #why, label") && document.activeElement !== shown) show(null);
  });

  const other = (field, by) => all[all.indexOf(field) + by] || null;
  const beside = (field, rows, columns) =>
    attnBeside(field.parentNode, rows, columns, (cell) => cell.querySelector("input.n"));

  document.addEventListener("keydown", (event) => {
    if (event.altKey && event.code === "KeyH") {
      event.preventDefault();
      askForMore();
      return;
    }
    const field = event.target;
    if (!field.matches || !field.matches("input.n") || event.ctrlKey || event.altKey || event.metaKey) return;
    const atStart = field.selectionStart === 0, atEnd = field.selectionEnd === field.value.length;
    const isAll = atStart && atEnd;
    let next = null;
    if (event.key === "Enter") next = other(field, event.shiftKey ? -1 : 1);
    if (event.key === "ArrowUp") next = beside(field, -1, 0) || other(field, -1);
    if (event.key === "ArrowDown") next = beside(field, 1, 0) || other(field, 1);
    if (event.key === "ArrowLeft" && (isAll || (atStart && field.selectionEnd === 0))) next = beside(field, 0, -1);
    if (event.key === "ArrowRight" && (isAll || (atEnd && field.selectionStart === field.value.length))) next = beside(field, 0, 1);
    if (event.key === "Escape") show(null);
    if (event.shiftKey && event.key !== "Enter") return;
    if (event.key === "Enter" || next) event.preventDefault();
    if (event.key === "Enter" && !next) field.dispatchEvent(new Event("change", { bubbles: true }));
    if (!next) return;
    next.focus();
    next.select();
  });

  // The answers as YAML, one document for each problem: a list of rows for each step, with what was
  // typed as it was typed.
  function yaml() {
    const name = `student: ${quoted(student.value.trim())}`;
    const parts = attnPage.problems.map((problem, place) => {
      const number = problem.problem || (attnPage.problems.length > 1 ? place + 1 : "");
      const lines = [...(problem.title ? [`# ${problem.title}`] : []), name];
      if (problem.variant) lines.push(`variant: ${quoted(problem.variant)}`);
      if (number) lines.push(`problem: ${quoted(String(number))}`);
      const answers = typedIn(problem).map((group) => {
        const cells = group.fields.map((field) => (textOf(field) ? quoted(textOf(field)) : "~"));
        return `${group.name}: ${nested(cells, group.shape)}`;
      });
      return answers.length ? `${[...lines, ...answers].join("\n")}\n` : "";
    });
    return parts.filter(Boolean).join("---\n") || `${name}\n`;
  }

  // Text in quotes as YAML has it; it ends lines at more signs than JSON.
  const quoted = (text) => JSON.stringify(text).replace(
    /[\u007f-\u009f\u2028\u2029\ufeff]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);

  function nested(cells, shape) {
    if (!shape.length) return cells[0];
    const size = cells.length / shape[0];
    return `[${Array.from({ length: shape[0] }, (_, i) => nested(cells.slice(i * size, (i + 1) * size), shape.slice(1))).join(", ")}]`;
  }

  // What was typed is kept by the browser, where it allows that, until all is started again.
  function keep() {
    const typed = all.map((field) => field.value);
    try { localStorage.setItem(STORED, JSON.stringify({ student: student.value, typed })); } catch (error) { isKept = false; }
    document.querySelector(".kept").textContent = isKept
      ? "What you type is kept in this browser."
      : "This browser does not keep what you type: save it before you close the page.";
  }

  function fill(kept) {
    if (kept) student.value = kept.student;
    all.forEach((field, place) => {
      field.value = kept ? kept.typed[place] || "" : "";
      mark(field, "missing");
    });
    attnPage.problems.forEach(judge);
  }

  function button(kind, act) {
    const element = document.querySelector(kind);
    element.hidden = false;
    element.addEventListener("click", act);
    return element;
  }

  button(".save", () => {
    attnSave(yaml(), (student.value.trim() || "answers").replace(/[^\p{L}\p{N} ._-]/gu, "_").slice(0, 80));
    isSaved = true;
  }).attnSheet = yaml;
  button(".again", () => {
    if (!window.confirm("Remove everything that was typed on this page?")) return;
    try { localStorage.removeItem(STORED); } catch (error) { isKept = false; }
    stages = {};
    student.value = student.defaultValue;
    fill(null);
    show(null);
  });
  window.addEventListener("beforeunload", (event) => { if (!isSaved && !isKept) event.preventDefault(); });
  try { fill(JSON.parse(localStorage.getItem(STORED))); } catch (error) { fill(null); }
  keep();
})();

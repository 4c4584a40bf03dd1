// The practice page: a field for each number, judged when it is left; hints; a file of answers.
(function () {
  "use strict";
  var sealed = JSON.parse(document.getElementById("made").textContent);
  var bytes = Uint8Array.from(atob(sealed.sealed), function (sign) { return sign.charCodeAt(0); });
  var data = JSON.parse(new TextDecoder().decode(bytes));
  var STORED = "attn " + sealed.key;
  var all = Array.from(document.querySelectorAll("input.n"));
  var student = document.querySelector(".student");
  var why = document.getElementById("why");
  var about = why.querySelector("b");
  var said = why.querySelector(".about span");
  var spoken = document.getElementById("spoken"); // what is said of a number that was left, to a reader
  var hints = why.querySelector(".hints");
  var more = why.querySelector("button");
  var isWide = window.matchMedia("(min-width: 1100px)");
  var steps = []; // {problem, step, name, fields, tally, mistake} of each open step
  var shown = null; // the field that the box tells of
  var stages = {}; // by the number of a field: how many of its hints were asked for
  var isKept = true; // by the browser
  var isSaved = true;
  var SIGNS = { correct: "✓", last_digit: "≈", wrong: "✗", short: "✗", unsure: "?", unreadable: "!" };
  var LATER = " When your answers are checked, it counts as right if it follows from an earlier number of yours";
  var WORDS = {
    missing: "",
    correct: "Right.",
    last_digit: "Off in the last digit; that counts as right unless it is marked strictly.",
    wrong: "Not the right number in the digits that you typed." + LATER + ".",
    unsure: "Not the right number in the digits that you typed, but near it: this page cannot tell." +
      LATER + ", or comes from rounding on the way."
  };
  var ROUGH = "This page cannot tell, as this is calculated from rounded numbers: type the result.";
  document.body.classList.add("live");

  data.problems.forEach(function (problem) {
    Object.keys(problem.steps).forEach(function (name) {
      var step = problem.steps[name], fields = step.readings[0].right[0].map(function () { return null; });
      steps.push({ problem: problem, step: step, name: name, fields: fields });
    });
  });
  all.forEach(function (field) {
    var place = data.fields[field.dataset.n];
    field.attnGroup = steps[place[0]];
    field.attnGroup.fields[place[1]] = field;
    var mark = document.createElement("span");
    mark.className = "mark";
    mark.setAttribute("aria-hidden", "true");
    field.after(mark);
  });
  steps.forEach(function (group) {
    group.tally = document.createElement("p");
    group.tally.className = "tally";
    group.fields.filter(Boolean)[0].closest("section").append(group.tally);
  });

  function textOf(field) { return field ? field.value.trim() : ""; }

  function isTyped(problem, name) {
    return steps.some(function (group) {
      return group.problem === problem && group.name === name && group.fields.some(textOf);
    });
  }

  // What was typed in a step is judged together: neighbours tell what a 0 or a 1 stands for.
  function judge(group) {
    var faults = {}, right = group.step.readings[0].right[0];
    var typed = group.fields.map(function (field, place) {
      try {
        return attnNumbers.read(textOf(field), data.rules, right[place] === null);
      } catch (error) {
        if (!(error instanceof attnNumbers.NotANumber)) throw error;
        faults[place] = error.message;
        return null;
      }
    });
    var judged = attnJudging.judge(group.step, typed, group.problem.decimals, function (name) {
      return isTyped(group.problem, name);
    });
    group.mistake = Object.keys(faults).length ? null : judged.mistake;
    group.fields.forEach(function (field, place) {
      if (!field) return;
      mark(field, place in faults ? "unreadable" : judged.codes[place]);
      if (place in faults) field.attnSaid = "This cannot be read: " + faults[place] + ".";
      else if (field.attnStatus === "unsure" && isNaN(typed[place].unit)) field.attnSaid = ROUGH;
    });
    tell();
  }

  function mark(field, status) {
    var cell = field.parentNode, decimals = field.attnGroup.problem.decimals;
    field.attnStatus = cell.dataset.status = status;
    cell.querySelector(".mark").textContent = SIGNS[status] || "";
    if (["wrong", "short", "unreadable"].indexOf(status) >= 0) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
    field.attnSaid = status !== "short" ? WORDS[status]
      : "Right, but with too few digits: " + decimals + (decimals > 1 ? " decimals are" : " decimal is") + " asked for.";
  }

  function counted(fields) {
    function count() {
      var wanted = Array.from(arguments);
      return fields.filter(function (field) { return wanted.indexOf(field.attnStatus) >= 0; }).length;
    }
    var wrong = count("wrong", "short", "unreadable"), unsure = count("unsure");
    return count("correct", "last_digit") + " of " + fields.length + " right" +
      (wrong ? ", " + wrong + " wrong" : "") + (unsure ? ", " + unsure + " unsure" : "");
  }

  function tell() {
    steps.forEach(function (group) {
      group.tally.textContent = group.name + ": " + counted(group.fields.filter(Boolean));
    });
    document.querySelector(".total").textContent = counted(all);
  }

  // The box: what is said of the field, and as many of its hints as were asked for. Where it is not
  // beside the page it is below the matrix, so that it covers nothing, and the field stays in place.
  function show(field) {
    shown = field;
    var top = field && (field.attnTop || field.getBoundingClientRect().top);
    why.hidden = !field;
    document.querySelectorAll("th.here").forEach(function (old) { old.classList.remove("here"); });
    if (!field) return;
    var before = isWide.matches ? document.body.lastElementChild : field.closest(".figure");
    if (why !== before && why.previousElementSibling !== before) before.after(why);
    attnHeads(field.parentNode).forEach(function (head) { head.classList.add("here"); });
    about.textContent = field.getAttribute("aria-label");
    said.textContent = field.attnSaid || "";
    hint(field);
    window.scrollBy(0, field.getBoundingClientRect().top - top);
    field.attnTop = 0;
  }

  // First the mistake, where one gives all numbers of the step; then the formula of the cell, the
  // step with its numbers put in, and the number.
  function hint(field) {
    var number = field.dataset.n, told = data.cells[number];
    var mistake = field.attnStatus === "wrong" && field.attnGroup.mistake;
    hints.innerHTML = told ? data.shapes[told[1]] : "";
    if (told) attnFill(hints, told.slice(2));
    var lines = Array.from(hints.children), ends = [0];
    if (told) ends.push(1, lines.filter(function (line) { return !line.classList.contains("reason"); }).length - 1, lines.length);
    if (mistake) {
      var says = document.createElement("p");
      says.className = "mistake";
      says.textContent = mistake.says;
      hints.prepend(says);
      lines.unshift(says);
      ends = [0].concat(ends.map(function (end) { return end + 1; }));
    }
    ends = ends.filter(function (end, i) { return i === 0 || end > ends[i - 1]; });
    var stage = Math.min(stages[number] || 0, ends.length - 1), left = ends.length - 1 - stage;
    lines.forEach(function (line, place) { line.hidden = place >= ends[stage]; });
    more.hidden = !left;
    more.textContent = stage < (mistake ? 2 : 1) ? "Hint" : left > 1 ? "Show the step" : "Show the number";
  }

  function askForMore() {
    if (!shown || more.hidden) return;
    if (shown.attnStatus === "missing" && textOf(shown)) judge(shown.attnGroup);
    stages[shown.dataset.n] = (stages[shown.dataset.n] || 0) + 1;
    show(shown);
  }

  // The field keeps the focus, so that nothing moves before the button is let go.
  more.addEventListener("mousedown", function (event) { event.preventDefault(); });
  more.addEventListener("click", function () {
    var field = shown;
    askForMore();
    field.focus({ preventScroll: true });
  });

  document.addEventListener("change", function (event) {
    if (!event.target.matches("input.n")) return;
    judge(event.target.attnGroup);
    spoken.textContent = event.target.getAttribute("aria-label") + ": " + event.target.attnSaid;
    if (shown) show(shown);
  });
  document.addEventListener("input", function (event) {
    isSaved = false;
    keep();
    if (!event.target.matches("input.n")) return;
    mark(event.target, "missing"); // it is judged when it is left
    if (shown === event.target) said.textContent = "";
  });
  document.addEventListener("focusin", function (event) {
    if (event.target.matches("input.n")) show(event.target);
    else if (!why.contains(event.target)) show(null);
  });
  document.addEventListener("mousedown", function (event) { // before what was typed is judged
    event.target.attnTop = event.target.getBoundingClientRect().top;
  });
  document.addEventListener("click", function (event) {
    if (!event.target.closest("td.open, #why, label") && document.activeElement !== shown) show(null);
  });

  function other(field, by) { return all[all.indexOf(field) + by] || null; }

  function beside(field, rows, columns) {
    return attnBeside(field.parentNode, rows, columns, function (cell) { return cell.querySelector("input.n"); });
  }

  document.addEventListener("keydown", function (event) {
    if (event.altKey && event.code === "KeyH") {
      event.preventDefault();
      askForMore();
      return;
    }
    var field = event.target;
    if (!field.matches || !field.matches("input.n") || event.ctrlKey || event.altKey || event.metaKey) return;
    var atStart = field.selectionStart === 0, atEnd = field.selectionEnd === field.value.length;
    var isWhole = atStart && atEnd, next = null;
    if (event.key === "Enter") next = other(field, event.shiftKey ? -1 : 1);
    if (event.key === "ArrowUp") next = beside(field, -1, 0) || other(field, -1);
    if (event.key === "ArrowDown") next = beside(field, 1, 0) || other(field, 1);
    if (event.key === "ArrowLeft" && (isWhole || (atStart && field.selectionEnd === 0))) next = beside(field, 0, -1);
    if (event.key === "ArrowRight" && (isWhole || (atEnd && field.selectionStart === field.value.length))) next = beside(field, 0, 1);
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
    var several = data.problems.length > 1;
    var parts = data.problems.map(function (problem, place) {
      var lines = problem.title ? ["# " + problem.title] : [], number = problem.problem || (several ? place + 1 : "");
      lines.push("student: " + quoted(student.value.trim()));
      if (problem.variant) lines.push("variant: " + quoted(problem.variant));
      if (number) lines.push("problem: " + quoted(String(number)));
      var answers = steps.filter(function (group) { return group.problem === problem && group.fields.some(textOf); });
      answers.forEach(function (group) {
        var cells = group.fields.map(function (field) { return textOf(field) ? quoted(textOf(field)) : "~"; });
        lines.push(group.name + ": " + nested(cells, group.step.shape));
      });
      return answers.length ? lines.join("\n") + "\n" : "";
    });
    return parts.filter(Boolean).join("---\n") || "student: " + quoted(student.value.trim()) + "\n";
  }

  // Text in quotes as YAML has it; it ends lines at more signs than JSON.
  function quoted(text) {
    return JSON.stringify(text).replace(/[\u007f-\u009f\u2028\u2029\ufeff]/g, function (sign) {
      return "\\u" + sign.charCodeAt(0).toString(16).padStart(4, "0");
    });
  }

  function nested(cells, shape) {
    if (!shape.length) return cells[0];
    var size = cells.length / shape[0], parts = [];
    for (var i = 0; i < shape[0]; i += 1) parts.push(nested(cells.slice(i * size, (i + 1) * size), shape.slice(1)));
    return "[" + parts.join(", ") + "]";
  }

  // What was typed is kept by the browser, where it allows that, until all is started again.
  function keep() {
    var typed = all.map(function (field) { return field.value; });
    try { localStorage.setItem(STORED, JSON.stringify({ student: student.value, typed: typed })); } catch (error) { isKept = false; }
    document.querySelector(".kept").textContent = isKept
      ? "What you type is kept in this browser."
      : "This browser does not keep what you type: save it before you close the page.";
  }

  function fill(kept) {
    if (kept) student.value = kept.student;
    all.forEach(function (field, place) {
      field.value = kept ? kept.typed[place] || "" : "";
      mark(field, "missing");
    });
    steps.forEach(function (group) { if (group.fields.some(textOf)) judge(group); });
    tell();
  }

  function button(kind, act) {
    var element = document.querySelector(kind);
    element.hidden = false;
    element.addEventListener("click", act);
    return element;
  }

  button(".save", function () {
    var link = document.createElement("a");
    link.download = (student.value.trim() || "answers").replace(/[^\p{L}\p{N} ._-]/gu, "_").slice(0, 80) + ".yaml";
    link.href = URL.createObjectURL(new Blob([yaml()], { type: "application/yaml" }));
    link.click();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
    isSaved = true;
  }).attnSheet = yaml;
  button(".again", function () {
    if (!window.confirm("Remove everything that was typed on this page?")) return;
    try { localStorage.removeItem(STORED); } catch (error) { isKept = false; }
    stages = {};
    student.value = student.defaultValue;
    fill(null);
    show(null);
  });
  window.addEventListener("beforeunload", function (event) {
    if (!isSaved && !isKept) event.preventDefault();
  });
  try { fill(JSON.parse(localStorage.getItem(STORED))); } catch (error) { fill(null); }
  keep();
})();

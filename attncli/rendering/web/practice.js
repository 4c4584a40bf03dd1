// The practice page: a field for each number, judged when it is left; hints; a file of answers.
(function () {
  "use strict";
  var sealed = JSON.parse(document.getElementById("made").textContent).sealed;
  var bytes = Uint8Array.from(atob(sealed), function (sign) { return sign.charCodeAt(0) ^ 0x5a; });
  var data = JSON.parse(new TextDecoder().decode(bytes));
  var why = document.getElementById("why");
  var about = why.querySelector("b");
  var said = why.querySelector(".about span");
  var spoken = document.createElement("p"); // what is said of a number that was left, to a reader
  var hints = why.querySelector(".hints");
  var more = why.querySelector("button");
  var steps = []; // {problem, step, name, fields, tally} of each open step
  var shown = null; // the field that the box tells of
  var stages = {}; // by the number of a field: how many of its hints were asked for
  var isSaved = true;
  var SIGNS = { correct: "✓", last_digit: "≈", wrong: "✗", short: "✗", unreadable: "?" };
  var WORDS = {
    missing: "",
    correct: "Right.",
    last_digit: "Off in the last digit; that counts as right unless it is marked strictly.",
    wrong: "Not the right number in the digits that you typed. It may follow from an earlier " +
      "number of yours, or from rounding on the way; attn check can tell."
  };
  spoken.className = "unseen";
  spoken.setAttribute("role", "status");
  document.querySelector("main").append(spoken);
  document.body.classList.add("live");

  function numbers(values) {
    return values.map(function (value) { return value === null ? -Infinity : value; });
  }

  data.problems.forEach(function (problem) {
    Object.keys(problem.steps).forEach(function (name) {
      var step = problem.steps[name];
      step.readings.forEach(function (reading) {
        reading.right = numbers(reading.right);
        reading.others = reading.others.map(numbers);
      });
      steps.push({ problem: problem, step: step, name: name, fields: [], tally: null });
    });
  });
  document.querySelectorAll("input.n").forEach(function (field) {
    var place = data.fields[field.dataset.n];
    var group = steps[place[0]];
    field.attnGroup = group;
    group.fields[place[1]] = field;
    var mark = document.createElement("span");
    mark.className = "mark";
    mark.setAttribute("aria-hidden", "true");
    field.after(mark);
  });
  steps.forEach(function (group) {
    group.tally = document.createElement("p");
    group.tally.className = "tally";
    var section = group.fields.filter(Boolean)[0].closest("section");
    section.append(group.tally);
  });

  function groupsOf(problem) {
    return steps.filter(function (group) { return group.problem === problem; });
  }

  function isTyped(problem, name) {
    return groupsOf(problem).some(function (group) {
      return group.name === name && group.fields.some(function (field) { return field && field.value.trim(); });
    });
  }

  // What was typed in a step is judged together: neighbours tell what a 0 or a 1 stands for.
  function judge(group) {
    var faults = {};
    var given = Array.from(group.fields, function (field, place) {
      if (!field) return null;
      try {
        return attnNumbers.read(field.value, data.rules.missing);
      } catch (error) {
        if (!(error instanceof attnNumbers.NotANumber)) throw error;
        faults[place] = error.message;
        return null;
      }
    });
    while (given.length < group.step.readings[0].right.length) given.push(null);
    var codes = attnJudging.judge(group.step, given, data.rules, group.problem, function (name) {
      return isTyped(group.problem, name);
    });
    group.fields.forEach(function (field, place) {
      if (field) mark(field, place in faults ? "unreadable" : codes[place], faults[place]);
    });
    tell(group);
  }

  function mark(field, status, fault) {
    var cell = field.parentNode;
    cell.dataset.status = status;
    cell.querySelector(".mark").textContent = SIGNS[status] || "";
    var isWrong = ["wrong", "short", "unreadable"].indexOf(status) >= 0;
    if (isWrong) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
    field.attnSaid = WORDS[status];
    if (status === "short") {
      var count = field.attnGroup.problem.decimals;
      field.attnSaid = "Right, but with too few digits: " + count + (count > 1 ? " decimals are" : " decimal is") + " asked for.";
    }
    if (status === "unreadable") field.attnSaid = "This cannot be read: " + fault + ".";
  }

  function counts(groups) {
    var found = { right: 0, wrong: 0, all: 0 };
    groups.forEach(function (group) {
      group.fields.forEach(function (field) {
        var status = field ? field.parentNode.dataset.status : "";
        if (!field) return;
        found.all += 1;
        if (status === "correct" || status === "last_digit") found.right += 1;
        else if (status && status !== "missing") found.wrong += 1;
      });
    });
    return found;
  }

  function words(found) {
    return found.right + " of " + found.all + " right" + (found.wrong ? ", " + found.wrong + " wrong" : "");
  }

  function tell(group) {
    group.tally.textContent = group.name + ": " + words(counts([group]));
    var line = group.fields.filter(Boolean)[0].closest("article").querySelector(".total");
    line.textContent = words(counts(groupsOf(group.problem)));
  }

  // The box: what is said of the field, and as many of its hints as were asked for.
  function show(field) {
    shown = field;
    why.hidden = !field;
    document.documentElement.classList.toggle("told", Boolean(field));
    document.querySelectorAll("th.here").forEach(function (old) { old.classList.remove("here"); });
    if (!field) return;
    attnHeads(field.parentNode).forEach(function (head) { head.classList.add("here"); });
    about.textContent = field.getAttribute("aria-label");
    said.textContent = field.attnSaid || "";
    hint(field);
  }

  // First the formula of the cell, then the step with its numbers put in, then the number.
  function hint(field) {
    var number = field.dataset.n;
    var told = data.cells[number];
    hints.textContent = "";
    more.hidden = !told;
    if (!told) return;
    hints.innerHTML = data.shapes[told[1]];
    attnFill(hints, told.slice(2));
    var lines = Array.from(hints.children);
    var parts = lines.filter(function (line) { return !line.classList.contains("reason"); });
    var ends = [0, 1, parts.length - 1, lines.length].filter(function (end, i, all) {
      return i === 0 || end > all[i - 1];
    });
    var stage = Math.min(stages[number] || 0, ends.length - 1);
    lines.forEach(function (line, place) { line.hidden = place >= ends[stage]; });
    var left = ends.length - 1 - stage;
    more.hidden = !left;
    more.textContent = stage === 0 ? "Hint" : left > 1 ? "Show the step" : "Show the number";
  }

  function askForMore() {
    if (!shown || more.hidden) return;
    stages[shown.dataset.n] = (stages[shown.dataset.n] || 0) + 1;
    hint(shown);
  }

  more.addEventListener("click", function () {
    var field = shown;
    askForMore();
    field.focus({ preventScroll: true });
  });

  document.addEventListener("change", function (event) {
    if (!event.target.matches("input")) return;
    isSaved = false;
    if (!event.target.matches("input.n")) return;
    judge(event.target.attnGroup);
    spoken.textContent = event.target.getAttribute("aria-label") + ": " + event.target.attnSaid;
    if (shown) show(shown);
  });
  document.addEventListener("input", function (event) {
    if (!event.target.matches("input.n")) return;
    mark(event.target, "missing"); // it is judged when it is left
    if (shown === event.target) said.textContent = "";
  });
  document.addEventListener("focusin", function (event) {
    if (event.target.matches("input.n")) show(event.target);
    else if (!why.contains(event.target)) show(null);
  });
  document.addEventListener("click", function (event) {
    if (!event.target.closest("td.open, #why, label")) show(null);
  });

  function beside(field, rows, columns) {
    return attnBeside(field.parentNode, rows, columns, function (cell) { return cell.querySelector("input.n"); });
  }

  function other(field, by) {
    var all = Array.from(document.querySelectorAll("input.n"));
    return all[all.indexOf(field) + by] || null;
  }

  function go(field) {
    if (!field) return;
    field.focus();
    field.select();
  }

  document.addEventListener("keydown", function (event) {
    if (event.altKey && event.code === "KeyH") {
      event.preventDefault();
      askForMore();
      return;
    }
    var field = event.target;
    if (!field.matches || !field.matches("input.n")) return;
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    var atStart = field.selectionStart === 0, atEnd = field.selectionEnd === field.value.length;
    var isWhole = atStart && atEnd;
    var next = null;
    if (event.key === "Enter") next = other(field, event.shiftKey ? -1 : 1);
    if (event.key === "ArrowUp") next = beside(field, -1, 0) || other(field, -1);
    if (event.key === "ArrowDown") next = beside(field, 1, 0) || other(field, 1);
    if (event.key === "ArrowLeft" && (isWhole || (atStart && field.selectionEnd === 0))) next = beside(field, 0, -1);
    if (event.key === "ArrowRight" && (isWhole || (atEnd && field.selectionStart === field.value.length))) next = beside(field, 0, 1);
    if (event.key === "Escape") show(null);
    if (event.shiftKey && event.key !== "Enter") return;
    if (event.key === "Enter") {
      event.preventDefault();
      if (!next) field.dispatchEvent(new Event("change", { bubbles: true }));
    }
    if (next) {
      event.preventDefault();
      go(next);
    }
  });

  // The answers as YAML: a list of rows a step, with what was typed as it was typed.
  function yaml(problem, student) {
    var lines = problem.title ? ["# " + problem.title] : [];
    lines.push("student: " + quoted(student));
    groupsOf(problem).forEach(function (group) {
      var cells = Array.from(group.fields, function (field) { return field ? field.value.trim() : ""; });
      while (cells.length < group.step.readings[0].right.length) cells.push("");
      if (!cells.some(Boolean)) return;
      cells = cells.map(function (cell) { return cell ? quoted(cell) : "~"; });
      lines.push(group.name + ": " + nested(cells, group.step.shape));
    });
    return lines.join("\n") + "\n";
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
    for (var i = 0; i < shape[0]; i += 1) {
      parts.push(nested(cells.slice(i * size, (i + 1) * size), shape.slice(1)));
    }
    return "[" + parts.join(", ") + "]";
  }

  document.querySelectorAll("article").forEach(function (article, place) {
    var button = article.querySelector(".save");
    var problem = data.problems[place];
    article.attnSheet = function () { return yaml(problem, article.querySelector(".student").value.trim()); };
    button.hidden = false;
    button.addEventListener("click", function () {
      var link = document.createElement("a");
      var name = article.querySelector(".student").value.trim() || "answers";
      link.download = name.replace(/[^\p{L}\p{N} ._-]/gu, "_").slice(0, 80) + ".yaml";
      link.href = URL.createObjectURL(new Blob([article.attnSheet()], { type: "application/yaml" }));
      link.click();
      setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
      isSaved = true;
    });
  });
  window.addEventListener("beforeunload", function (event) {
    if (!isSaved) event.preventDefault();
  });
  steps.forEach(tell);
})();

// What a reader changes in the matrices of a page that recalculates: cells by typing, arrows, dragging and
// pasting, mask cells by a click, the words of tokens; with undo.
window.attnEditing = (function () {
  "use strict";
  const { all, homes, make, plainText, pageKey } = window.attnLive;
  const TEXT_FIELD = "input:not([type=checkbox], [type=range])";
  // What the window keeps while the page takes another size: the changes before each change, what is carried over,
  // and the step of the stage.
  const kept = (() => {
    try {
      const { of, ...rest } = JSON.parse(window.name);
      return of === pageKey ? rest : {};
    } catch (other) {
      return {};
    }
  })();
  window.name = "";
  const past = kept.past || [];
  let gesture = null; // what the last change belongs to: one undo takes a whole gesture back

  const cellOf = (event) => (event.target.closest ? event.target.closest("td.given") : null);
  const homeOf = (td) => homes[td.dataset.c];
  const nameOf = (td) => homeOf(td).calculation.nameOf(homeOf(td).id);
  const isMask = (td) => /(^|\.)mask\.\d+$/.test(nameOf(td));
  const textOf = (td) =>
    homeOf(td).calculation.state()[nameOf(td)] ?? plainText(homeOf(td).calculation.valueOf(homeOf(td).id));

  // Changes a problem to a state; returns whether its numbers could be calculated.
  function change(one, next, by) {
    const before = editing.changes();
    const beyond = one.calculate(next);
    if (beyond) {
      const isSentence = /\s/.test(beyond);
      one.say(isSentence ? `${beyond}.` : `With this, ${beyond} would hold a number beyond what a float can hold.`);
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
    editing.changed();
  }
  // Sets cells of one problem to numbers, all or none; returns whether they could be.
  function set(pairs, by) {
    const { calculation } = homeOf(pairs[0][0]),
      next = { ...calculation.state() };
    for (const [td, text] of pairs) {
      const { id } = homeOf(td), name = nameOf(td), input = calculation.inputOf(id);
      const [read, wrong] = namedNumber(calculation, name, text);
      if (wrong) {
        calculation.say(wrong);
        return false;
      }
      if (read.value === input.numbers[calculation.placeOf(id)]) delete next[name];
      else next[name] = read.text;
    }
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
    const [, token] = /^tokens\.(0|[1-9]\d*)$/.exec(name) || [];
    if (token !== undefined) return wordNamed(one, Number(token), text);
    const input = one.inputAt(name),
      answer = input ? number(text, input.infinite) : [null, "There is no such cell."];
    const isMaskCell = /(^|\.)mask\.\d+$/.test(name);
    if (answer[1] || !isMaskCell || answer[0].value === 0 || answer[0].value === 1) return answer;
    return [null, "A mask is made of 0 and 1."];
  }

  function wordNamed(one, i, text) {
    const word = text.trim();
    if (!/^[^\[\]\n,]{1,40}$/.test(word) || !isNaN(word)) return [null, "A token is a word without brackets and commas."];
    return one.isFree(i, word) ? [{ text: word }, ""] : [null, `${word} cannot be told from another token.`];
  }

  // A text with its last digit changed by some units.
  function stepped(text, by, finer = 0) {
    const read = attnNumbers.read(text),
      digits = /^-?\d*\.?(\d*)$/.exec(read.text);
    const count = digits ? digits[1].length : Number.isInteger(read.value) ? 0 : 4;
    return (read.value + by / 10 ** count).toFixed(count + finer).replace(/^-(?=[0.]*$)/, "");
  }
  function toggle(td) {
    set([[td, textOf(td) === "0" ? "1" : "0"]], null);
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
      const isRight = set([[td, field.value]], by),
        message = calculation.told.textContent;
      field.setAttribute("aria-invalid", !isRight);
      field.setAttribute("aria-describedby", calculation.told.id); // which says what is wrong
      if (isRight) return;
      putBack();
      calculation.say(message);
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

  // The word of a token is typed into its heading.
  function editWord(th, one) {
    const name = `tokens.${one.tokenOf(th)}`, field = make("input", { value: th.textContent, ariaLabel: "Token", autocomplete: "off" });
    let isOpen = true;
    const end = (isKept) => {
      if (!isOpen) return;
      isOpen = false;
      const [read, wrong] = namedNumber(one, name, field.value), next = { ...one.state(), [name]: read && read.text };
      if (read && read.text === one.tape.problem.tokens[one.tokenOf(th)]) delete next[name];
      field.remove();
      th.focus();
      if (isKept && !wrong) change(one, next, null);
      else if (isKept) one.say(wrong);
    };
    field.addEventListener("blur", () => end(true));
    field.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Enter" || event.key === "Escape") end(event.key === "Enter");
    });
    th.append(field);
    field.select();
  }
  const wordOf = (event) => {
    const th = event.target.closest ? event.target.closest("th") : null, one = th && all.find((problem) => problem.tokenOf(th) >= 0);
    return one && event.target === th ? [th, one] : null;
  };
  // Every heading can be clicked; the first of each token is reached with Tab, too.
  all.forEach((one) => {
    const seen = new Set();
    one.article.querySelectorAll("th").forEach((th) => {
      const i = one.tokenOf(th);
      if (i < 0) return;
      th.classList.add("word");
      if (!seen.has(i)) th.tabIndex = 0;
      seen.add(i);
    });
  });

  document.addEventListener(
    "keydown",
    (event) => {
      const td = cellOf(event), word = wordOf(event),
        isPlain = !event.ctrlKey && !event.altKey && !event.metaKey;
      if ((event.ctrlKey || event.metaKey) && event.key === "z" && !event.target.matches(TEXT_FIELD)) {
        event.preventDefault();
        undo();
      }
      if (word && (event.key === "Enter" || event.key === "F2")) {
        event.preventDefault();
        editWord(...word);
      }
      if (!td || !isPlain || event.target !== td) return;
      const begins = /^[^ cdfr]$/i.test(event.key); // which are keys of the stage
      if (event.key === "Enter" || (isMask(td) ? event.key === " " : begins || event.key === "F2")) {
        event.preventDefault();
        event.stopPropagation();
        if (isMask(td)) toggle(td);
        else edit(td, begins ? event.key : "");
      }
    },
    true,
  );

  // Sideways by a tenth of the unit in the last place every few pixels; with Shift by the unit.
  let drag = null; // what is pressed, and the cell whose number follows the pointer
  document.addEventListener("pointerdown", (event) => {
    const { target, clientX: x } = event, cell = cellOf(event), td = cell === target && !isMask(cell) && cell;
    drag = event.button === 0 ? { target, td, x, text: td && textOf(td), moved: false } : null;
  });
  document.addEventListener("pointermove", (event) => {
    if (!drag || !drag.td || (!drag.moved && Math.abs(event.clientX - drag.x) < 5)) return;
    drag.moved = true;
    const by = Math.round((event.clientX - drag.x) / 5);
    set([[drag.td, event.shiftKey ? stepped(drag.text, by) : stepped(drag.text, by / 10, 1)]], drag);
  });
  document.addEventListener("pointercancel", () => { drag = null; });
  document.addEventListener("click", (event) => {
    // A finger is lifted over something else if the page moved when it was put down.
    const at = event.pointerType && drag ? drag : event;
    const td = cellOf(at), word = wordOf(at), isDragged = drag && drag.moved;
    drag = null;
    if (word) editWord(...word);
    if (!td || at.target !== td || isDragged) return;
    if (isMask(td)) toggle(td);
    else edit(td, "");
  });

  // A block of a spreadsheet, or rows of numbers from elsewhere, fills the matrix from a cell on.
  document.addEventListener("paste", (event) => {
    const td = cellOf(event), rows = event.clipboardData.getData("text").trim().split(/\s*\n\s*/);
    const block = rows.map((row) => row.split(row.includes("\t") ? "\t" : /\s*;\s*|,\s+|\s+/));
    if (!td || block.flat().length < 2) return;
    event.preventDefault();
    event.stopPropagation();
    const lines = Array.from(td.closest("tbody").rows), y = lines.indexOf(td.parentNode);
    const pairs = block.flatMap((texts, i) => texts.map((text, j) => [lines[y + i] && lines[y + i].cells[td.cellIndex + j], text]));
    const field = td.querySelector("input");
    if (field) field.blur();
    if (pairs.every(([cell]) => cell && cell.matches(".given"))) set(pairs, null);
    else homeOf(td).calculation.say(`The block of ${block.length} × ${block[0].length} numbers does not fit from here on.`);
    td.focus();
  }, true);

  function undo() {
    gesture = null;
    if (past.length) editing.go(past.pop());
  }

  const editing = { change, show, undo, past, kept, settingNumber, namedNumber, changed: () => {} };
  return editing;
})();

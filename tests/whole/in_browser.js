// What is done on pages in a browser, by the names of `tests/data/cases/in_browser.yaml`.
//
// `frames.js` calls one of `scripts` in the frame of each page. `w` and `d` are the window and the
// document of the page; `one` is its calculation if the page is live.

var one = w.attnLive && w.attnLive.all[0];
var page = d.documentElement, why = d.getElementById("why");
var every = (kind) => Array.from(d.querySelectorAll(kind));
var texted = (all) => Array.from(all, (element) => element.textContent);
var said = () => texted(d.querySelectorAll("#why div p"));
var leads = () => every(".sources button");

function press(on, name, about) {
  var all = Object.assign({key: name, bubbles: true, cancelable: true}, about);
  on.dispatchEvent(new w.KeyboardEvent("keydown", all));
}
var key = (name) => press(d.activeElement, name);
var mouse = (on, kind) => on.dispatchEvent(new w.MouseEvent(kind, {bubbles: true}));

function pointed(on, kind, about) {
  on.dispatchEvent(new w.PointerEvent(kind, Object.assign({bubbles: true}, about)));
}

// Of pages that recalculate.
var inPage = one && one.cells.filter((c) => one.article.contains(c.td));
var named = (start) => inPage.filter((c) => one.nameOf(c.id).startsWith(start));
var cell = (name) => named(name).find((c) => one.nameOf(c.id) === name).td;
var texts = (start) => named(start).map((c) => c.td.textContent);
var labelled = (kind, name) => every(kind).find((e) => e.textContent === name);
var button = (name) => labelled(".controls button", name);
var box = (name) => labelled(".switch", name).firstChild;
var savedMask = () => one.yaml().replace(/\s+/g, " ").match(/ mask: (.*?) (?=\w+:|$)/)[1];
var follows = () => d.querySelector(".follows").textContent;

function type(td, text) {
  td.click();
  var field = td.querySelector("input");
  enter(field, text);
  return field;
}
function enter(field, text, kind) {
  field.value = text;
  field.dispatchEvent(new w.Event(kind || "input"));
}
function go(address) {
  w.history.replaceState(null, "", address.replace("KEY", w.attnLive.pageKey));
  w.dispatchEvent(new w.Event("hashchange"));
  return [one.state(), follows()];
}

var scripts = {
  focus_tells_how_a_number_was_made_and_arrows_move_it() {
    var table = d.querySelector("#scores .part:last-child table");
    var stops = () => table.querySelectorAll("td[tabindex='0']").length;
    var before = stops();
    table.querySelector("td[data-c]").focus();
    var first = said(), lit = texted(every("#scores td.from"));
    key("ArrowDown");
    var below = said(), heads = texted(every("th.here"));
    key("ArrowRight"); key("ArrowRight"); key("ArrowRight");
    var last = d.activeElement.textContent;
    var stopped = [before, stops()];
    key("Home");
    var home = d.activeElement.textContent;
    key("Escape");
    return {
      stopped, first, lit, below, heads, last, home, hidden: why.hidden,
      role: table.getAttribute("role"),
    };
  },

  pointing_tells_it_too_and_a_tap_beside_ends_it() {
    var td = d.querySelector("#weights td[data-c]");
    pointed(td, "pointerover", {pointerType: "mouse"});
    var shown = said();
    pointed(d.querySelector("h1"), "pointerover", {pointerType: "mouse"});
    var left = why.hidden;
    td.focus();
    d.body.click();  // a finger that opened the box is lifted over it
    var opened = why.hidden;
    mouse(d.querySelector("h1"), "mousedown");
    return {first: shown[0], last: shown[shown.length - 1], hidden: [left, opened, why.hidden]};
  },

  nothing_scrolls_sideways_but_tables_in_their_boxes() {
    var boxes = every(".scroll");
    boxes.forEach((box) => { box.scrollLeft = 400; });
    var side = (e) => e.getBoundingClientRect().left;
    var stays = boxes.filter((box) => box.scrollLeft).every((box) => {
      var label = box.querySelector("tbody th:has(+ td)");
      return !label || (side(label) === side(box) &&
                        w.getComputedStyle(label).borderRightStyle === "solid");
    });
    return {
      width: page.clientWidth, fits: page.scrollWidth <= page.clientWidth,
      tables: boxes.length > 5, brackets_stay: stays,
    };
  },

  long_words_and_formulas_do_not_widen_a_narrow_window() {
    d.querySelector("#aligned_x .part:last-child td[data-c]").focus();
    return [page.scrollWidth, page.clientWidth, why.scrollWidth <= 400, said().length >= 3];
  },

  long_sums_stay_in_the_box_of_a_narrow_window() {
    return ["#scores", "#sum", "#weights"].map(function (step) {
      var all = every(step + " .part:last-child td[data-c]");
      (all.length ? all : every("#exp .part:last-child td[data-c]"))[0].focus();
      return [page.scrollWidth, why.scrollWidth <= why.clientWidth, said().length > 1];
    });
  },

  text_of_labels_stays_text() {
    d.querySelector("#scores .part:last-child td[data-c]").focus();
    return {
      title: d.title, elements: d.querySelectorAll("img, b").length, said: said()[0],
      requests: w.performance.getEntriesByType("resource").length,
    };
  },

  where_there_is_room_the_explanation_stands_beside_the_page() {
    d.querySelector("#weights td[data-c]").focus();
    var box = why.getBoundingClientRect();
    return {
      beside: box.left >= d.querySelector("main").getBoundingClientRect().right,
      inside: box.right <= w.innerWidth && box.top >= 0 && box.bottom <= w.innerHeight,
      at_the_edge: Math.round(w.innerHeight - box.bottom) === 0,
    };
  },

  a_list_leads_to_every_step_and_labels_stay_in_view() {
    var links = every(".jump a").map((a) => a.getAttribute("href"));
    var box = d.querySelector(".scroll"), label = box.querySelector("tbody th");
    var before = label.getBoundingClientRect().left;
    box.scrollLeft = 300;
    return {
      links, missing: links.filter((l) => !d.querySelector(l)), moved: box.scrollLeft,
      stays: Math.abs(label.getBoundingClientRect().left - before) < 10,
    };
  },

  // By pointer through the numbers of the formula, by keys through the list below it.
  a_number_of_a_formula_leads_to_where_it_was_made_and_back() {
    var back = d.querySelector("#why button"), trail = [];
    var here = () => said()[0] + " in " + d.activeElement.closest("section").id;
    d.querySelector("#weights tr:nth-child(2) td[data-c]").focus();
    trail.push(here(), back.hidden);
    var numbers = every("#why math mn[data-to]");
    mouse(numbers[numbers.length - 2], "click");
    trail.push(here(), back.hidden);
    key("Enter");
    trail.push(d.activeElement.textContent);
    d.activeElement.click();
    trail.push(here());
    key("Backspace");
    trail.push(here());
    back.click();
    trail.push(here(), back.hidden);
    return {
      trail, leads: texted(leads()).slice(-2),
      shown: d.activeElement.classList.contains("now"),
    };
  },

  folded_steps_open_by_a_link_by_a_number_and_all_at_once() {
    var folds = every("details"), button = d.querySelector(".folds button");
    var open = () => folds.filter((f) => f.open).map((f) => f.parentNode.id);
    var states = [open()];
    d.querySelector("a[href='#weights']").click();
    states.push(open());
    d.querySelector("#weights td[data-c]").focus();
    leads()[0].click();
    states.push(open(), said()[0]);
    w.dispatchEvent(new w.Event("beforeprint"));
    states.push(open().length);
    w.dispatchEvent(new w.Event("afterprint"));
    states.push(open());
    var name = button.textContent;
    button.click();
    states.push(open().length);
    button.click();
    states.push(open().length);
    return {states, name, folds: folds.length};
  },

  // A power with more than two children is not shown as one.
  squares_of_negative_numbers_keep_their_exponents() {
    var squares = 0, counts = new Set();
    every("td[data-c]").forEach(function (td) {
      td.focus();
      every("#why msup, #why msub, #why mfrac").forEach((one) => counts.add(one.children.length));
      squares += said().join(" ").includes("(−3)2");
    });
    return {squares: squares > 0, children: Array.from(counts)};
  },

  // Pages that recalculate.

  typing_arrows_undo_and_reset() {
    var x = cell("X.1"), score = cell("scores.0");
    var before = [x.textContent, score.textContent, button("Undo").disabled];
    var field = type(x, "1/2");
    var typed = [score.firstChild.data, one.state()["X.1"], field.getAttribute("aria-label")];
    field.value = "1.5"; press(field, "ArrowUp"); press(field, "ArrowDown", {shiftKey: true});
    var stepped = [field.value, score.firstChild.data];
    enter(field, "abc");
    var wrong = [field.getAttribute("aria-invalid"), follows(), score.firstChild.data];
    enter(field, "2");
    press(field, "Enter");
    var kept = [x.textContent, x.classList.contains("changed"), follows()];
    press(type(x, "7"), "Escape");
    var escaped = x.textContent;
    button("Undo").click();
    var undone = [x.textContent, button("Undo").disabled];
    press(type(x, "9"), "Enter");
    button("Put all back").click();
    var reset = [x.textContent, score.textContent];
    return {before, typed, stepped, wrong, kept, escaped, undone, reset};
  },

  keys_alone_change_a_number() {
    var x = cell("X.0"), mask = cell("mask.1");
    x.focus(); press(x, "5");
    var field = x.querySelector("input"), begun = field.value;
    press(field, "Enter");
    var back = d.activeElement === x;
    mask.focus(); press(mask, "Enter");
    var told = w.attnLive.data.cells[cell("masked.1").dataset.c] || [];
    return {
      begun, back, mask: mask.textContent, weight: cell("weights.1").textContent,
      told: told.join(" ").includes("masked[I, am]"),
    };
  },

  dragging_changes_by_tenths_and_with_shift_by_units() {
    var x = cell("X.1");
    var point = (kind, at, shiftKey) => pointed(x, kind, {clientX: at, button: 0, shiftKey});
    point("pointerdown", 100); point("pointermove", 103);
    var still = x.textContent;
    point("pointermove", 120);
    var moved = x.textContent;
    point("pointermove", 120, true);
    var coarse = x.textContent;
    point("pointerup", 124); x.click();
    var isOpen = x.querySelector("input") !== null;
    button("Undo").click();
    return {still, moved, coarse, isOpen, undone: x.textContent};
  },

  a_block_is_pasted_whole_or_not_at_all() {
    function paste(td, text) {
      var clipboardData = new w.DataTransfer();
      clipboardData.setData("text/plain", text);
      td.focus();
      var about = {clipboardData, bubbles: true, cancelable: true};
      td.dispatchEvent(new w.ClipboardEvent("paste", about));
      return [texts("X.").join(" "), follows().slice(0, 54)];
    }
    var blocks = ["9\t0,5\n8\t1/2\n", "1 2 3 4", "1\tx", "7"];
    var all = blocks.map((text) => paste(cell("X.1"), text));
    paste(cell("mask.0"), "1 1 0\n1 1 1\n1 1 1");
    var mask = texts("mask.").join("");
    paste(cell("mask.0"), "1 2");
    var refused = follows();
    button("Undo").click(); button("Undo").click();
    return {all, mask, refused, undone: texts("X.").join(" ")};
  },

  a_token_is_renamed_everywhere() {
    var th = labelled("#X th, .step th", "am");
    function rename(word) {
      th.click();
      var field = th.querySelector("input");
      field.value = word;
      press(field, "Enter");
      return [th.textContent, follows()];
    }
    var right = rename("are"), same = rename("good"), number = rename("3")[0];
    cell("weights.1").focus();
    var told = texted([d.querySelector("#why .name"), ...every(".mixture sub")]);
    var yaml = one.yaml().split("\n").find((line) => line.startsWith("tokens"));
    button("Undo").click();
    return {
      right, same, number, name: told[0], old: told.slice(1).includes("am"), yaml,
      undone: th.textContent,
      address: go("#~KEY~tokens.0=we")[0], wrong: go("#~KEY~tokens.0=good")[0],
    };
  },

  words_that_are_no_names_alone_stay() {
    return every("th.word").length;
  },

  // Each size is a page that is loaded anew.
  a_token_more_and_another_number_of_heads_and_back() {
    var steps = window.steps = window.steps || [];
    var tokens = one.arrays(0).shape[2], changes = w.location.hash.split("~").slice(2);
    steps.push([tokens, one.state(), changes, one.yaml(), [...one.arrayOf("output").data]]);
    if (steps.length === 1) type(cell("X.19"), "5");
    var then = ["6 tokens", "1 head", "Undo", "Undo"][steps.length - 1];
    if (then) button(then).click();
    return steps;
  },

  controls_say_their_values_and_states() {
    enter(d.querySelector(".slider input"), 10);
    var mask = cell("mask.1"), before = mask.getAttribute("aria-label");
    mask.click();
    var field = type(cell("X.0"), "x");
    return {
      slider: d.querySelector(".slider input").getAttribute("aria-valuetext"),
      mask: [before, mask.getAttribute("aria-label")],
      field: d.getElementById(field.getAttribute("aria-describedby")).textContent,
      legend: d.querySelector(".legend").textContent,
    };
  },

  switches_and_sliders() {
    var s = cell("scaled.0"), first = s.textContent;
    var heading = () => d.querySelector("#scaled .formula").textContent;
    var written = heading();
    box("divide by √d_k").click();
    var unscaled = [s.textContent, heading()];
    button("Undo").click();
    enter(d.querySelector("input[type=range]"), 10);
    var slid = Number(s.textContent).toFixed(3);  // 2 / 3.46, twice the root of 3 in three digits
    box("causal mask").click();
    var causal = texts("mask.").join("");
    box("causal mask").click();
    return {first, written, unscaled, slid, causal, open: texts("mask.").join("")};
  },

  a_state_stands_in_a_file() {
    type(cell("X.2"), "-1/3"); cell("mask.1").click();
    return {yaml: one.yaml(), output: texts("output.")};
  },

  a_state_stands_in_the_address() {
    return [go("#weights~KEY~X.2=-1%2F3~mask.1=1")[0], cell("X.2").textContent];
  },

  numbers_beyond_floats_are_put_back() {
    type(cell("X.0"), "1e200");
    return {says: follows(), x: cell("X.0").firstChild.data, state: one.state()};
  },

  what_is_typed_is_taken_whole_or_not_at_all() {
    var x = cell("X.0");
    function typed(text) {
      var field = type(x, text.slice(0, 1));
      for (var i = 2; i <= text.length; i += 1) enter(field, text.slice(0, i));
      press(field, "Enter");
      var found = [x.firstChild.data, one.state()["X.0"] || "", follows().slice(0, 22)];
      press(field, "Escape");
      return found;
    }
    var all = ["12abc", "1e200", "0,5", "14%", "0x10"].map(typed);
    x.focus(); press(x, "s");
    return {all, opened: x.querySelector("input").value};
  },

  an_address_is_taken_whole_or_not_at_all() {
    var wrong = [
      "constructor=1", "__proto__.0=1", "X.length=1", "X.01=1", "X.99=5", "Q.0=1", "foo=1",
      "X.0=%", "X.0=0x10", "X.0=1,5", "X.0= 1", "X.0=", "X.0", "mask.0=7", "scale=0", "X.2=-inf",
      "X.0=1~X.0=2", "2:X.0=5", "X.0=1e200", "size=tokens-9", "X.0=5~", "heads~X.0=5",
    ];
    var taken = wrong.filter(function (part) {
      var [state, says] = go("#~KEY~X.1=1/2~" + part);
      return Object.keys(state).length ||
        !says.includes(" Nothing of the address is taken, because of ");
    });
    var right = go("#%E0%A4%A~KEY~X.1=1%2F2~mask.1=1")[0];
    var others = ["#%E0%A4%A~X.1=5", "#~0badf00d~X.1=5", "#~"].filter(function (address) {
      var [state, says] = go(address);
      return Object.keys(state).length ||
        !says.endsWith(" The address belongs to another problem.");
    });
    return {taken, right, others};
  },

  the_causal_switch_beside_a_mask_of_one_row() {
    var all = [texts("mask.").join("")], saved = [];
    for (var i = 0; i < 2; i += 1) {
      box("causal mask").click();
      all.push(texts("mask.").join(""));
      saved.push(savedMask());
    }
    return {all, saved, state: one.state()};
  },

  the_causal_switch_of_a_batch_with_lengths() {
    var all = [texts("mask.").join(""), box("causal mask").checked];
    box("causal mask").click();
    return {all: all.concat(texts("mask.").join("")), saved: savedMask()};
  },

  a_number_of_an_operation_is_shown_as_it_was_typed() {
    var field = d.querySelector("input.setting"), td = named("weights.")[0].td;
    return ["1/3", "0.33333333", "2.50", "2*sqrt(2)"].map((text) => {
      enter(field, text, "change");
      td.focus();
      return texted(every("#why [data-own]")).join();
    });
  },

  large_scores_are_shifted() {
    function numbers(state) {
      one.calculate(state);
      one.tell();
      var digits = (name) => Array.from(one.arrayOf(name).data, (x) => Number(x.toPrecision(6)));
      var told = "The largest score of each line is subtracted from the others now.";
      return [digits("exp"), digits("weights"), follows().includes(told)];
    }
    return [{}, {"scores.0": "3000"}, {"scores.0": "3000", "scores.1": "2999"}].map(numbers);
  },

  // The small map beside a live page, and the stage of a lecture.

  the_map_follows_every_change() {
    var inMap = (number) => every(".map .scroll")[number];
    var numbers = () => texted(inMap(0).querySelectorAll("td")).slice(-6).join(" ");
    var before = numbers();
    type(cell("X.16"), "1");
    return {
      before, changes: numbers() !== before, captions: texted(every(".map .caption")),
      below: inMap(2).querySelectorAll("td.below").length,
      largest: inMap(2).querySelectorAll("td[style='--w: 1.00;']").length,
    };
  },

  the_map_shows_the_weights_and_the_result() {
    return texted(every(".map .caption"));
  },

  the_map_is_laid_out_as_the_page() {
    var small = texted(every(".map .scroll")[0].querySelectorAll("td")).filter(Boolean);
    var large = texted(every("#weights .part:last-child td[data-c]"));
    return [small.length, large.every((x, i) => Math.abs(x - small[i]) <= 0.005)];
  },

  the_stage_goes_through_the_steps() {
    var lit = (kind) => texted(every(".step.on td." + kind)).join(" ");
    var on = () => every(".step.on").map((e) => e.id).join();
    var isOpen = () => page.classList.contains("stage");
    press(d.body, "f");
    var opened = [isOpen(), w.location.hash, on()];
    var first = [lit("from"), lit("now"), every(".step.on td.later").length];
    press(d.body, ".");
    var second = lit("now");
    for (var i = 0; i < 3; i += 1) press(d.body, " ");
    var inMap = () => texted(every(".map .scroll:not([hidden]) .caption"));
    var scores = [on(), d.querySelector(".stop").textContent, inMap()];
    var framed = every(".step.on .frame:not([hidden])").length;
    press(d.body, "ArrowLeft");
    var back = on();
    press(d.body, "PageDown"); press(d.body, "PageDown");
    var inputs = texted(every(".inputs .caption"));
    var x = d.querySelector(".inputs td.given");
    pointed(x, "pointerdown");
    var halted = every(".step.on td.later").length;
    type(x, "5");
    press(x.querySelector("input"), "f");
    var changed = [one.state(), cell("X.0").firstChild.data, isOpen()];
    press(x.querySelector("input"), "Enter");
    var whole = [];  // is the explanation of each step
    for (var i = 0; i < 5; i += 1) {
      if (i === 4) var reached = inMap();
      press(d.body, " ");
      whole.push(why.scrollHeight <= why.clientHeight);
    }
    press(d.body, "Escape");
    return {
      opened, first, second, scores, framed, back, inputs, halted, changed, whole, reached,
      closed: [isOpen(), w.location.hash.slice(0, 1), every("td.later").length, inMap().length],
    };
  },

  the_stage_walks_through_a_tour() {
    var stops = [], heads = (kind) => every(kind).flatMap((e, i) => (e.hidden ? [] : [i % 2 + 1]));
    press(d.body, "f");
    for (var i = 0; i < 4; i += 1) {
      stops.push([
        every(".step.on")[0].id, d.getElementById("says").textContent, texted(every(".step.on td.now"))[0] || "",
        every(".step.on td.later").length + every(".step.on td.now").length, heads(".step.on .heads > div"),
      ]);
      press(d.body, " ");
    }
    return {opener: texted(every(".opener"))[0], stops, map: heads(".map .scroll").slice(0, 2)};
  },

  the_stage_of_two_problems() {
    press(d.body, "f");
    return [1, 2, 3, 4, 5].map(() => {
      var shown = every(".group:not([hidden]) .map .scroll:not([hidden]), .inputs:not([hidden]) .scroll:not([hidden])");
      var seen = [every(".step.on")[0].id, d.getElementById("says").textContent, shown.filter((e) => e.offsetParent).length];
      press(d.body, " ");
      return seen;
    });
  },

  the_inputs_of_heads_have_their_names() {
    press(d.body, "f");
    return texted(every(".inputs .caption")).slice(0, 4);
  },

  keys_of_the_stage() {
    var isShown = (kind) => every(kind).some((e) => e.offsetParent);
    var count = () => Number(/of (\d+)/.exec(d.querySelector(".stop").textContent)[1]);
    var tools = () => [isShown(".controls .buttons"), isShown(".inputs [aria-label='1, not blocked']")];
    var paper = () => w.getComputedStyle(page).getPropertyValue("--paper");
    press(d.body, "f");
    var found = {tools: [tools()], steps: [count()]}, before = paper();
    ["c", "c"].forEach((name) => {
      press(d.body, name);
      press(d.body, "r");
      found.tools.push(tools());
      found.steps.push(count());
    });
    press(d.body, "d");
    found.painted = [paper() !== before];
    press(d.body, "d");
    found.painted.push(paper() === before);
    return found;
  },

  a_finger_is_lifted_where_the_page_moved() {
    var x = cell("X.0"), mask = cell("mask.1");
    [x, mask].forEach((td) => {
      pointed(td, "pointerdown");
      pointed(d.body, "click", {pointerType: "touch"});
    });
    return [x.querySelector("input") !== null, one.state()];
  },

  an_address_opens_the_stage() {
    go("#stage~KEY~X.0=3");
    var main = d.querySelector("main");
    return {
      stage: page.classList.contains("stage"), state: one.state(),
      below: why.offsetTop >= main.offsetTop + main.offsetHeight, hash: w.location.hash.slice(0, 7),
    };
  },
};

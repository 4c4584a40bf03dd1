// Judges what was typed in the way of working that leaves the fewest steps wrong, as judging/readings finds it, and
// with what a student may have gone on with, as naming/diagnosis does.
const attnJudging = (function () {
  "use strict";
  return function (problem, programs, rules) {
    const agreement = attnAgreement(rules), { zip, any, all, count, interval, isSame, agrees } = agreement;
    const operands = attnOperands(problem, programs, agreement), { inputs, wayOf } = operands;
    const judgeSteps = attnJudge(problem, operands, rules, agreement), { steps } = problem;
    const order = steps.flatMap((step, place) => (step.input ? [] : [place])), asGiven = wayOf({}, order, new Map());
    const judgmentOf = (way) => (way.judgment ??= judgeSteps(way));

    // What is unsure may be wrong: if `isEager`, another way is taken if it may be likelier, else if it surely is.
    function likeliest(first, isEager) {
      let way = first;
      const wrongIn = (one, mayBe) => one.order.filter((place) =>
        (judgmentOf(one).codes[place] || []).some((code) => code === "wrong" || (mayBe && code === "unsure")));
      [adjustedScores, ...[0, 1, 2].map((search) => (...found) => inForms(search, ...found))].forEach((search) => {
        search(way, wrongIn(way, isEager)).forEach((other) => {
          const wrong = wrongIn(way, isEager), added = [...other.typed.keys()].filter((place) => !way.typed.has(place));
          const possible = wrong.concat(added);
          if (!wrong.length || !isSeen(other, possible, way)) return;
          const rest = wrongIn(other, !isEager);
          if (rest.length < wrong.length && rest.every((place) => possible.includes(place))) way = other;
        });
      });
      return way;
    }
    // Returns true if a way gives half of the numbers that it changes in one of some steps.
    function isSeen(way, places, before) {
      return places.filter((place) => way.typed.has(place)).some((place) => {
        const one = way.typed.get(place), right = way.right(place), isReadAlike = before.typed.get(place) === one;
        const isOther = isReadAlike ? zip((x, y) => x !== y, right, before.right(place)) : right.map(() => true);
        const changed = all(isOther, one.values.map((x) => !isNaN(x)));
        const near = agrees(one.values, one.unit, interval(right), rules.CUT_OFF);
        const close = all(changed, zip((code, isNear) => (code === "unsure" ? isNear : code !== "wrong"), judgmentOf(way).codes[place], near));
        return changed.includes(true) && 2 * count(close, true) >= count(changed, true);
      });
    }
    // The scaled or masked scores under the name of the scores.
    function adjustedScores(way, wrong) {
      return ["scaled", "masked"].flatMap((kind) => {
        const scores = [...way.typed.keys()].filter((place) => steps[place].name.startsWith("scores"));
        const others = scores.map((place) => steps.findIndex(({ name, input }) => !input && name === steps[place].name.replace("scores", kind)));
        if (!scores.some((place) => wrong.includes(place)) || others.some((place) => place < 0 || way.typed.has(place))) return [];
        const to = new Map(zip((a, b) => [a, b], scores, others));
        const typed = new Map([...way.typed].map(([place, one]) => [to.get(place) ?? place, one]));
        return [wayOf(way.others, way.order, typed, Object.fromEntries(to), scores)];
      });
    }
    // Other right forms of the calculation; the last search is of those that are not evident: they must change every
    // wrong step, and a step after these must be typed.
    function inForms(search, way, wrong) {
      const isEvident = search < 2, last = Math.max(...wrong.map((place) => way.order.indexOf(place)));
      if (!isEvident && !way.order.slice(last + 1).some((place) => way.typed.has(place))) return [];
      const forms = problem.forms.filter((form) => form.search === search && form.needs.every((place) => way.typed.has(place)) &&
        !form.changes.some((place) => way.changes.includes(place)) &&
        (isEvident || form.changes.some((place) => wrong.includes(place))));
      return forms.flatMap((form) => {
        const made = { ...way.others, ...form.steps }, changes = way.changes.concat(form.changes);
        const other = wayOf(made, form.order || way.order, way.typed, way.moved, changes);
        const changed = wrong.filter((place) =>
          zip((x, y) => !isSame(x, y, rules.FLOAT_ERROR), other.right(place), way.right(place)).includes(true));
        return (isEvident ? isSeen(other, changed, way) : changed.length === wrong.length) ? [other] : [];
      });
    }

    // Later steps may go on from the right number where one was only copied wrongly, see `diagnosis.carried_forward`.
    function carriedForward(first) {
      const { way } = first, codes = [];
      let judgment = first;
      way.order.filter((place) => way.typed.has(place)).forEach((place) => {
        const answer = judgment.judged[place], later = way.order.slice(way.order.indexOf(place) + 1);
        const wrongAfter = ({ judged }) => later.reduce((sum, one) => sum + (judged[one] ? count(judged[one].codes, "wrong") : 0), 0);
        codes[place] = answer.codes;
        if (!answer.codes.includes("wrong") || !wrongAfter(judgment)) return;
        const other = judgeSteps(way, judgment, place, {
          ...answer,
          codes: answer.codes.map((code) => (code === "wrong" ? "missing" : code)),
          values: zip((x, code) => (code === "wrong" ? NaN : x), answer.values, answer.codes),
        });
        if (wrongAfter(other) < wrongAfter(judgment)) judgment = other;
      });
      return codes;
    }

    // The mistake that gives every number of a step, worked with the student's own numbers; a single wrong one is no
    // evidence.
    function mistakeIn({ way, judged, written }, place, codes) {
      const { values, units: { unit }, short } = judged[place], given = values.filter((x) => !isNaN(x));
      const isHollow = given.length > 2 && given.every((x) => x === given[0]);
      if (isHollow || short.includes(true) || count(codes, "wrong") < 2) return null;
      const found = problem.mistakes.find(([at, , changes]) => {
        if (at !== place || Object.keys(changes).some((one) => Number(one) !== place && way.typed.has(Number(one)))) return false;
        const changed = operands.replay(
          (one) => inputs[one] || (one !== place && way.typed.has(one) ? written.value(one) : null), (_, result) => result,
          (one, value) => operands.numbersOf(changes[one] || way.made(one).run, one, value));
        return any(values.map(isNaN), agrees(values, unit, interval(changed.result(place)))).every(Boolean);
      });
      return found ? found[1] : null;
    }

    // Reads what was typed in the cells of a step; `places` has the place in the step of each cell on paper.
    function read(place, cells) {
      const { shape, flips } = steps[place], [n, m] = shape.slice(2), tail = shape.slice(4).reduce((size, k) => size * k, 1);
      const right = inputs[place] || asGiven.right(place);
      const places = cells.map((_, at) => {
        const [last, column, row] = [at % tail, Math.floor(at / tail) % n, Math.floor(at / tail / n) % m];
        return flips ? at - (at % (n * m * tail)) + (column * m + row) * tail + last : at;
      });
      const one = { places, values: [], unit: [], texts: [], unreadable: [], faults: [] };
      cells.forEach((text, at) => {
        let number = null, fault = "";
        try {
          number = attnNumbers.read(text, rules, right[places[at]] === -Infinity);
        } catch (error) {
          if (!(error instanceof attnNumbers.NotANumber)) throw error;
          fault = error.message;
        }
        const to = places[at], { value, unit, text: digits } = number || { value: NaN, unit: 0, text: text || "~" };
        [one.values[to], one.unit[to], one.texts[to], one.unreadable[to], one.faults[at]] = [value, unit, digits, Boolean(fault), fault];
      });
      return one;
    }

    // Returns for each step of which something was typed, on paper: the codes of its cells, what is wrong with those
    // that cannot be read, and the mistake that gives its numbers. `cells` has the texts of steps, by their places.
    return function (cells) {
      const typed = new Map([...cells].map(([place, texts]) => [place, read(place, texts)]));
      const way = wayOf({}, order, typed), judgments = [false, true].map((isEager) => judgmentOf(likeliest(way, isEager)));
      const every = judgments.map(carriedForward), [{ way: { moved }, judged }] = judgments;
      return new Map([...typed].map(([place, { places, faults }]) => {
        const [mine, theirs] = judgments.map((judgment, i) => every[i][judgment.way.moved[place] ?? place]);
        const at = moved[place] ?? place, { short } = judged[at];
        const codes = mine.map((code, i) => (code !== theirs[i] ? "unsure" : code === "wrong" && short[i] ? "short" : code));
        const mistake = faults.some(Boolean) ? null : mistakeIn(judgments[0], at, codes);
        return [place, { codes: places.map((to, i) => (faults[i] ? "unreadable" : codes[to])), faults, mistake }];
      }));
    };
  };
})();

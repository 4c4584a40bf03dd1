// Judges the numbers that were typed as judging/judge does, with the same thresholds. Rounding schedules are not tried:
// a number that one of them may give is "unsure".
const attnJudge = (function () {
  "use strict";
  const isWrong = (code) => code === "wrong" || code === "unsure";
  const lead = (x) => Math.floor(Math.log10(x)) + 1;

  return function (problem, operands, rules, agreement) {
    const { steps } = problem, { inputs } = operands;
    const { zip, any, all, count, largest, interval, hull, wider, middle, bounded, isDecimal, isSame, agrees, exactCells } = agreement;

    // After another judgment, the steps after `from` are judged again with another answer there: wrong numbers of theirs
    // that are explained then follow from it.
    return function (way, before = null, from = -1, instead = null) {
      const { typed } = way, judged = [], meants = [];
      const { written, ends, hiddenBefore, withOther } = operands.operandsOf(way, judged);
      const texts = [...typed.values()].flatMap((one) => one.texts), units = [...typed.values()].flatMap((one) => one.unit);
      const hasDecimals = texts.some((text) => /^[^e]*\./i.test(text) && /^[^e]*[1-9]/i.test(text));
      const finest = hasDecimals ? Math.min(1, ...units.filter((one) => one > 0)) : 1;
      const meant = ends(meantOf);
      const isAnyBefore = (isSo) => judged.some((one) => one && one.codes.some(isSo));

      // Returns for which units an error of one is tolerated.
      function forgives(place, unit) {
        if (steps[place].shares) return unit.map((one) => one <= rules.MAX_TOLERATED_UNIT);
        const most = Math.max(largest(written.result(place)), largest(way.right(place)));
        return unit.map((one) => one <= (one < 1 ? Math.max(most, rules.TOLERATED_UNIT) : rules.MAX_TOLERATED_UNIT * most));
      }

      // The hypotheses of judging/judge, in their order, then what rounding on the way may give.
      function judgeStep(place) {
        const one = typed.get(place), { values } = one, right = way.right(place), isShare = Boolean(steps[place].shares);
        const most = isShare ? 1 : Math.max(largest(right), largest(values));
        const units = agreement.unitsOf({ ...one, isShare }, problem.decimals, finest, most), { unit } = units;
        const codes = values.map((x, at) => (isNaN(x) && !one.unreadable[at] ? "missing" : "wrong"));
        const answer = { ...one, units, codes, expected: right, short: [], isUnsureBefore: isAnyBefore((code) => code === "unsure") };
        const left = () => codes.map((code) => code === "wrong");
        const say = (code, cells) => cells.forEach((is, at) => { if (is) codes[at] = code; });
        say("correct", all(left(), agrees(values, units.correct, interval(right))));
        if (codes.includes("wrong")) compare(place, answer, left, say);
        if (!count(codes, "wrong", "unsure", "follows", "last_digit")) answer.expected = right;
        answer.values = values.map((x, at) => (codes[at] === "correct" && isSame(x, right[at], rules.FLOAT_ERROR_OF_EXACT) ? right[at] : x));
        return answer;
      }
      function compare(place, answer, left, say) {
        const { values, units, codes, isUnsureBefore } = answer, { unit } = units, isShare = steps[place].shares;
        const right = way.right(place), yours = written.result(place);
        const known = agreement.informative(bounded(meant.result(place)), Math.max(largest(right), largest(yours)));
        const rights = [right, ...(way.made(place).right ? [way.unrounded(place)] : [])].map((numbers) => interval(numbers));
        const every = [...rights, interval(yours), known];
        const isTolerated = all(
          forgives(place, isShare ? answer.unit : unit), unit.map(isDecimal), units.whole.map((is) => !is),
          values.map((x) => !isShare || (x >= 0 && x <= 1)));
        let rest = codes.map(() => true); // the rows that no hypothesis explains as a whole
        function explain(code, every, own, isNear) {
          every.forEach((numbers) => {
            if (!codes.includes("wrong")) return;
            const cells = near(values, numbers, isNear ? rules.CUT_OFF : rules.ROUNDED, own), numbersAt = middle(numbers);
            const found = all(cells, left(), isNear ? zip((is, exact) => is && !exact, isTolerated, exactCells(numbers, unit)) : cells);
            const row = isNear ? found.map(() => false) : all(rest, isRow(place, any(cells, values.map(isNaN))));
            say(code, found);
            answer.expected = zip((is, x, other) => (is ? other : x), any(row, all(found, rest)), answer.expected, numbersAt);
            rest = zip((is, was) => was && !is, row, rest);
          });
        }
        explain("correct", rights, units.correct, false);
        explain("follows", [interval(yours)], unit, false);
        explain(isUnsureBefore ? "unsure" : "follows", [known], unit, false); // what is meant may be other numbers
        explain(isUnsureBefore ? "unsure" : "last_digit", every, unit, true);
        if (problem.decimals) {
          const isShort = any(...[right, yours].map((numbers) => agrees(values, answer.unit, interval(numbers))));
          answer.short = all(isShort, left(), zip((own, one) => own > one, answer.unit, unit));
        }
        if (codes.includes("wrong")) leaveOpen(place, answer, yours, every);
        answer.expected = zip((x, other, code) => (isWrong(code) ? other : x), answer.expected, yours, codes);
      }
      function near(values, numbers, units, unit) {
        const close = agrees(values, unit, numbers, units), more = problem.tolerance;
        return more ? any(close, agrees(values, unit, wider(numbers, unit.map(() => more)), 0)) : close;
      }
      function isRow(place, cells) {
        const width = steps[place].shape[steps[place].shape.length - 1];
        return cells.map((_, at) => cells.slice(at - (at % width), at - (at % width) + width).every(Boolean));
      }

      // Returns the numbers of a step before rounding: of a wrong one, whatever rounds to it; see `Operands._meant`.
      function meantOf(place) {
        return (meants[place] ??= meantNow(place));
      }
      function meantNow(place) {
        const { codes, values, units, expected } = judged[place], { unit, whole } = units;
        if (!way.order.slice(0, way.order.indexOf(place) + 1).some((one) => judged[one] && judged[one].codes.some(isWrong))) {
          const used = zip((code, x, typed) => (code === "last_digit" ? typed : x), codes, expected, values);
          return hull(interval(expected), interval(used));
        }
        const follows = bounded(meant.result(place)), right = interval(way.right(place));
        const isUnrounded = [right, meant.result(place)].every((numbers) => agreement.isExact(numbers, unit));
        const [height, width] = steps[place].shape.slice(-2), size = height * width;
        const isInLine = (at, other) => Math.floor(at / width) === Math.floor(other / width) ||
          (at % width === other % width && Math.floor(at / size) === Math.floor(other / size));
        const isBeside = codes.map((_, at) => codes.some((code, other) => isWrong(code) && isInLine(at, other)));
        const every = codes.map((code, at) => {
          const isOff = isWrong(code), own = (code === "correct" ? units.correct : unit)[at];
          const isExactHere = (isUnrounded && !(isBeside[at] && own < 1)) || (isOff && whole[at]);
          const half = isExactHere ? 0 : rules.ROUNDED * own;
          const around = [values[at] - half, values[at] + half];
          if (isOff || (isBeside[at] && code === "correct")) return around;
          const both = [Math.max(follows.low[at], around[0]), Math.min(follows.high[at], around[1])];
          if (!(follows.low[at] < follows.high[at] && both[0] <= both[1])) return [expected[at], expected[at]];
          return code === "correct" ? [Math.min(expected[at], both[0]), Math.max(expected[at], both[1])] : both;
        });
        return interval(every.map(([low]) => low), every.map(([, high]) => high));
      }

      // Leaves open what a rounding schedule may give, numbers of which some were used otherwise than typed, and what
      // depends on numbers that are left open.
      function leaveOpen(place, { codes, values, units, short, isUnsureBefore }, yours, every) {
        const { unit, coarse } = units, off = codes.map((code) => code === "wrong");
        const spare = steps[place].shares ? steps[place].shape[steps[place].shape.length - 1] : 0; // adjusted to a sum of 1
        // While all numbers before it are right, a whole number of whole numbers is no other when it is rounded or cut off.
        const isWhole = (ends) => (isAnyBefore(isWrong) ? off.map(() => false) : all(coarse.map((one) => one >= 1), exactCells(ends, coarse)));
        const isIn = (ends) => agrees(
          values, zip((one, is) => (is ? 0 : one), coarse, isWhole(ends)),
          wider(ends, coarse.map((one) => spare * one)), rules.CUT_OFF);
        const given = count(values.map(isNaN), false), isFirst = !way.sourcesOf(place).length;
        const within = isIn(reach(place, 1, COARSEST)), beyond = count(zip((is, inside) => is && !inside, off, within), true);
        const isScheduled = (!isFirst || steps[place].isLong || way.made(place).wide) && !short.includes(true) &&
          zip((is, one) => !is || isDecimal(one) || one === 0, off, unit).every(Boolean) &&
          (!beyond || given - beyond >= rules.MIN_SHARE_GIVEN * given);
        const exactly = reach(place, 1, null), isUsed = isIn(exactly);
        const isShown = !isFirst && any(isUsed, values.map(isNaN)).every(Boolean);
        const around = hull(...every.slice(0, -1), bounded(every[every.length - 1])), isCoarse = zip((a, b) => a > b, coarse, unit);
        const isFixed = (way.made(place).ends || way.made(place).run || [0]).length < 2; // made of numbers that are no step
        const isFiner = !hasDecimals || !(isFixed || hiddenBefore(place).size) ? off.map(() => false)
          : isFixed ? off : isIn(reach(place, 0, FINER));
        const isClose = any(
          all(isFiner, agrees(values, unit, around, rules.MAX_FINER)), all(isCoarse, agrees(values, coarse, around, rules.CUT_OFF)));
        const isOpen = zip((is, isClose, isPossible, isBy) => is && (isClose || isShown || (isUnsureBefore && isPossible) ||
          (isScheduled && isPossible && isBy)), off, isClose, within, isScheduled ? isIn(leadingTo(place, yours, exactly)) : off);
        isOpen.forEach((is, at) => { if (is) codes[at] = "unsure"; });
        // A schedule that gives these gives other numbers, too.
        if (isScheduled && codes.includes("unsure")) codes.forEach((code, at) => { if (code === "last_digit") codes[at] = "unsure"; });
      }
      // Intervals that hold what a step may become: shown numbers may be others within some units, and hidden ones are
      // rounded to a unit, or not; see `early_rounding.reach`.
      function reach(place, more, unitOf) {
        const around = (other) => {
          const { values, units, expected, codes } = judged[other];
          const used = zip((code, x, typed) => (code === "wrong" ? typed : x), codes, expected, values);
          const every = hull(interval(values), meantOf(other), interval(used));
          if (!more) return every;
          // What the numbers before it give, and nothing else, as whole numbers of whole inputs, may be no other.
          const { low, high } = replayed.result(other);
          const isFixed = zip((x, ...all) => all.every((one) => isSame(one, x, rules.FLOAT_ERROR_OF_EXACT)), values, low, high, used);
          return wider(every, zip((one, is) => (is ? 0 : more * one), units.coarse, isFixed));
        };
        const coarser = (result) => {
          const { low, high } = bounded(result);
          const unit = zip((a, b) => {
            const size = Math.max(Math.abs(a), Math.abs(b)), one = size > 0 && isFinite(size) ? unitOf(size) : 0;
            return one && a === b && isSame(Math.round(a / one) * one, a, rules.FLOAT_ERROR_OF_EXACT) ? 0 : one;
          }, low, high);
          return interval(
            zip((x, one) => (x >= 0 ? Math.max(0, x - one) : x - one / 2), low, unit),
            zip((x, one) => (x <= 0 ? Math.min(0, x + one) : x + one / 2), high, unit));
        };
        const replayed = ends(around, unitOf ? coarser : undefined, unitOf !== FINER);
        return bounded(replayed.result(place));
      }
      const COARSEST = (x) => Math.max(0.1, 10 ** (lead(x) - 2));
      const coarsest = Math.max(0, ...units.filter((one) => one < 1)); // that was typed
      const FINER = (x) => Math.max(coarsest / 10, 10 ** (lead(x) - 3));

      // The same, but less wide: as far as rounding each of the hidden steps alone leads, in sum.
      function leadingTo(place, yours, ends) {
        const hidden = [...hiddenBefore(place)], by = [-1, 1].map(() => yours.map(() => 0));
        if ([...hidden, place].some((one) => steps[one].isLong)) return reach(place, 1, COARSEST);
        hidden.forEach((one) => {
          const numbers = written.value(one), most = [Math.min, Math.max].map((rule) => [rule, yours.map(() => 0)]);
          ROUNDINGS.forEach(([powerOf, up]) => {
            const rounded = numbers.map((x) => {
              const power = x && isFinite(x) ? powerOf(Math.abs(x)) : NaN;
              return power ? (Math.sign(x) * Math.floor(Math.abs(x) * power + up)) / power : x;
            });
            withOther(place, one, rounded).forEach((x, at) => {
              const off = isFinite(x - yours[at]) ? x - yours[at] : 0;
              most.forEach(([rule, sides]) => { sides[at] = rule(sides[at], off); });
            });
          });
          most.forEach(([, sides], i) => sides.forEach((x, at) => { by[i][at] += MORE * x; }));
        });
        return interval(zip((x, off) => x + off, ends.low, by[0]), zip((x, off) => x + off, ends.high, by[1]));
      }
      const MORE = 1.06; // as roundings together lead further than each alone
      const ROUNDINGS = [(x) => 10, (x) => 10 ** (2 - lead(x))].flatMap((powerOf) => [[powerOf, 0.5], [powerOf, 0]]);

      // A step with what another answer of the same numbers explains of them.
      function followed(answer, other) {
        const cells = zip((code, found) => code === "wrong" && found !== "wrong", answer.codes, other.codes);
        const follows = other.codes.map((code, at) =>
          (other.isUnsureBefore || answer.short[at] ? "unsure" : code === "correct" ? "follows" : code));
        const put = (is, mine, theirs) => (is ? theirs : mine);
        return { ...answer, codes: zip(put, cells, answer.codes, follows), expected: zip(put, cells, answer.expected, other.expected) };
      }
      way.order.filter((place) => typed.has(place)).forEach((place) => {
        const first = before && before.judged[place], isLater = way.order.indexOf(place) > way.order.indexOf(from);
        if (place === from) judged[place] = instead;
        else if (first && !(isLater && first.codes.includes("wrong"))) judged[place] = first;
        else judged[place] = first ? followed(first, judgeStep(place)) : judgeStep(place);
      });
      return { way, judged, written, codes: judged.map((one) => one.codes) };
    };
  };
})();

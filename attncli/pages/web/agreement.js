// When numbers that were typed agree with others, as in judging/agreement. Arrays are lists; an interval has two.
const attnAgreement = (function () {
  "use strict";
  const zip = (rule, ...arrays) => arrays[0].map((_, at) => rule(...arrays.map((array) => array[at])));
  const any = (...masks) => zip((...cells) => cells.some(Boolean), ...masks);
  const all = (...masks) => zip((...cells) => cells.every(Boolean), ...masks);
  const count = (codes, ...some) => codes.filter((code) => some.includes(code)).length;
  const largest = (numbers) => numbers.reduce((most, x) => (isFinite(x) ? Math.max(most, Math.abs(x)) : most), 0);

  const interval = (low, high = low) => ({ low, high });
  const hull = (...parts) =>
    interval(zip(Math.min, ...parts.map((one) => one.low)), zip(Math.max, ...parts.map((one) => one.high)));
  const wider = ({ low, high }, by) => interval(zip((x, more) => x - more, low, by), zip((x, more) => x + more, high, by));
  const middle = ({ low, high }) => zip((a, b) => (a === b ? a : (a + b) / 2), low, high);
  const bounded = ({ low, high }) =>
    interval(low.map((x) => (isNaN(x) ? -Infinity : x)), high.map((x) => (isNaN(x) ? Infinity : x)));

  // A power of ten, not the unit of an expression such as 16/1.73.
  const isDecimal = (unit) => unit > 0 && Math.abs(Math.log10(unit) - Math.round(Math.log10(unit))) < 1e-6;
  const isSame = (x, right, error) => x === right || Math.abs(x - right) <= error * Math.abs(right);

  return function (rules) {
    function errors({ low, high }) {
      const size = zip((a, b) => Math.max(Math.abs(a), Math.abs(b)), low, high).map((x) => (isFinite(x) ? x : 0));
      const term = Math.min(Math.max(rules.SMALLEST_TERM, ...size), rules.LARGEST_TERM);
      return size.map((x) => rules.FLOAT_ERROR * (x + rules.NEAR_ZERO * term));
    }
    // Returns which numbers are within some units in the last place of what is expected.
    function agrees(values, unit, ends, units = rules.ROUNDED) {
      const { low, high } = wider(ends, zip((one, error) => units * one + error, unit, errors(ends)));
      return zip((x, least, most) => x >= least && x <= most, values, low, high);
    }
    // Returns which numbers, or intervals without width, have no more digits than were typed.
    const exactCells = (ends, unit) => zip((low, high, one, error) => {
      if (high - low > error || !isFinite(low) || !(one > 0)) return false;
      return Math.abs(Math.round(low / one) * one - low) <= rules.FLOAT_ERROR_OF_EXACT * Math.abs(low);
    }, ends.low, ends.high, unit, errors(ends));
    function isExact(ends, unit) {
      const kept = zip((one, low) => one > 0 && isFinite(low), unit, ends.low), exact = exactCells(ends, unit);
      return kept.includes(true) && kept.every((is, at) => !is || exact[at]);
    }
    // Returns intervals with nan for those that are so wide that nearly any number would follow.
    function informative({ low, high }, most) {
      const isKnown = zip((a, b) => a === b || b - a <= rules.MAX_WIDTH * most, low, high);
      return interval(...[low, high].map((side) => zip((x, is) => (is ? x : NaN), side, isKnown)));
    }

    const zerosOf = (x, unit) => (x % (10 * unit) === 0 ? zerosOf(x, 10 * unit) : unit); // 1200 may mean 1204

    // Returns the units of what was typed: `unit` of the last digits that tell something, as in judge.Judge._units;
    // `correct` of numbers that are right, `coarse` of whole numbers that may be rounded. A whole number beside
    // decimals may have as many as its neighbours: here the finest, and `coarse` is what it may be at most.
    function unitsOf({ values, unit, isShare }, decimals, finest, most) {
      const none = unit.map(() => false);
      if (decimals) {
        const padded = unit.map((one) => Math.min(one, Number(`1e-${decimals}`)));
        return { unit: padded, correct: padded, coarse: padded, whole: none };
      }
      if (Math.max(0, ...unit) <= rules.FINE_UNIT) return { unit, correct: unit, coarse: unit, whole: none };
      const finer = unit.filter((one, at) => one > 0 && one < 1 && !isNaN(values[at]));
      const instead = finer.length ? Math.max(...finer) : most / 10;
      const told = zip((one, x) => {
        const tellsNothing = (one >= 1 && 2 * one > most) || (x === 0 && one === 1 && finer.length);
        return tellsNothing ? instead : one;
      }, unit, values);
      const areWhole = (units) => units.map((one) => one === 1);
      const whole = finest < 1 ? areWhole(unit) : none, isBeside = finer.length || unit.filter((one) => one > 0).length < 2;
      return {
        unit: zip((one, is) => (is && isBeside ? Math.min(one, finest) : one), told, areWhole(told)),
        correct: isShare ? told : zip((one, own, is, x) => (is && x !== 0 ? Math.max(own, one) : one), told, unit, whole, values),
        coarse: zip((one, x) => (one > rules.FINE_UNIT && Math.abs(x) >= rules.LARGE_WHOLE ? zerosOf(x, one) : one), told, values),
        whole,
      };
    }
    return {
      zip, any, all, count, largest, interval, hull, wider, middle, bounded, isDecimal, isSame, agrees, exactCells,
      isExact, informative, unitsOf,
    };
  };
})();

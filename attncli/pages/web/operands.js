// The numbers from which steps are made, as in judging/operands: the program's calls of NumPy are made again, with
// numbers and with the ends of intervals.
const attnOperands = (function () {
  "use strict";
  return function ({ steps }, programs, { zip, interval }) {
    const sizes = steps.map((step) => step.shape.reduce((size, n) => size * n, 1));
    const inputs = steps.map((step) => step.input && step.input.map((x) => x ?? -Infinity));

    // Calculates steps where they are not known; `settle` says what the result becomes before it is used.
    function replay(known, settle, apply) {
      const values = [], results = [];
      const result = (place) => (results[place] ??= apply(place, value));
      const value = (place) => (values[place] ??= known(place) ?? settle(place, result(place)));
      return { value, result };
    }
    function called([program, ...operands], place, data) {
      attnNumpy.noise.level = steps[place].backward ? 2 ** -46 : 0;
      return attnNumpy.run(programs[program], operands.map((one) => ({ shape: steps[stepOf(one)].shape, data: data(one) })));
    }
    const stepOf = (operand) => (operand < 0 ? -1 - operand : operand); // below 0 of its high ends
    // Returns the numbers of a step; nan where the page cannot calculate it.
    function numbersOf(call, place, value) {
      const { shape } = steps[place], zeros = { shape, data: new Float64Array(sizes[place]) };
      return call ? Array.from(attnNumpy.run([["add", [0, 1]]], [called(call, place, value), zeros]).data) : Array(sizes[place]).fill(NaN);
    }
    // Returns the interval of a step by the first call that holds for these operands; all numbers if none does.
    function endsOf(calls, place, value) {
      const size = sizes[place];
      for (const call of calls.filter(Boolean)) {
        const { data } = called(call, place, (one) => (one < 0 ? value(-1 - one).high : value(one).low));
        if (data.slice(2 * size).every((x) => x === 0)) {
          return interval(Array.from(data.slice(0, size)), Array.from(data.slice(size, 2 * size)));
        }
      }
      return interval(Array(size).fill(-Infinity), Array(size).fill(Infinity));
    }

    // A way of working: the steps that are made otherwise, their order, and the numbers that were typed, by steps.
    function wayOf(others, order, typed, moved = {}, changes = []) {
      const made = (place) => others[place] || steps[place];
      const exact = replay((place) => inputs[place], (_, result) => result, (place, value) => numbersOf(made(place).run, place, value));
      const right = (place) => inputs[place] || made(place).right?.map((x) => x ?? -Infinity) || exact.value(place);
      const sourcesOf = (place) => (made(place).ends || made(place).run || [0]).slice(1).map(stepOf).filter((one) => !inputs[one]);
      return { made, others, order, typed, moved, changes, right, unrounded: exact.value, sourcesOf };
    }

    // What one submission leads to: `judged` has the steps that were typed, as far as they are judged.
    function operandsOf(way, judged) {
      const isWhole = (place) => Boolean(judged[place]) && !judged[place].values.some(isNaN);
      const valuesOf = (place) => judged[place].values;
      const completed = (place, result, shown) =>
        (judged[place] ? zip((x, own, typed) => (isNaN(typed) ? x : own), result, shown, valuesOf(place)) : result);
      const written = replay(
        (place) => inputs[place] || (isWhole(place) ? valuesOf(place) : null),
        (place, result) => (judged[place] ? completed(place, result, valuesOf(place)) : result),
        (place, value) => numbersOf(way.made(place).run, place, value));
      // Intervals, with those that `shown` has of what was typed; hidden steps are settled.
      function ends(shown, settle = (result) => result, isWide = false) {
        const put = (place, { low, high }) => {
          const own = judged[place] ? shown(place) : null;
          return own ? interval(completed(place, low, own.low), completed(place, high, own.high)) : { low, high };
        };
        return replay(
          (place) => (inputs[place] ? interval(inputs[place]) : isWhole(place) ? shown(place) : null),
          (place, result) => put(place, settle(result)),
          (place, value) => {
            const made = way.made(place), isJoint = made.joint && !way.typed.has(made.total);
            return endsOf(isWide && made.wide ? [made.wide] : [isJoint && made.joint, made.ends], place, value);
          });
      }
      // Returns the hidden steps between a step and the shown ones.
      function hiddenBefore(place, found = new Set()) {
        way.sourcesOf(place).filter((one) => !isWhole(one) && !found.has(one)).forEach((one) => hiddenBefore(one, found.add(one)));
        return found;
      }
      // Returns a step made from other numbers of one before it; what does not depend on that is as before.
      function withOther(place, one, numbers) {
        const found = new Map([[one, true]]);
        const depends = (other) => {
          if (!found.has(other)) found.set(other, !isWhole(other) && !inputs[other] && way.sourcesOf(other).some(depends));
          return found.get(other);
        };
        return replay(
          (other) => (other === one ? numbers : inputs[other] || (depends(other) ? null : written.value(other))),
          (other, result) => (judged[other] ? completed(other, result, valuesOf(other)) : result),
          (other, value) => numbersOf(way.made(other).run, other, value)).result(place);
      }
      return { written, ends, hiddenBefore, withOther };
    }
    return { inputs, replay, numbersOf, wayOf, operandsOf };
  };
})();

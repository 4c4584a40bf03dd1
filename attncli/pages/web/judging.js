// Looks typed numbers up in the table of answers of a step (see pages/practice), by the unit of their last digit.
var attnJudging = (function () {
  "use strict";
  const ODD = /\.$|\.\D|e|\d{8}|^\D?[1-9]\d\d+0$/i; // digits from which the program reads more than their last place

  const size = (value) => (isFinite(value) ? Math.abs(value) : 0);
  const count = (codes, ...some) => codes.filter((code) => some.includes(code)).length;

  // Returns the status of each cell by one row of the table: a right calculation, or a mistake.
  function lookUp(row, typed, decimals) {
    const sizes = typed.map((one) => (one ? size(one.value) : 0));
    const units = attnNumbers.units(typed, row.isShare ? 1 : Math.max(row.largest, ...sizes), decimals);
    const coarsest = Math.max(0, ...units.filter((unit) => unit < 1));
    const codes = typed.map((one, i) => {
      if (!one) return "missing";
      const unit = units[i], values = row.right.map((right) => right[i] ?? -Infinity);
      const error = row.error * (size(values[0]) + row.near);
      const off = Math.min(...values.map((value) => (one.value === value ? 0 : Math.abs(one.value - value))));
      if (off <= unit / 2 + error || off <= row.tolerance + error) return "correct";
      const isWhole = !decimals && one.unit === 1 && coarsest > 0; // beside decimals, which has no last digit
      const isForgiven = !isWhole && (row.isShare ? one.unit : unit) <= row.forgiven;
      if (isForgiven && off < row.lastDigit * unit) return "last_digit";
      if (decimals && off <= one.unit / 2 + error) return "short";
      if (off <= Math.min(5 * unit, coarsest * (row.finer[i] - 1) + unit) + error) return "unsure";
      const reach = (one.value < values[0] ? row.below : row.above)[i] + row.units[i] * unit;
      return off <= reach + error ? "near" : "wrong";
    });
    // A rounding schedule explains most wrong numbers of a step, or none.
    const within = count(codes, "near", "unsure"), wrong = within + count(codes, "wrong");
    const isFew = within < Math.min(wrong, Math.max(row.fewest, row.fewestShare * wrong));
    return codes.map((code) => (code !== "near" ? code : isFew ? "wrong" : "unsure"));
  }

  // Returns a status for each cell of a step (correct, last_digit, wrong, unsure, short or missing) and the mistake
  // that gives every number, or null; a single wrong one is no evidence. `typed` holds what was read of each cell, or
  // null; `isTyped` tells of which steps any was.
  function judge(step, typed, decimals, isTyped) {
    const some = typed.filter(Boolean), by = (row) => lookUp({ ...step.readings[0], ...row }, typed, decimals);
    const [main, ...others] = step.readings.filter((row) => !row.unless || !isTyped(row.unless)).map(by);
    const right = [main, ...others].find((codes) => !count(codes, "wrong", "unsure"));
    if (right) return { codes: right, mistake: null };
    const isOdd = some.some((one) => isNaN(one.unit) || ODD.test(one.text)) ||
      others.some((codes) => !count(codes, "wrong") && 2 * count(codes, "unsure") <= some.length);
    const codes = main.map((code) => (code === "wrong" && isOdd ? "unsure" : code));
    const isHollow = some.length > 2 && some.every((one) => one.value === some[0].value);
    const isClear = !isHollow && !count(codes, "short") && count(codes, "wrong") > 1;
    const gives = (row) => !count(by({ ...step.mistaken, ...row }), "wrong", "unsure", "short", "last_digit");
    return { codes, mistake: (isClear && step.mistakes.find(gives)) || null };
  }

  return { judge };
})();

// Compares the numbers that were typed for a step with those that the program worked out for it:
// right ones, ones that rounding on the way may give, and ones that mistakes give. `rules` holds
// the tolerances of checking/answers/agreement; pages/practice says what the rest is.
var attnJudging = (function () {
  "use strict";
  var ODD = /\.$|\.\D|e|\d{8}/i; // digits from which the program reads more than their last place

  function size(value) { return isFinite(value) ? Math.abs(value) : 0; }

  function largest(values) { return Math.max.apply(null, values.map(size)); }

  // Whether a number is within some distance, beside the error of floats, of one of a step.
  function isNear(one, value, distance, reading, rules) {
    var more = distance + rules.share * (size(value) + reading.near);
    return one.value === value || (one.value >= value - more && one.value <= value + more);
  }

  // The units of the last digits that say something. A whole number among smaller ones, such as a
  // weight of 1, is rounded as its neighbours are; with wanted decimals, all are padded with zeros.
  function unitsOf(given, reading, step, decimals) {
    var units = given.map(function (one) { return one && one.unit || 0; });
    if (decimals) return units.map(function (unit) { return Math.min(unit, Number("1e-" + decimals)); });
    var values = given.map(function (one) { return one ? one.value : 0; });
    var most = step.isShare ? 1 : Math.max(largest(reading.right), largest(values));
    var finer = units.filter(function (unit) { return unit > 0 && unit < 1; });
    var instead = finer.length ? Math.max.apply(null, finer) : most / 10;
    return units.map(function (unit, i) {
      var isAZero = given[i] && values[i] === 0 && unit === 1 && finer.length;
      return isAZero || (unit >= 1 && 2 * unit > most) ? instead : unit;
    });
  }

  function isExact(value, unit, reading, rules) {
    var off = Math.round(value / unit) * unit - value;
    return isFinite(value) && Math.abs(off) <= rules.shareOfExact * (size(value) + reading.near);
  }

  // Returns a status for each cell by one right calculation, and its numbers without rounding.
  function byReading(reading, given, step, rules, marking) {
    var units = unitsOf(given, reading, step, marking.decimals);
    var every = [reading.right].concat(reading.others);
    return given.map(function (one, i) {
      if (!one) return "missing";
      var unit = units[i];
      function isOneOf(distance, isPossible) {
        return every.some(function (values) {
          return (!isPossible || isPossible(values[i])) && isNear(one, values[i], distance, reading, rules);
        });
      }
      if (isOneOf(rules.rounded * unit) || isOneOf(marking.tolerance || 0)) return "correct";
      var isFine = step.isShare ? one.unit <= rules.coarsestShare && one.value >= 0 && one.value <= 1 : unit <= reading.coarsest;
      var isDecimal = unit > 0 && Math.abs(Math.log10(unit) - Math.round(Math.log10(unit))) < 1e-6;
      var isForgiven = isFine && isDecimal && isOneOf(rules.cutOff * unit, function (value) {
        return !isExact(value, unit, reading, rules);
      });
      if (isForgiven) return "last_digit";
      return one.unit > unit && marking.decimals && isOneOf(rules.rounded * one.unit) ? "short" : "wrong";
    });
  }

  // Tells wrong numbers from those that only the program can judge, as it knows ways of rounding.
  function unsure(codes, given, step, rules, marking, isOtherwise) {
    var reading = step.readings[0], units = unitsOf(given, reading, step, marking.decimals);
    var isOdd = isOtherwise || given.some(function (one) { return one && (isNaN(one.unit) || ODD.test(one.text)); });
    var wrong = Object.keys(given).filter(function (i) { return codes[i] === "wrong"; });
    function isInReach(i) {
      var value = reading.right[i], x = given[i].value;
      var more = (1 + (step.adjusted.indexOf(Number(i)) >= 0 ? Math.max.apply(null, step.shape) : 0)) * units[i] + rules.share * size(value);
      return x >= value - step.below[i] - more && x <= value + step.above[i] + more;
    }
    function isCoarse(i) { // the zeros of 1200 may be no digits
      var x = given[i].value, unit = Math.pow(10, Math.floor(Math.log10(Math.abs(x))) - 2);
      return size(x) >= 100 && x % 1 === 0 && given[i].unit > rules.fine && x % unit === 0 && isNear(given[i], reading.right[i], unit, reading, rules);
    }
    var coarsest = largest(units.map(function (unit) { return unit < 1 ? unit : 0; }));
    var within = wrong.filter(isInReach);
    var isFew = within.length < Math.min(wrong.length, Math.max(rules.fewest, rules.fewestShare * wrong.length));
    return codes.map(function (code, i) {
      if (code !== "wrong") return code;
      var most = Math.min(rules.finer * units[i], 10 * coarsest * step.finer[i] + units[i]);
      var isFiner = coarsest > 0 && isNear(given[i], reading.right[i], most, reading, rules);
      return isOdd || isCoarse(i) || isFiner || (!isFew && isInReach(i)) ? "unsure" : code;
    });
  }

  // Returns a status for each cell of a step (correct, last_digit, wrong, unsure, short or missing)
  // and the mistake that gives its numbers, or null. `given` holds what was read of each cell, or
  // null; `isTyped` tells of which steps any was. Another right calculation counts if it gives half.
  function judge(step, given, rules, marking, isTyped) {
    var reading = step.readings[0];
    given = given.map(function (one, i) {
      var isBlocked = one && reading.right[i] === -Infinity && one.value <= rules.likeBlocked;
      return isBlocked ? { value: -Infinity, unit: one.unit, text: "-inf" } : one;
    });
    var seen = step.readings.filter(function (other) {
      var near = given.filter(function (one, i) {
        return one && isNear(one, other.right[i], rules.cutOff * (one.unit || 0), other, rules);
      });
      return other === reading || (!(other.unless && isTyped(other.unless)) && 2 * near.length >= given.filter(Boolean).length);
    });
    var found = seen.map(function (other) { return byReading(other, given, step, rules, marking); });
    var codes = found.filter(function (one) { return one.indexOf("wrong") < 0; })[0];
    if (codes) return { codes: codes, mistake: null };
    var isOtherwise = seen.some(function (other, which) { // but for rounding
      return which && given.every(function (one, i) {
        return found[which][i] !== "wrong" || isNear(one, other.right[i], Math.max(rules.otherwise * size(other.right[i]), 2 * one.unit), other, rules);
      });
    });
    codes = unsure(found[0], given, step, rules, marking, isOtherwise);
    return { codes: codes, mistake: mistakeIn(codes, given, step, rules, marking) };
  }

  // Returns the first mistake that gives every number; a single wrong one is no evidence.
  function mistakeIn(codes, given, step, rules, marking) {
    var units = unitsOf(given, step.readings[0], step, marking.decimals);
    var typed = given.filter(Boolean);
    var isHollow = typed.length > 2 && typed.every(function (one) { return one.value === typed[0].value; });
    if (isHollow || codes.indexOf("short") >= 0 || codes.filter(function (code) { return code === "wrong"; }).length < 2) return null;
    return step.mistakes.filter(function (mistake) {
      return given.every(function (one, i) {
        return !one || isNear(one, mistake.numbers[i], rules.rounded * units[i] + 5e-6 * size(mistake.numbers[i]), step.readings[0], rules);
      });
    })[0] || null;
  }

  return { judge: judge };
})();

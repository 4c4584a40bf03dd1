// Judges the numbers that were typed for a step, each by its own digits: the rules are those of
// checking/agreement, checking/rounding_rules and checking/judging, and the numbers in `rules` are those
// of checking/agreement. What follows from a student's own earlier numbers is not asked here.
var attnJudging = (function () {
  "use strict";

  function size(value) { return isFinite(value) ? Math.abs(value) : 0; }

  function largest(values) {
    return values.reduce(function (most, value) { return Math.max(most, size(value)); }, 0);
  }

  // How far numbers may be off because of floats, the larger the larger they are.
  function slackOf(values, share, rules) {
    var nearZero = rules.nearZero * Math.min(Math.max(largest(values), rules.smallestTerm), 1);
    return function (index) { return share * (size(values[index]) + nearZero); };
  }

  // The digits that say something of all that was written.
  function significant(texts) {
    return texts.reduce(function (most, text) {
      var mantissa = text.replace(/^[+-]+/, "").toLowerCase().split("e")[0].replace(/\.0$/, "");
      var digits = mantissa.replace(/\./g, "").replace(/^0+/, "");
      if (mantissa.indexOf(".") < 0) digits = digits.replace(/0+$/, "");
      return Math.max(most, digits.length);
    }, 0);
  }

  function power(exponent) { return Number("1e" + exponent); }

  // Returns the units of the last digits that say something.
  // A number with fewer decimals than are asked is read as padded with zeros.
  function tellingUnits(given, right, isShare, rules, decimals) {
    if (decimals) {
      return given.map(function (one) { return one ? Math.min(one.unit, power(-decimals)) : 0; });
    }
    var kept = given.filter(Boolean), units = kept.map(function (one) { return one.unit; });
    var isEven = kept.length === given.length && units.every(function (unit) { return unit === units[0]; });
    if (isEven && units[0] > 0 && units[0] <= rules.fine) return units;
    var values = kept.map(function (one) { return one.value; });
    var most = isShare ? 1 : Math.max(largest(right), largest(values));
    function isWhole(one) {
      return one && Math.abs(one.value) >= 100 && one.value % 1 === 0 && one.unit > rules.fine;
    }
    var digits = kept.some(isWhole)
      ? Math.max(3, significant(kept.map(function (one) { return one.text; }))) : 0;
    units = given.map(function (one) {
      if (!isWhole(one)) return one ? one.unit : 0;
      return Math.max(one.unit, power(Math.floor(Math.log10(Math.abs(one.value))) + 1 - digits));
    });
    var finer = units.filter(function (unit, i) { return given[i] && unit > 0 && unit < 1; });
    var instead = finer.length ? Math.max.apply(null, finer) : most / 10;
    return units.map(function (unit, i) {
      var says = !(unit >= 1 && 2 * unit > most);
      if (given[i] && given[i].value === 0 && unit === 1 && finer.length) says = false;
      return says ? unit : instead;
    });
  }

  // Whether a number has no more digits than were written.
  function exactCells(right, units, rules) {
    var finite = right.map(function (value) { return isFinite(value) ? value : 0; });
    var slack = slackOf(finite, rules.shareOfExact, rules);
    return right.map(function (value, i) {
      if (!isFinite(value) || !(units[i] > 0)) return false;
      var written = Math.round(value / units[i]) * units[i];
      return Math.abs(written - value) <= slack(i);
    });
  }

  function isDecimal(unit) {
    if (!(unit > 0)) return false;
    var exponent = Math.log10(unit);
    return Math.abs(exponent - Math.round(exponent)) < 1e-6;
  }

  // Returns a status for each cell by one right calculation, and those that are others beside it.
  function byReading(reading, given, step, rules, marking) {
    var right = reading.right, isShare = Boolean(step.lines);
    var units = tellingUnits(given, right, isShare, rules, marking.decimals);
    function within(values, count, tolerance) {
      var ends = tolerance ? values.map(function (v) { return size(v) + tolerance; }) : values;
      var slack = slackOf(ends, rules.share, rules);
      return given.map(function (one, i) {
        if (!one) return false;
        var more = (tolerance || 0) + (count * units[i] + slack(i));
        return one.value >= values[i] - more ? one.value <= values[i] + more : false;
      });
    }
    var every = [right].concat(reading.others); // without the rounding of the steps, too
    function agrees(count) {
      var found = every.map(function (values) {
        return [within(values, count, 0)].concat(
          marking.tolerance ? [within(values, 0, marking.tolerance)] : []);
      });
      found = [].concat.apply([], found);
      return given.map(function (_, i) { return found.some(function (one) { return one[i]; }); });
    }
    var isRight = agrees(rules.rounded);
    var codes = given.map(function (one, i) { return !one ? "missing" : isRight[i] ? "correct" : "wrong"; });
    if (codes.indexOf("wrong") >= 0) {
      var most = largest(right), isNear = agrees(rules.cutOff);
      var exact = exactCells(right, units, rules);
      var others = reading.others.map(function (values) {
        var near = within(values, rules.cutOff, 0), known = exactCells(values, units, rules);
        return given.map(function (_, i) { return near[i] && !known[i]; });
      });
      codes = codes.map(function (code, i) {
        var value = given[i] ? given[i].value : 0;
        var coarsest = units[i] < 1 ? Math.max(most, rules.coarsestUnit) : rules.coarsestShare * most;
        var isFine = isShare
          ? given[i] && given[i].unit <= rules.coarsestShare && value >= 0 && value <= 1
          : units[i] <= coarsest;
        var forgives = isDecimal(units[i]) && isFine;
        var isOff = (!exact[i] && isNear[i]) || others.some(function (one) { return one[i]; });
        return code === "wrong" && forgives && isOff ? "last_digit" : code;
      });
    }
    return codes.map(function (code, i) {
      if (code !== "wrong" || !(given[i].unit > units[i]) || !marking.decimals) return code;
      var isShort = every.some(function (values) {
        return Math.abs(given[i].value - values[i]) <= rules.rounded * given[i].unit + rules.share;
      });
      return isShort ? "short" : code;
    });
  }

  // Returns a status for each cell of a step: correct, last_digit, wrong, short or missing.
  // `given` holds what was read of each cell, or null; `isTyped` tells of which steps any was.
  function judge(step, given, rules, marking, isTyped) {
    given = given.map(function (one, i) {
      var isBlocked = one && step.readings[0].right[i] === -Infinity && one.value <= rules.likeBlocked;
      return isBlocked ? { value: -Infinity, unit: one.unit, text: one.text } : one;
    });
    var readings = step.readings.filter(function (one) { return !(one.unless && isTyped(one.unless)); });
    var best = null;
    readings.forEach(function (reading) {
      var codes = byReading(reading, given, step, rules, marking);
      if (!best || (best.indexOf("wrong") >= 0 && codes.indexOf("wrong") < 0)) best = codes;
    });
    return best;
  }

  return { judge: judge };
})();

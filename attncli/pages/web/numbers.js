// Reads numbers as people write them: 0.50, 0,5, ≈0.14, 14%, 1/3, sqrt(2), e^2. The rules are those
// of core/numbers/written, core/numbers/grid and core/numbers/parser, which read the same in a file.
var attnNumbers = (function () {
  "use strict";
  var DECIMAL = /^[+-]?\d*(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;
  var TOKEN = /(0[xX][0-9a-fA-F]+|0o[0-7]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|([^\W\d]\w*|[∞π])|(\*\*|[-+*\/^()√·×−])|(\s+)|([^])/g;
  var SAME = { "**": "^", "·": "*", "×": "*", "−": "-" };
  var SIGN = "[≈≃≅∼~]?\\s*[-+−–]?\\s*";
  var COMMA = new RegExp("^" + SIGN + "\\d+,\\d+([eE][+-]?\\d+)?\\s*%?$");
  var GROUPS = new RegExp(
    "^" + SIGN + "[1-9]\\d{0,2}([.,'’ \u00a0\u2009\u202f])\\d{3}(\\1\\d{3})*((?!\\1)(?:\\.\\d*|,\\d+))?\\s*%?$");
  var MONTH = "(jan|feb|mar|mär|apr|mai|may|jun|jul|aug|sep|okt|oct|nov|dez|dec)[\\wÀ-ž]*";
  var DATE = new RegExp(
    "^((?:19|20)\\d\\d-\\d{1,2}-\\d{1,2}(?:[T ].*)?|\\d{1,2}[./]\\d{1,2}[./](?:19|20)\\d\\d" +
    "|\\d{1,2}[-. ]{0,2}" + MONTH + "|" + MONTH + "[-. ]{0,2}\\d{1,4})$", "i");
  var ROUGHLY = /^(?:about|approx(?:\.|imately)?|ca\.?|circa|around|roughly)\s*(?=\S)/i;

  function NotANumber(message) { this.message = message; }

  function fail(message) { throw new NotANumber(message); }

  // Returns the value of digits; a number that is too small for a float is refused.
  function valueOf(digits) {
    var value = Number(digits);
    if (!isFinite(value)) fail(digits + " is too large");
    if (value === 0 && !/^0[xo]/i.test(digits) && /[1-9]/.test(digits.split(/e/i)[0])) fail(digits + " is too small");
    return value;
  }

  // Returns a decimal number with its unit in the last place; null for any other text.
  function decimalOf(text) {
    text = text.replace(/−/g, "-");
    var match = DECIMAL.exec(text);
    if (!match || !/\d/.test(text.split(/e/i)[0])) return null;
    var unit = Number("1e" + (Number(match[2] || 0) - (match[1] || "").length));
    return { value: valueOf(text), unit: unit, text: text };
  }

  // Returns a number with a decimal point and without signs between its thousands.
  function whole(text) {
    var groups = GROUPS.exec(text), sign = groups && groups[1];
    if (sign === "," && COMMA.test(text)) {
      fail(text + " may mean " + text.replace(",", ".") + " or " + text.replace(",", ""));
    }
    if (sign === "." && !groups[2] && !groups[3]) return text; // a decimal point
    if (sign) text = text.split(sign).map(function (part, i) {
      return i && !/^\d{3}/.test(part) ? sign + part : part;
    }).join("");
    return sign || COMMA.test(text) ? text.replace(/,/g, ".") : text;
  }

  var FRACTIONS = { "½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4" };

  // Returns a number in the signs of expressions, with its digits.
  function normalized(text) {
    var plain = text.trim();
    if (DATE.test(plain)) fail(plain + " is a date, not a number");
    if (plain.length > 1) plain = plain.replace(/^[≈≃≅∼~]\s*/, "");
    plain = plain.replace(/[−–‒‐‑]/g, "-").replace(/(\d*)([½⅓⅔¼¾])/g, function (_, whole, sign) {
      return whole ? "(" + whole + "+" + FRACTIONS[sign] + ")" : FRACTIONS[sign];
    }).replace(/([·×*]10)(⁻?[⁰¹²³⁴-⁹]+)/g, function (_, ten, raised) {
      return ten + "^" + Array.from(raised, function (sign) { return "-0123456789"["⁻⁰¹²³⁴⁵⁶⁷⁸⁹".indexOf(sign)]; }).join("");
    });
    if (/^[-+]?(\d*\.){2,}\d*$/.test(plain) && /\d/.test(plain)) fail(plain + " has more than one point");
    var percent = /^([^%]*[^%\s])\s*%$/.exec(plain);
    return (percent ? hundredth(percent[1]) : plain).replace(/^([-+]?)oo$/, "$1inf");
  }

  function hundredth(text) {
    var parts = /^([-+]?)(\d*)(?:\.(\d*))?$/.exec(text);
    if (!parts || !/\d/.test(text)) return "(" + text + ")/100";
    var digits = parts[2].padStart(3, "0");
    return parts[1] + digits.slice(0, -2) + "." + digits.slice(-2) + (parts[3] || "");
  }

  // Returns the value of an expression.
  function evaluate(text) {
    if (text.length > 500) fail("a number of " + text.length + " characters is too long");
    var source = /^[+-]*\.inf$/i.test(text) ? text.replace(".", "") : text;
    var tokens = [], at = 0;
    function strange() { return fail(text + " is not a number"); }
    Array.from(source.matchAll(TOKEN)).forEach(function (match) {
      if (match[5]) strange();
      if (!match[4]) tokens.push([match[1] ? "number" : match[2] ? "name" : "op", SAME[match[0]] || match[0]]);
    });
    tokens.push(["end", ""]);
    function next(signs) {
      var token = tokens[at];
      return token[0] === "op" && signs.indexOf(token[1]) >= 0 ? tokens[at++][1] : "";
    }
    function work(sign, a, b) {
      if ((sign === "/" && b === 0) || (sign === "^" && a === 0 && b < 0)) fail("this divides by 0");
      var value = sign === "+" ? a + b : sign === "-" ? a - b : sign === "*" ? a * b
        : sign === "/" ? a / b : sign === "^" ? Math.pow(a, b) : sign === "exp" ? Math.exp(a) : Math.sqrt(a);
      if (isNaN(value)) fail("this has no real value");
      if (!isFinite(value) && isFinite(a) && (b === undefined || isFinite(b))) fail("this is too large");
      return value;
    }
    function sum() {
      var left = product(), sign;
      while ((sign = next("+-"))) left = work(sign, left, product());
      return left;
    }
    function product() {
      if (next("-")) return -product();
      var left = signed(), before = "", sign;
      while ((sign = next("*/") || (isBeforeRoot() && before !== "/" ? "*" : ""))) {
        left = work(sign, left, signed());
        before = sign;
      }
      return left;
    }
    function isBeforeRoot() { return tokens[at][1] === "√" && tokens[at - 1][0] === "number"; } // 2√3
    function signed() {
      var sign = next("+-");
      if (sign) return sign === "-" ? -signed() : signed();
      var base = atom();
      return next("^") ? work("^", base, signed()) : base;
    }
    function atom() {
      var kind = tokens[at][0], word = tokens[at++][1];
      if (kind === "number") return valueOf(word);
      if (word === "(") return group();
      if (word === "√") return work("sqrt", atom());
      if (word === "sqrt" || word === "exp") return next("(") ? work(word, group()) : fail(word + " needs a number in parentheses");
      if (word === "e") return Math.E;
      if (word.toLowerCase() === "pi" || word === "π") return Math.PI;
      return ["inf", "infinity", "∞"].indexOf(word.toLowerCase()) >= 0 ? Infinity : strange();
    }
    function group() {
      var inside = sum();
      if (!next(")")) fail(text + " has a ( without a )");
      return inside;
    }
    var value = sum();
    return tokens[at][0] === "end" ? value : strange();
  }

  // Returns by how much the value of an expression differs with its decimals: the 1.73 in 16/1.73
  // may be from 1.725 to 1.735. Numbers without a point are exact.
  function impliedUnit(plain, value) {
    var width = 0;
    Array.from(plain.matchAll(/(\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?/g)).forEach(function (match) {
      var decimal = decimalOf(match[0]), ends = [-0.5, 0.5].map(function (half) {
        var other = decimal.value + half * decimal.unit;
        try {
          return evaluate(plain.slice(0, match.index) + other + plain.slice(match.index + match[0].length));
        } catch (error) {
          return value; // the root of a number below 0
        }
      });
      width += Math.abs(ends[1] - ends[0]);
    });
    return isFinite(width) ? width : 0;
  }

  // Returns {value, unit, text} of what was typed in a cell; null where it was left out. What is
  // exact has the unit 0. In a cell that is blocked, some number far below 0 is -inf.
  function read(typed, rules, isBlocked) {
    var text = typed.trim();
    if (rules && rules.missing.indexOf(text) >= 0) return null; // a live page has none
    if (["true", "false"].indexOf(text.toLowerCase()) >= 0) fail(text + " is not a number");
    if (/^[-−–—]$/.test(text)) fail("write -inf for a blocked cell, or nothing");
    var isFormula = text[0] === "="; // as in a spreadsheet
    var plain = isFormula ? text.slice(1).trim().toLowerCase() : text.replace(ROUGHLY, "");
    plain = normalized(normalized(whole(plain)));
    var decimal = decimalOf(plain);
    if (decimal && isBlocked && decimal.value <= rules.likeBlocked) decimal.value = -Infinity;
    if (decimal) return decimal;
    var value = evaluate(plain);
    if (value === Infinity) fail("only -inf is a number here, in a cell that is blocked");
    return { value: value, unit: impliedUnit(plain, value), text: plain };
  }

  return { read: read, NotANumber: NotANumber };
})();

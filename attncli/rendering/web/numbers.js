// Reads numbers as people write them: 0.50, 0,5, ≈0.14, 14%, 1/3, sqrt(2), e^2. The rules are those
// of notation/written, notation/grid and notation/last_place, which read the same in a file.
var attnNumbers = (function () {
  "use strict";
  var DECIMAL = /^[+-]?\d*(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;
  var PLAIN = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
  var TOKEN = /(0[xX][0-9a-fA-F]+|0o[0-7]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|([^\W\d]\w*|∞|π)|(\*\*|[-+*\/^()√·×−])|(\s+)|([^])/g;
  var SAME = { "**": "^", "·": "*", "×": "*", "−": "-" };
  var DASHES = ["-", "−", "–", "—"];
  var ABOUT = "≈≃≅∼~";
  var SIGN = "[≈≃≅∼~]?\\s*[-+−–]?\\s*";
  var COMMA = new RegExp("^" + SIGN + "\\d+,\\d+([eE][+-]?\\d+)?\\s*%?$");
  var GROUPS = new RegExp("^" + SIGN + "[1-9]\\d{0,2}(,\\d{3})+(\\.\\d*)?\\s*%?$");
  var OTHER_GROUPS = [
    ["(\\.\\d{3})+,\\d+", "."],
    ["(\\.\\d{3}){2,}", "."],
    ["([ \u00a0\u2009\u202f]\\d{3})+([.,]\\d*)?", "\\s"],
    ["(['’]\\d{3})+([.,]\\d*)?", "'’"]
  ].map(function (form) {
    return [new RegExp("^" + SIGN + "[1-9]\\d{0,2}" + form[0] + "\\s*%?$"), form[1]];
  });
  var MONTH = "(jan|feb|mar|mär|apr|mai|may|jun|jul|aug|sep|okt|oct|nov|dez|dec)[\\wÀ-ž]*";
  var DATE = new RegExp(
    "^((?:19|20)\\d\\d-\\d{1,2}-\\d{1,2}(?:[T ].*)?|\\d{1,2}[./]\\d{1,2}[./](?:19|20)\\d\\d" +
    "|\\d{1,2}[-. ]{0,2}" + MONTH + "|" + MONTH + "[-. ]{0,2}\\d{1,4})$", "i");
  var ROUGHLY = /^(?:about|approx(?:\.|imately)?|ca\.?|circa|around|roughly)\s*(?=\S)/i;
  var LONGEST = 500;
  var DEEPEST = 50;

  function NotANumber(message) { this.message = message; }

  function fail(message) { throw new NotANumber(message); }

  // Whether a decimal number is not 0, and too small for a float.
  function vanishes(text) { return Number(text) === 0 && /[1-9]/.test(text.split(/[eE]/)[0]); }

  // Returns [number, unit of its last digit] of a decimal number; null for any other text.
  function decimalOf(text) {
    text = text.replace(/−/g, "-");
    var match = DECIMAL.exec(text);
    if (!match || !/\d/.test(text.split(/[eE]/)[0])) return null;
    var number = Number(text);
    var unit = Number("1e" + (Number(match[2] || 0) - (match[1] || "").length));
    return isFinite(number) && !vanishes(text) ? [number, unit] : null;
  }

  // Returns a number that stands alone with a point, and its thousands unparted.
  function whole(text) {
    if (GROUPS.test(text)) {
      if (text.split(",").length === 2 && text.indexOf(".") < 0) {
        fail(text + " may mean " + text.replace(",", ".") + " or " + text.replace(",", ""));
      }
      return text.replace(/,/g, "");
    }
    if (COMMA.test(text)) return text.replace(/,/g, ".");
    for (var i = 0; i < OTHER_GROUPS.length; i += 1) {
      if (OTHER_GROUPS[i][0].test(text)) {
        var between = new RegExp("(\\d)[" + OTHER_GROUPS[i][1] + "](?=\\d{3})", "g");
        return text.replace(between, "$1").replace(/,/g, ".");
      }
    }
    return text;
  }

  // Returns it in the signs that the parser knows, with its digits.
  function normalized(text) {
    var plain = text.trim();
    if (DATE.test(plain)) fail(plain + " is a date, not a number");
    if (plain.length > 1 && ABOUT.indexOf(plain[0]) >= 0) plain = plain.slice(1).trimStart();
    plain = plain.replace(/[−–‒‐‑]/g, "-");
    if (/^[-+]?(\d*\.){2,}\d*$/.test(plain) && /\d/.test(plain)) fail(plain + " has more than one point");
    var percent = /^([^%]*[^%\s])\s*%$/.exec(plain);
    if (percent) plain = hundredth(percent[1]);
    return plain.replace(/^([-+]?)oo$/, "$1inf");
  }

  function hundredth(text) {
    if (!/^[-+]?(\d+\.?\d*|\.\d+)$/.test(text)) return "(" + text + ")/100";
    var sign = /^[-+]/.test(text) ? text[0] : "";
    var parts = text.slice(sign.length).split(".");
    var digits = parts[0].padStart(3, "0");
    return sign + digits.slice(0, -2) + "." + digits.slice(-2) + (parts[1] || "");
  }

  // Returns an expression as a tree: ["number", text], ["name", word], or [operation, part, …].
  function parse(text) {
    if (text.length > LONGEST) fail("a number of " + text.length + " characters is too long");
    var source = /^[+-]*\.inf$/i.test(text.trim()) ? text.replace(".", "") : text;
    var tokens = [], at = 0, depth = 0, match;
    function strange() { fail(text.trim() + " is not a number"); }
    TOKEN.lastIndex = 0;
    while ((match = TOKEN.exec(source)) !== null) {
      if (match[5] !== undefined) strange();
      if (match[4] !== undefined) continue;
      var kind = match[1] !== undefined ? "number" : match[2] !== undefined ? "name" : "op";
      tokens.push([kind, SAME[match[0]] || match[0]]);
    }
    tokens.push(["end", ""]);
    if (tokens.length === 1) fail("there is no number");
    function taken(signs) {
      var token = tokens[at];
      if (token[0] !== "op" || signs.indexOf(token[1]) < 0) return "";
      at += 1;
      return token[1];
    }
    function deeper(part) {
      depth += 1;
      if (depth > DEEPEST) fail("too many levels of parentheses, powers or signs");
      var found = part();
      depth -= 1;
      return found;
    }
    function sum() {
      var left = product(), sign;
      while ((sign = taken("+-"))) {
        var term = product();
        left = ["+", left, sign === "-" ? ["negative", term] : term];
      }
      return left;
    }
    function product() {
      if (taken("-")) return ["negative", deeper(product)];
      var left = signed(), before = "", sign;
      while ((sign = taken("*/") || beforeRoot(before))) {
        before = sign;
        left = [sign, left, signed()];
      }
      return left;
    }
    function beforeRoot(before) {
      var is = at > 0 && tokens[at - 1][0] === "number" && tokens[at][1] === "√" && before !== "/";
      return is ? "*" : "";
    }
    function signed() {
      var sign = taken("+-");
      if (sign) {
        var operand = deeper(signed);
        return sign === "+" ? operand : ["negative", operand];
      }
      var base = atom();
      return taken("^") ? ["^", base, deeper(signed)] : base;
    }
    function atom() {
      var kind = tokens[at][0], word = tokens[at][1];
      at += 1;
      if (kind === "number") return ["number", word];
      if (word === "(") return group();
      if (word === "√") return ["sqrt", deeper(atom)];
      if (kind === "name") return named(word);
      return strange();
    }
    function named(word) {
      if (word === "sqrt" || word === "exp") {
        if (!taken("(")) fail(word + " needs a number in parentheses");
        return [word, group()];
      }
      if (word === "e") return ["name", "e"];
      if (word.toLowerCase() === "pi" || word === "π") return ["name", "pi"];
      if (["inf", "infinity", "∞"].indexOf(word.toLowerCase()) >= 0) return ["number", "∞"];
      return strange();
    }
    function group() {
      var inside = deeper(sum);
      if (!taken(")")) fail(text.trim() + " has a ( without a )");
      return inside;
    }
    var found = sum();
    if (tokens[at][0] !== "end") strange();
    return found;
  }

  // Returns the value of a tree, with another value in the place of one of its numbers.
  function evaluate(node, instead, value) {
    if (node === instead) return value;
    if (node[0] === "number" && vanishes(node[1])) fail(node[1] + " is too small for a float");
    if (node[0] === "number") return node[1] === "∞" ? Infinity : finite(Number(node[1]));
    if (node[0] === "name") return node[1] === "e" ? Math.E : Math.PI;
    var parts = node.slice(1).map(function (part) { return evaluate(part, instead, value); });
    var a = parts[0], b = parts[1], found;
    if (node[0] === "negative") return -a;
    if (node[0] === "+") found = a + b;
    if (node[0] === "*") found = a * b;
    if (node[0] === "/") {
      if (b === 0) fail("this divides by 0");
      found = a / b;
    }
    if (node[0] === "^") {
      if (a === 0 && b < 0) fail("this divides by 0");
      found = Math.pow(a, b);
    }
    if (node[0] === "sqrt") found = Math.sqrt(a);
    if (node[0] === "exp") found = Math.exp(a);
    if (isNaN(found)) fail("this has no real value");
    return parts.every(isFinite) ? finite(found) : found;
  }

  function finite(value) {
    if (!isFinite(value)) fail("this is too large");
    return value;
  }

  function leaves(node) {
    if (node[0] === "number") return [node];
    return node[0] === "name" ? [] : [].concat.apply([], node.slice(1).map(leaves));
  }

  // Returns how far an expression of rounded decimals reaches: of 16/1.73, from 1.725 to 1.735.
  function unitImplied(tree) {
    var right = evaluate(tree), reach = 0;
    function at(leaf, value) {
      try { return evaluate(tree, leaf, value); } catch (error) {
        if (error instanceof NotANumber) return right;
        throw error;
      }
    }
    leaves(tree).forEach(function (leaf) {
      var decimal = leaf[1].indexOf(".") >= 0 ? decimalOf(leaf[1]) : null;
      if (!decimal) return;
      reach += Math.abs(at(leaf, decimal[0] + 0.5 * decimal[1]) - at(leaf, decimal[0] - 0.5 * decimal[1]));
    });
    return isFinite(reach) ? reach : 0;
  }

  // Returns {value, unit, text} of what was typed in a cell; null where it was left out.
  function read(typed, missing) {
    var text = typed.trim(), decimal = decimalOf(text);
    if (decimal) return { value: decimal[0], unit: decimal[1], text: text };
    if (missing.indexOf(text) >= 0) return null;
    if (["true", "false"].indexOf(text.toLowerCase()) >= 0) fail(text + " is not a number");
    if (DASHES.indexOf(text) >= 0) fail("write -inf for a blocked cell, or nothing");
    var plain = normalized(whole(text.replace(ROUGHLY, "")));
    decimal = decimalOf(plain);
    if (decimal) return { value: decimal[0], unit: decimal[1], text: plain };
    plain = normalized(plain);
    var tree = PLAIN.test(plain) ? ["number", plain] : parse(plain);
    var value = evaluate(tree);
    if (value === Infinity) fail("only -inf is a number here, in a cell that is blocked");
    return { value: value, unit: unitImplied(tree), text: plain };
  }

  return { read: read, NotANumber: NotANumber };
})();

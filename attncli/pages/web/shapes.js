// Puts into the empty elements of a shape what belongs there: [name, text, number of a cell, …].
// The numbers, where there are any, are handed to `link` with their elements.
var attnFill = (function () {
  "use strict";
  function sign(slot, text, form) {
    var made = document.createElementNS(slot.namespaceURI, "mo");
    made.setAttribute("form", form);
    made.textContent = text;
    return made;
  }
  return function (box, fills, link) {
    var next = 0;
    box.querySelectorAll(".s").forEach(function (slot) {
      var text = fills[next];
      var inner = slot.localName === "mn" ? /^\((.*)\)$/.exec(text) : null;
      slot.textContent = inner ? inner[1] : text;
      if (inner) { // one element, as a power or a fraction takes two
        var row = document.createElementNS(slot.namespaceURI, "mrow");
        slot.replaceWith(row);
        row.append(sign(slot, "(", "prefix"), slot, sign(slot, ")", "postfix"));
      }
      next += 1;
      if (typeof fills[next] === "number") {
        link(slot, fills[next]);
        next += 1;
      }
    });
  };
})();

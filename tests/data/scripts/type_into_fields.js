// What scripts of the practice page share: `d` and `w` are the document and the window of a frame.
function type(field, text) {
  field.focus();
  field.value = text;
  field.dispatchEvent(new w.Event("input", {bubbles: true}));
  field.dispatchEvent(new w.Event("change", {bubbles: true}));
}
function fields(step) {
  var every = Array.from(d.querySelectorAll("input.n"));
  return Array.from(every.find((field) => field.attnGroup.name === step).attnGroup.fields);
}
function status(field) { return field ? field.parentNode.dataset.status || "" : "missing"; }

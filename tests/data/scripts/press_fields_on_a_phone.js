// Presses every field and the button for hints; tells which are covered, moved, or too small.
// The frames are as high as the screens of phones, two of them with an open keyboard.
frame.style.height = [320, 400, 640][frames.indexOf(frame)] + "px";
function isFree(part) {
  var box = part.getBoundingClientRect();
  var at = d.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
  return at === part || part.contains(at);
}
var found = {covered: [], moved: [], buttons: 0, brackets: [], fit: []};
var all = Array.from(d.querySelectorAll("input.n")), last = all[all.length - 1];
all[0].focus(); // what is said of it grows as another field is pressed
all[0].value = "77";
last.scrollIntoView({block: "center"});
var pressed = last.getBoundingClientRect().top;
last.dispatchEvent(new w.MouseEvent("mousedown", {bubbles: true}));
all[0].dispatchEvent(new w.Event("change", {bubbles: true}));
last.focus({preventScroll: true});
found.jump = Math.round(last.getBoundingClientRect().top - pressed);
all.forEach(function (field) {
  field.scrollIntoView({block: "center"});
  var top = field.getBoundingClientRect().top;
  field.focus({preventScroll: true});
  if (Math.abs(field.getBoundingClientRect().top - top) > 1) found.moved.push(field.ariaLabel);
  if (!isFree(field)) found.covered.push(field.ariaLabel);
  var button = d.querySelector("#why button"), before = button.getBoundingClientRect().top;
  button.click();
  if (Math.abs(button.getBoundingClientRect().top - before) > 1) found.moved.push("button");
  button.scrollIntoView({block: "nearest"});
  found.buttons += isFree(button);
  field.value = "-inf";
  // Each width is rounded to whole pixels by itself, so that equal ones may differ by 1.
  if (field.scrollWidth > field.clientWidth + 1) found.fit.push(field.ariaLabel);
  field.value = "";
});
d.querySelectorAll(".scroll").forEach(function (box) {
  var isCut = box.querySelector("input") && box.scrollWidth > box.clientWidth;
  if (isCut) found.brackets.push(box.textContent);
});
found.wide = d.documentElement.scrollWidth - d.documentElement.clientWidth;
w.localStorage.clear();
return found;

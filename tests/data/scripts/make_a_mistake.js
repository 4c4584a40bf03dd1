// Types numbers that one mistake gives, and one that it does not; tells the hints.
var scaled = fields("scaled"), more = d.querySelector("#why button");
function hints() {
  var shown = Array.from(d.querySelectorAll(".hints p")).filter((p) => !p.hidden);
  return [more.textContent].concat(shown.map((p) => p.textContent));
}
var found = {page: d.body.textContent, hints: []};
type(scaled[1], "4");
more.click();
found.alone = hints();
type(scaled[3], "4");
found.hints.push(hints());
for (var i = 0; i < 3; i += 1) { more.click(); found.hints.push(hints()); }
found.focus = d.activeElement === scaled[3];
type(scaled[4], "5");
scaled[3].focus();
found.other = hints();
w.localStorage.clear();
return found;

// Asks for hints, moves by keys, types, and saves the sheet; tells what the page shows.
var found = {};
var all = Array.from(d.querySelectorAll("input.n"));
function box() { return d.querySelector("#why"); }
function said() { return d.querySelector("#why .about span").textContent; }
function hints() {
  return Array.from(d.querySelectorAll(".hints p"))
    .filter((p) => !p.hidden).map((p) => p.textContent);
}
function name() { return d.activeElement.getAttribute("aria-label"); }
function press(key, more) {
  var init = Object.assign({key, bubbles: true, cancelable: true}, more);
  return d.activeElement.dispatchEvent(new w.KeyboardEvent("keydown", init));
}
found.hidden = box().hidden;
var scores = fields("scores");
scores[0].focus();
found.hints = [[hints(), d.querySelector("#why button").textContent]];
for (var i = 0; i < 3; i += 1) {
  press("h", {altKey: true, code: "KeyH"});
  found.hints.push([hints(), d.querySelector("#why button").textContent]);
}
found.noMore = d.querySelector("#why button").hidden;
found.trail = [name()];
["ArrowDown", "ArrowRight", "ArrowUp", "Enter", "ArrowLeft"].forEach(function (key) {
  press(key);
  found.trail.push(name());
});
type(scores[1], "1,5");
type(scores[2], "9");
scores[2].focus();
found.said = [said(), scores[2].getAttribute("aria-invalid")];
type(scores[2], "nine");
found.said.push(said());
type(scores[2], "2");
found.signs = scores.slice(0, 4).map((f) => f.parentNode.querySelector(".mark").textContent);
found.tally = d.querySelector("#scores .tally").textContent;
d.querySelector(".student").value = 'Ada "L." <b>';
found.sheet = d.querySelector(".save").attnSheet();
w.URL.createObjectURL = function (blob) { found.size = blob.size; return "blob:"; };
w.HTMLAnchorElement.prototype.click = function () { found.file = this.download; };
d.querySelector(".save").click();
found.requests = w.performance.getEntriesByType("resource").length;
found.wide = d.documentElement.scrollWidth <= d.documentElement.clientWidth;
var rule = w.getComputedStyle(scores[0]);
found.large = [parseFloat(rule.fontSize) >= 16, scores[0].getBoundingClientRect().height >= 28];
w.localStorage.clear();
return found;

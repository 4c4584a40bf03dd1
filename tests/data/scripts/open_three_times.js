// Opens the page to type, to go on, and to start again; tells what is in it each time.
var again = d.createElement("iframe"), scores = fields("scores");
function state() {
  return [d.querySelector(".student").value, scores[0].value, scores[1].value,
          status(scores[0]), d.querySelector(".total").textContent];
}
var key = "step of the test", step = w.localStorage.getItem(key);
if (!step) {
  w.localStorage.setItem(key, "1");
  var before = state();
  d.querySelector(".student").value = "Ada";
  type(scores[0], "2");
  type(scores[1], "9");
  w.localStorage.setItem(key, JSON.stringify([before]));
  w.location.reload();
  return null;
}
step = JSON.parse(step).concat([state()]);
if (step.length === 2) {
  w.confirm = () => true;
  d.querySelector(".again").click();
  step.push(state());
  w.localStorage.setItem(key, JSON.stringify(step));
  w.location.reload();
  return null;
}
w.localStorage.clear();
return step;

// As much of a browser as the script needs that reloads a page.
var added = [], waits = [], reloads = 0;
var document = {documentElement: {dataset: {}}, head: {append: (script) => added.push(script)}};
document.createElement = () => ({remove() {}});
var location = {pathname: "/home/a%20b/hw.html", reload: () => { reloads += 1; }};
var history = {state: null, replaceState(state) { this.state = state; }};
var scrollY = 0, scrollTo = (x, y) => { scrollY = y; };
var setTimeout = (next, time, written) => waits.push([next, time, written]);
function answer(type, written) {  // what the script beside the page does, if it is there
  if (written) document.documentElement.dataset.written = written;
  const script = added.pop();
  script[`on${type}`]({type});
  if (waits.length) { const [next, , before] = waits.pop(); next(before); }
  return script.src.split("?")[0];
}

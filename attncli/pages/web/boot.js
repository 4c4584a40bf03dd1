// Unpacks the explanations of the page; then the rest of the script begins. A page may carry its
// problem with two heads instead of one, or with one instead of two: the address says which is shown.
async function attnBoot() {
  "use strict";
  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
  }
  const made = JSON.parse(document.getElementById("made").textContent);
  if (!made.other || !`${location.hash}~`.includes(`~${made.key}~heads~`))
    return Object.assign(made, JSON.parse(await unpacked(made.packed)));
  const [body, other] = (await unpacked(made.other)).split("\0");
  document.querySelector("main").innerHTML = body;
  return Object.assign(JSON.parse(other), { key: made.key });
}

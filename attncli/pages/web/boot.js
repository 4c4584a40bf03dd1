// Unpacks the programs and explanations of the page; then the rest of the script begins.
async function attnBoot() {
  "use strict";
  const data = JSON.parse(document.getElementById("made").textContent);
  const bytes = Uint8Array.from(atob(data.packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return Object.assign(data, JSON.parse(await new Response(stream).text()));
}

// Unpacks the programs and explanations of the page; then the rest of the script begins. Where the address says
// that the page has another size, such as a token more, they are those of that size, and so is the page.
async function attnBoot() {
  "use strict";
  const data = JSON.parse(document.getElementById("made").textContent);
  const size = (/~size=([\w-]+)/.exec(location.hash) || [])[1];
  data.size = Object.hasOwn(data.others, size) ? size : "";
  const bytes = Uint8Array.from(atob(data.others[data.size] || data.packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  Object.assign(data, JSON.parse(await new Response(stream).text()));
  if (data.body) document.querySelector("main").innerHTML = data.body;
  return data;
}
// Saves a text as a YAML file.
function attnSave(text, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/yaml" }));
  link.download = `${name}.yaml`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

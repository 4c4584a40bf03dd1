// Types where the browser keeps nothing; tells what the page says of it.
var scores = fields("scores");
type(scores[0], "2");
return [status(scores[0]), d.querySelector(".kept").textContent];

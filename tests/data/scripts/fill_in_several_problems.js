// Fills in the scores of two problems; tells how many names and buttons there are, and the file.
var all = Array.from(d.querySelectorAll("input.n"));
var scores = all.filter((field) => field.attnGroup.name === "scores");
["1", "0", "0", "1", "5", "4", "4", "4"].forEach((text, i) => type(scores[i], text));
w.localStorage.clear();
return [d.querySelectorAll(".student").length, d.querySelectorAll(".save").length,
        d.querySelector(".student").value, d.querySelector(".save").attnSheet()];

// Judges the texts of the fields of some steps of a page, by their names, as practice.js does.
const pages = [];
function judgeSheet(number, typed) {
  const page = pages[number], { steps } = page.problem;
  page.judge ??= attnJudging(page.problem, page.programs, page.rules);
  const placeOf = (name) => steps.findIndex((step) => !step.input && step.name === name);
  const judged = page.judge(new Map(Object.entries(typed).map(([name, texts]) => [placeOf(name), texts])));
  const said = Array.from(judged, ([place, { codes, mistake }]) => [steps[place].name, [codes, mistake || ""]]);
  return JSON.stringify(Object.fromEntries(said));
}

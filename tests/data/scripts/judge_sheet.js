// Judges the texts of the fields of one step, as practice.js does.
function judgeSheet(sheet) {
  var unreadable = sheet.texts.map(() => false);
  var given = sheet.texts.map(function (text, place) {
    try {
      return attnNumbers.read(text, sheet.rules, sheet.step.readings[0].right[0][place] === null);
    } catch (error) {
      if (!(error instanceof attnNumbers.NotANumber)) throw error;
      unreadable[place] = true;
      return null;
    }
  });
  var found = attnJudging.judge(sheet.step, given, sheet.decimals, () => false);
  var codes = found.codes.map((code, place) => unreadable[place] ? "unreadable" : code);
  return JSON.stringify([codes, found.mistake ? found.mistake.says : ""]);
}

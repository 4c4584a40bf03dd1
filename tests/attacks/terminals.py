"""Control the terminal by escape codes in titles or labels."""

import json

import attncli
from tests.attacks import Attn, Patch, Path, save

BOUND = "–"

FORMS = ("table", "json", "csv", "tsv", "tidy", "yaml", "markdown", "latex", "html", "numpy")
OBEYED = "a\x1b[31m\x9b2J\u202eb\u2066c\u200fd\x07\u2028\x85\x00"
HARMLESS = set("a[31m2Jbcd")


def attack(attn: Attn, folder: Path, patch: Patch) -> None:
    texts = {"title": OBEYED, "notes": OBEYED, "tokens": [OBEYED, "ü"]}
    path = save(folder / "a.json", json.dumps({**texts, "X": [[1], [2]]}))
    for form in FORMS:
        result = attn("compute", path, "-f", form)
        assert result.status == 0
        assert not set(result.out) & set(OBEYED) - HARMLESS, form
        if form in ("json", "yaml"):  # the escapes are the format's own: the signs are read back
            again = save(folder / f"b.{form}", result.out)
            assert attncli.load(again).tokens == (OBEYED, "ü")
    answers = save(folder / f"in/{OBEYED[:-1]}.json", json.dumps({"student": OBEYED, OBEYED: 1}))
    bad = save(folder / "bad.json", json.dumps({OBEYED: [[OBEYED]]}))
    for arguments in (["check", path, answers], ["check", path, folder / "in"], ["compute", bad]):
        result = attn(*arguments)
        assert not set(result.out + result.err) & set(OBEYED) - HARMLESS

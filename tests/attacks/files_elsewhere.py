"""Read files elsewhere."""

from functools import partial

import pytest

import attncli
from tests.attacks import Attn, Patch, Path, refuse, save
from tests.reading.test_zip_files import zipped

BOUND = "–"

PROBLEM = "X: [[1, 0], [0, 2]]\nscore: dot\n"
RIGHT = "scores: [[1, 0], [0, 4]]\n"
OUTSIDE = "this lies outside the folder of the file that names it"


def attack(attn: Attn, folder: Path, patch: Patch) -> None:
    attn = partial(attn, cwd=folder)
    secret = save(folder / "out/secret.yaml", RIGHT)
    save(folder / "out/s.csv", "1,0\n0,4\n")
    for link, target in (("same.csv", "s.csv"), ("a.csv", "b.csv"), ("b.csv", "a.csv")):
        (folder / "out" / link).symlink_to(target)
    within = save(folder / "out/p.yaml", "X: same.csv\n")
    assert attn("compute", within, "--only", "Q", "-f", "csv").out == "1,0\n0,4\n"
    refuse(attn, "p.yaml:1:1: X: a.csv: ", "compute", save(within, "X: a.csv\n"))
    for name in ("work/s.zip", "s.zip"):
        save(folder / name, zipped({"s.csv": "1,0\n0,4\n", "secret.yaml": RIGHT}))
    (folder / "work/below/far").mkdir(parents=True)
    (folder / "work/far").symlink_to("below/far")  # work/far/../../s.zip is work/s.zip
    (folder / "work/out").symlink_to("../out")
    (folder / "work/link.csv").symlink_to(folder / "out/s.csv")
    absolute = str(folder / "out/s.csv")
    for name in ("../out/s.csv", "link.csv", "out/s.csv", absolute, "../s.zip/s.csv"):
        for text, command in (("X", ["compute"]), ("scores", ["check", folder / "hw.yaml"])):
            save(folder / "hw.yaml", PROBLEM)
            path = save(folder / "work/p.yaml", f"{text}: {name}\n")
            refuse(attn, f"p.yaml:1:1: {text}: {name}: {OUTSIDE}", *command, path)
            assert OUTSIDE not in attn(*command, path, "--allow-outside").err
        with pytest.raises(attncli.InputError, match=OUTSIDE):
            attncli.load_answers(path)
    (folder / "work/s.zip").unlink()
    save(folder / "work/p.yaml", "X: far/../../s.zip/s.csv\n")
    refuse(attn, "there is no such file", "compute", "work/p.yaml")

    save(folder / "work/in/Bo.yaml", RIGHT)
    (folder / "work/in/Cy.yaml").symlink_to(secret)
    (folder / "work/in/x:1").symlink_to(secret)
    names = ["../out/secret.yaml", str(secret), "in/../../out/secret.yaml", "out/secret.yaml"]
    for name in (*names, "../s.zip/secret.yaml", "in/Cy.yaml", "in/Cy.yaml:1", "in/x:1"):
        save(folder / "work/m.csv", f"student,problem,file\nAda,,{name}\n")
        flags = ("check", folder / "hw.yaml", "--manifest", "m.csv")
        refuse(attn, f"m.csv:2: {name}: {OUTSIDE}", *flags, "in", cwd=folder / "work")
        assert OUTSIDE not in attn(*flags, "--allow-outside", cwd=folder / "work").err
        assert attn(*flags, "..", cwd=folder / "work").status in (0, 2)
    save(folder / "work/m.csv", "student,problem,file\nAda,,../out/secret.yaml\n")
    assert attn(*flags, "../out", cwd=folder / "work").status == 0  # which the user names
    assert "passed over Cy.yaml" in attn("check", "hw.yaml", "work/in").err

    save(folder / "set/a.yaml", PROBLEM)
    (folder / "set/b.yaml").symlink_to(folder / "hw.yaml")
    refuse(attn, "set/b.yaml: this leads outside the folder", "check", "set", "work/in")
    metadata = save(folder / "out/m.yml", 'Di: {":submitters": [{":name": Eve}]}\n')
    save(folder / "class/Di/hw.yaml", RIGHT)
    (folder / "class/submission_metadata.yml").symlink_to(metadata)
    assert "Eve" not in attn("check", "hw.yaml", "class").out
    save(folder / "submission_metadata.yml", 'class: {":submitters": [{":name": Eve}]}\n')
    assert "Eve" not in attn("check", "hw.yaml", "class").out

"""Read a device, or block on a named pipe."""

import os
from functools import partial

from tests.attacks import Attn, Patch, Path, refuse, save

BOUND = "–"


def attack(attn: Attn, folder: Path, patch: Patch) -> None:
    attn = partial(attn, cwd=folder)
    problem = save(folder / "hw.yaml", "X: [[1]]\n")
    for at in ("", "in/", "set/"):
        (folder / at).mkdir(exist_ok=True)
        os.mkfifo(folder / f"{at}pipe.csv")
        (folder / f"{at}zero.csv").symlink_to("/dev/zero")
    for name in ("pipe.csv", "zero.csv", "/dev/zero"):
        path = save(folder / "p.yaml", f"X: {name}\n")
        refuse(attn, "p.yaml:1:", "compute", path)
        said = "is not a number" if name == "/dev/zero" else "a device or a named pipe, not a file"
        refuse(attn, said, "compute", path, "--allow-outside")
        save(folder / "m.csv", f"student,problem,file\nAda,,{name}\n")
        flags = ("check", problem, "--manifest", "m.csv")
        refuse(attn, "m.csv:2: ", *flags)
        refuse(attn, "a device or a named pipe, not a file", *flags, "--allow-outside")
    save(folder / "in/Ada.yaml", "output: [[1]]\n")
    assert "passed over pipe.csv and zero.csv" in attn("check", problem, "in").err
    refuse(attn, "no regular file", "check", "set", "in", "--allow-outside")

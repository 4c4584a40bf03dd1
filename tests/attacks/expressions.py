"""Write a number that takes forever to read."""

import json
import time

from attncli.core.numbers.parser import MAX_DEPTH, MAX_LENGTH
from tests.attacks import Attn, Patch, Path, refuse, save

BOUND = f"{MAX_LENGTH} characters, {MAX_DEPTH} levels"

NUMBERS = ("9^9^9^9", "10^10^10", "2^(2^1000)", "1e999999999", "9" * 400 + "^99", "170!^170!")


def attack(attn: Attn, folder: Path, patch: Patch) -> None:
    started = time.process_time()
    long, deep = "1+" * MAX_LENGTH, "(" * (MAX_DEPTH + 1) + "1" + ")" * (MAX_DEPTH + 1)
    for number in (long, deep, "abs(" * 10_000, "(" * 2**17, "1" * 5000, "-" * 400 + "1", *NUMBERS):
        for keys in ({"X": [[number]]}, {"X": number}, {"scale": number}, {"bias": [[number]]}):
            problem = {"X": [[1]]} | keys
            path = save(folder / "p.json", json.dumps(problem))
            refuse(attn, "p.json:1:", "compute", path)
    assert time.process_time() - started < 10
    assert attn("compute", save(folder / "p.yaml", f"X: [[{'1+' * 249}1]]\n")).status == 0

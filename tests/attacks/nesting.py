"""Nest lists until the program runs out of stack."""

from attncli.reading.document import MAX_LEVELS
from tests.attacks import Attn, Patch, Path, refuse

BOUND = f"{MAX_LEVELS} levels"


def attack(attn: Attn, folder: Path, patch: Patch) -> None:
    said = f"more than {MAX_LEVELS} brackets or levels inside each other"
    for levels in (MAX_LEVELS + 2, 500, 100_000):
        nested = "[" * levels + "1" + "]" * levels
        for text in (f"X: {nested}", f'{{"X": {nested}}}', f"X: {'[' * levels}", "- " * 500):
            refuse(attn, said, "compute", "-", stdin=text.encode())

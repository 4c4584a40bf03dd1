"""Nest lists until the program runs out of stack."""

from attncli.reading.document import MAX_LEVELS
from tests.attacks import Attn, Patch, Path, refuse, save

BOUND = f"{MAX_LEVELS} levels"


def attack(attn: Attn, folder: Path, patch: Patch) -> None:
    said = f"more than {MAX_LEVELS} brackets or levels inside each other"
    texts = ["- " * 70 + "1", "- " * 500, f"- &a {nested(50)}\n- &b {nested(50, '*a')}"]
    for levels in (MAX_LEVELS + 1, 500, 100_000):
        for inside in (nested(levels), "[" * levels):
            texts += [inside, f"X: {inside}", f'{{"X": {inside}}}']
    for text in texts:
        for name in ("p.yaml", "p.json"):
            refuse(attn, said, "compute", save(folder / name, text))
        refuse(attn, said, "compute", "-", stdin=text.encode())


def nested(levels: int, inside: str = "1") -> str:
    return "[" * levels + inside + "]" * levels

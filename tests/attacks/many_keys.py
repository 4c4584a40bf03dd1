"""Hold very many keys, layers, expressions, or answers to nothing."""

import json

from attncli.checking.answers.step_names import MAX_UNKNOWN
from attncli.classroom.name_index import MAX_WORDS
from attncli.core.numbers.matrices import MAX_EXPRESSIONS
from attncli.core.problem.values import MAX_LAYERS
from attncli.reading.document import MAX_KEYS
from tests.attacks import Attn, Patch, Path, refuse, save

BOUND = (
    f"{MAX_KEYS:,} keys in a mapping, {MAX_LAYERS:,} layers, {MAX_EXPRESSIONS:,} characters of "
    f"expressions in a matrix, {MAX_UNKNOWN:,} answers that mean no step, "
    f"{MAX_WORDS} words in a name"
)


def attack(attn: Attn, folder: Path, patch: Patch) -> None:
    keys = {f"key{number}": 1 for number in range(MAX_KEYS)}
    layers = {"kind": "transformer", "X": [[1]], "layers": [{}] * (MAX_LAYERS + 1)}
    root = "sqrt(2)+" * 60 + "1"
    many = {"X": [[root]] * (MAX_EXPRESSIONS // len(root) + 1)}
    said = {f"{MAX_KEYS:,}": {"X": [[1]], **keys}, f"{MAX_LAYERS:,}": layers}
    for bound, problem in {**said, f"{MAX_EXPRESSIONS:,}": many}.items():
        refuse(attn, bound, "compute", save(folder / "p.json", json.dumps(problem)))
    answers = save(folder / "a.json", json.dumps(dict(list(keys.items())[: MAX_UNKNOWN + 1])))
    refuse(attn, f"{MAX_UNKNOWN:,}", "check", save(folder / "p.yaml", "X: [[1, 0]]\n"), answers)
    save(folder / "class.txt", "Ada Lovelace\nBo Kim\n")
    for others, is_told in ((MAX_WORDS - 2, True), (MAX_WORDS - 1, False)):
        named = f"student: Ada Lovelace{' x' * others}\nweights: [[1]]\n"
        flags = ("check", "p.yaml", save(folder / "a.yaml", named), "--for", "class.txt")
        nobody = "this does not tell whose answers it has"
        assert (nobody in attn(*flags, cwd=folder).err) != is_told

"""Be very large."""

import json

from attncli.reading import yaml_documents
from tests.attacks import Attn, Patch, Path, refuse

BOUND = f"{yaml_documents.MAX_CHARACTERS:,} characters per problem"


def attack(attn: Attn, folder: Path, patch: Patch) -> None:
    patch.setattr(yaml_documents, "MAX_CHARACTERS", 70_000)
    for text in ("y\n", "1 2 ", "[1, "):
        said = "one problem of more than 70,000 characters"
        refuse(attn, said, "compute", stdin=(text * 70_000).encode())
    line = json.dumps({"X": [[1]], "title": "a" * 1000}).encode() + b"\n"
    assert attn("compute", "--only", "X", "-f", "csv", stdin=line * 200).out.count("1") == 200

"""Grow by YAML aliases."""

from attncli.reading.yaml_values import MAX_EXPANSION
from tests.attacks import Attn, Patch, Path, refuse

BOUND = f"{MAX_EXPANSION:,} values"


def attack(attn: Attn, folder: Path, patch: Patch) -> None:
    rows = [f"a0: &a0 [{', '.join('1' * 1000)}]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 1000)}]" for n in range(1, 9)]
    text = "\n".join(rows).encode()
    refuse(attn, f"aliases expand to more than {MAX_EXPANSION:,} values", "compute", stdin=text)

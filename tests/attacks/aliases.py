"""Grow by YAML aliases."""

from attncli.reading.yaml_values import MAX_EXPANSION
from tests.attacks import Attn, Patch, Path, refuse, save

BOUND = f"{MAX_EXPANSION:,} values"


def attack(attn: Attn, folder: Path, patch: Patch) -> None:
    for value in ("1", "[]"):
        rows = [f"a0: &a0 [{', '.join([value] * 1000)}]"]
        rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 1000)}]" for n in range(1, 9)]
        path = save(folder / "p.yaml", "\n".join(rows))
        refuse(attn, f"aliases expand to more than {MAX_EXPANSION:,} values", "compute", path)
        assert "p.yaml:3:" in attn("compute", path).err

"""Problems of every option, for tests of attention a tile at a time.

`python -m benchmarks.surveys.tiles` writes those of tests/mechanisms/test_attention_by_tiles.py
anew: of 250, those that together have every option, warning and refusal.
"""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np

import attncli
from attncli.core.attention.masks import MASKS
from attncli.core.attention.normalizers import NORMALIZERS
from attncli.core.attention.scores import SCORES
from tests.mechanisms.table import Keys
from tests.mechanisms.test_attention_by_tiles import LINES, Numbers, outcome


class Maker:
    """Makes problems of every option.

    The numbers are whole or eighths and small, so that dot products come out exactly, in whatever
    order they are added: a last digit of a score of 1000 is 500 last digits of its e^s.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.dtype = self.random.choice(["f8", "f8", "f4"])

    def matrix(self, *shape: int, most: int = 2) -> Numbers:
        """Return eighths up to a number."""
        eighths = self.numbers.integers(-8 * most, 8 * most + 1, shape)
        return (eighths / 8).astype(self.dtype)

    def chance(self, share: float) -> bool:
        """Return True so often."""
        return self.random.random() < share

    def problem(self, has_columns: bool = True) -> Keys:
        """Return the keys of a problem."""
        pick = self.random
        heads = pick.choice([1, 1, 2, 4])
        kv_heads = pick.choice([h for h in (1, 2, 4) if heads % h == 0])
        batch = pick.choice([1, 1, 2])
        n, m, d, d_v = pick.randint(1, 40), pick.randint(1, 40), pick.randint(1, 8), 5
        lead = (batch,) if batch > 1 else ()
        of = {h: (*lead, h) if heads > 1 else lead for h in (heads, kv_heads)}
        keys: Keys = {
            "Q": self.matrix(*of[heads], n, d),
            "K": self.matrix(*of[kv_heads], m, d),
            "V": self.numbers.normal(size=(*of[kv_heads], m, d_v)).astype(self.dtype),
            **({"heads": heads, "kv_heads": kv_heads} if heads > 1 else {}),
        }
        if self.chance(0.5):  # nothing cancels, so these are last digits of the numbers themselves
            keys["V"] = abs(keys["V"])
        keys |= self.scoring(d)
        if self.chance(0.25):
            keys["softcap"] = pick.choice([0.5, 2, 50])
        if self.chance(0.3):
            keys["bias"] = self.matrix(*pick.choice([(n, m), (1, m), (heads, n, m)]))
            if self.chance(0.4):
                keys["bias"][self.numbers.random(keys["bias"].shape) < 0.3] = -np.inf
        if self.chance(0.7):
            keys["mask"] = self.mask(batch, n, m)
        keys["normalize"] = self.normalize()
        if has_columns and self.chance(0.2):
            names = [*"QKV", *(["bias"] if "bias" in keys else [])]
            keys |= {name: np.swapaxes(keys[name], -1, -2) for name in names}
            mask = keys.get("mask", {})
            mask |= {name: np.transpose(mask[name]) for name in ("keep", "block") if name in mask}
            keys["tokens_as"] = "columns"
        return keys

    def scoring(self, d: int) -> Keys:
        """Return a score function and a scale."""
        name = self.random.choice([*SCORES, "scaled_dot", "scaled_dot", "dot"])
        sizes = {"d_q": d, "d_k": d, "hidden": 3, "d_q + d_k": 2 * d}
        parameters = {
            p.name: self.matrix(*(sizes[x] for x in p.shape)) if p.shape else 1.5
            for p in SCORES[name].parameters
        }
        scale = self.random.choice([None, "1/sqrt(d_k)", 0.75, 3, "1/8"])
        if name in ("dot", "scaled_dot", "general") and self.chance(0.25):
            scale = 1000 / (4 * d)  # and so up to ±1000, or more
        return {"score": {"name": name} | parameters} | ({"scale": scale} if scale else {})

    def mask(self, batch: int, n: int, m: int) -> Keys:
        """Return some forms of masks, together."""
        pick = self.random
        forms: Keys = {
            "causal": pick.choice([True, True, False]),
            "window": [pick.randint(-1, 6), pick.randint(-1, 3)],
            "lengths": [pick.randint(0, m) for _ in range(pick.choice([1, batch]))],
            "keep": self.numbers.integers(0, 2, (n, m)),
            "block": self.numbers.integers(0, 2, (n, m)),
        }
        assert set(forms) == set(MASKS)
        chosen = {name: forms[name] for name in forms if self.chance(0.4)}
        if self.chance(0.4):
            chosen["align"] = "bottom-right"
        elif self.chance(0.3):
            chosen["offset"] = pick.randint(-5, 5)
        return chosen

    def normalize(self) -> Keys:
        """Return a normaliser, mostly softmax, with settings."""
        name = self.random.choice([*NORMALIZERS, *["softmax"] * 12])
        settings: Keys = {"name": name}
        if self.chance(0.3):
            settings["temperature"] = self.random.choice([0.3, 2, 7.5])
        if name == "softmax" and self.chance(0.3):
            settings["base"] = self.random.choice([2, 3, 10])
        return settings


def features(keys: Keys, plain: attncli.Trace | str) -> set[str]:
    """Return what a problem has of options, and what is said of it."""
    found = {f"{name} {value.get('name')}" for name, value in keys.items() if type(value) is dict}
    found |= {*keys, *(f"mask {form}" for form in keys.get("mask", ()))}
    found |= {f"{keys['normalize']['name']} {key}" for key in keys["normalize"]}
    if isinstance(plain, str):
        return found | {plain.partition(" of ")[0][:20]}
    scaled = plain["scaled" if "scaled" in plain else "scores"].array
    words = (f"{i} {text.split()[-1]}" for i, text in enumerate(plain.warnings))
    return found | {*words, f"beyond 500: {np.abs(scaled).max() >= 500}"}


def plain_of(value: Any) -> Any:
    """Return a value as JSON holds it; an array has the type of its numbers beside them."""
    if isinstance(value, dict):
        return {key: plain_of(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return {"dtype": value.dtype.str, "rows": value.tolist()}
    return value


def main(count: int = 250, each: int = 3, fewest: int = 24) -> None:
    lines: list[str] = []
    seen: dict[str, int] = {}
    for seed in range(count):
        maker = Maker(seed)
        keys = maker.problem()
        if max(np.shape(keys["Q"])[-2], np.shape(keys["K"])[-2]) > 24:
            continue
        has = features(keys, outcome(keys, None))
        if len(lines) < fewest or any(seen.get(one, 0) < each for one in has):
            lines.append(json.dumps(plain_of(keys)))
            for one in has:
                seen[one] = seen.get(one, 0) + 1
    LINES.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

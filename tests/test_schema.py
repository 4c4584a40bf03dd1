"""The schema and the loader agree: on samples, on what is wrong, and on made-up files.

`python -m tests.test_schema 5000` compares them on so many files, and prints what came out.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import attncli
from attncli.core.attention.scores import SCORES
from attncli.core.errors import Fault, InputError, KeyPath
from attncli.core.problem.key_values import key_of
from attncli.core.problem.keys import KEYS
from attncli.core.problem.kinds import KINDS, UPDATES
from attncli.reading.load import csv_options, load_each
from attncli.reading.read import read
from tests.conftest import ROOT, SAMPLES, Attn, table
from tests.made_files import NUMBERS, SMALL, Made, files, problems

SUITE = 150
"""So many made-up files are compared in the suite."""

WHOLE = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
DECIMAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


def typed(raw: Any, in_list: bool = False) -> Any:
    """Return values as an editor sees them: what YAML 1.2 makes of text without quotes.

    What JSON Schema knows no number for, such as .inf and 1e400, stays text.
    """
    if isinstance(raw, dict):
        return {key: typed(part) for key, part in raw.items()}
    if isinstance(raw, list):
        return [typed(part, in_list=True) for part in raw]
    if in_list and raw in ("", "~", "null", "Null", "NULL"):
        return None
    if raw in ("true", "True", "TRUE", "false", "False", "FALSE"):
        return raw.lower() == "true"
    if (WHOLE.fullmatch(raw) or DECIMAL.fullmatch(raw)) and np.isfinite(_float(raw)):
        return (
            int(raw, 0 if raw[:2] in ("0x", "0o") else 10) if WHOLE.fullmatch(raw) else _float(raw)
        )
    return raw


def _as_json(path: Path) -> Any:
    """Return the value of a file of JSON; None for any other file."""
    try:
        return json.loads(path.read_bytes()) if path.suffix == ".json" else None
    except ValueError:
        return None


def _float(text: str) -> float:
    return float(int(text, 0)) if text[:2] in ("0x", "0o") else float(text)


def at(raw: Any, path: KeyPath) -> Any:
    """Return what stands at a path, or the last thing on the way to it."""
    for part in path:
        if isinstance(raw, dict):
            raw = next((v for word, v in raw.items() if part in (word, key_of(word))), raw)
        elif isinstance(raw, list) and isinstance(part, int) and part < len(raw):
            raw = raw[part]
    return raw


def can_be_said(fault: Fault, raw: Any) -> bool:
    """Whether a schema can tell a fault; of numbers it knows those that are no expression."""
    is_number = isinstance(typed_number := typed(at(raw, fault.path)), int | float)
    is_number = is_number and not isinstance(typed_number, bool)
    return not fault.needs or (fault.needs == "values" and is_number)


class Comparison:
    """The schema beside the loader.

    Attributes:
        figures: how often what came out.
        wrong: where they disagree: what it is, with the values.
    """

    def __init__(self) -> None:
        self.schema = jsonschema.Draft202012Validator(attncli.schema())
        self.figures: Counter[str] = Counter()
        self.wrong: list[str] = []

    def of_file(self, path: Path) -> None:
        """Compare them on every problem of a file that holds text."""
        self.figures["files"] += 1
        try:
            documents = list(read(path, None, csv_options()))
            found = list(load_each(path))
        except InputError:
            self.figures["files without a problem that can be read"] += 1
            return
        for document, one in zip(documents, found, strict=True):
            values = document.values
            faults = one.faults if isinstance(one, InputError) else ()
            if document.error or any(isinstance(raw, np.ndarray) for raw in values.values()):
                self.figures["problems that no schema sees"] += 1
            else:
                as_yaml = typed(values["X"] if document.bare else values)
                self.of_values(values, faults, _as_json(path) or as_yaml)

    def of_values(self, values: Mapping[str, Any], faults: tuple[Fault, ...], seen: Any) -> None:
        """Compare them on a problem, of which the loader told these faults.

        Args:
            values: every scalar as text.
            faults: what the loader told.
            seen: the same as an editor sees it.
        """
        self.figures["problems"] += 1
        takes = self.schema.is_valid(seen)
        sayable = [fault.message for fault in faults if can_be_said(fault, values)]
        if not faults:
            self.figures["taken by both"] += 1
            if not (takes and self.schema.is_valid(values)):
                self._disagree("the schema alone refuses", self._why(values, seen), values)
        elif not takes:
            self.figures["refused by both"] += 1
        elif sayable:
            self._disagree("the loader alone refuses", sayable[0], values)
        else:
            needs = sorted({fault.needs for fault in faults})
            self.figures[f"refused by the loader for {', '.join(needs)}"] += 1

    def _why(self, *views: Any) -> str:
        for one in views:
            for error in self.schema.iter_errors(one):
                return f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
        return ""

    def _disagree(self, who: str, why: str, values: Mapping[str, Any]) -> None:
        self.figures[who] += 1
        self.wrong.append(f"{who}: {why}\n  {json.dumps(values)[:500]}")


# --- files that are made up ------------------------------------------------------------------

SCALARS = st.sampled_from(
    [
        *("0", "1", "2", "-1", "-2", "0.5", "1.5", "3e9", "17", "18", "1000001", "true", "FALSE"),
        *("no", "none", "causal", "queries", "even", "x", "e", "3sf", "0sf", "1 0", "x 1", ",", ""),
        *("1/d_k", "-1/2", "sqrt(4)", "true false"),
    ]
)
FEW = st.lists(SCALARS, max_size=2)
SAME = st.integers(1, 2).flatmap(
    lambda n: st.lists(st.lists(SMALL, min_size=n, max_size=n), max_size=2)
)
BITS = st.sampled_from(["0", "1", "true", "False", "2", "1-1"])
LISTS = (
    FEW
    | st.lists(FEW, max_size=2)
    | SAME
    | st.lists(SAME, max_size=2)
    | st.lists(st.lists(SAME, max_size=1), max_size=1)
)
MASKS = st.recursive(BITS, lambda inner: st.lists(inner, max_size=2), max_leaves=4)
ANY = SCALARS | LISTS | NUMBERS | MASKS


def parts(**forms: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mappings of one or two of these keys, at times of another, or with another value."""
    one = st.sampled_from([*forms]).flatmap(lambda key: st.tuples(st.just(key), forms[key] | ANY))
    odd = st.tuples(st.sampled_from([*forms, "x"]), ANY)
    return st.lists(one | one | one | odd, max_size=3).map(dict)


MATRICES = {key: st.just([["1", "0"], ["0", "1"]]) | LISTS for key in ("W", "U")}
VECTORS = {key: st.just(["1", "0"]) | LISTS for key in ("v", "b")}
OWN: Mapping[str, st.SearchStrategy[Any]] = {
    "kind": st.sampled_from([*KINDS, "x"]),
    "score": st.sampled_from([*SCORES])
    | st.builds(
        lambda name, own: {"name": name} | own,
        st.sampled_from([*SCORES, "x"]),
        st.fixed_dictionaries({}, optional={**MATRICES, **VECTORS, "width": SCALARS}),
    )
    | st.just({"name": "additive", "W": [["1"]], "U": [["1"]], "v": ["1"]})
    | parts(width=SCALARS),
    "mask": MASKS
    | parts(
        causal=SCALARS,
        window=st.sampled_from(
            [["1", "0"], "1 0", ["-2", "0"], ["1", "0", "0"], ["0.5", "1"], ["1"]]
        ),
        lengths=st.sampled_from(
            ["1", "-1", ["1"], [["1"]], ["0.5"], [["-1"]], [], [[]], [[["1"]]]]
        ),
        offset=SCALARS,
        align=st.sampled_from(["top-left", "x"]),
        keep=MASKS,
        block=MASKS,
    ),
    "normalize": st.sampled_from(["sum", "x"])
    | parts(
        name=st.just("softmax"),
        temperature=SCALARS,
        base=SCALARS,
        axis=st.sampled_from(["keys", "queries", "x"]),
    ),
    "round": parts(
        decimals=SCALARS, significant=SCALARS, half=st.sampled_from(["up", "even", "x"])
    ),
    "marking": parts(
        decimals=SCALARS,
        tolerance=SCALARS,
        ask=st.sampled_from([[], ["weights"], [" "], "", " , ", "weights, output", "~", [["x"]]]),
        points=st.sampled_from(["a: 1", "", {}, "0"])
        | st.dictionaries(SCALARS, SCALARS, max_size=2),
    ),
    "activation": st.sampled_from(["tanh", "none", "x"]),
    "output_activation": st.sampled_from(["tanh", "none", "x"]),
    "update": st.sampled_from([*UPDATES, "x"]),
}
ALIASES = [alias for row in KEYS.values() for alias in row.aliases]
NAMES = st.sampled_from([*KEYS, *ALIASES, "Wq", "W^K", "$b_{q}$", "x y"])
READ = [
    document.values
    for path in sorted(SAMPLES.glob("*.yaml"))
    for document in read(path, None, csv_options())
]


@st.composite
def changed_samples(draw: st.DrawFn) -> Made:
    """A sample, as an editor sees it, of which up to three keys are others or left out."""
    made = typed(draw(st.sampled_from(READ)))
    for _ in range(draw(st.integers(1, 3))):
        key = draw(st.sampled_from([*made, *OWN]) | NAMES)
        match draw(st.integers(0, 9)):
            case 0:
                made.pop(key, None)
            case 1 if key_of(key) in KEYS:
                made[key] = None  # as in `W_q:` with nothing behind it, which is left out
            case 2 if isinstance(made.get(key), dict):
                part = draw(st.sampled_from([*made[key], "W", "b", "causal", "axis"]))
                made[key] = made[key] | {part: typed(draw(ANY))}
            case _:
                made[key] = typed(draw(OWN.get(key, ANY) | ANY))
    return ".json", json.dumps(made if draw(st.integers(0, 9)) else made.get("X")).encode()


def compared(count: int, folder: Path) -> Comparison:
    """Compare schema and loader on so many files: problems made up, and samples changed."""
    comparison = Comparison()

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(made=files(problems()) | changed_samples() | changed_samples())
    def compare(made: Made) -> None:
        path = folder / f"made{made[0]}"
        path.write_bytes(made[1])
        comparison.of_file(path)

    compare()
    return comparison


def test_made_up_files_are_taken_by_both_or_refused_by_both(tmp_path: Path) -> None:
    found = compared(SUITE, tmp_path)
    assert not found.wrong, "\n".join(found.wrong)
    assert found.figures["taken by both"] > SUITE / 20
    assert found.figures["refused by both"] > SUITE / 4


def test_it_is_a_schema_of_every_key(attn: Attn) -> None:
    found = attncli.schema()
    jsonschema.Draft202012Validator.check_schema(found)
    assert set(found["properties"]) == set(KEYS)
    text = attn("schema").out
    assert json.loads(text) == found
    assert sum(len(line) > 100 for line in text.splitlines()) < 30  # each of one pattern


# --- rule by rule ----------------------------------------------------------------------------

TAKEN = """
score: {name: additive, W: [[1, 0], [0, 1]], U: [[1, 0], [0, 1]], v: [1, 0], b: [[1], [0]]}
score: {name: dot}
score: {name: distance, width: 1/2}
score: {name: concat, W: [[1, 0, 1, 0]], v: [1], b: }
normalize: {name: , temperature: 2, base: e}
normalize: {axis: queries}
mask: true false
mask: {causal: yes, align: bottom-right, offset: -1}
mask: {causal: , window: [-1, 0]}
mask: {window: 1 0, lengths: 2}
mask: {lengths: [2], keep: [[true, False], [0, 2-1]]}
mask: {lengths: [[2]], block: 0 0}
mask: {keep: true}
mask: [[[[1, 0], [1, 1]]]]
bias: [[[[1, -inf], [1, 1]]]]
bias: [[[1, 2], [3, 4]]]
round: 3sf
round: {decimals: , significant: 3, half: even}
round: {decimals: 2, significant: }
enhance:
answers: {weights: [[x]]}
marking: {decimals: 17, tolerance: 0.1, ask: [], points: {Q: 1, K: }}
marking: {ask: [weights, ~], points: "Q: 1, K: 2"}
marking: {ask: weights}
marking: {ask: 5}
tokens: [1, true]
tokens: a b
words: a b
title: 5
n_heads: 2
heads: 1; num_heads:
W_{q}: [[1, 0], [0, 1]]
b_q: [[1, 2]]
b_q: [[1], [2]]; heads: 2
b_q: [[1], [2]]
b_o: [[1, 2]]
b_o: [[1], [2]]
b_o: 1 2
Q: [[1, 0], [1, 0]]; W_q:
X: ; Q: [[1]]; K: [[1]]; V: [[1]]
X: ; x: 5
X: ; scores: [[1]]; V: 5
X: ; scores: [[1]]; V: 5; Q:
kind:
kind: cross; memory: [[1, 0]]
kind: cross; X: ; scores: 1; V: 2
kind: cross; X: ; Q: 1; K: 1; V: 2
kind: pooling; u: [1, 1]; activation: none; output_activation: tanh
kind: pooling; u: [1, 1]; normalize: {axis: keys}; mask: {lengths: 1, causal: }
kind: co_attention; memory: [[1, 0]]; enhance: "on"
kind: recurrent; A: [[1, 0, 1], [0, 1, 1]]; X: [[1], [2]]; update: input_context; h_0: [1, 1]
kind: co_attention; memory: [[1, 0]]; normalize: {axis: keys}
kind: recurrent; A: [[1, 0, 1], [0, 1, 1]]; X: [[1], [2]]; normalize: {axis: keys}
Q: ; q: ; W_q: [[1, 0], [0, 1]]
K: ; k: ; b_k: [1, 2]
V: ; v: ; Wv: [[1, 0], [0, 1]]
scores: ; score: dot
marking: {ask: [~]}
"""

REFUSED = """
score: general
score: {name: general}
score: {name: general, W: }
score: {W: [[1, 0], [0, 1]]}
score: {name: general, W: [[1, 0], [0, 1]], v: [1]}
score: {name: dot, width: 1}
score: {name: additive, W: [[1, 0], [0, 1]], U: [[1, 0], [0, 1]]}
score: {name: additive, W: [[1, 0], [0, 1]], U: [[1, 0], [0, 1]], v: [1, 0], width: 1}
score: {name: concat, W: [[1, 0, 1, 0]]}
score: {name: concat, W: [[1, 0, 1, 0]], v: [1], U: [[1]]}
score: {name: distance, width: 0}
score: {name: distance, width: x}
score: {name: distance, W: [[1]]}
score: {name: distance, width: true}
score: {width: 1}
score: [dot]
scale: true
scale: x
scale: d_k d_k
scale: [1]
normalize: {name: x}
normalize: {axis: x}
normalize: {base: 1}
normalize: {base: x}
normalize: {base: true}
normalize: {temperature: 0}
normalize: {temperature: true}
mask: x
mask: 5
mask: true
mask: [[]]
mask: [[[]]]
mask: [[[[]]]]
mask: [[[[[1]]]]]
mask: [[[1, 5]]]
mask: [[1, 5]]
mask: [1, 5]
mask: [[[[1, 5]]]]
mask: {x: 1}
mask: {causal: 2}
mask: {causal: x}
mask: {align: x}
mask: {offset: 0.5}
mask: {offset: 3000000000}
mask: {offset: -3000000000}
mask: {offset: x}
mask: {offset: [1]}
mask: {keep: {}}
mask: {block: {}}
mask: {lengths: []}
mask: {lengths: [[]]}
mask: {lengths: [x]}
mask: {lengths: [[[1]]]}
mask: {lengths: [[1, 1], [1, 1]]}
mask: {lengths: true}
mask: {window: [1, 0, 0]}
mask: {window: [1]}
mask: {window: 1}
mask: {window: 1 0 0}
mask: {window: [-2, 0]}
mask: {window: [0.5, 0]}
mask: {window: [x, 0]}
mask: {window: [3000000000, 0]}
round: -1
round: 0.5
round: 3000000000
round: 0sf
round: {}
round: {half: up}
round: {decimals: 2, significant: 3}
round: {decimals: 2, half: x}
round: {decimals: 2, x: 1}
round: {decimals: -1}
round: {decimals: 0.5}
round: {decimals: 3000000000}
round: {significant: 0}
round: {significant: 0.5}
round: {significant: 3000000000}
answers: x
answers: [[1]]
marking: x
marking: {x: 1}
marking: {decimals: 18}
marking: {decimals: -1}
marking: {decimals: 0.5}
marking: {tolerance: 0}
marking: {tolerance: true}
marking: {ask: [" "]}
marking: {ask: " , "}
marking: {ask: {}}
marking: {ask: [[x]]}
marking: {points: 5}
marking: {points: {Q: 0}}
marking: {points: {Q: 1000001}}
marking: {points: {Q: x}}
marking: {points: {Q: true}}
tokens: [[a]]
tokens: {a: b}
memory_tokens: [[a]]
title: [a]
kind: x
heads: 0
heads: 3000000000
heads: true
kv_heads: 0
kv_heads: true
kv_heads: 3000000000
softcap: 0
softcap: [1]
update: x
tempreature: 2
heads: 1; n_heads: 1
x: [[1]]
words: [a, b]; tokens: [a, b]
q: [[1, 0]]; Q: [[1, 0]]
k: [[1, 0]]; K: [[1, 0]]
v: [[1, 0]]; V: [[1, 0]]
kv_heads: 1; n_kv_heads: 1
words: [a, b]; sentence: a b
Q: [[1, 0]]; W_q: [[1, 0], [0, 1]]
q: [[1, 0]]; W^Q: [[1, 0], [0, 1]]
K: [[1, 0]]; b_k: [1, 2]
V: [[1, 0]]; Wv: [[1, 0], [0, 1]]
scores: [[1, 0]]; score: dot
W_q: [[1, x]]
W_q: [[]]
W_q: [[[[1]]]]
W_o: [[[1]]]
b_q: [[[1]]]
b_o: [[1, 2], [3, 4]]
b_o: []
b_o: [[]]
b_o: [[[1, 2]]]
b_o: [x]
b_o: true
bias: [[[[[1]]]]]
bias: [[[[]]]]
bias: [[[]]]
bias: [[1], 2]
X: {a: 1}
X: ; title: a
X: ; Q: [[1]]
X: ; Q: [[1]]; V: [[1]]
X: ; Q: [[1]]; K: [[1]]
X: ; scores: [[1]]
X: ; K: [[1]]; V: [[1]]
kind: cross
kind: cross; X: ; memory: [[1, 0]]
kind: cross; K: [[1, 0]]
kind: cross; V: [[1, 0]]
kind: pooling
kind: pooling; X: ; u: [1]
kind: pooling; u: [1, 1]; mask: causal
kind: pooling; u: [1, 1]; mask: {window: [1, 0]}
kind: pooling; u: [1, 1]; normalize: {axis: queries}
kind: pooling; u: [1, 1]; activation: x
kind: pooling; u: [1, 1]; output_activation: x
kind: pooling; u: [1, 1]; heads: 2
kind: co_attention
kind: co_attention; X: ; memory: [[1, 0]]
kind: co_attention; memory: [[1, 0]]; mask: {causal: false}
kind: co_attention; memory: [[1, 0]]; mask: causal
kind: co_attention; memory: [[1, 0]]; normalize: {axis: queries}
kind: co_attention; memory: [[1, 0]]; enhance: x
kind: recurrent
kind: recurrent; X: ; A: [[1]]
kind: recurrent; A: [[1, 0, 1], [0, 1, 1]]; X: [[1], [2]]; normalize: {axis: queries}
kind: recurrent; A: [[1, 0, 1], [0, 1, 1]]; X: [[1], [2]]; mask: causal
A: [[1]]
kind: recurrent; A: [[1, 0, 1], [0, 1, 1]]; X: [[1], [2]]; update: x
kind: pooling; u:
kind: pooling; X: ; x: ; u: [1]
kind: co_attention; memory:
kind: co_attention; X: ; x: ; memory: [[1]]
kind: recurrent; A:
kind: recurrent; X: ; x: ; A: [[1]]
X: ; x: ; Q: ; q: ; scores: ; K: [[1]]; V: [[1]]
X: ; x: ; Q: [[1]]; K: ; k: ; scores: ; V: [[1]]
X: ; x: ; Q: [[1]]; K: [[1]]; V: ; v:
kind: cross; X: ; x: ; Q: ; q: ; scores: ; K: [[1]]; V: [[1]]
kind: cross; K: ; k: ; scores: ; memory: ; V: [[1]]
kind: cross; K: [[1]]; V: ; v: ; memory:
kind: cross; X: ; K: [[1]]; V: [[1]]
normalize: {x: 1}
marking: {points: [1]}
mask: {lengths: {a: 1}}
round: {significant: true}
W_q: []
W_q: [{a: 1}]
bias: []
bias: [[]]
bias: {a: 1}
bias: [{a: 1}]
bias: [[{a: 1}]]
b_o: {a: 1}
b_o: [{a: 1}]
"""


def one_by_one(path: Path, lines: str) -> tuple[list[str], list[str]]:
    """Return the problems, a line each with keys parted by `; `, that both take or refuse."""
    found: dict[str, list[str]] = {"taken by both": [], "refused by both": []}
    for line in lines.strip().splitlines():
        keys = line.split("; ")
        own = [] if any(key.startswith("X:") for key in keys) else ["X: [[1, 0], [0, 1]]"]
        made = yaml.load("\n".join([*own, *keys]), yaml.BaseLoader)
        path.write_text(json.dumps(with_nothing(made)))
        comparison = Comparison()
        comparison.of_file(path)
        assert not comparison.wrong, comparison.wrong
        for what in found:
            found[what] += [line] * comparison.figures[what]
    return found["taken by both"], found["refused by both"]


def with_nothing(made: Any) -> Any:
    """Return values as an editor sees them, with null for a key that has nothing behind it."""
    if not isinstance(made, dict):
        return typed(made)
    return {key: None if raw == "" else with_nothing(raw) for key, raw in made.items()}


def test_what_is_right_is_taken_by_both(tmp_path: Path) -> None:
    assert one_by_one(tmp_path / "a.json", TAKEN)[0] == TAKEN.strip().splitlines()


def test_what_is_wrong_is_refused_by_both(tmp_path: Path) -> None:
    assert one_by_one(tmp_path / "a.json", REFUSED)[1] == REFUSED.strip().splitlines()


def test_a_list_alone_is_x(tmp_path: Path) -> None:
    for text, what in (("[[1, 0]]", "taken by both"), ("[[1, x]]", "refused by both")):
        (tmp_path / "a.json").write_text(json.dumps(json.loads(text.replace("x", '"x"'))))
        comparison = Comparison()
        comparison.of_file(tmp_path / "a.json")
        assert comparison.figures[what] == 1
        assert not comparison.wrong


# --- samples ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.*")), ids=lambda path: path.name)
def test_every_sample_is_taken(path: Path) -> None:
    found = Comparison()
    found.of_file(path)
    assert not found.wrong, found.wrong
    assert found.figures["taken by both"] == found.figures["problems"] > 0


OF_SAMPLES = table("schema", "OF_SAMPLES")
"""The samples of errors whose fault a schema can tell."""


def test_error_samples_are_refused_where_a_schema_can_tell() -> None:
    refused = []
    for path in sorted((ROOT / "tests" / "errors").iterdir()):
        found = Comparison()
        found.of_file(path)
        assert not found.wrong, found.wrong
        refused += [path.name] * found.figures["refused by both"]
    assert refused == OF_SAMPLES


def main() -> None:
    """Compare them on as many files as the command line says, and print what came out."""
    with tempfile.TemporaryDirectory() as folder:
        found = compared(int(sys.argv[1]), Path(folder))
    for what, count in sorted(found.figures.items(), key=lambda item: -item[1]):
        print(f"{count:6} {what}")
    print("\n".join(found.wrong[:50]))


if __name__ == "__main__":
    main()

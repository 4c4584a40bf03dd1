"""Compare the JSON Schema with the loader on made-up files: `python -m benchmarks.schema 5000`."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attncli.core.attention.scores import SCORES
from attncli.core.problem.key_values import key_of
from attncli.core.problem.keys import KEYS
from attncli.core.problem.kinds import KINDS, UPDATES
from attncli.reading.load import csv_options
from attncli.reading.read import read
from benchmarks.surveys.made_files import NUMBERS, SMALL, Made, files, problems
from tests.conftest import SAMPLES
from tests.reading.test_json_schema import Comparison, typed

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


def main() -> None:
    """Compare them on as many files as the command line says, and print what came out."""
    with tempfile.TemporaryDirectory() as folder:
        found = compared(int(sys.argv[1]), Path(folder))
    for what, count in sorted(found.figures.items(), key=lambda item: -item[1]):
        print(f"{count:6} {what}")
    print("\n".join(found.wrong[:50]))


if __name__ == "__main__":
    main()

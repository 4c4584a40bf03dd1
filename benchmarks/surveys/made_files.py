"""Files of problems and answers as nobody would write them, in every format, for fuzzing.

Most are nearly right, so that they get far; the rest are broken in one of the ways that files are.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import yaml
from hypothesis import strategies as st

from attncli.core.problem.keys import KEYS

Made: TypeAlias = tuple[str, bytes]
"""The suffix of a file, and what is in it."""

WORDS = st.sampled_from(
    [
        *(
            "I",
            "am",
            "good",
            "a b",
            "",
            "~",
            "?",
            "yes",
            "[mask]",
            "\x1b[31m",
            "\u202eabc",
            "א",
            "a\nb",
        ),
        *("=1+1", "##ing", "---", "x: y", "'", '"', "😀", "\ud800", "\x00", "1", "0.5", "-", "*a"),
    ]
) | st.text(max_size=6)
ODD_NUMBERS = st.sampled_from(
    [
        *(
            "1/3",
            "sqrt(2)",
            "√2",
            "-inf",
            ".inf",
            "nan",
            "1e400",
            "1e-400",
            "9" * 400,
            "1/0",
            "2^9999",
        ),
        *(
            "½",
            "1,5",
            "−1",
            "0x10",
            "1_000",
            "1:30",
            "50%",
            "((((1))))",
            "sqrt(-1)",
            "e^e^e^e^9",
            "~",
        ),
        *("?", "_", "", "true", "1 2", "log(0)", "10**10**10", "1" + "+1" * 300, "(" * 300, "x"),
    ]
)
NUMBERS = st.one_of(
    st.integers(-5, 5).map(str),
    st.floats(-9, 9).map(lambda x: f"{x:.2f}"),
    st.integers(-5, 5).map(str),
    ODD_NUMBERS,
)
SMALL = st.integers(-3, 3).map(str)
SIZES = st.integers(1, 4)


@st.composite
def matrices(draw: st.DrawFn, numbers: st.SearchStrategy[str] = SMALL) -> Any:
    """Nested lists of the same length, at times of another."""
    rows, columns = draw(SIZES), draw(SIZES)
    found: Any = [[draw(numbers) for _ in range(columns)] for _ in range(rows)]
    match draw(st.integers(0, 15)):
        case 0:
            found[-1].pop()
        case 1:
            return [found, found]
        case 2:
            return found[0]
        case 3:
            return "\n".join(" ".join(row) for row in found)
        case 4:
            return [[]]
        case 5:
            for _ in range(draw(st.integers(1, 80))):
                found = [found]
    return found


ANY_MATRIX = st.one_of(matrices(), matrices(NUMBERS))
WORD_LISTS = st.lists(WORDS, max_size=4) | st.sampled_from(["I am good", "I,am", "a"])
OPTIONS: Mapping[str, st.SearchStrategy[Any]] = {
    "title": WORDS,
    "notes": WORDS,
    "kind": st.sampled_from(["self", "cross", "pooling", "co_attention", "recurrent", "x"]),
    "tokens": WORD_LISTS,
    "memory_tokens": WORD_LISTS,
    "heads": NUMBERS | st.sampled_from(["1", "2"]),
    "kv_heads": NUMBERS | st.sampled_from(["1", "2"]),
    "score": st.sampled_from(["dot", "scaled_dot", "cosine", "additive", "general", "distance"])
    | st.fixed_dictionaries({"name": st.sampled_from(["general", "distance"]), "W": ANY_MATRIX}),
    "scale": NUMBERS | st.sampled_from(["1/sqrt(d_k)", "1/d_v", "d_k^d_k^d_k"]),
    "softcap": NUMBERS,
    "mask": st.sampled_from(["causal", {"causal": "true"}, {"window": ["1", "0"]}, {"x": "1"}])
    | st.fixed_dictionaries({"keep": ANY_MATRIX}),
    "normalize": st.sampled_from(["softmax", "hardmax", "sparsemax", "none"])
    | st.fixed_dictionaries({"name": st.just("softmax"), "temperature": NUMBERS}),
    "tokens_as": st.sampled_from(["rows", "columns"]),
    "round": NUMBERS | st.sampled_from(["2", "3sf"]),
    "marking": st.fixed_dictionaries({"points": st.dictionaries(WORDS, NUMBERS, max_size=2)}),
}


RIGHT: Mapping[str, st.SearchStrategy[Any]] = {
    "title": st.sampled_from(["a", "\x1b[2J", "\u202eabc", "a\nb", "<b>$x_1$</b>"]),
    "score": st.sampled_from(["dot", "scaled_dot", "distance"]),
    "mask": st.sampled_from(["causal", {"causal": "true"}, {"window": ["1", "0"]}]),
    "normalize": st.sampled_from(["softmax", "hardmax", "sparsemax", "none"]),
    "scale": st.sampled_from(["1/sqrt(d_k)", "1/2", "0.5"]),
    "softcap": st.sampled_from(["5", "1/3"]),
    "round": st.sampled_from(["2", "3sf"]),
}
"""Values that fit every problem made here."""


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    """A problem that can be calculated, with a few keys of any value."""
    rows, columns = draw(SIZES), draw(SIZES)
    X = [[draw(SMALL) for _ in range(columns)] for _ in range(rows)]
    found: dict[str, Any] = {"X": X}
    for key in draw(st.lists(st.sampled_from(list(RIGHT)), max_size=4, unique=True)):
        found[key] = draw(RIGHT[key])
    if draw(st.booleans()):
        found["tokens"] = draw(st.lists(WORDS, min_size=rows, max_size=rows))
    if draw(st.booleans()):
        return found
    for key in draw(st.lists(st.sampled_from(list(KEYS)), max_size=4, unique=True)):
        found[key] = draw(OPTIONS.get(key, ANY_MATRIX))
    if draw(st.integers(0, 9)) == 0:
        found[draw(WORDS)] = draw(WORDS | ANY_MATRIX)
    return found


STEPS = [
    "Q",
    "K",
    "V",
    "scores",
    "scaled",
    "masked",
    "exp",
    "sum",
    "weights",
    "output",
    "A",
    "QK^T",
]


@st.composite
def answers(draw: st.DrawFn) -> dict[str, Any]:
    """A sheet of answers: steps, rows and cells, some of which there are not."""
    places = st.sampled_from(
        ["", "", "", "[1]", "[I]", "[1,1]", "[head 2]", "[9, 9]", "[", "[1:2, 1]"]
    )
    found: dict[str, Any] = {}
    for _ in range(draw(st.integers(0, 4))):
        place = draw(places)
        key = draw(st.sampled_from(STEPS) | WORDS) + place
        found[key] = draw(NUMBERS if "," in place else ANY_MATRIX | WORDS)
    if draw(st.booleans()):
        found["student"] = draw(WORDS)
    return found


def _text(value: Any) -> str:
    """Return a value as a line of CSV has it."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        return "\n".join(",".join(map(str, row)) for row in value)
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def as_csv(made: Mapping[str, Any]) -> str:
    """Return a mapping as CSV: options first, then blocks under their keys."""
    options = [f"{key},{_text(raw)}" for key, raw in made.items() if isinstance(raw, str)]
    blocks = [f"{key}\n{_text(raw)}" for key, raw in made.items() if isinstance(raw, list)]
    return "\n".join([*options, *blocks, ""])


def as_npz(made: Mapping[str, Any]) -> bytes:
    """Return a mapping as an NPZ file, numbers as numbers where they all are."""
    arrays = {}
    for key, raw in made.items():
        # A zip file ends a name at the first character 0, and says so of two that are alike then.
        name = key.encode(errors="replace").decode().partition("\0")[0].replace("/", "") or "_"
        try:
            arrays[name] = np.array(raw, dtype=float)
        except (ValueError, TypeError):
            if isinstance(raw, str):
                arrays[name] = np.array(raw)
    file = io.BytesIO()
    arrays.pop("file", None)
    np.savez(file, allow_pickle=True, **{k: a for k, a in arrays.items() if k != "allow_pickle"})
    return file.getvalue()


def as_npy(made: Mapping[str, Any]) -> bytes:
    """Return the first matrix of a mapping as an NPY file."""
    file = io.BytesIO()
    first = next((raw for raw in made.values() if isinstance(raw, list)), [])
    try:
        np.save(file, np.array(first, dtype=float))
    except (ValueError, TypeError):
        np.save(file, np.array(["x"]))
    return file.getvalue()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@st.composite
def files(draw: st.DrawFn, made: st.SearchStrategy[dict[str, Any]]) -> Made:
    """A file of one or several of these, in any format, whole or broken."""
    several = draw(st.lists(made, min_size=1, max_size=3))
    suffix = draw(st.sampled_from([".yaml", ".json", ".jsonl", ".csv", ".npz", ".npy", "", ".txt"]))
    match suffix:
        case ".npz":
            data = as_npz(several[0])
        case ".npy":
            data = as_npy(several[0])
        case ".csv":
            data = _bytes("---\n".join(map(as_csv, several)))
        case ".json":
            data = _bytes(json.dumps(several[0], indent=draw(st.sampled_from([None, 0, 2]))))
        case ".jsonl":
            data = _bytes("\n".join(map(json.dumps, several)))
        case _:
            texts = [_written(one, draw(st.integers(0, 3))) for one in several]
            data = _bytes(draw(st.sampled_from(["\n---\n", "\n"])).join(texts))
    return suffix, draw(broken(data))


def _written(made: Mapping[str, Any], how: int) -> str:
    if how == 0:
        return json.dumps(made)
    return as_csv(made) if how == 1 else _as_yaml(made) if how == 2 else _as_flow(made)


def _as_yaml(made: Mapping[str, Any]) -> str:
    text: str = yaml.safe_dump(made, allow_unicode=True)
    return text


def _as_flow(made: Mapping[str, Any]) -> str:
    text: str = yaml.safe_dump(made, default_flow_style=True)
    return text.replace("'", "")


@st.composite
def broken(draw: st.DrawFn, data: bytes) -> bytes:
    """The same bytes, at times cut off, with bytes put in, taken out, or twice."""
    how = draw(st.integers(0, 14))
    start = draw(st.integers(0, len(data)))
    end = draw(st.integers(start, min(len(data), start + 40)))
    if how == 0:
        return data[: len(data) - start % 60]
    if how == 1:
        return data[:start] + data[end:]
    if how == 2:
        return data[:end] + data[start:]
    if how == 3:
        return data[:start] + draw(st.binary(max_size=4)) + data[end:]
    if how == 4:
        signs = st.sampled_from(
            [b"[", b"{", b'"', b"\n---\n", b"\t", b"&a ", b"*a", b"!!x", b"\r", b"|"]
        )
        return data[:start] + draw(signs) + data[start:]
    return data

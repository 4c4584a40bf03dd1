"""Measure whole commands beside plain scripts that do the same, and in other checkouts.

    python -m benchmarks.commands [PART...] [--against CHECKOUT...] [--rounds 5] [--quick]

The commands of a part run in turn, round after round; ratios are to the first one, and a bound is
the largest ratio that a command should have. Time of the processors stands beside that of the
wall, as others may share the machine; memory is the peak of the largest process. Parts beside
PyTorch need it here, or in the interpreter that `--peers` names.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import attncli
from benchmarks.in_turn import ATTN, ROOT, Command, has, in_turn, machine, print_gains, print_ratios
from benchmarks.plain import attention

Keys = dict[str, Any]
Draw = np.random.Generator

PYTHON = shlex.quote(sys.executable)
PYTORCH = "PYTORCH"
"""Stands in a command line for the interpreter that has PyTorch."""

PLAIN = f"{PYTHON} {ROOT / 'benchmarks' / 'plain.py'}"
GOOD = ROOT / "sample_inputs" / "i_am_good.yaml"

BOUNDS = {
    "attn --help": 0.45,
    f"attn compute {GOOD} -f json": 1.1,
    f"attn compute {GOOD}": 1.3,
    f"attn compute {GOOD} --color always": 1.3,
    f"attn check {GOOD} wrong.json": 1.5,
    "attn compute many.jsonl -f json --jobs 2": 0.56,
    "attn count layer.npz": 2.7,
    "attn compute small.json -f html": 2.5,
    "attn compute small.json -f html --live": 8.0,
    "attn compute wide.json -f html": 7.0,
    "attn compute four.json -f html --live": 2.0,
    "attn compute layers.json -f html": 1.6,
    "attn compute 4096x8.npz --only output -o out.npz": 0.37,
    "attn compute 16384x8.npz --only output -o out.npz": 0.8,
    "attn compute gpt2.npz --only output -o out.npz": 0.8,
}
"""The largest share of the time of the first command of a part that some should take."""


# ---- what the files hold


def whole(draw: Draw, **shapes: tuple[int, ...]) -> Keys:
    """Draw matrices of quarters from −1 to 1."""
    return {name: (draw.integers(-4, 5, shape) / 4).tolist() for name, shape in shapes.items()}


def with_heads(draw: Draw, tokens: int, width: int, heads: int = 2) -> Keys:
    weights = dict.fromkeys(("W_q", "W_k", "W_v", "W_o"), (width, width))
    return whole(draw, X=(tokens, width), **weights) | {"heads": heads}


def small_problems(draw: Draw, count: int, **more: Any) -> Iterator[Keys]:
    """Draw problems of 3 tokens, 4 features and 2 in a query."""
    side = dict.fromkeys(("W_q", "W_k", "W_v"), (4, 2))
    return (whole(draw, X=(3, 4), **side) | more for _ in range(count))


def save(folder: Path, name: str, problems: Iterable[Keys]) -> None:
    """Write problems as JSON Lines, and as documents of YAML."""
    several = list(problems)
    lines = "".join(f"{json.dumps(one)}\n" for one in several)
    (folder / f"{name}.jsonl").write_text(lines)
    documents = ("".join(f"{key}: {json.dumps(x)}\n" for key, x in one.items()) for one in several)
    (folder / f"{name}.yaml").write_text("---\n".join(documents))


def sheet(path: Path, steps: Keys) -> None:
    """Write a submission of two decimals as YAML; nan is a cell that was left out."""
    lines = []
    for name, value in steps.items():
        texts = ["_" if np.isnan(x) else f"{x:.2f}" for x in np.ravel(value)]
        rows = json.dumps(np.reshape(texts, np.shape(value)).tolist()).replace('"', "")
        lines.append(f"{name}: {rows}\n")
    path.write_text("".join(lines))


def steps_of(keys: Keys) -> Keys:
    return {step.name: step.value for step in attncli.compute(attncli.Problem(**keys))}


def a_class(folder: Path, keys: Keys, count: int) -> None:
    """Write a problem, a folder with the sheet of each student, and one that is made up.

    Every third student is wrong: the scores are not scaled, one number is off and not carried on,
    or all from a step on is made up. The others leave one cell out, so that no two are alike.
    """
    draw = np.random.default_rng(1)
    (folder / "sheets").mkdir(parents=True)
    (folder / "hw.json").write_text(json.dumps(keys))
    right, unscaled = steps_of(keys), steps_of(keys | {"scale": 1})
    made_up = {name: draw.normal(size=value.shape) for name, value in right.items()}
    names = [*right]
    for number in range(count):
        steps = {name: value.copy() for name, value in right.items()}
        own = steps[names[draw.integers(len(names))]]
        if number % 3:
            steps[names[number % len(names)]].flat[number % 3] = np.nan
        elif number % 9 == 0:
            steps = unscaled
        elif number % 9 == 3:
            own.flat[draw.integers(own.size)] += draw.choice([-1, -0.5, 0.2, 1, 2])
        else:
            later = names[draw.integers(len(names)) :]
            steps |= {name: draw.normal(size=right[name].shape) for name in later}
        written = {name: value for name, value in steps.items() if np.isfinite(value).any()}
        sheet(folder / "sheets" / f"student {number:04}.yaml", written)
    sheet(folder / "made_up.yaml", made_up)


# ---- the parts: each writes files, of sizes that are divided by `less`, and returns its commands


def startup(folder: Path, less: int) -> list[str]:
    """Short commands beside the imports that they cannot do without."""
    (folder / "wrong.json").write_text('{"scores": [[14, 10, 9], [10, 11, 6], [9, 7, 6]]}')
    good = [f"attn compute {GOOD}{more}" for more in (" -f json", "", " --color always")]
    imports = f'{PYTHON} -c "import numpy, yaml"'
    return [imports, "attn --help", *good, f"attn check {GOOD} wrong.json"]


def streams(folder: Path, less: int) -> list[str]:
    """2,000 small problems beside a loop of json and NumPy."""
    draw = np.random.default_rng(1)
    save(folder, "few", small_problems(draw, 10))
    save(folder, "many", small_problems(draw, 2000 // less))
    given = ("many.jsonl", "many.yaml", "many.jsonl --only output", "few.jsonl")
    return [f"{PLAIN} stream many.jsonl", *(f"attn compute {one} -f json" for one in given)]


def classes(folder: Path, less: int) -> list[str]:
    """300 sheets of one problem; every third is wrong."""
    problem = with_heads(np.random.default_rng(1), 6, 8)
    a_class(folder, problem, 300 // less)
    (folder / "right").mkdir()
    for number in range(300 // less):
        sheet(folder / "right" / f"{number:03}.yaml", attention(problem))
    given = ("right -f csv", "sheets -f csv", "sheets -f csv --feedback pages")
    checks = [f"attn check hw.json {one}" for one in (*given, "made_up.yaml -f csv")]
    return [f"{PLAIN} check hw.json right", *checks]


def two_layers(matrices: Callable[..., Keys]) -> Keys:
    """Return two blocks of a transformer with 4 tokens and 2 heads."""
    draw = np.random.default_rng(5)
    four = dict.fromkeys(("W_q", "W_k", "W_v", "W_o"), (4, 4))
    more = {"W_1": (4, 8), "b_1": (8,), "W_2": (8, 4), "b_2": (4,)}
    layers = [matrices(draw, **four, **more) for _ in range(2)]
    about = {"kind": "transformer", "norm": "layer", "place": "pre", "heads": 2}
    return {**matrices(draw, X=(4, 4)), **about, "layers": layers}


def blocks(folder: Path, less: int) -> list[str]:
    """200 sheets of two blocks of a transformer, and one in which all is made up."""
    a_class(folder, two_layers(whole), 200 // less)
    return [f"attn check hw.json {given} -f csv" for given in ("sheets", "made_up.yaml")]


def jobs(folder: Path, less: int) -> list[str]:
    """20,000 problems and a class of 2,000, by one process and by two."""
    save(folder, "many", small_problems(np.random.default_rng(1), 20_000 // less))
    a_class(folder, with_heads(np.random.default_rng(2), 4, 4), 2000 // less)
    work = ("compute many.jsonl -f json", "check hw.json sheets -f csv")
    return [f"attn {words}{more}" for words in work for more in ("", " --jobs 2")]


def in_hundredths(draw: Draw, **shapes: tuple[int, ...]) -> Keys:
    """Draw matrices of numbers with two decimals."""
    return {name: (draw.integers(-99, 100, size) / 100).tolist() for name, size in shapes.items()}


def pages(folder: Path, less: int) -> list[str]:
    """Whole pages of one problem."""
    for name, tokens, width, heads in (("small", 12, 8, 2), ("wide", 24, 16, 4)):
        shapes = dict.fromkeys(("W_q", "W_k", "W_v"), (width, width))
        keys = in_hundredths(np.random.default_rng(1), X=(tokens, width), **shapes)
        (folder / f"{name}.json").write_text(json.dumps(keys | {"heads": heads}))
    given = ("small.json -f json", "small.json -f html", "small.json -f html --live")
    return [f"attn compute {one}" for one in (*given, "wide.json -f html")]


def live_page(folder: Path, less: int) -> list[str]:
    """A page of 4 tokens of 4 features that recalculates, also with other tokens and heads."""
    sizes = dict.fromkeys(("X", "W_q", "W_k", "W_v"), (4, 4))
    keys = in_hundredths(np.random.default_rng(1), **sizes)
    (folder / "four.json").write_text(json.dumps(keys))
    return [f"attn compute four.json -f {form}" for form in ("json", "html", "html --live")]


def page_of_layers(folder: Path, less: int) -> list[str]:
    """A page of two layers of 4 tokens."""
    (folder / "layers.json").write_text(json.dumps(two_layers(in_hundredths)))
    return [f"attn compute layers.json -f {form}" for form in ("json", "html", "html --live")]


def practice_page(folder: Path, less: int) -> list[str]:
    """A page to practise on, of the sample next_word."""
    sample = ROOT / "sample_inputs" / "next_word.yaml"
    return [f"attn compute {sample} -f json", f"attn worksheet {sample} -f html"]


def counts(folder: Path, less: int) -> list[str]:
    """One layer of Llama 3 8B, of whose 637 MB only the headers are read; NumPy alone."""
    d, inner, shared = 4096, 14336, 1024
    shapes = {"X": (16, d), "W_q": (d, d), "W_k": (d, shared), "W_v": (d, shared), "W_o": (d, d)}
    shapes |= {"W_1": (d, inner), "W_2": (inner, d)}
    keys: Keys = {key: np.zeros(shape, "f4") for key, shape in shapes.items()}
    keys |= {"kind": "transformer", "norm": "rms", "heads": 32, "kv_heads": 8, "mask": "causal"}
    np.savez(folder / "layer.npz", **keys)
    return ["attn --version", f"{PYTHON} -c 'import numpy'", "attn count layer.npz"]


def variants(folder: Path, less: int) -> list[str]:
    """Variants of two layers, to be compared with other checkouts."""
    return [f"attn vary {ROOT / 'sample_inputs' / 'next_word.yaml'} -n {5 // less or 1}"]


def gradients(folder: Path, less: int) -> list[str]:
    """500 small problems without a gradient and with one, and one of 50 states."""
    draw = np.random.default_rng(1)
    save(folder, "plain", small_problems(draw, 500 // less))
    save(folder, "sum", small_problems(draw, 500 // less, gradient="sum"))
    states = whole(draw, X=(50, 3), A=(4, 7))
    save(folder, "states", [{"kind": "recurrent", **states, "gradient": "sum"}])
    given = ("plain", "sum", "states")
    return [f"attn compute {one}.jsonl -f json" for one in given]


def write_matrices(folder: Path, less: int) -> None:
    scores = np.random.default_rng(1).standard_normal((4096 // less, 512))
    values = np.ones((512, 1))
    np.savez(folder / "problem.npz", scores=scores, V=values)
    np.savetxt(folder / "x.csv", scores, "%.17g", ",")
    rows = "".join(f"  {' '.join(map(repr, row))}\n" for row in scores.tolist())
    lists = {"scores": json.dumps(scores.tolist()), "V": json.dumps(values.tolist())}
    (folder / "block.yaml").write_text(f"scores: |\n{rows}V: {lists['V']}\n")
    (folder / "lists.yaml").write_text("".join(f"{key}: {x}\n" for key, x in lists.items()))
    text = ", ".join(f'"{key}": {x}' for key, x in lists.items())
    (folder / "lists.json").write_text(f"{{{text}}}")


def read(folder: Path, less: int) -> list[str]:
    """Scores of 4,096 × 512 numbers with all their digits, read in each format."""
    write_matrices(folder, less)
    plain = "import numpy; numpy.loadtxt('x.csv', delimiter=',')"
    given = ("block.yaml", "lists.yaml", "lists.json", "problem.npz")
    reads = [f"attn compute {name} --only output -o out.csv" for name in given]
    return [f'{PYTHON} -c "{plain}"', *reads]


def write(folder: Path, less: int) -> list[str]:
    """Weights of 4,096 × 512 numbers, written in each format."""
    write_matrices(folder, less)
    scores = "numpy.load('problem.npz')['scores']"
    plain = f"import numpy; numpy.savetxt('y.csv', {scores}, '%.17g', ',')"
    formats = ("csv", "yaml", "json", "npz")
    writes = [f"attn compute problem.npz --only weights -o out.{form}" for form in formats]
    return [f'{PYTHON} -c "{plain}"', *writes]


def layers(folder: Path, less: int) -> list[str]:
    """4,096 tokens of 8 heads: positions, the first of 500,000 rows, a dump that is checked."""
    draw, width, tokens = np.random.default_rng(0), 512, 4096 // less
    keys: Keys = {name: draw.normal(size=(width, width)) / width**0.5 for name in ("W_q", "W_k")}
    keys |= {"W_v": keys["W_q"].T.copy(), "X": draw.normal(size=(tokens, width)), "heads": 8}
    np.savez(folder / "plain.npz", **keys)
    np.savez(folder / "rope.npz", **keys, positions="rope")
    np.savez(folder / "alibi.npz", **keys, positions="alibi")
    np.savetxt(folder / "long.csv", draw.normal(size=(500_000 // less, 8)), "%.6f", ",")
    few = keys | {"X": keys["X"][: 512 // less]}
    np.savez(folder / "few.npz", **few)
    steps = steps_of(few)
    np.savez(folder / "dump.npz", **steps)
    steps["weights"] = steps["weights"].copy()
    steps["weights"][2, 16, 19] += 0.01
    np.savez(folder / "wrong.npz", **steps)
    first = "attn compute long.csv --only weights -f csv | head -c 1"
    given, dumps = ("plain", "rope", "alibi"), ("dump", "wrong")
    outputs = [f"attn compute {name}.npz --only output -o out.npz" for name in given]
    checks = [f"attn check few.npz {name}.npz -q" for name in dumps]
    return [*outputs, f"sh -c {shlex.quote(first)}", *checks]


def beside_torch(folder: Path, name: str, keys: Keys) -> list[str]:
    np.savez(folder / f"{name}.npz", **keys)
    script = ROOT / "benchmarks" / "plain_torch.py"
    plain = f"{PYTORCH} {script} {name}.npz plain.npz"
    return [plain, f"attn compute {name}.npz --only output -o out.npz"]


def attention_alone(folder: Path, less: int, tokens: int, heads: int) -> list[str]:
    """Q, K and V in float64 with 64 features in a head, from NPZ to NPZ."""
    draw, shape = np.random.default_rng(0), (tokens // less, 64)
    keys: Keys = {"heads": heads} if heads > 1 else {}
    keys |= {side: draw.normal(size=(heads, *shape) if heads > 1 else shape) for side in "QKV"}
    return beside_torch(folder, f"{tokens}x{heads}", keys)


def gpt2(folder: Path, less: int) -> list[str]:
    """12 layers of GPT-2 in float32, 324 MB, from NPZ to NPZ."""
    draw, n, d, inner = np.random.default_rng(0), 512, 768, 3072
    shapes: dict[str, tuple[int, ...]] = {"W_1": (d, inner), "b_1": (inner,), "W_2": (inner, d)}
    shapes |= {f"W_{letter}": (d, d) for letter in "qkvo"}
    shapes |= {f"b_{letter}": (d,) for letter in "qkvo2"}
    shapes |= {f"{word}_{half}": (d,) for word in ("gain", "shift") for half in (1, 2)}
    keys: Keys = {
        f"layers.{number}.{key}": draw.normal(size=shape, scale=0.02).astype("f4")
        for number in range(1, 12 // min(less, 6) + 1)
        for key, shape in shapes.items()
    }
    keys |= {"kind": "transformer", "activation": "gelu_tanh", "norm": "layer", "place": "pre"}
    keys |= {"heads": 12, "mask": "causal", "X": draw.normal(size=(n, d)).astype("f4")}
    return beside_torch(folder, "gpt2", keys)


SIZES = (*((1024 * 2**i, 1) for i in range(6)), (4096, 8), (8192, 8), (16384, 8))
"""Tokens and heads of attention alone."""

PARTS: dict[str, Callable[[Path, int], list[str]]] = {
    part.__name__: part
    for part in (
        startup,
        streams,
        classes,
        blocks,
        jobs,
        pages,
        live_page,
        page_of_layers,
        practice_page,
        counts,
        variants,
        gradients,
        read,
        write,
        layers,
    )
}
PARTS |= {f"{n}x{heads}": partial(attention_alone, tokens=n, heads=heads) for n, heads in SIZES}
PARTS["gpt2"] = gpt2


def words_of(line: str, peers: str) -> list[str]:
    """Return the words of a command line, in which `attn` is the package of a checkout."""
    line = line.replace(PYTORCH, shlex.quote(peers))
    if line.startswith("sh -c"):
        return shlex.split(line.replace("attn ", f"{shlex.join(ATTN)} "))
    words = shlex.split(line)
    return [*ATTN, *words[1:]] if words[0] == "attn" else words


def main() -> None:
    """Print a table for each part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--against", nargs="*", default=[], help="folders of other checkouts")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of each size, one round")
    parser.add_argument("--peers", default=sys.executable, help="an interpreter with PyTorch")
    asked = parser.parse_args()
    peers = str(Path(asked.peers).absolute())
    has_torch = has(peers, "torch")
    print(machine(peers))
    rounds = 1 if asked.quick else asked.rounds
    for name in asked.parts or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            part = PARTS[name]
            lines = part(Path(folder), 10 if asked.quick else 1)
            if not has_torch:
                lines = [line for line in lines if not line.startswith(PYTORCH)]
            commands: dict[str, Command] = {}
            bounds: dict[str, float] = {}
            for place in (ROOT, *map(Path, asked.against)):
                for line in lines:
                    if place == ROOT or "attn" in line:
                        told = line.replace(str(ROOT), ".").replace(sys.executable, "python")
                        told = told.replace(PYTORCH, "python")
                        title = told if place == ROOT else f"{place.name}: {told}"
                        commands[title] = Command(words_of(line, peers), place, (0, 1))
                        if line in BOUNDS and line != lines[0]:
                            bounds[title] = BOUNDS[line]
            about = (getattr(part, "func", part).__doc__ or "").rstrip(".")
            print(f"\n{name}: {about}; medians of {rounds} rounds in turn")
            costs = in_turn(commands, rounds, folder)
            print_ratios(costs, bounds)
            print_gains(costs, " --jobs 2", 2)


if __name__ == "__main__":
    main()

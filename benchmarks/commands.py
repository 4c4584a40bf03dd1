"""Measure whole commands beside plain scripts that do the same, and in other checkouts.

    python -m benchmarks.commands [PART...] [--against CHECKOUT...] [--rounds 5] [--quick]

The commands of a part run in turn, round after round; ratios are to the first one, and a bound is
the largest ratio that a command should have. Time of the processors stands beside that of the
wall, as others may share the machine; memory is the peak of the largest process.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import attncli
from benchmarks.in_turn import ATTN, ROOT, Command, in_turn, print_ratios
from benchmarks.plain import attention

Keys = dict[str, Any]
PYTHON = shlex.quote(sys.executable)
PLAIN = f"{PYTHON} {ROOT / 'benchmarks' / 'plain.py'}"
LOADTXT = "import numpy; numpy.loadtxt('x.csv', delimiter=',')"
SAVETXT = "import numpy; numpy.savetxt('y.csv', numpy.load('problem.npz')['scores'], '%.17g', ',')"


class Line(NamedTuple):
    """A command line, and the largest share of the first one's time that it should take."""

    words: str
    bound: float | None = None


class Part(NamedTuple):
    """Commands that are compared, in a folder with the files that they need.

    Attributes:
        about: what is measured.
        write: what writes the files; it is told by how much sizes are divided.
        lines: the commands.
    """

    about: str
    write: Callable[[Path, int], None]
    lines: list[Line]


def whole(draw: np.random.Generator, **shapes: tuple[int, ...]) -> Keys:
    """Draw matrices of quarters from −1 to 1."""
    return {name: (draw.integers(-4, 5, shape) / 4).tolist() for name, shape in shapes.items()}


def small_problems(draw: np.random.Generator, count: int) -> list[Keys]:
    """Draw problems of 3 tokens, 4 features and 2 in a query."""
    side = dict.fromkeys(("W_q", "W_k", "W_v"), (4, 2))
    return [whole(draw, X=(3, 4), **side) for _ in range(count)]


def save(folder: Path, name: str, problems: Iterable[Keys]) -> None:
    """Write problems as JSON Lines, and as documents of YAML."""
    several = list(problems)
    lines = "".join(f"{json.dumps(one)}\n" for one in several)
    (folder / f"{name}.jsonl").write_text(lines)
    documents = ("".join(f"{key}: {json.dumps(x)}\n" for key, x in one.items()) for one in several)
    (folder / f"{name}.yaml").write_text("---\n".join(documents))


def sheet(steps: dict[str, Any], decimals: int) -> str:
    """Return a submission in YAML; nan is a cell that was left out."""
    lines = []
    for name, value in steps.items():
        texts = [
            "_" if np.isnan(x) else f"{x:.{decimals}f}" for x in np.asarray(value, float).ravel()
        ]
        rows = json.dumps(np.reshape(texts, np.shape(value)).tolist()).replace('"', "")
        lines.append(f"{name}: {rows}\n")
    return "".join(lines)


def students(draw: np.random.Generator, keys: Keys, count: int) -> Iterator[dict[str, Any]]:
    """Yield the steps of students, of whom every third is wrong in one of four ways.

    A matrix is transposed, the scores are not scaled, one number is off and not carried on, or all
    from a step on is made up.
    """
    right = {step.name: step.value for step in attncli.compute(attncli.Problem(**keys))}
    holder = keys["layers"][0] if "layers" in keys else keys
    transposed = {"W_k": np.transpose(holder["W_k"]).tolist()}
    if "layers" in keys:
        transposed = {"layers": [holder | transposed, *keys["layers"][1:]]}
    wrong = [
        {step.name: step.value for step in attncli.compute(attncli.Problem(**keys | change))}
        for change in (transposed, {"scale": 1})
    ]
    for number in range(count):
        way, steps = number // 3 % 4, {name: x.copy() for name, x in right.items()}
        names = list(steps)
        if number % 3:  # one cell is left out, so that no two are alike
            steps[names[number % len(names)]].flat[number % 3] = np.nan
        elif way < 2:
            steps = wrong[way]
        elif way == 2:
            value = steps[names[draw.integers(len(names))]]
            value.flat[draw.integers(value.size)] += draw.choice([-1, -0.5, 0.2, 1, 2])
        else:
            for name in names[draw.integers(len(names)) :]:
                steps[name] = draw.normal(size=steps[name].shape)
        yield {name: x for name, x in steps.items() if np.isfinite(x).any()}


def a_class(folder: Path, keys: Keys, count: int) -> None:
    """Write a problem, a folder with the sheet of each student, and one that is made up."""
    draw = np.random.default_rng(1)
    (folder / "sheets").mkdir(parents=True)
    (folder / "hw.json").write_text(json.dumps(keys))
    for number, steps in enumerate(students(draw, keys, count)):
        (folder / "sheets" / f"student {number:04}.yaml").write_text(sheet(steps, 2))
    trace = attncli.compute(attncli.Problem(**keys))
    made_up = {step.name: draw.normal(size=step.value.shape) for step in trace}
    (folder / "made_up.yaml").write_text(sheet(made_up, 2))


def write_nothing(folder: Path, less: int) -> None:
    wrong = '{"scores": [[14, 10, 9], [10, 11, 6], [9, 7, 6]]}'
    (folder / "wrong.json").write_text(wrong)


def write_streams(folder: Path, less: int) -> None:
    draw = np.random.default_rng(1)
    save(folder, "few", small_problems(draw, 10))
    save(folder, "many", small_problems(draw, 2000 // less))


def write_jobs(folder: Path, less: int) -> None:
    save(folder, "many", small_problems(np.random.default_rng(1), 20_000 // less))
    heads = dict.fromkeys(("W_q", "W_k", "W_v", "W_o"), (4, 4))
    problem = whole(np.random.default_rng(2), X=(4, 4), **heads) | {"heads": 2}
    a_class(folder, problem, 2000 // less)


def write_classes(folder: Path, less: int) -> None:
    heads = dict.fromkeys(("W_q", "W_k", "W_v", "W_o"), (8, 8))
    problem = whole(np.random.default_rng(1), X=(6, 8), **heads) | {"heads": 2}
    a_class(folder, problem, 300 // less)
    right = attention(problem)
    (folder / "right").mkdir()
    for number in range(300 // less):
        (folder / "right" / f"{number:03}.yaml").write_text(sheet(right, 2))


def write_blocks(folder: Path, less: int) -> None:
    draw = np.random.default_rng(5)
    four = dict.fromkeys(("W_q", "W_k", "W_v", "W_o"), (4, 4))
    more = {"W_1": (4, 8), "b_1": (8,), "W_2": (8, 4), "b_2": (4,)}
    layers = [whole(draw, **four, **more) for _ in range(2)]
    about = {"kind": "transformer", "norm": "layer", "place": "pre", "heads": 2}
    a_class(folder, {**whole(draw, X=(4, 4)), **about, "layers": layers}, 200 // less)


def write_page(folder: Path, less: int) -> None:
    for name, tokens, width, heads in (("small", 12, 8, 2), ("wide", 24, 16, 4)):
        draw = np.random.default_rng(1)
        shapes = {"X": (tokens, width)} | dict.fromkeys(("W_q", "W_k", "W_v"), (width, width))
        (folder / f"{name}.json").write_text(json.dumps(whole(draw, **shapes) | {"heads": heads}))


def write_gradients(folder: Path, less: int) -> None:
    draw = np.random.default_rng(1)
    save(folder, "one", small_problems(draw, 1))
    save(folder, "plain", small_problems(draw, 500 // less))
    save(folder, "sum", ({**one, "gradient": "sum"} for one in small_problems(draw, 500 // less)))
    states = whole(draw, X=(50, 3), A=(4, 7))
    save(folder, "states", [{"kind": "recurrent", **states, "gradient": "sum"}])


def write_matrices(folder: Path, less: int) -> None:
    scores = np.random.default_rng(1).standard_normal((4096 // less, 512))
    ones = np.ones((512, 1))
    lists = [json.dumps(row) for row in scores.tolist()]
    np.savetxt(folder / "x.csv", scores, "%.17g", ",")
    rest = f"V: {ones.tolist()}\n"
    rows = "".join(f"  {' '.join(map(repr, row))}\n" for row in scores.tolist())
    (folder / "block.yaml").write_text(f"scores: |\n{rows}{rest}")
    (folder / "lists.yaml").write_text(f"scores: [{', '.join(lists)}]\n{rest}")
    whole_text = f'{{"scores": [{", ".join(lists)}], "V": {ones.tolist()}}}'
    (folder / "lists.json").write_text(whole_text)
    np.savez(folder / "problem.npz", scores=scores, V=ones)


def write_layers(folder: Path, less: int) -> None:
    draw, width, tokens = np.random.default_rng(0), 512, 4096 // less
    keys: Keys = {name: draw.normal(size=(width, width)) / width**0.5 for name in ("W_q", "W_k")}
    keys |= {"W_v": keys["W_q"].T.copy(), "X": draw.normal(size=(tokens, width)), "heads": 8}
    np.savez(folder / "plain.npz", **keys)
    np.savez(folder / "rope.npz", **keys, positions="rope")
    np.savez(folder / "alibi.npz", **keys, positions="alibi")
    np.savetxt(folder / "long.csv", draw.normal(size=(500_000 // less, 8)), "%.6f", ",")
    few = keys | {"X": keys["X"][: 512 // less]}
    np.savez(folder / "few.npz", **few)
    steps: Keys = {step.name: step.value for step in attncli.compute(attncli.Problem(**few))}
    np.savez(folder / "dump.npz", **steps)
    steps["weights"] = steps["weights"].copy()
    steps["weights"][2, 16, 19] += 0.01
    np.savez(folder / "wrong.npz", **steps)


GOOD = f"attn compute {ROOT / 'sample_inputs' / 'i_am_good.yaml'}"
PARTS = {
    "startup": Part(
        "short commands beside the imports that they cannot do without",
        write_nothing,
        [
            Line(f'{PYTHON} -c "import numpy, yaml"'),
            Line("attn --help", 0.45),
            Line(f"{GOOD} -f json", 1.1),
            Line(GOOD, 1.3),
            Line(f"{GOOD} --color always", 1.3),
            Line(f"{GOOD.replace('compute', 'check', 1)} wrong.json", 1.5),
        ],
    ),
    "streams": Part(
        "2,000 small problems beside a loop of json and NumPy",
        write_streams,
        [
            Line(f"{PLAIN} stream many.jsonl"),
            Line("attn compute many.jsonl -f json"),
            Line("attn compute many.yaml -f json"),
            Line("attn compute many.jsonl -f json --only output"),
            Line("attn compute few.jsonl -f json"),
        ],
    ),
    "classes": Part(
        "300 sheets of one problem; every third is wrong",
        write_classes,
        [
            Line(f"{PLAIN} check hw.json right"),
            Line("attn check hw.json right -f csv"),
            Line("attn check hw.json sheets -f csv"),
            Line("attn check hw.json sheets -f csv --feedback pages"),
            Line("attn check hw.json made_up.yaml -f csv"),
        ],
    ),
    "blocks": Part(
        "200 sheets of two blocks of a transformer, and one in which all is made up",
        write_blocks,
        [Line("attn check hw.json sheets -f csv"), Line("attn check hw.json made_up.yaml -f csv")],
    ),
    "jobs": Part(
        "20,000 problems and a class of 2,000, by one process and by two",
        write_jobs,
        [
            Line("attn compute many.jsonl -f json"),
            Line("attn compute many.jsonl -f json --jobs 2", 0.56),
            Line("attn check hw.json sheets -f csv"),
            Line("attn check hw.json sheets -f csv --jobs 2"),
        ],
    ),
    "pages": Part(
        "whole pages of one problem",
        write_page,
        [
            Line("attn compute small.json -f json"),
            Line("attn compute small.json -f html", 3.0),
            Line("attn compute small.json -f html --live", 8.0),
            Line("attn compute wide.json -f html", 7.0),
        ],
    ),
    "gradients": Part(
        "500 small problems without a gradient and with one, and one of 50 states",
        write_gradients,
        [
            Line("attn compute plain.jsonl -f json"),
            Line("attn compute sum.jsonl -f json"),
            Line("attn compute states.jsonl -f json"),
            Line("attn vary one.yaml -n 4"),
        ],
    ),
    "read": Part(
        "scores of 4,096 × 512 numbers with all their digits, read in each format",
        write_matrices,
        [
            Line(f'{PYTHON} -c "{LOADTXT}"'),
            *(
                Line(f"attn compute {name} --only output -o out.csv")
                for name in ("block.yaml", "lists.yaml", "lists.json", "problem.npz")
            ),
        ],
    ),
    "write": Part(
        "weights of 4,096 × 512 numbers, written in each format",
        write_matrices,
        [
            Line(f'{PYTHON} -c "{SAVETXT}"'),
            *(
                Line(f"attn compute problem.npz --only weights -o out.{suffix}")
                for suffix in ("csv", "yaml", "json", "npz")
            ),
        ],
    ),
    "layers": Part(
        "4,096 tokens of 8 heads: positions, the first of 500,000 rows, a dump that is checked",
        write_layers,
        [
            Line("attn compute plain.npz --only output -o out.npz"),
            Line("attn compute rope.npz --only output -o out.npz"),
            Line("attn compute alibi.npz --only output -o out.npz"),
            Line("sh -c 'attn compute long.csv --only weights -f csv | head -c 1'"),
            Line("attn check few.npz dump.npz -q"),
            Line("attn check few.npz wrong.npz -q"),
        ],
    ),
}


def words_of(line: Line) -> list[str]:
    """Return the words of a command line, in which `attn` is the package of a checkout."""
    attn = shlex.join(ATTN)
    if line.words.startswith("sh -c"):
        return shlex.split(line.words.replace("attn ", f"{attn} "))
    words = shlex.split(line.words)
    return [*ATTN, *words[1:]] if words[0] == "attn" else words


def main() -> None:
    """Print a table for each part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--against", nargs="*", default=[], help="folders of other checkouts")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a tenth of each size, one round")
    asked = parser.parse_args()
    for name in asked.parts or PARTS:
        part = PARTS[name]
        with tempfile.TemporaryDirectory() as folder:
            part.write(Path(folder), 10 if asked.quick else 1)
            commands: dict[str, Command] = {}
            bounds: dict[str, float] = {}
            for place in (ROOT, *map(Path, asked.against)):
                for line in part.lines:
                    if place == ROOT or "attn" in line.words:
                        told = line.words.replace(str(ROOT), ".").replace(sys.executable, "python")
                        title = told if place == ROOT else f"{place.name}: {told}"
                        commands[title] = Command(words_of(line), place, (0, 1))
                        bounds |= {title: line.bound} if line.bound else {}
            rounds = 1 if asked.quick else asked.rounds
            print(f"\n{name}: {part.about}; medians of {rounds} rounds in turn")
            print_ratios(in_turn(commands, rounds, folder), bounds)


if __name__ == "__main__":
    main()

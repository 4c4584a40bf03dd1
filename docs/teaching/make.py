"""Write the sheets of a class of twelve, by hand's formulas: `python docs/teaching/make.py`.

The variants must be there: `attn vary homework.yaml -n 6 --seed 7 --values -1..3 -o variants/` in
this folder. Two students share each. What a student writes is worked out here, with NumPy alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from pathlib import Path

import numpy as np
import yaml

HERE = Path(__file__).parent
STEPS = ("scores", "scaled", "weights", "output")

Matrices = dict[str, np.ndarray]


def rounded(numbers: np.ndarray, decimals: int = 2, rounding: str = ROUND_HALF_UP) -> np.ndarray:
    """Return numbers as a hand writes them."""
    unit = Decimal(1).scaleb(-decimals)
    texts = [str(Decimal(f"{x:.12f}").quantize(unit, rounding)) for x in numbers.ravel()]
    return np.array(texts, object).reshape(numbers.shape)


def softmax(scores: np.ndarray, axis: int = 1) -> np.ndarray:
    """Return e^s divided by the sums of rows, or of columns."""
    e = np.exp(scores)
    return e / e.sum(axis=axis, keepdims=True)


def worked(
    given: Matrices,
    scale: float = 0.5,
    axis: int = 1,
    slip: float = 0.0,
    mixes: str = "V",
    as_written: bool = False,
) -> Matrices:
    """Return the steps of a student; d_k is 4, so that the right scale is 1/2."""
    after: Callable[[np.ndarray], np.ndarray] = (
        (lambda numbers: rounded(numbers).astype(float))
        if as_written
        else (lambda numbers: numbers)
    )
    scores = (given["X"] @ given["W_q"]) @ (given["X"] @ given["W_k"]).T
    scores[1, 2] += slip
    scaled = after(scores * scale)
    weights = after(softmax(scaled, axis))
    values = given["X"] @ given["W_v"] if mixes == "V" else given["X"]
    return {"scores": scores, "scaled": scaled, "weights": weights, "output": weights @ values}


def as_yaml(name: str, steps: dict[str, np.ndarray]) -> str:
    """Return a sheet in YAML."""
    lines = [f"{step}: {json.dumps(texts.tolist())}" for step, texts in steps.items()]
    return "\n".join([f"student: {name}", *lines, ""]).replace('"', "")


def as_csv(name: str, steps: dict[str, np.ndarray]) -> str:
    """Return a sheet in CSV, with a line for each row of a matrix."""
    lines = [f"student,{name}"]
    for step, texts in steps.items():
        lines += [step, *(",".join(row) for row in texts)]
    return "\n".join([*lines, ""])


def sheets() -> dict[str, str]:
    """Return what each file holds."""
    given = []
    for number in range(1, 7):
        raw = yaml.safe_load((HERE / "variants" / f"{number:02}.yaml").read_text())
        given.append({key: np.array(raw[key], float) for key in ("X", "W_q", "W_k", "W_v")})
    one, two, three, four, five, six = given

    def written(steps: Matrices, decimals: int = 2, rounding: str = ROUND_HALF_UP) -> Matrices:
        return {step: rounded(steps[step], decimals, rounding) for step in STEPS}

    upside_down = written(worked(three))
    upside_down["output"][1, 0] = str(-Decimal(upside_down["output"][1, 0]))
    return {
        "01-ada.yaml": as_yaml("Ada", written(worked(one))),
        "02-ben.csv": as_csv("Ben", written(worked(two, as_written=True))),
        "03-cem.yaml": as_yaml("Cem", written(worked(three), 2, ROUND_DOWN)),
        "04-dora.yaml": as_yaml("Dora", written(worked(four, scale=1.0))),
        "05-eli.yaml": as_yaml("Eli", written(worked(five, scale=0.25))),
        "06-fay.csv": as_csv("Fay", written(worked(six, slip=1.0))),
        "01-gus.yaml": as_yaml("Gus", written(worked(one, axis=0))),
        "02-hana.yaml": as_yaml("Hana", written(worked(two, mixes="X"))),
        "03-ivo.yaml": as_yaml("Ivo", upside_down),
        "04-jun.yaml": "student: Jun\n",
        "05-kim.yaml": "student: Kim\nscores: [[1, 2, 3], [4, 5, 6\n",
        "06-lea.yaml": as_yaml("Lea", written(worked(six), 1)),
    }


def main() -> None:
    """Write the files."""
    folder = HERE / "sheets"
    folder.mkdir(exist_ok=True)
    for name, text in sheets().items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()

"""Heat maps as pictures: the numbers, shades and labels of the page, as SVG and as PNG."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest

import attncli
from attncli.core.text.strings import visible
from attncli.pages.picture import MAX_LABEL
from tests.conftest import SAMPLES, Attn
from tests.oracles.hostile import HOSTILE, PROBLEM

HEADS = SAMPLES / "heads_cut.yaml"
NAME = "{http://www.w3.org/2000/svg}"


def picture(problem: attncli.Problem, *only: str) -> str:
    return attncli.render(attncli.compute(problem), "svg", only)


def texts(svg: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{NAME}text")]


def opacities(svg: str) -> list[str]:
    """Return how opaque the shade of each cell is that has one."""
    rects = ElementTree.fromstring(svg).iter(f"{NAME}rect")
    return [rect.attrib["fill-opacity"] for rect in rects if "fill-opacity" in rect.attrib]


def test_a_picture_has_the_numbers_the_labels_and_the_shades_of_the_page() -> None:
    trace = attncli.compute(attncli.load(HEADS))
    page, svg = attncli.render(trace, "html", "weights"), attncli.render(trace, "svg")
    shown = re.findall(r"<td[^>]*>([0-9.]+)</td>", page)
    assert len(shown) == 18
    assert [text for text in texts(svg) if re.fullmatch(r"[0-9.]+", text)] == shown
    assert texts(svg).count("good") == 4  # beside the rows and above the columns of two heads
    assert {"head 1", "head 2", "weights = exp / sum"} <= set(texts(svg))
    strengths = [float(value) for value in re.findall(r"--w:(\.\d+)", page)]
    assert [float(o) for o in opacities(svg)] == pytest.approx(
        [0.62 * strength for strength in strengths], abs=0.004
    )
    assert '<g fill="#167df3"' in svg  # hsl(212 90% 52%)


def test_other_steps_are_shaded_from_their_least_to_their_largest_number() -> None:
    svg = picture(attncli.load(SAMPLES / "mask_causal.yaml"), "masked")
    (said,) = (text for text in texts(svg) if text.startswith("shades"))
    numbers = [text for text in texts(svg) if re.fullmatch("−?[0-9.]+", text)]
    values = sorted(float(text.replace("−", "-")) for text in numbers)
    assert said == f"shades from {values[0]:g} to {values[-1]:g}"
    assert texts(svg).count("−∞") == 3
    assert len(opacities(svg)) == sum(value > values[0] for value in values)
    assert max(map(float, opacities(svg))) == 0.62


def test_a_label_is_shown_as_text_and_cut_where_it_is_long() -> None:
    tokens = [token for token in HOSTILE if len(token) <= MAX_LABEL][:12]
    X = [[row, 1] for row in range(len(tokens))]
    svg = picture(attncli.Problem(**PROBLEM | {"tokens": tokens, "X": X}))
    assert all(texts(svg).count(visible(token)) == 2 for token in tokens)
    assert visible(str(PROBLEM["title"])) in texts(svg)
    long = picture(attncli.Problem(tokens=["a" * 30 + "b" * 30], X=[[1]]))
    assert texts(long).count("aaaaaaa…bbbbbbbb") == 2


def test_numbers_near_the_largest_float_are_shaded() -> None:
    problem = attncli.Problem(X=[[1, 0], [0, 1]], W_q=[[1.5e308, -1.5e308], [3, 0]])
    assert opacities(picture(problem, "Q")) == ["0.620", "0.310", "0.310"]


def test_isolates_of_a_right_to_left_word_are_no_text() -> None:
    score = {"name": "additive", "W": [[1]], "U": [[1]], "v": [1]}
    svg = picture(attncli.Problem(tokens=["שלום", "b"], X=[[1], [2]], score=score), "hidden")
    assert "query שלום" in texts(svg)
    assert "2068" not in svg


def test_a_large_matrix_has_no_numbers_and_a_huge_one_is_refused(
    attn: Attn, tmp_path: Path
) -> None:
    path = tmp_path / "hw.yaml"
    path.write_text(f"X: {[[row % 3, 1] for row in range(30)]}")
    svg = attn("compute", path, "-f", "svg").out
    assert len(texts(svg)) == 2 * 30 + 2  # the labels, the formula, the shades
    assert svg.count("rotate(-90)") == 30
    assert len(texts(attn("compute", path, "-f", "svg", "--rows", "1-2").out)) == 2 + 30 + 2
    path.write_text(f"X: {[[row % 3, 1] for row in range(201)]}")
    result = attn("compute", path, "-o", tmp_path / "w.svg")
    assert (result.status, result.out) == (2, "")
    assert result.err == (
        f"{path}: a picture of more than 40,000 cells shows nothing\n"
        "  choose with --only, --head and --rows; -o FILE.npz holds every number\n"
    )
    assert not (tmp_path / "w.svg").exists()


def test_layers_and_problems_are_below_each_other_or_in_files(attn: Attn, tmp_path: Path) -> None:
    svg = attn("compute", SAMPLES / "next_word.yaml", HEADS, "-f", "svg").out
    shown = [text for text in texts(svg) if "weights" in text or text.startswith("T")]
    assert shown == [
        "The next word",
        "layers.1.weights = exp / sum",
        "layers.2.weights = exp / sum",
        "Two heads cut from one projection",
        "weights = exp / sum",
    ]
    attn("compute", SAMPLES / "next_word.yaml", HEADS, "-o", f"{tmp_path}/{{number}}.svg")
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("name", "step"), [("dictionary_soft", "output"), ("recurrent", "weights")]
)
def test_what_has_no_weights_shows_its_last_step_and_rows_of_weights_are_together(
    name: str, step: str
) -> None:
    shown = texts(picture(attncli.load(SAMPLES / f"{name}.yaml")))
    assert [text.partition(" = ")[0] for text in shown if " = " in text] == [step]


def test_a_png_is_the_same_picture_at_twice_the_size(attn: Attn, tmp_path: Path) -> None:
    result = attn("compute", HEADS, "-o", tmp_path / "w.png")
    assert (result.status, result.out) == (0, "")
    root = ElementTree.fromstring(picture(attncli.load(HEADS)))
    data = (tmp_path / "w.png").read_bytes()
    assert data.startswith(b"\x89PNG\r\n")
    size = [2 * int(root.attrib[name]) for name in ("width", "height")]
    assert [*struct.unpack(">II", data[16:24])] == size

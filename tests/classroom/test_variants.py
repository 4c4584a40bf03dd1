"""`attn vary`: variants of a problem that are fair, and the same on every machine."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import yaml

import attncli
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.classroom.distractors import ENOUGH_WRONG, Batch, Distractors, Question, alike_pairs
from attncli.classroom.drawing import Drawing, calculated, read_values, usual_values
from attncli.classroom.name_index import read_roster
from attncli.classroom.new_problem import alike, saturated, small_flaws
from attncli.classroom.submissions import load_answers
from attncli.classroom.variants import VariantForm, work_of
from attncli.reading.load import load_all
from tests.conftest import SAMPLES, Attn, table

GIVEN: dict[str, Any] = table("variants", "GIVEN")
DRAWN = ("X", "W_q", "W_k", "W_v")

YAML = """\
title: Three words
tokens: [we, like, walks]
X: [[1, 0, 2], [0, 1, 1], [2, 1, 0]]
W_q: [[1, 0], [0, 1], [1, 1]]
W_k: [[0, 1], [1, 1], [1, 0]]
W_v: [[1, 2], [0, 1], [2, 0]]
mask: causal
"""
ASK = ("--ask", "weights,output")


@pytest.fixture(scope="module")
def three() -> list[attncli.Variant]:
    return [*attncli.vary(attncli.Problem(**GIVEN), 3, seed=7)]


@pytest.fixture
def folder(tmp_path: Path, small_pool: None) -> Path:
    (tmp_path / "hw.yaml").write_text(YAML)
    return tmp_path


def numbers_of(variant: attncli.Variant) -> dict[str, Any]:
    """Return the drawn numbers, as they are written."""
    return {key: variant.problem.written[key] for key in DRAWN}


# ---- the variants


def test_variants_have_the_form_of_the_given_problem(three: list[attncli.Variant]) -> None:
    given = attncli.Problem(**GIVEN)
    for variant in three:
        problem = variant.problem
        assert problem.given == (*given.given, "variant")
        assert problem.variant == str(variant.number)
        assert problem.options() == given.options()
        assert (problem.title, problem.tokens) == (given.title, given.tokens)
        assert problem.marking.ask == ("weights", "output")
        assert problem.marking.decimals == 2
        for key in DRAWN:
            new, old = getattr(problem, key), getattr(given, key)
            assert new.shape == old.shape
            assert set(new.ravel()) <= set(usual_values(old))


def test_variants_differ_from_each_other_and_from_the_given_problem(
    three: list[attncli.Variant],
) -> None:
    numbers = [{key: GIVEN[key] for key in DRAWN}, *map(numbers_of, three)]
    assert all(one != other for one, other in itertools.combinations(numbers, 2))


def test_a_variant_depends_on_its_number_not_on_how_many_there_are(
    three: list[attncli.Variant],
) -> None:
    found = [*attncli.vary(attncli.Problem(**GIVEN), 1, seed=7)]
    for one, other in zip(found, three, strict=False):
        assert numbers_of(one) == numbers_of(other)
        assert (one.alike, one.hidden, one.work.digits) == (
            other.alike,
            other.hidden,
            other.work.digits,
        )
    (another,) = attncli.vary(attncli.Problem(**GIVEN), 1, seed=8)
    assert numbers_of(another) != numbers_of(three[0])


def test_the_numbers_of_a_seed_stay_the_same(three: list[attncli.Variant]) -> None:
    """On any machine and version of NumPy: a change here changes every teacher's files."""
    assert numbers_of(three[0]) == {
        "X": [[1, 0, 1], [1, 1, 0], [0, 2, 1]],
        "W_q": [[1, 1], [1, 0], [0, 1]],
        "W_k": [[1, 0], [1, 1], [0, 1]],
        "W_v": [[0, 1], [2, 1], [1, 0]],
    }


def is_said(form: VariantForm, id_: str, at: str) -> bool:
    """Return whether the summary says that a mistake does not show in a step."""
    reason = form.unseen.get(id_, "")
    start = "not always in "
    return at in reason.removeprefix(start).split(", ") if start in reason else bool(reason)


def test_every_mistake_shows_and_is_told_from_others(three: list[attncli.Variant]) -> None:
    """Looked at anew, with nothing of the search: each change of the catalogue is seen."""
    for variant in three:
        assert variant.is_fair
        assert saturated(variant.trace) == 0
        assert all(np.abs(s.array[np.isfinite(s.array)]).max() < 1000 for s in variant.trace)
        effects = Distractors(variant.trace, Question(variant.trace, ["weights", "output"], 2))
        form = variant.form
        for id_, step in itertools.product(MISTAKES, variant.trace):
            seen = [effect.seen for effect in effects.at([(id_, step.name)])]
            assert not seen or any(seen) or is_said(form, id_, step.name), id_
        assert {"not_scaled", "mask_missing", "swapped_q_k"} <= set(variant.shown)


def test_masks_and_blocked_cells_stay_and_answers_do_not() -> None:
    bias = [[0, "-inf", 1], [2, 0, 1], [0, 0, "-inf"]]
    keys = {k: GIVEN[k] for k in DRAWN}
    given = attncli.Problem(**keys, bias=bias, mask={"keep": "1 1 1\n1 1 0\n1 1 1"})
    drawing = Drawing(given)
    problem = drawing.problem(drawing.draw(Random(1)))
    assert problem.bias is not None
    assert (np.isinf(problem.bias) == np.isinf(given.bias)).all()  # type: ignore[arg-type]
    assert problem.mask["keep"].tolist() == given.mask["keep"].tolist()
    assert problem.written["mask"] == {"keep": [[1, 1, 1], [1, 1, 0], [1, 1, 1]]}
    answered = Drawing(attncli.Problem(**keys, answers={"Q": [[1, 2]] * 3}))
    assert answered.problem(answered.original).answers is None
    blocking = [[0, "-inf", 0], [0, 0, 0], [0, 0, "-inf"]]
    assert "bias" not in Drawing(attncli.Problem(**keys, bias=blocking)).cells


def test_what_no_draw_can_show_is_said_with_the_reason() -> None:
    problem = attncli.Problem(X=[[1, 2], [0, 3], [2, 1]], W_q=[[1], [2]], W_k=[[2], [1]])
    (variant,) = attncli.vary(problem, 1, ask="weights")
    assert variant.form.unseen["not_scaled"] == "d_k = 1, so the scale is 1"
    assert variant.form.unseen["input_added"] == "output comes after what is asked"
    assert "swapped_q_k" in variant.shown


def test_what_a_variant_hides_is_said() -> None:
    """In zeros and ones few problems show everything that others show."""
    problem = attncli.load(SAMPLES / "past.yaml")
    unfair = [v for v in attncli.vary(problem, 3, seed=7) if v.hidden]
    assert unfair
    for variant in unfair:
        assert not variant.is_fair
        effects = Distractors(variant.trace, Question(variant.trace, variant.form.asked, 2))
        for id_, at in variant.hidden:
            assert min(effect.seen for effect in effects.at([(id_, at)])) < ENOUGH_WRONG


ZEROS: list[dict[str, Any]] = [
    GIVEN,
    {"X": [[1, 1, 0], [2, 0, 1]], "W_v": [[1, 0], [0, 1], [0, 0]], "score": "dot"},
    {"X": [[1, 2], [2, 1]], "W_q": [[1, 2], [2, 1]], "values": "0,1"},
    {"X": [[2, 2], [1, 3]], "heads": 2, "W_q": [[1, 0], [0, 1]], "W_o": [[1, 0], [2, 1]]},
]


@pytest.mark.parametrize(("seed", "keys"), [*enumerate(ZEROS)])
def test_weights_have_no_more_zero_lines_and_about_as_many_products(
    seed: int, keys: dict[str, Any]
) -> None:
    """Counted anew; a variant beyond 20 % must say it, as where --values are few."""
    problem = attncli.Problem(**{key: x for key, x in keys.items() if key != "values"})
    weights = [key for key in problem.matrices() if key.startswith("W_")]

    def zero_lines(one: attncli.Problem, key: str) -> int:
        array = getattr(one, key)
        return sum(int((~array.any(axis=axis)).sum()) for axis in (0, 1))

    def products(one: attncli.Problem) -> int:
        trace = attncli.compute(one)
        steps = {**trace.inputs, **trace.steps}
        left = {key: steps["concat" if key == "W_o" else "X"].value for key in weights}
        return sum(int(np.count_nonzero(left[k][..., None] * getattr(one, k))) for k in weights)

    usual = products(problem)
    values = keys.get("values")
    for variant in attncli.vary(problem, 2, seed=seed, values=values, ask="weights,output"):
        for key in weights:
            assert zero_lines(variant.problem, key) <= zero_lines(problem, key)
        count = products(variant.problem)
        assert variant.work.projections == count
        assert bool(variant.excess) == (abs(count - usual) > 0.2 * usual + 1e-9)


def test_variants_with_other_amounts_of_work_are_named(tmp_path: Path, attn: Attn) -> None:
    (tmp_path / "hw.yaml").write_text("X: [[1, 0], [0, 1]]\nW_q: [[1, 0], [0, 1]]\n")
    result = attn("vary", "hw.yaml", "--values", "1..3", "-o", "out/", cwd=tmp_path)
    assert "\nprojections       8       8       8       2\n" in result.out
    named = "Variants with over 20 % more or fewer products in their projections:\n"
    assert f"{named}  1  8, not about 2\n" in result.out


def test_what_a_mistake_makes_may_be_asked_for_again() -> None:
    """Also where a step after it cannot be worked, as a matrix of another shape is in its way."""
    draw = np.random.default_rng(3)
    given: dict[str, Any] = {
        key: draw.integers(-1, 3, (4, 4)) for key in ("X", "W_q", "W_k", "W_v", "W_o")
    }
    trace = attncli.compute(attncli.Problem(**given, heads=2, mask="causal"))
    effects = Distractors(trace, Question(trace, trace.steps, 2))
    found = effects.at(itertools.product(MISTAKES, trace.steps))
    first = [list(effect.numbers) for effect in found]
    reached = [effects.question.reached([effect.key[1]]) for effect in found]
    assert any(len(names) < len(steps) for names, steps in zip(first, reached, strict=True))
    assert [list(effect.numbers) for effect in found] == first


@pytest.mark.parametrize(("first", "is_written"), [(-3, True), (3, False)])
def test_nothing_is_divided_by_the_sum_of_no_others(first: int, is_written: bool) -> None:
    """The first row of a causal mask has one key; e^−6 is written as 0.00, and is not 0."""
    problem = attncli.Problem(Q=[[first], [1]], K=[[-2], [1]], V=[[1], [2]], mask="causal")
    trace = attncli.compute(problem)
    assert (trace["exp"].array[0, 0, 0, 0] >= 0.01) == is_written
    effects = Distractors(trace, Question(trace, trace.steps, 2))
    assert [e.seen for e in effects.at([("divided_by_others", "weights")])] == [0]


def test_digits_that_are_asked_decide_what_shows() -> None:
    """Of the scores 1 and 0: e^(1/√2) / (1 + e^(1/√2)) = 0.67, not scaled 0.73."""
    problem = attncli.Problem(Q=[[1, 0]], K=[[1, 0], [0, 1]], V=[[1], [2]])
    trace, seen = attncli.compute(problem), []
    for decimals in (0, 1, 2):
        effects = Distractors(trace, Question(trace, ["weights"], decimals))
        (one,) = effects.at([("not_scaled", "scaled")])
        seen.append(one.seen)
    assert seen == [0, 0, 2]
    tolerant = Distractors(trace, Question(trace, ["weights"], 2, tolerance=1.0))
    assert not tolerant.at([("not_scaled", "scaled")])[0].seen


@pytest.mark.parametrize("path", ["recurrent_plain", "pooling_words", "heads_grouped"])
def test_every_kind_can_be_varied(path: str) -> None:
    problem = attncli.load(SAMPLES / f"{path}.yaml")
    (variant,) = attncli.vary(problem, 1, decimals=3)
    assert variant.problem.options() == problem.options()
    assert variant.shown


# ---- their numbers


@pytest.mark.parametrize(
    ("numbers", "values"),
    [
        ([0, 1, 2], (0, 1, 2)),
        ([-1, 0.5], (-1, -0.5, 0, 0.5)),
        ([0.1, 0.4], (0.1, 0.2, 0.3, 0.4)),
        ([0.25, 0.75], (0.25, 0.5, 0.75)),
        ([3, 3], (2, 3, 4)),
        ([0, 0], (-1, 0, 1)),
        ([-2, -2], (-3, -2, -1)),
        ([0.0001, 20], tuple(round(0.0001 + 0.01 * i, 12) for i in range(2000))),
        ([1, 4 / 3], tuple(round(1 + 0.01 * i, 2) for i in range(34))),
    ],
)
def test_values_are_those_of_the_matrix(numbers: list[float], values: tuple[float, ...]) -> None:
    assert usual_values(np.array(numbers, float)) == values


def test_values_that_are_asked_for_are_drawn() -> None:
    problem = attncli.Problem(**GIVEN)
    drawing = Drawing(problem, read_values("-1..1 by 0.5"))
    drawn = drawing.draw(Random(2))
    assert {*np.concatenate([a.ravel() for a in drawn.values()])} == {-1, -0.5, 0, 0.5, 1}
    assert {*map(type, drawing.problem(drawn).written["X"][0])} <= {int, float}


def test_a_search_calculates_the_problem_that_is_written() -> None:
    for path in sorted(Path("sample_inputs").glob("*.yaml")):
        drawing = Drawing(attncli.load(path))
        drawn = drawing.draw(Random(3))
        found, written = drawing.trace(drawn), calculated(drawing.problem(drawn))
        assert [step.name for step in found] == [step.name for step in written], path
        for step in found:
            np.testing.assert_array_equal(step.value, written[step.name].value, err_msg=str(path))


# ---- how much work they are


def test_work_is_counted_as_a_hand_does() -> None:
    trace = attncli.compute(attncli.Problem(X=[[1, 2], [3, 0]], score="dot"))
    work = work_of(trace, 2)
    # 2·2 and 3·3 in the scores, four quotients, and 0.12·3, 0.88·2, 0.12… in the output.
    assert (work.products, work.exponentials) == (2 + 4 + 4, 4)
    numbers = ["1", "2", "3", "0"] * 3 + ["5", "3", "3", "9"]
    numbers += ["14841", "2009", "2009", "810308", "16850", "812317"]
    numbers += ["088", "012", "000", "100", "124", "176", "300", "000"]
    assert work.digits == sum(map(len, numbers))
    blocked = attncli.compute(attncli.Problem(X=[[1, 2], [3, 1]], score="dot", mask="causal"))
    assert work_of(blocked, 2).exponentials == 3


def test_flaws_are_found() -> None:
    flat = attncli.compute(attncli.Problem(X=[[1, 0], [1, 0]], score="dot"))
    assert saturated(flat) == 2
    assert alike(flat) == 3
    assert small_flaws(flat) > 3
    steep = attncli.compute(attncli.Problem(X=[[9, 0], [0, 9]], score="dot"))
    assert saturated(steep) == 2
    first = attncli.compute(attncli.Problem(X=[[9, 0], [0, 9]], score="dot", mask="causal"))
    assert saturated(first) == 1  # the first row has one key
    hard = attncli.compute(attncli.Problem(scores=[[2, 1]], V=[[1], [2]], normalize="hardmax"))
    assert saturated(hard) == 0


# ---- the command


def test_a_file_for_each_variant_and_its_solutions(folder: Path, attn: Attn) -> None:
    flags = ("-n", "2", "--seed", "7", *ASK, "--decimals-asked", "2", "--key", "-o", "out/")
    result = attn("vary", "hw.yaml", *flags, cwd=folder)
    said = "wrote 2 files to out/; next: attn worksheet out/ -f html -o pages/\n"
    assert (result.status, result.err) == (0, said)
    assert result.out.startswith("2 variants of seed 7; asked: weights and output, in 2 decimals\n")
    for name in ("01.yaml", "02.yaml"):
        text = (folder / "out" / name).read_text()
        assert text.startswith(f"# seed 7\ntitle: Three words\nvariant: {name[1]}\n")
        assert "marking: {decimals: 2, ask: [weights, output]}" in text
        checked = attn("check", f"out/{name}", f"out/keys/{name}", cwd=folder)
        assert checked.status == 0, checked.out
        other = attn("check", f"out/{name}", "out/keys/02.yaml", "-q", cwd=folder)
        assert other.status == (0 if name == "02.yaml" else 1)


def test_the_same_seed_gives_the_same_files(attn: Attn, attn_process: Attn) -> None:
    flags = ("vary", "-", "-n", "1", *ASK)
    one, other = (run(*flags, stdin=YAML.encode()) for run in (attn, attn_process))
    assert (one.status, one.out, one.err) == (other.status, other.out, other.err)


OTHER_PROCESSOR = {
    "OPENBLAS_CORETYPE": "Prescott",
    "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX",
}
"""Numbers are added in another order, and products are rounded before they are added."""


@pytest.mark.filterwarnings("ignore")
def test_a_seed_gives_the_same_files_on_another_processor(
    tmp_path: Path, attn_process: Attn
) -> None:
    """With numbers such as 0.1 and 0.3 the floats differ: 0.3 − 0.3 may be 5e-17."""
    (tmp_path / "tenths.yaml").write_text(
        "X: [[0.3, -0.2, -0.1], [0.3, -0.2, -0.3], [-0.1, 0.1, -0.3]]\n"
        "W_q: [[0.3, -0.1], [-0.2, 0], [0.3, 0.3]]\nW_k: [[0.3, -0.1], [-0.3, 0.2], [0.1, 0.2]]\n"
        "normalize: hardmax\n"
    )
    flags = ("vary", "tenths.yaml", "-n", "1", "--seed", "7", "--ask", "weights")
    one, other = (attn_process(*flags, cwd=tmp_path, env=env) for env in ({}, OTHER_PROCESSOR))
    assert (one.status, one.out) == (other.status, other.out)


def test_without_a_file_all_go_to_standard_output(folder: Path, attn: Attn) -> None:
    result = attn("vary", "hw.yaml", "-n", "2", *ASK, cwd=folder)
    assert result.out.count("\n---\n") == 1
    assert result.err.startswith("2 variants of seed 0; asked: weights and output")
    computed = attn("compute", "-", "--only", "output", "-f", "json", stdin=result.out.encode())
    assert (computed.status, len(computed.out.splitlines())) == (0, 2)


def test_one_file_holds_all_and_so_do_the_solutions(folder: Path, attn: Attn) -> None:
    result = attn("vary", "hw.yaml", "-n", "2", *ASK, "--key", "-o", "all.yaml", cwd=folder)
    assert result.status == 0
    checked = attn("check", "all.yaml", "keys/all.yaml", "-q", cwd=folder)
    assert (checked.status, checked.err) == (0, "")


ROSTERS = {
    "name": ("Name,Group\nAda L.,1\nBo,2\n", ["Ada L.", "Bo"]),
    "student": ("id;Student\n1;Ada\n2;Bo\n", ["Ada", "Bo"]),
    "parts": ("Surname,First name,Email\nLovelace,Ada,a@b\nKo,Bo,\n", ["Ada Lovelace", "Bo Ko"]),
    "lines": ("Ada Lovelace\n\n  Bo   Ko \n", ["Ada Lovelace", "Bo Ko"]),
    "headed lines": ("\ufeffName\nAda\nBo\n", ["Ada", "Bo"]),
    "quotes": (
        '\ufeffName,Mail\r\n"Lovelace, Ada",a\r\n"Bo ""B"" Ko",b\r\n',
        ["Lovelace, Ada", 'Bo "B" Ko'],
    ),
    "one column in quotes": (
        '\ufeff"Name"\r\n"Ada Lovelace"\r\n"O\'Brien, Pat"\r\n"Bo ""B"" Ko"\r\n',
        ["Ada Lovelace", "O'Brien, Pat", 'Bo "B" Ko'],
    ),
    "lines with quotes": ('Bo "B" Ko\n"B" Ko\n', ['Bo "B" Ko', '"B" Ko']),
    "gradebook": (
        'Student,ID,Section,HW 3\n    Points Possible,,,10\n"Lovelace, Ada",7,A,\n',
        ["Lovelace, Ada"],
    ),
    "many": ("Name\n" + "\n".join(f"N{i}" for i in range(2000)), [f"N{i}" for i in range(2000)]),
}


@pytest.mark.parametrize("sort", ROSTERS)
def test_rosters_as_they_come(sort: str, tmp_path: Path) -> None:
    text, names = ROSTERS[sort]
    (tmp_path / "roster.csv").write_text(text)
    assert [one.name for one in read_roster(tmp_path / "roster.csv").people] == names


def test_one_variant_for_each_student(folder: Path, attn: Attn) -> None:
    (folder / "roster.csv").write_text("Name\nAda\n../b\\o\x1b\n")
    flags = ("--for", "roster.csv", *ASK, "-o", "out/{student}/hw.yaml")
    result = attn("vary", "hw.yaml", *flags, cwd=folder)
    assert result.status == 0
    files = sorted(str(p.relative_to(folder)) for p in folder.glob("out/*/*"))
    assert files == ["out/Ada/hw.yaml", "out/_b_o_/hw.yaml"]
    ada, other = (attncli.load(folder / file) for file in files)
    assert (ada.student, ada.variant) == ("Ada", "1")
    assert (other.student, other.variant) == ("../b\\o\x1b", "2")
    assert "\x1b" not in (folder / files[1]).read_text()


def test_two_students_of_one_name_are_told_before_anything_is_written(
    folder: Path, attn: Attn
) -> None:
    (folder / "roster.csv").write_text("Name\nAda\nADA\n")
    result = attn("vary", "hw.yaml", "--for", "roster.csv", "-o", "out/", cwd=folder)
    assert (result.status, result.out) == (2, "")
    assert "out/ADA.yaml is the file of number 1, Ada, and would be that of number 2" in result.err
    assert "as in '{number}-{student}.yaml'" in result.err
    assert [*folder.glob("out/*")] == []


def test_the_table_as_json(folder: Path, attn: Attn) -> None:
    result = attn("vary", "hw.yaml", "-n", "1", *ASK, "-f", "json", "-o", "out/", cwd=folder)
    record = json.loads(result.out)
    assert (record["seed"], record["asked"], record["fair"]) == (0, ["weights", "output"], True)
    assert [one["file"] for one in record["variants"]] == ["out/01.yaml"]
    assert set(record["given"]) == {"projections", "products", "exponentials", "digits"}
    assert record["variants"][0]["hidden"] == []


SECOND = """\
title: Dictionary
student: nobody
problem: 7
scores: [[1, 2, 0], [0, 1, 3]]
V: [[1, 0], [2, 1], [0, 2]]
marking: {decimals: 2}
"""


def test_variants_without_students_are_named_as_variants(folder: Path, attn: Attn) -> None:
    result = attn("vary", "hw.yaml", "-n", "2", *ASK, "-o", "out/{student}.yaml", cwd=folder)
    assert result.status == 0
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        *("variant 1.yaml", "variant 2.yaml")
    ]


def test_a_variant_of_several_problems_has_all_of_them(folder: Path, attn: Attn) -> None:
    """Each has the numbers that it has alone, and its own part of the summary."""
    (folder / "set.yaml").write_text(f"{YAML}---\n{SECOND}")
    (folder / "roster.csv").write_text('Name\n"Ko, Bo"\n"null"\n')
    flags = ("--for", "roster.csv", "--seed", "7", "--ask", "weights,output", "--key")
    result = attn("vary", "set.yaml", *flags, "-o", "out/", cwd=folder)
    assert result.status == 0
    titles = [line for line in result.out.splitlines() if "seed 7" in line]
    assert titles == [
        f"2 variants of problem {number}, seed 7; asked: weights and output, in 2 decimals"
        for number in (1, 2)
    ]
    alone = [
        [*attncli.vary(given.marked({"ask": ["weights", "output"]}), 2, seed=7)]
        for given in load_all(folder / "set.yaml")
    ]
    for number, student in enumerate(("Ko, Bo", "null")):
        problems = load_all(folder / "out" / f"{student}.yaml")
        solved = load_answers(folder / "out" / "keys" / f"{student}.yaml")
        for index, (problem, answers) in enumerate(zip(problems, solved, strict=True)):
            expected = alone[index][number].problem
            assert problem.texts == {
                **{"title": expected.title, "student": student},
                **{"variant": str(number + 1), "problem": str(index + 1)},
            }
            for key, array in expected.matrices().items():
                assert (problem.matrices()[key] == array).all()
            assert (answers.name, answers.problem) == (student, str(index + 1))
            assert attncli.check(problem, answers).verdict == "correct"


def test_the_summary_of_several_problems_has_a_line_of_json_for_each(
    folder: Path, attn: Attn
) -> None:
    lines = [json.dumps(yaml.safe_load(text)) for text in (YAML, SECOND)]
    (folder / "set.jsonl").write_text("\n".join(lines))
    flags = ("-n", "1", "--ask", "weights", "-f", "json", "-o", "all.yaml")
    result = attn("vary", "set.jsonl", *flags, cwd=folder)
    assert [json.loads(line)["problem"] for line in result.out.splitlines()] == [1, 2]
    assert [one.problem for one in load_all(folder / "all.yaml")] == ["1", "2"]


def test_a_problem_of_several_that_cannot_be_varied_is_told_with_its_place(
    folder: Path, attn: Attn
) -> None:
    (folder / "set.yaml").write_text(f"{YAML}---\nX: [[1]]\n")
    result = attn("vary", "set.yaml", "-n", "9", "--values", "1,2", "-o", "out/", cwd=folder)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("set.yaml:9:1: only 1 other problem can be drawn\n")
    assert not (folder / "out").exists()


def test_an_unfair_variant_is_told_and_so_is_the_exit_status(tmp_path: Path, attn: Attn) -> None:
    (tmp_path / "tiny.yaml").write_text(
        "X: [[1, 1]]\nW_q: [[1, 0], [0, 1]]\nW_k: [[0, 1], [1, 0]]\n"
        "past: {K: [[1, 0]], V: [[1, 2]]}\n"
    )
    flags = ("-n", "1", "--seed", "7", "--ask", "output", "--values", "0,1", "-o", "out/")
    result = attn("vary", "tiny.yaml", *flags, cwd=tmp_path)
    assert result.status == 1
    assert "less fair than others:\n  1  does not tell " in result.out
    assert "\n1 of 1 variants are not as fair as could be" in result.err


NONSENSE = table("variants", "NONSENSE")


@pytest.mark.parametrize(("flags", "message"), NONSENSE, ids=lambda part: " ".join(part)[:30])
def test_nonsense_gets_one_sentence(
    flags: tuple[str, ...], message: str, folder: Path, attn: Attn
) -> None:
    (folder / "empty.csv").write_text("Name\n")
    (folder / "grades.csv").write_text("id,grade\n1,2\n")
    result = attn("vary", "hw.yaml", *flags, cwd=folder)
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith(message)
    assert len(result.err.splitlines()) <= 3


def test_a_problem_that_no_hand_works_is_refused(folder: Path, attn: Attn) -> None:
    row = "[" + ", ".join(["1"] * 100) + "]"
    (folder / "large.yaml").write_text(f"X: [{', '.join([row] * 100)}]\n")
    result = attn("vary", "large.yaml", cwd=folder)
    assert (result.status, result.out) == (2, "")
    assert "this problem has 20,000 numbers, its scores among them" in result.err


@pytest.mark.parametrize(
    "more",
    ["bias: [[1e308, -1e308], [0, 0]]", "gradient: {loss: squared_error, target: [[1e154], [1]]}"],
)
def test_numbers_that_no_hand_writes_are_refused(more: str, attn: Attn) -> None:
    result = attn("vary", "-", stdin=f"X: [[1], [3]]\n{more}\n".encode())
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("<stdin>:2:")
    assert "; at most 1e+15 is varied\n" in result.err


def test_more_variants_than_there_are_is_refused(folder: Path, attn: Attn) -> None:
    (folder / "tiny.yaml").write_text("scores: [[1, 2]]\nV: [[1], [2]]\n")
    result = attn("vary", "tiny.yaml", "-n", "40", "--values", "1,2", cwd=folder)
    assert (result.status, result.out) == (2, "")
    assert "only 15 other problems" in result.err


LAYER = {
    **{"W_q": [[0, 1], [1, 0]], "W_k": [[1, 0], [2, 1]], "W_v": [[1, 1], [0, 2]]},
    **{"W_1": [[1, 2], [0, 1]], "W_2": [[1, 0], [1, 1]]},
}
VARIED: list[dict[str, Any]] = [
    {"kind": "transformer", "layers": [LAYER, LAYER], "gradient": "sum"},
    {"W_q": [[1, 0, 1, 2], [0, 1, 1, 0]], "heads": 2, "kv_heads": 1, "gradient": "sum"},
    {
        "mask": "causal",
        "W_v": [[1], [2]],
        "gradient": {"loss": "squared_error", "target": [[1]] * 3},
    },
    {"score": {"name": "additive", "W": [[1, 0], [2, 1]], "U": [[1, 1], [0, 1]], "v": [1, 2]}},
]


@pytest.mark.parametrize("keys", VARIED)
def test_mistakes_worked_together_have_the_numbers_of_each_alone(
    keys: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = calculated(attncli.Problem(X=[[1, 3], [2, 1], [0, 2]], **keys))
    effects, places = Distractors(trace, Question(trace, trace.steps, 2)), (MISTAKES, trace.steps)
    together = effects.at(itertools.product(*places))
    assert 2 * sum(one.outcome.line is not None for one in together) > len(together)
    monkeypatch.setattr(Batch, "outcome", lambda self, place: None)
    alone = effects.at(itertools.product(*places))
    assert len(together) > 20
    for one, other in zip(together, alone, strict=True):
        assert (one.key, one.seen) == (other.key, other.seen)
        pairs = zip(one.numbers.items(), other.numbers.items(), strict=True)
        assert all(a == b and np.array_equal(x, y) for (a, x), (b, y) in pairs)
    pairs_alike = (alike_pairs(every, effects.right, 0.01) for every in (together, alone))
    assert len(set(map(frozenset, pairs_alike))) == 1


def test_mistakes_of_tiles_in_one_of_several_layers() -> None:
    """A rule looks for other steps by their plain names, in the layer of its step."""
    layers: list[dict[str, object]] = [{"mask": "causal"}, {"online": {"tile": 2}}]
    x = [[1, 0], [1, 1], [0, 2]]
    (variant,) = attncli.vary(attncli.Problem(kind="transformer", X=x, layers=layers), 1, seed=7)
    assert len(variant.problem.layers) == 2

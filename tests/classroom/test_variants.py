"""`attn vary`: variants of a problem that are fair, and the same on every machine.

What the command writes is in the session `variants`.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checking.distractors import ENOUGH_WRONG, Batch, Distractors, Question, alike_pairs
from attncli.checking.mistakes.catalogue import MISTAKES
from attncli.classroom.variants import VariantForm
from attncli.core.drawing.hand_work import Work
from attncli.core.drawing.numbers import Flaws
from attncli.core.drawing.numbers_like import Drawing, calculated, usual_values
from tests.conftest import SAMPLE_FILES, SAMPLES, Attn, cases, table

GIVEN: dict[str, Any] = table("variants", "GIVEN")
DRAWN = ("X", "W_q", "W_k", "W_v")


@pytest.fixture(scope="module")
def three() -> list[attncli.Variant]:
    return [*attncli.vary(attncli.Problem(**GIVEN), 3, seed=7)]


@pytest.fixture
def short_search(small_pool: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a search end after 40 draws, not 400, where no variant is fair, and begin again soon."""
    monkeypatch.setattr("attncli.classroom.variant_search.VARIANT_BUDGET", 40)
    monkeypatch.setattr("attncli.classroom.variant_search.MAX_STALE", 10)


def numbers_of(variant: attncli.Variant) -> dict[str, Any]:
    """Return the drawn numbers, as they are written."""
    return {key: variant.problem.written[key] for key in DRAWN}


# The variants


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
    numbers = [{key: GIVEN[key] for key in DRAWN}, *map(numbers_of, three)]
    assert all(one != other for one, other in itertools.combinations(numbers, 2))


def test_a_variant_depends_on_its_number_not_on_how_many_there_are(
    three: list[attncli.Variant], monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = attncli.vary(attncli.Problem(**GIVEN), 1, seed=7)
    assert numbers_of(one) == numbers_of(three[0])
    assert (one.alike, one.hidden) == (three[0].alike, three[0].hidden)
    assert one.work.digits == three[0].work.digits
    monkeypatch.setattr("attncli.classroom.variant_search.POOL_SIZE", 2)
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


OTHER_PROCESSOR = {
    "OPENBLAS_CORETYPE": "Prescott",
    "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3 AVX512F AVX512CD AVX512_SKX",
}
"""Numbers are added in another order, and products are rounded before they are added."""


@pytest.mark.whole
@pytest.mark.filterwarnings("ignore")
def test_a_seed_gives_the_same_files_in_another_process_and_on_another_processor(
    tmp_path: Path, attn: Attn, attn_process: Attn
) -> None:
    """With numbers such as 0.1 and 0.3 the floats differ: 0.3 − 0.3 may be 5e-17."""
    (tmp_path / "tenths.yaml").write_text(
        "X: [[0.3, -0.2, -0.1], [0.3, -0.2, -0.3], [-0.1, 0.1, -0.3]]\n"
        "W_q: [[0.3, -0.1], [-0.2, 0], [0.3, 0.3]]\nW_k: [[0.3, -0.1], [-0.3, 0.2], [0.1, 0.2]]\n"
        "normalize: hardmax\n"
    )
    flags = ("vary", "tenths.yaml", "-n", "1", "--seed", "7", "--ask", "weights")
    here = attn(*flags, cwd=tmp_path)
    for env in ({}, OTHER_PROCESSOR):
        other = attn_process(*flags, cwd=tmp_path, env=env)
        assert (other.status, other.out) == (here.status, here.out)


def is_said(form: VariantForm, id_: str, at: str) -> bool:
    """Return whether the summary says that a mistake does not show in a step."""
    reason = form.unseen.get(id_, "")
    start = "not always in "
    return at in reason.removeprefix(start).split(", ") if start in reason else bool(reason)


def test_every_mistake_shows_and_is_told_from_others(three: list[attncli.Variant]) -> None:
    """Looked at anew, with nothing of the search: each change of the catalogue is seen."""
    for variant in three:
        assert variant.is_fair
        assert Flaws(variant.trace).saturated == 0
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


@pytest.mark.usefixtures("small_pool")
def test_what_no_draw_can_show_is_said_with_the_reason() -> None:
    problem = attncli.Problem(X=[[1, 2], [0, 3], [2, 1]], W_q=[[1], [2]], W_k=[[2], [1]])
    (variant,) = attncli.vary(problem, 1, ask="weights")
    assert variant.form.unseen["not_scaled"] == "d_k = 1, so the scale is 1"
    assert variant.form.unseen["input_added"] == "output comes after what is asked"
    assert "swapped_q_k" in variant.shown


@pytest.mark.usefixtures("short_search")
def test_what_a_variant_hides_is_said() -> None:
    """In zeros and ones few problems show everything that others show."""
    (variant,) = attncli.vary(attncli.load(SAMPLES / "past.yaml"), 1, seed=7)
    assert variant.hidden
    assert not variant.is_fair
    effects = Distractors(variant.trace, Question(variant.trace, variant.form.asked, 2))
    for id_, at in variant.hidden:
        assert min(effect.seen for effect in effects.at([(id_, at)])) < ENOUGH_WRONG


@cases("variants", "weights_with_zeros")
@pytest.mark.usefixtures("short_search")
def test_weights_have_no_more_zero_lines_and_about_as_many_products(
    keys: dict[str, Any], values: str | None
) -> None:
    """Counted anew; a variant beyond 20 % must say it, as where --values are few."""
    problem = attncli.Problem(**keys)
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
    (variant,) = attncli.vary(problem, 1, seed=2, values=values, ask="weights,output")
    for key in weights:
        assert zero_lines(variant.problem, key) <= zero_lines(problem, key)
    count = products(variant.problem)
    assert variant.work.projections == count
    assert bool(variant.excess) == (abs(count - usual) > 0.2 * usual + 1e-9)


@pytest.mark.usefixtures("short_search")
def test_an_unfair_variant_is_told_and_so_is_the_exit_status(attn: Attn) -> None:
    problem = b"X: [[1, 1]]\nW_q: [[1, 0], [0, 1]]\nW_k: [[0, 1], [1, 0]]\n"
    problem += b"past: {K: [[1, 0]], V: [[1, 2]]}\n"
    flags = ("--seed", "7", "--ask", "output", "--values", "0,1")
    result = attn("vary", "-", *flags, stdin=problem)
    assert result.status == 1
    assert "less fair than others:\n  1  does not tell " in result.err
    assert "\n1 of 1 variants are not as fair as could be" in result.err


@pytest.mark.usefixtures("short_search")
def test_variants_with_other_amounts_of_work_are_named(attn: Attn) -> None:
    problem = b"X: [[1, 0], [0, 1]]\nW_q: [[1, 0], [0, 1]]\n"
    told = attn("vary", "-", "--values", "1..3", "--ask", "Q", stdin=problem).err
    assert "\nprojections       8       8       8       2\n" in told
    named = "Variants with over 20 % more or fewer products in their projections:\n"
    assert f"{named}  1  8, not about 2\n" in told


def test_a_problem_that_no_hand_works_is_refused(attn: Attn) -> None:
    row = "[" + ", ".join(["1"] * 100) + "]"
    result = attn("vary", "-", stdin=f"X: [{', '.join([row] * 100)}]\n".encode())
    assert (result.status, result.out) == (2, "")
    assert "this problem has 20,000 numbers, its scores among them" in result.err


@pytest.mark.parametrize("path", ["recurrent_plain", "pooling_words", "heads_grouped"])
@pytest.mark.usefixtures("short_search")
def test_every_kind_can_be_varied(path: str) -> None:
    problem = attncli.load(SAMPLES / f"{path}.yaml")
    (variant,) = attncli.vary(problem, 1, decimals=3)
    assert variant.problem.options() == problem.options()
    assert variant.shown


@pytest.mark.usefixtures("short_search")
def test_mistakes_of_tiles_in_one_of_several_layers() -> None:
    """A rule looks for other steps by their plain names, in the layer of its step."""
    layers: list[dict[str, object]] = [{"mask": "causal"}, {"online": {"tile": 2}}]
    x = [[1, 0], [1, 1], [0, 2]]
    (variant,) = attncli.vary(attncli.Problem(kind="transformer", X=x, layers=layers), 1, seed=7)
    assert len(variant.problem.layers) == 2


# What mistakes make of a variant


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


@cases("variants", "worked_together")
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


# Their numbers


@cases("variants", "values_of_a_matrix")
def test_values_are_those_of_the_matrix(numbers: list[float], values: list[float]) -> None:
    assert usual_values(np.array(numbers, float)) == tuple(values)


@pytest.mark.parametrize(
    ("numbers", "count", "step"), [([0.0001, 20], 2000, 0.01), ([1, 4 / 3], 34, 0.01)]
)
def test_values_are_in_steps_of_hundredths_at_least(
    numbers: list[float], count: int, step: float
) -> None:
    expected = tuple(round(numbers[0] + step * place, 12) for place in range(count))
    assert usual_values(np.array(numbers, float)) == expected


def test_values_that_are_asked_for_are_drawn() -> None:
    problem = attncli.Problem(**GIVEN)
    drawing = Drawing(problem, "-1..1 by 0.5")
    drawn = drawing.draw(Random(2))
    assert {*np.concatenate([a.ravel() for a in drawn.values()])} == {-1, -0.5, 0, 0.5, 1}
    assert {*map(type, drawing.problem(drawn).written["X"][0])} <= {int, float}


@pytest.mark.parametrize("path", SAMPLE_FILES, ids=lambda path: path.name)
def test_a_search_calculates_the_problem_that_is_written(path: Path) -> None:
    drawing = Drawing(attncli.load(path))
    drawn = drawing.draw(Random(3))
    found, written = drawing.trace(drawn), calculated(drawing.problem(drawn))
    assert [step.name for step in found] == [step.name for step in written]
    for step in found:
        np.testing.assert_array_equal(step.value, written[step.name].value)


# How much work they are


def test_work_is_counted_as_a_hand_does() -> None:
    trace = attncli.compute(attncli.Problem(X=[[1, 2], [3, 0]], score="dot"))
    work = Work.of(trace, 2)
    # 2·2 and 3·3 in the scores, four quotients, and 0.12·3, 0.88·2, 0.12… in the output.
    assert (work.products, work.exponentials) == (2 + 4 + 4, 4)
    numbers = ["1", "2", "3", "0"] * 3 + ["5", "3", "3", "9"]
    numbers += ["14841", "2009", "2009", "810308", "16850", "812317"]
    numbers += ["088", "012", "000", "100", "124", "176", "300", "000"]
    assert work.digits == sum(map(len, numbers))
    blocked = attncli.compute(attncli.Problem(X=[[1, 2], [3, 1]], score="dot", mask="causal"))
    assert Work.of(blocked, 2).exponentials == 3


def test_flaws_are_found() -> None:
    flat = attncli.compute(attncli.Problem(X=[[1, 0], [1, 0]], score="dot"))
    assert Flaws(flat).alike == 3
    assert Flaws(flat).small > 33
    steep = attncli.compute(attncli.Problem(X=[[9, 0], [0, 9]], score="dot"))
    first = attncli.compute(attncli.Problem(X=[[9, 0], [0, 9]], score="dot", mask="causal"))
    hard = attncli.compute(attncli.Problem(scores=[[2, 1]], V=[[1], [2]], normalize="hardmax"))
    assert [Flaws(one).saturated for one in (flat, steep, first, hard)] == [2, 2, 1, 0]

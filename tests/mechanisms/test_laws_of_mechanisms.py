"""Laws that belong to one mechanism: what it equals, keeps, ignores, or comes down to."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attncli
from attncli.core.calculation.mistake import Mistake
from attncli.core.tape.evaluation import array_of
from attncli.core.tape.step import Step
from attncli.mechanisms.latent import mistakes as of_latent
from tests.conftest import DATA
from tests.mechanisms.table import (
    FORMS,
    GATES,
    HEADS,
    NORM,
    RELATIVE,
    SEEDS,
    Keys,
    attention,
    computed,
    differential,
    in_columns,
    network,
    numbers,
    of_latents,
    output,
    sinks,
    translation,
    with_state,
)
from tests.oracles import reference

FEW = settings(max_examples=1 + settings().max_examples // 5)

# Sinks, sigmoids, linear attention, norms.


@pytest.mark.parametrize("sink", [-800.0, 3.0, 999.0, 2000.0])
@pytest.mark.parametrize("more", [{}, {"temperature": 3, "base": 2}])
def test_a_sink_beside_scores_beyond_floats(sink: float, more: Keys) -> None:
    """e^sink is shifted as the other powers are, by the largest of all."""
    scores = np.array([[1000.0, 998.0, -5000.0], [-4000, -4001, -4002]])
    keys: Keys = {"scores": scores, "V": np.eye(3), **sinks(sink, **more)}
    expected = reference.floats(reference.solve(**keys)["weights"])[0, 0]
    np.testing.assert_allclose(computed(keys)["weights"].value, expected, 1e-12)


@given(SEEDS, st.sampled_from([1e-160, 1e-3, 1.0, 1e5, 1e160]))
def test_a_norm_ignores_the_length_of_a_vector(seed: int, factor: float) -> None:
    keys = attention(seed, qk_norm="l2")
    longer = keys | {"W_q": keys["W_q"] * factor}
    np.testing.assert_allclose(output(longer), output(keys), rtol=1e-12, atol=1e-14)


# Caches, and a token at a time.

AS_WELL: list[Keys] = [
    {},
    {"qk_norm": NORM},
    {"score": "linear"},
    sinks(1),
    {"softcap": 2, "normalize": "sigmoid"},
    {"score": "cosine", "normalize": "sparsemax"},
    {"positions": {"name": "rope", "features": 2}, "qk_norm": "rms"},
    {"positions": [{"name": "rope", "features": 2}, "alibi"]},
    {"positions": RELATIVE},
    {"positions": "sinusoidal"},
    {"positions": {"name": "rope", "features": 2, "scaling": {"kind": "linear", "factor": 4}}},
]
"""What goes with causal attention of any heads."""


@pytest.mark.parametrize("more", AS_WELL)
@FEW
@given(SEEDS, HEADS, st.integers(1, 4))
def test_a_past_and_the_rest_are_the_whole(more: Keys, seed: int, heads: Any, p: int) -> None:
    """Later tokens count their positions from the number of those before them."""
    keys = attention(seed, 5, *heads, **more)
    whole = computed(keys, mask="causal")
    k = next(whole[name] for name in ("K_rotated", "K_normed", "K") if name in whole)
    past = {"K": k.value[..., :p, :], "V": whole["V"].value[..., :p, :]}
    rest = keys | {"X": keys["X"][p:], "past": past}
    bottom = {"mask": {"causal": True, "align": "bottom-right"}}
    for way in ({"mask": "causal"}, {"kind": "decode"}, bottom):
        np.testing.assert_allclose(output(rest | way), whole.output[p:], rtol=1e-12, atol=1e-13)
    found = output(in_columns(rest | {"mask": "causal"})).T
    np.testing.assert_allclose(found, whole.output[p:], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("more", AS_WELL)
@FEW
@given(SEEDS, HEADS, st.sampled_from([(), (2,)]))
def test_row_t_of_decode_is_row_t_of_causal_attention(
    more: Keys, seed: int, heads: Any, batch: tuple[int, ...]
) -> None:
    """And so are all derivatives, those of the numbers of positions among them."""
    keys = attention(seed, 4, *heads, **more)
    keys |= {"X": numbers(seed, *batch, 4, 4), "gradient": "sum"}
    causal, decoded = computed(keys, mask="causal"), computed(keys, kind="decode")
    assert decoded["K_4"].value.shape[-2:] == (4, 3)
    names = [name for name in causal.steps if name in decoded and name != "loss"]
    assert {"output", "d_X", "d_W_q", "d_W_k", "d_W_v"} <= {*names}
    for name in names:
        one, other = decoded[name].value, causal[name].value
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12, err_msg=name)


def test_keys_that_alibi_leaves_nothing_of_take_no_time() -> None:
    """e^s of a far key is 0 in floats; the numbers are those of the lines."""
    x, alibi = numbers(2, 3000, 4), {"name": "alibi", "slopes": [4, 0.5]}
    tiled = attncli.compute(attncli.Problem(X=x, heads=2, positions=alibi), only="output")
    assert "streamed" in tiled.path
    for row in (0, 1499, 2999):
        near = slice(max(0, row - 400), row + 400)  # e^(−0.5·400) is far below the last digit
        distances = np.abs(np.arange(3000)[near] - row)
        for head, slope in enumerate((4, 0.5)):
            columns = slice(2 * head, 2 * head + 2)
            scores = x[near, columns] @ x[row, columns] / np.sqrt(2) - slope * distances
            right = np.exp(scores) @ x[near, columns] / np.exp(scores).sum()
            np.testing.assert_allclose(tiled.output[row, columns], right, rtol=1e-12, atol=1e-13)


# Gates, and the difference of two attentions.


@pytest.mark.parametrize("more", [{"differential": {"lambda": 0.5}}, {"kind": "decode"}])
def test_a_mistake_made_in_all_steps_alike_is_named(more: Keys) -> None:
    """In both halves, and at every time, where only the output shows it."""
    keys = differential(2, **more)
    wrong = [[f"{x:.4f}" for x in row] for row in output(keys | {"scale": 1})]
    report = attncli.check(attncli.Problem(**keys), {"output": wrong})
    assert report.findings["output"].id == "not_scaled"


# Options of attention in the layers of a transformer.

OF_LAYERS: dict[str, Keys] = {
    "gate": {"gate": {"W": numbers(1, 4, 4), "b": numbers(2, 4)}},
    "differential": {"differential": {"lambda": 0.5, "lambda_init": 0.2, "norm": "rms"}},
    "online": {"online": {"tile": 2}},
    "sink and norm": {**sinks(1), "qk_norm": "rms"},
    "scaled angles": {
        "positions": {"name": "rope", "base": 16, "scaling": {"kind": "linear", "factor": 4}}
    },
}


@pytest.mark.parametrize("more", OF_LAYERS.values(), ids=list(OF_LAYERS))
def test_a_layer_attends_as_a_problem_by_itself_does(more: Keys) -> None:
    shapes = {f"W_{x}": (4, 4) for x in "qkvo"} | {f"W_{x}": (4, 4) for x in (1, 2, 3)}
    layers = [
        {key: numbers(i, *s) for i, (key, s) in enumerate(shapes.items(), at)} for at in (1, 9)
    ]
    feed_forward = {"activation": "silu", "heads": 2, "mask": "causal"}
    trace = computed(
        {"kind": "transformer", "X": numbers(5, 3, 4), "layers": [one | more for one in layers]},
        **feed_forward,
    )
    for number, layer in enumerate(layers, 1):
        name = f"layers.{number}"
        weights = {key: layer[key] for key in ("W_q", "W_k", "W_v", "W_o")}
        keys: Keys = {"X": trace[f"{name}.normed_1"].value, "heads": 2, "mask": "causal"}
        expected = computed(keys | weights | more)
        np.testing.assert_array_equal(trace[f"{name}.attended"].value, expected.output)
        if "weights" in expected:
            np.testing.assert_array_equal(trace[f"{name}.weights"].value, expected["weights"].value)


# Latent attention.

WITH_LATENTS: list[Keys] = [
    {},
    {"mask": "causal", "latent_norm": "rms"},
    {"mask": {"window": [1, 0]}, "softcap": 3, "W_o": numbers(1, 4, 3), "b_o": [1, 2, 3]},
    {"scale": "1/d_k", "bias": numbers(2, 3, 3), **sinks(1)},
    {"gate": {"W": numbers(3, 4, 4)}, "online": {"tile": 2}, "mask": "causal"},
    {"score": "dot", "normalize": "sigmoid", "positions": ["rope", "alibi", "sinusoidal"]},
]
"""What goes with any problem of two heads."""


@pytest.mark.parametrize("more", WITH_LATENTS)
@FEW
@given(SEEDS, st.booleans(), st.booleans())
def test_absorbed_is_naive(more: Keys, seed: int, compresses: bool, rotary: bool) -> None:
    keys = of_latents(seed, 2, compresses, rotary, **more)
    keys |= {} if rotary else {"positions": None}
    naive, absorbed = (computed(keys, form=form, gradient="sum") for form in FORMS)
    shown = [name for name in ("scores", "weights", "output") if name in naive]
    for name in (*shown, *(step for step in naive.steps if "d_W" in step)):
        # Derivatives are sums of numbers near 1, which cancel where weights are saturated.
        allowed = 1e-11 * max(np.abs(naive[name].value).max(), 1.0)
        np.testing.assert_allclose(absorbed[name].value, naive[name].value, 1e-10, allowed)


def test_absorbed_work_is_right_for_a_naive_problem() -> None:
    """Scores, weights and output are the same; the steps in between are those of the problem."""
    naive, absorbed = (attncli.Problem(**of_latents(4, 2, form=form)) for form in FORMS)
    steps = attncli.compute(absorbed).steps
    names = ("Q_C", "scores", "weights", "context", "output")
    answers = {name: steps[name].value for name in names}
    assert attncli.check(naive, answers).verdict == "correct"


@pytest.mark.parametrize("form", FORMS)
def test_mistakes_are_made_with_what_is_there_before(form: str) -> None:
    trace = computed(of_latents(1, 2, form=form, latent_norm="rms"))
    names = [*trace.steps]
    own = [row for row in vars(of_latent).values() if isinstance(row, Mistake)]
    made = set[str]()
    for step in trace:
        for row in own:
            for change, _ in row.changes(step, trace):
                made.add(row.id)
                for name, other in change.items():
                    used = [part.name for part in steps_in(other) if part.name in names]
                    assert all(names.index(one) < names.index(name) for one in used), (row.id, name)
    assert made == {row.id for row in own} - {"content_turned"}  # as 3 features, or 5, are no pairs


def steps_in(expression: Any) -> list[Any]:
    """Return the steps in an expression, also inside operations."""
    if isinstance(expression, Step):
        return [expression]
    return [part for operand in expression.operands for part in steps_in(operand)]


# Linear attention with a state.


@given(SEEDS, HEADS)
def test_a_rate_for_each_feature_may_be_that_of_its_head(seed: int, heads: Any) -> None:
    keys = with_state(seed, "gated_delta", *heads)
    wide = output(keys | {"alpha": np.repeat(keys["alpha"], 3, axis=1)})
    np.testing.assert_allclose(wide, output(keys), rtol=1e-12, atol=1e-13)


def test_onnx_node_tests() -> None:
    """The operator works, and here is calculated, in float32; float16 is of what it gives."""
    arrays = np.load(DATA / "recorded" / "delta_onnx_node_tests.npz")
    for test in {name.partition(".")[0] for name in arrays.files}:
        own = [name for name in arrays.files if name.startswith(f"{test}.")]
        keys: Keys = {name.partition(".")[2]: arrays[name] for name in own}
        keys = {key: a if a.ndim else a.item() for key, a in keys.items()}
        expected, state = keys.pop("output"), keys.pop("state")
        trace = computed(keys)
        last = [step for step in trace if step.stem == "S"][-1]
        error = 8 * np.finfo(expected.dtype).eps
        np.testing.assert_allclose(trace.output, expected, error, 4 * error, err_msg=test)
        np.testing.assert_allclose(last.value, state, error, 4 * error, err_msg=test)


# Softmax by tiles of keys.

OTHER_KINDS: dict[str, Keys] = {
    "pooling": {"u": numbers(2, 4), "output_activation": "tanh"},
    "transformer": {"heads": 2, **{f"W_{x}": numbers(3, 4, 4) for x in "qkvo"}},
    "self": {"past": {"K": numbers(4, 3, 4), "V": numbers(5, 3, 4)}, "mask": "causal"},
    "latent": {f"W_{x}": numbers(3, 4, 4) for x in ("q", "dkv", "uk", "uv")},
}


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_other_kinds_in_tiles(kind: str) -> None:
    keys = OTHER_KINDS[kind] | {"kind": kind, "X": numbers(1, 4, 4), "online": {"tile": 3}}
    trace = computed(keys)
    assert "rescale_2" in trace
    untiled = output(keys | {"online": None})
    np.testing.assert_allclose(trace.output, untiled, rtol=1e-13, atol=1e-14)


def test_a_mistake_in_a_tile_is_named_in_a_layer() -> None:
    layers = [{"W_v": numbers(seed, 4, 4), "online": {"tile": 2}} for seed in (1, 2)]
    problem = attncli.Problem(kind="transformer", X=numbers(3, 5, 4), layers=layers)
    trace = attncli.compute(problem)
    o_1, p_2, v_2 = (trace[f"layers.2.{name}"].value for name in ("O_1", "P_2", "V_2"))
    finding = attncli.check(problem, {"layers.2.O_2": o_1 + p_2 @ v_2}).findings["layers.2.O_2"]
    assert finding.id == "tile_output_not_rescaled"


def test_weights_are_no_step_of_many_tokens_either() -> None:
    """While the output of many tokens is calculated without its n × m steps."""
    problem = attncli.Problem(X=numbers(1, 600, 2), online={"tile": 200})
    trace = attncli.compute(problem, only="output")
    assert [*trace.steps] == ["Q", "K", "V", "output"]
    with pytest.raises(attncli.InputError, match="there is no step weights in this calculation"):
        attncli.compute(problem, only="weights", alone=True)


# Encoders and decoders.


@given(SEEDS)
def test_a_gate_that_is_wide_open_or_shut_keeps_the_state(seed: int) -> None:
    """σ(800) is 1 and σ(−800) is 0, to the last digit."""
    start = numbers(seed, 2)
    shut = {"b_f": [800, 800], "b_i": [-800, -800], "h_0": [0, 0], "c_0": start}
    keys = translation(seed, "lstm")
    trace = computed(keys | {"encoder": keys["encoder"] | shut})
    np.testing.assert_array_equal(trace["encoder.c_3"].value, start)
    keys = translation(seed, "gru")
    trace = computed(keys | {"encoder": keys["encoder"] | {"b_z": [800, 800], "h_0": start}})
    np.testing.assert_array_equal(trace["H"].value, [start] * 3)


@given(SEEDS, st.sampled_from([*GATES]), st.sampled_from(["after", "before"]))
def test_a_batch_of_sentences_is_its_elements(seed: int, cell: str, attends: str) -> None:
    keys, other = (translation(at, cell, attends) for at in (seed, seed + 7))
    both = {key: np.stack([keys[key], other[key]]) for key in ("X", "memory")}
    outputs = output(keys | both)
    for place, one in enumerate((keys, keys | {key: other[key] for key in both})):
        np.testing.assert_allclose(outputs[place], output(one), rtol=1e-12, atol=1e-14)


def test_a_decoder_of_another_size_has_a_state_of_its_own() -> None:
    keys = translation(1, "gru", score={"name": "general", "W": numbers(2, 3, 2)})
    decoder = network(3, "gru", 3, 2)
    with pytest.raises(attncli.InputError, match=r"and decoder\.h_0 is left out, but decoder"):
        computed(keys | {"decoder": decoder})
    trace = computed(keys | {"decoder": decoder | {"h_0": [0, 1, 0]}})
    assert trace["s_2"].value.shape == (3,)


# Many times, of which no step is read.

TIMES = 9


def of_many_times(kind: str, rule: str = "", attends: str = "after", **more: Any) -> Keys:
    """Return the keys of a recurrence of `TIMES` tokens; `rule` is that of delta, or the cell."""
    if kind == "recurrent":
        drawn: Keys = {"X": numbers(2, TIMES, 2), "A": numbers(1, 3, 5)}
        return {"kind": kind, **drawn, **more}
    if kind == "encoder_decoder":
        return translation(1, rule, attends, TIMES) | {"X": numbers(2, TIMES, 2)} | more
    keys = with_state(1, rule, 2, 1)
    tokens = {name: keys[name] for name in ("Q", "K", "V", "alpha", "beta") if name in keys}
    wide = {name: np.resize(a, (TIMES, a.shape[1])) / 2 for name, a in tokens.items()}
    return keys | wide | more


ADDITIVE = {"name": "additive", "W": numbers(4, 2, 3), "U": numbers(5, 2, 3), "v": numbers(6, 2)}
LARGE_AT_LAST = np.r_[numbers(2, TIMES - 1, 2), [[1e308, 1e308]]]

RECURRENCES: list[tuple[bool, Keys]] = [
    *((True, of_many_times("delta", rule)) for rule in ("linear", "delta", "gated_delta")),
    (True, of_many_times("delta", "delta", qk_norm="l2")),
    (False, of_many_times("delta", "linear", K=np.full((TIMES, 3), 1e308))),
    *((True, of_many_times("encoder_decoder", c, a)) for c in GATES for a in ("after", "before")),
    (True, of_many_times("encoder_decoder", "gru", W_c=numbers(3, 2, 4), softcap=2)),
    (False, of_many_times("encoder_decoder", "gru", scale=5000)),  # warns of each time
    (False, of_many_times("encoder_decoder", "rnn", normalize="hardmax")),
    (True, of_many_times("recurrent", update="plain")),
    (False, of_many_times("recurrent", update="plain", X=LARGE_AT_LAST)),
    (True, of_many_times("recurrent")),  # each time attends to one state more
    (True, of_many_times("recurrent", score=ADDITIVE, b=numbers(1, 3))),
    (True, of_many_times("recurrent", W_k=numbers(3, 3, 3), scale=2)),
    (False, of_many_times("recurrent", X=[[0, 0.1]] * 6 + [[9e3, 0]] * 3, scale=-233)),  # s: −699
    (True, of_many_times("encoder_decoder", "gru", X=numbers(2, 2, TIMES, 2))),  # a batch
]


@pytest.mark.parametrize(("is_skipped", "keys"), RECURRENCES)
def test_the_output_alone_is_that_of_all_steps(is_skipped: bool, keys: Keys) -> None:
    """Bit by bit, with the same warnings, or the same error."""
    problem = attncli.Problem(**keys)
    try:
        whole = attncli.compute(problem)
    except attncli.InputError as error:
        with pytest.raises(attncli.InputError, match=f"^{re.escape(str(error))}$"):
            attncli.compute(problem, only="output", alone=True)
        return
    names = [name for name in ("output", "weights") if name in whole]
    alone = attncli.compute(problem, only=names, alone=True)
    assert alone.warnings == whole.warnings
    for name in names:
        np.testing.assert_array_equal(alone[name].value, whole[name].value)
        assert alone[name].formula == whole[name].formula
    state = {"delta": "S_5", "encoder_decoder": "s_5", "recurrent": "h_5"}[keys["kind"]]
    assert (state in alone) is not is_skipped
    assert state in attncli.compute(problem, only=f"{state[0]}_*", alone=True)


def test_what_states_attend_to_takes_the_memory_of_one_array() -> None:
    """A copy has no array of it at all."""
    keys = of_many_times("recurrent", X=numbers(2, 60, 1), A=numbers(1, 40, 41))
    trace = attncli.compute(attncli.Problem(**keys))
    stacks = [trace[f"c_{t}"].operation.operands[1] for t in (9, 60)]  # type: ignore[union-attr]
    some, every = map(array_of, stacks)
    np.testing.assert_array_equal(every[0, 0, 1:], trace.output)
    np.testing.assert_array_equal(every[:, :, :10], some)
    assert np.shares_memory(some, every)
    assert len(pickle.dumps(trace)) < 60 * 60 / 2 * 40 * 8


# Positions.


@pytest.mark.usefixtures("small_pool")
def test_arrays_in_a_list_of_positions_are_varied() -> None:
    listed: list[Any] = ["rope", {"name": "learned", "P": [[1, 2], [3, 4]]}]
    (found,) = attncli.vary(attncli.Problem(X=[[1, 2], [0, 1]], positions=listed), 1)
    assert found.problem.positions["P"].shape == (2, 2)


# Scaled angles, and positions by ids.

LENGTH = "original_max_position_embeddings"
YARN: Keys = {"kind": "yarn", "factor": 4, LENGTH: 64, "beta_fast": 8}
SCALINGS: list[Any] = [
    None,
    {"kind": "linear", "factor": 4},
    {"kind": "llama3", "factor": 4, LENGTH: 64},
    YARN,
]


@pytest.mark.parametrize("scaling", SCALINGS)
@given(SEEDS, st.integers(-50, 50), st.sampled_from(["neighbours", "halves"]))
def test_a_rotation_keeps_lengths(scaling: Any, seed: int, start: int, pairs: str) -> None:
    """But for the attention factor of YaRN."""
    rope = {"name": "rope", "start": start, "pairs": pairs, "base": 50, "scaling": scaling}
    trace = computed({"X": numbers(seed, 3, 6), "positions": rope})
    factor = 0.1 * np.log(4) + 1 if scaling is YARN else 1
    for name in "QK":
        lengths = np.linalg.norm(trace[name].value, axis=-1) * factor
        np.testing.assert_allclose(np.linalg.norm(trace[f"{name}_rotated"].value, axis=-1), lengths)


@given(SEEDS, st.sampled_from(SCALINGS), st.integers(-20, 20))
def test_scores_depend_on_distances_alone(seed: int, scaling: Any, shift: int) -> None:
    """Also with positions of queries and keys that are listed."""
    scores = []
    for more in (0, shift):
        ids = {"queries": [t + more for t in (0, 3, 9)], "keys": [t + more for t in (0, 4, 30)]}
        rope = {"name": "rope", "base": 100, "scaling": scaling, "ids": ids}
        scores.append(computed({"X": numbers(seed, 3, 4), "positions": rope})["scores"].value)
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-11)


def test_a_packed_document_is_one_by_itself() -> None:
    """Positions begin anew, and a mask keeps documents apart."""
    x, keep = numbers(2, 5, 4), [[1, 1, 0, 0, 0]] * 2 + [[0, 0, 1, 1, 1]] * 3
    rope: Keys = {"name": "rope", "base": 16, "scaling": YARN}
    packed = output({"X": x, "mask": {"keep": keep}}, positions=rope | {"ids": [0, 1, 0, 1, 2]})
    np.testing.assert_allclose(packed[2:], output({"X": x[2:]}, positions=rope))

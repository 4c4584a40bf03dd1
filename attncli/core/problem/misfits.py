"""Keys that do not go together: of no use in this kind or beside others, or missing.

Most rules are rows of tables: `Kind.keys`, `needs`, `pairs` and `variants`, and `REPLACES`. A test
is of one key: whether it is wrong, and what to say then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeAlias

from attncli.core.attention.masks import MASKS
from attncli.core.errors import Fault
from attncli.core.formulas.tree import Formula
from attncli.core.problem import networks
from attncli.core.problem.keys import KEYS
from attncli.core.problem.kinds import KINDS, REPLACES, Kind
from attncli.core.problem.values import OF_TARGET, feed_forward_activations
from attncli.core.text.strings import visible

KeyTests: TypeAlias = Iterator[tuple[bool, str, str, str]]
"""Whether a key is wrong, the key, the message and the hint."""

RECIPROCALS = {
    **dict.fromkeys(("sqrt(d_k)", "√d_k", "√(d_k)", "d_k^0.5", "d_k^(1/2)"), "1/sqrt(d_k)"),
    "sqrt(d_model)": "1/sqrt(d_model)",
    "d_k": "1/d_k",
}
"""The divisors of scores in textbooks, with the scale that divides by them."""

PRODUCTS = ("dot", "scaled_dot", "general")
"""Score functions whose scores grow with d_k: a scale that multiplies by √d_k is a slip."""


COMMON_PAIRS = (("learning_rate", "gradient"), ("W_c", "X"))
"""Keys of every kind, each with one without which it has no use."""


def misfits(keys: Collection[str], values: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield a fault for each key that has no use in this kind, excludes another, or is missing."""
    kind = KINDS[values["kind"]]
    yield from _of_no_use(kind, keys, values["kind"])
    if values["kind"] == "encoder_decoder":
        yield from networks.misfits(keys, values)
    for tests in TESTS:
        for is_wrong, key, message, hint in tests(kind, keys, values):
            if is_wrong:
                yield Fault(message, (key,), hint, needs="values")
    yield from _misfits_of_parts(kind, keys, values)
    for key in (key for key in kind.needs if key not in keys):
        yield Fault(f"kind {values['kind']} needs {key}", ("kind",), KEYS[key].meaning)
    for key, origin, *others in kind.source_groups:
        if not any(name in keys for name in (key, origin, *others)):
            hint = f"{key} is made from {origin}; write {origin}: [[1, 0], [0, 1]]"
            yield Fault(f"there is neither {origin} nor {key}", (origin,), hint)
            return


def _of_no_use(kind: Kind, keys: Collection[str], name: str) -> Iterator[Fault]:
    known = kind.keys
    for key in (key for key in keys if key not in known):
        fitting = [name for name, other in KINDS.items() if key in other.keys]
        hint = f"it is for kind: {' or '.join(fitting)}" if fitting else ""
        yield Fault(f"{key} has no use in kind {name}", (key,), hint)
    for direct in filter(keys.__contains__, REPLACES):
        for key in filter(keys.__contains__, REPLACES[direct]):
            hint = f"leave out {key} or {direct}"
            message = f"{direct} is given, so {key} has no use"
            yield Fault(message, (key,), hint, related=(direct,))


def _misfits_of_parts(
    kind: Kind, keys: Collection[str], values: Mapping[str, Any]
) -> Iterator[Fault]:
    """Yield a fault for each part of the mask and the normaliser, and both conventions at once."""
    name = values["kind"]
    fitting = [form for form, row in MASKS.items() if kind.takes_mask(form, row.by_position)]
    for form in values["mask"]:
        if form in MASKS and form not in fitting:
            message = f"the mask {form} has no use in kind {name}"
            verb = "have" if fitting[1:] else "has"
            yield Fault(message, ("mask", form), f"{', '.join(fitting)} {verb}")
    settings = values["normalize"]
    axis = settings.get("axis", kind.axes[0])
    if axis not in kind.axes:
        yield Fault(
            f"normalize.axis has no use in kind {name}", ("normalize", "axis"), "leave it out"
        )
    is_usual = (settings["name"], axis) == ("softmax", "keys") and "sink" not in settings
    if "online" in keys and not is_usual:
        message, hint = "online is softmax over the keys, without a sink", "leave out online"
        yield Fault(message, ("online",), hint, related=("normalize",), needs="values")
    if values["weights_as"] == "out_in" and values["tokens_as"] == "columns":
        message = "tokens_as: columns has weights of (out, in), so weights_as: out_in has no use"
        yield Fault(message, ("weights_as",), "leave one of them out", related=("tokens_as",))


def _tests_of_pairs(kind: Kind, keys: Collection[str], values: Mapping[str, Any]) -> KeyTests:
    for key, other in (*COMMON_PAIRS, *(() if values["layers"] else kind.pairs)):
        hint = f"write {other}, or leave out {key}"
        yield key in keys and other not in keys, key, f"{key} has no use without {other}", hint


def _tests_of_variants(kind: Kind, keys: Collection[str], values: Mapping[str, Any]) -> KeyTests:
    """Yield tests of the option that chooses the shapes of this kind, and of keys that need it."""
    option, variants = kind.variants or ("", {})
    if not option:
        return
    value, hint = values[option], f"write {option}: {' or '.join(variants)}"
    message = f"{option} {value} has no use in kind {values['kind']}"
    yield value not in variants, option, message, hint
    for key in keys if value in variants else ():
        users = [name for name, shapes in variants.items() if key in shapes]
        hint, message = f"it is for {option}: {' or '.join(users)}", f"{option}: {value}"
        yield bool(users) and value not in users, key, f"{key} has no use with {message}", hint
    is_unmet = value.startswith("gated") and not {"alpha", "W_alpha"} & {*keys}
    message, hint = f"{option}: {value} has no use without alpha", "write alpha, or W_alpha"
    yield is_unmet, option, message, hint


def _tests_of_options(kind: Kind, keys: Collection[str], values: Mapping[str, Any]) -> KeyTests:
    has_expression = "when" in values["mask"] or isinstance(values.get("bias"), Formula)
    is_lost = "document" in keys and not has_expression and not kind.has_layers  # one may use it
    message = "document has no use without a condition of the mask, or a bias, that has it"
    yield is_lost, "document", message, "write mask: {when: document[i] == document[j]}"
    scale, score = values["scale"], values["score"]["name"]
    right = RECIPROCALS.get(scale.replace(" ", ""), "")
    message = f"scale is what scores are multiplied by, and {scale} makes products larger"
    hint = f"write scale: {right}; to multiply all the same, write 1*{scale}"
    yield bool(right) and score in PRODUCTS, "scale", message, hint


def _tests_of_latent(kind: Kind, keys: Collection[str], values: Mapping[str, Any]) -> KeyTests:
    if values["kind"] != "latent":
        return
    no_queries = not {"W_q", "W_dq", "W_uq"} & {*keys}
    yield no_queries, "kind", "kind latent needs W_q, or W_dq and W_uq", "they make the queries"
    is_turned, score = "rope" in values["positions"], values["score"]["name"]
    message = "rope turns what W_qr and W_kr make, so each needs the other"
    hint = "write positions: rope, W_qr and W_kr, or none of them"
    yield is_turned != ("W_kr" in keys), "positions", message, hint
    is_other = values["form"] == "absorbed" and score not in ("dot", "scaled_dot")
    message = f"form: absorbed needs dot products as scores, not {score}"
    yield is_other, "form", message, "write form: naive, or leave out score"


def _tests_around_layers(kind: Kind, keys: Collection[str], values: Mapping[str, Any]) -> KeyTests:
    loss = values["gradient"].get("loss")
    if not kind.has_layers:
        message = "gradient: loss is the cross-entropy of target, in kind transformer"
        yield (
            loss == OF_TARGET,
            "gradient",
            message,
            "write gradient: sum, or {loss: squared_error, target: [[…]]}",
        )
        return
    embedding = values["embedding"]
    is_lost = "X" not in keys and not ("table" in embedding and values["tokens"])
    missing = "tokens" if "table" in embedding else "embedding"
    hint = "write embedding: {vocabulary: […], table: [[…]]} and tokens, or X: [[1, 0], [0, 1]]"
    yield is_lost, "X", f"there is neither X nor {missing}", hint
    tied = bool(values["unembedding"])
    unembeds = tied or "W_u" in keys
    no_table = tied and "table" not in values["embedding"]
    no_target = loss == OF_TARGET and not values["target"]
    other_loss = bool(values["gradient"]) and unembeds and loss != OF_TARGET
    yield no_table, "unembedding", "unembedding: tied needs a table", "write embedding: {table: …}"
    yield tied and "W_u" in keys, "W_u", "W_u has no use beside unembedding: tied", "leave one out"
    unused = "X" in keys and "embedding" in keys and not unembeds
    yield unused, "embedding", "X is given, so embedding has no use", "leave one of them out"
    words = values["embedding"].get("vocabulary", ())
    twice = next((word for word, count in Counter(words).items() if count > 1), "")
    message = f"the vocabulary has {visible(twice)} twice"
    yield bool(twice), "embedding", message, "leave one of them out"
    no_logits = bool(values["target"]) and not unembeds
    yield no_logits, "target", "target needs logits", "write unembedding: tied, or W_u"
    yield no_target, "gradient", "gradient: loss needs target", "write the words that should follow"
    message = "with an unembedding, derivatives are of the loss of target"
    yield other_loss, "gradient", message, "write target, and gradient: loss"


def _tests_of_layer(kind: Kind, keys: Collection[str], values: Mapping[str, Any]) -> KeyTests:
    if not kind.has_layers or values["layers"]:
        return
    from attncli.core.attention.norms_and_activations import WITH_GATE

    known, activation = feed_forward_activations(), values["activation"] or "relu"
    message = f"activation {activation} has no use in kind transformer"
    yield activation not in known, "activation", message, f"use {', '.join(known)}"
    no_gate = activation in WITH_GATE and "W_3" not in keys
    hint = f"write W_3, or activation: {WITH_GATE.get(activation)}"
    yield no_gate, "activation", f"{activation} needs W_3", hint
    for key in ("eps", "gain_1", "shift_1", "gain_2", "shift_2"):
        is_lost = key in keys and values["norm"] == "none"
        yield is_lost, key, f"{key} has no use without a norm", "write norm: layer, or rms"


TESTS = (
    *(_tests_of_pairs, _tests_of_variants, _tests_of_options),
    *(_tests_of_latent, _tests_around_layers, _tests_of_layer),
)
"""Functions of a kind, the keys of a problem and their values, which yield tests."""

"""What was written, key by key: other names, values, defaults, and what does not go together.

Faults are of keys under wrong names, of values that cannot be read, of keys that have no use or are
missing, and of open cells.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, groupby
from typing import Any, TypeAlias

import numpy as np

from attncli.core.attention.masks import MASKS
from attncli.core.attention.scores import SCORES
from attncli.core.errors import MAX_SHOWN_FAULTS, Fault, InputError, KeyPath, refuse
from attncli.core.formulas.tree import Formula
from attncli.core.numbers.forms import ArrayForm
from attncli.core.numbers.matrices import as_raw, block_rows
from attncli.core.numbers.other_words import HINTS, OTHER_WORDS
from attncli.core.numbers.written import dotted, is_open, name_of
from attncli.core.problem import networks
from attncli.core.problem.keys import KEYS, WITH_PARTS
from attncli.core.problem.kinds import KINDS, REPLACES, Kind
from attncli.core.problem.shapes import heads_of
from attncli.core.problem.values import OF_TARGET, feed_forward_activations
from attncli.core.records import EMPTY
from attncli.core.text.strings import OF_LAYER, called_by, did_you_mean, regex, visible

WEIGHTS = {
    f"{letter}{key[2:]}".lower(): f"{letter}{key[1:]}"
    for letter in "Wb"
    for key, row in KEYS.items()
    if isinstance(row.form, ArrayForm) and row.form.is_weight
}
"""Weights and biases by their letters alone; they have more names than can be listed."""

IGNORED_IN_WEIGHTS = "_^{}$ "
"""Signs that may be written between, before and after the letters of a weight."""

DERIVATIVE = regex(r"(d|new)_(?=[Wb])|(?:[d∂](?:L|J|[Ll]oss)/[d∂]|∇|grad(?=[_ ]))[_ ]?(?=\w)")
"""The start of the name of a derivative, as in dL/dV, and of an updated weight, as in new_W_q."""

STORED = regex(
    r"(?:.*\.)?(?:(?P<letter>[qkvo])(?:ut)?_(?:proj|lin)(?:[._]weight)?"
    r"|(?P<word>[qkvo]|query|key|value|output\.dense)\.weight)"
)
"""The name of a weight of `nn.Linear` in a state_dict: self_attn.q_proj.weight, query.weight."""

AS_STORED = "first rows and the others, and weights_as: out_in"

WITHOUT_KEY = {
    "leave it out, sizes follow from the matrices; 1/sqrt(d_k) in scale knows d_k": (
        "dk d_k dq d_q dv d_v d_model dmodel embed_dim emb_dim hidden_size head_dim d_head d "
        "seq_len n m kv_lora_rank q_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim"
    ),
    "leave it out; nothing is dropped here": "dropout dropout_p",
    "write W_q, W_k and W_v, its columns in three equal parts": "c_attn",
    "write W_q, W_k and W_v, its rows in three equal parts, and weights_as: out_in": (
        "in_proj_weight"
    ),
    "write b_q, b_k and b_v, its three equal parts": "in_proj_bias c_attn.bias",
    "write it under W_o, as Conv1D stores (in, out)": "c_proj",
    "write it under b_o": "c_proj.bias",
    OTHER_WORDS["seq2seq"]: "s h",
    f"write W_dkv and W_kr, its {AS_STORED}": "kv_a_proj_with_mqa wkv_a",
    f"write W_uk and W_uv, of each head its {AS_STORED}": "kv_b_proj wkv_b",
    f"write W_uq and W_qr, of each head its {AS_STORED}": "q_b_proj wq_b",
    "write it under W_dq": "q_a_proj wq_a",
    "write latent_norm: rms, and the gains under gain_q and gain_kv": (
        "q_a_layernorm kv_a_layernorm kv_norm"
    ),
}
"""Hints for keys of other tools that no one key replaces; the rows of `KEYS` have the rest."""


def key_of(word: str) -> str:
    """Return the key that a word means; a word that is no other name is returned as it is.

    >>> [key_of(word) for word in ("Wq", "WQ", "W^Q", "W_{q}", "num_heads", "dL/dV")]
    ['W_q', 'W_q', 'W_q', 'W_q', 'heads', 'd_V']
    """
    if word in KEYS:
        return word
    if layer := OF_LAYER.match(word):
        return layer[0] + key_of(word[layer.end() :])
    if derivative := DERIVATIVE.match(word):
        weight = _weight(word[derivative.end() :])
        return f"{derivative[1] or 'd'}_{_part(weight)}"
    return next((key for key, row in KEYS.items() if word in row.aliases), _weight(word))


def _part(word: str) -> str:
    """Return the part of a key that a formula calls such as W_gate: `gate.W`."""
    letter, _, key = word.partition("_")
    is_part = key in WITH_PARTS and letter in KEYS[key].form.parts()
    return f"{key}.{letter}" if is_part else word


def _weight(word: str) -> str:
    letters = "".join(sign for sign in word if sign not in IGNORED_IN_WEIGHTS)
    return WEIGHTS.get(letters.lower(), word)


def keys_of(words: str | Iterable[str] | None, names: Mapping[str, str] = EMPTY) -> tuple[str, ...]:
    """Return the keys, or the steps by a course's names, that words mean; a text is one word."""
    listed = [words] if isinstance(words, str) else words or ()
    return tuple(called_by(word, names) or with_key(word) for word in listed)


def names_of(key: str) -> tuple[str, ...]:
    """Return a key and its listed other names."""
    return key, *KEYS[key].aliases


def pattern_of(key: str) -> str:
    """Return a regular expression of all names of a key, for a JSON Schema.

    >>> pattern_of("heads"), pattern_of("W_q")
    ('heads|num_heads|n_heads', '[_^{}$ ]*[Ww][_^{}$ ]*[Qq][_^{}$ ]*')
    """
    if key not in WEIGHTS.values():
        return "|".join(names_of(key))
    letters = (f"[{letter.upper()}{letter.lower()}]" for letter in key.replace("_", ""))
    between = f"[{IGNORED_IN_WEIGHTS}]*"
    return between + "".join(letter + between for letter in letters)


def with_key(word: str, known: Collection[str] = ()) -> str:
    """Return the name of a step, a cell or a matrix with the key that it begins with.

    A single letter is kept, as it also names rows: v[am] is a row of X where there is no V. So are
    the `known` names of a course.

    >>> with_key("W^Q[1, 2]"), with_key("scores[am, I]")
    ('W_q[1, 2]', 'scores[am, I]')
    """
    base, bracket, rest = word.partition("[")
    key = key_of(base.strip())
    is_kept = base.strip() in (key, *known) or len(key) == 1
    return word if is_kept else f"{key}{bracket}{rest}"


def with_keys(written: Mapping[str, Any]) -> dict[str, Any]:
    """Return values under the keys that their names mean; refuse one key under two names.

    None leaves a key out.
    """
    named: dict[str, Any] = {}
    first: dict[str, str] = {}
    faults: list[Fault] = []
    for word, raw in written.items():
        key = key_of(word)
        if raw is None and key in KEYS:
            continue
        # A sentence is split at blanks alone; labels in a text may have commas between them.
        is_sentence = word == "sentence" and isinstance(raw, str)
        named[key] = raw.split() if is_sentence else raw
        other = first.setdefault(key, word)
        if other != word:
            message = f"{visible(other)} and {visible(word)} are the same key"
            needs = "" if key in KEYS and {word, other}.issubset(names_of(key)) else "names"
            hint = "leave one of them out"
            faults.append(Fault(message, (word,), hint, related=(other,), needs=needs))
    refuse(faults)
    return named


def hint_for(word: str) -> str:
    """Return a hint for an unknown key: what to write here instead, or the key that is like it.

    >>> hint_for("is_causal"), hint_for("maks")
    ('write mask: causal where the future is blocked, else leave it out', 'did you mean mask?')
    >>> hint_for("layers.0.self_attn.q_proj.weight")
    'write it under W_q, and weights_as: out_in, as nn.Linear stores (out, in)'
    """
    plain = word.lower().replace("-", "_")
    stem, _, last = plain.rpartition(".")
    if match := STORED.fullmatch(plain if last != "bias" else f"{stem}.weight"):
        letter = (match["letter"] or match["word"])[0]
        as_stored = f"W_{letter}, and weights_as: out_in, as nn.Linear stores (out, in)"
        return f"write it under {f'b_{letter}' if last == 'bias' else as_stored}"
    pieces = plain.removesuffix(".weight").rsplit(".", 2)[-2:]  # no word below has more
    ends = {".".join(pieces[start:]) for start in range(len(pieces))}
    rows = [pair for row in KEYS.values() for pair in row.instead.items()]
    hints = [f"write {hint}" for hint, words in rows if ends & {*words.split()}]
    hints += [hint for hint, words in WITHOUT_KEY.items() if ends & {*words.split()}]
    hints += [hint for name, hint in HINTS.items() if name in ends]
    return hints[0] if hints else did_you_mean(word, KEYS, "attn schema")


DEFAULTS: Mapping[str, Any] = {key: row.default for key, row in KEYS.items()}
MAX_KEPT_AS_WRITTEN = 10_000
"""Maximum number of numbers, or characters of a text block, of a key that is kept as written.

People calculate with less; to keep more would only take memory."""


def read_keys(named: Mapping[str, Any], copy: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return every key as it was written, and its value; refuse what is wrong with single keys."""
    raw: dict[str, Any] = {}
    values: dict[str, Any] = {}
    faults: list[Fault] = []
    for key, written in named.items():
        if key not in KEYS:
            hint = hint_for(key) if len(faults) < MAX_SHOWN_FAULTS else ""
            faults.append(Fault(f"unknown key {visible(key)}", (key,), hint))
            continue
        try:
            raw[key] = as_raw(written, (key,), copy)
            values[key] = KEYS[key].form.read(raw[key], (key,))
        except InputError as error:
            faults.extend(error.faults)
    if faults:
        refuse(with_open_cells_together(faults, raw))
    return raw, values


def with_defaults(read: dict[str, Any]) -> dict[str, Any]:
    """Return the values of all keys; the defaults of some depend on other keys."""
    values = {**DEFAULTS, **{key: dict(DEFAULTS[key]) for key in WITH_PARTS}, **read}
    values["heads"], values["kv_heads"] = heads_of(values, read)
    values["score"] = values["score"] or {"name": KINDS[values["kind"]].score}
    if "W_kr" in read and not values["positions"]:
        values["positions"] = KEYS["positions"].form.read("rope", ("positions",))
    usual = "1" if "scores" in read else SCORES[values["score"]["name"]].scale
    values["scale"] = values["scale"] or usual
    values |= KINDS[values["kind"]].variant_of(values)
    if "normalize" not in read and "scores" not in read:
        values["normalize"] = {"name": SCORES[values["score"]["name"]].normalize}
    return values


def is_flat(raw: object) -> bool:
    """Return True for a list, or a line, of numbers, and not of rows."""
    return "[" not in raw if isinstance(raw, str) else np.ndim(raw) == 1  # type: ignore[arg-type]


def is_small(raw: object) -> bool:
    """Return True for a value that is kept as it was written."""
    rows = raw if isinstance(raw, list | tuple) else ()
    count = sum(len(row) if isinstance(row, list | tuple) else 1 for row in rows)
    size = len(raw) if isinstance(raw, str) else getattr(raw, "size", count)
    return size <= MAX_KEPT_AS_WRITTEN


RECIPROCALS = {
    **dict.fromkeys(("sqrt(d_k)", "√d_k", "√(d_k)", "d_k^0.5", "d_k^(1/2)"), "1/sqrt(d_k)"),
    "sqrt(d_model)": "1/sqrt(d_model)",
    "d_k": "1/d_k",
}
"""The divisors of scores in textbooks, with the scale that divides by them."""

PRODUCTS = ("dot", "scaled_dot", "general")
"""Score functions whose scores grow with d_k: a scale that multiplies by √d_k is a slip."""

MAX_NAMED_CELLS = 6
"""Maximum number of open cells that are named one by one; of more, each matrix is counted."""


def misused(keys: Collection[str], values: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield a fault for each key that has no use in this kind, excludes another, or is missing."""
    name = values["kind"]
    kind = KINDS[name]
    known = kind.keys
    for key in (key for key in keys if key not in known):
        fitting = [name for name, other in KINDS.items() if key in other.keys]
        hint = f"it is for kind: {' or '.join(fitting)}" if fitting else ""
        yield Fault(f"{key} has no use in kind {name}", (key,), hint)
    for direct in [direct for direct in REPLACES if direct in keys]:
        for key in filter(keys.__contains__, REPLACES[direct]):
            message = f"{direct} is given, so {key} has no use"
            hint = f"leave out {key} or {direct}"
            yield Fault(message, (key,), hint, related=(direct,))
    yield from _misfits(keys, name, values)
    for key in kind.needs:
        if key not in keys:
            yield Fault(f"kind {name} needs {key}", ("kind",), KEYS[key].meaning)
    if "learning_rate" in keys and "gradient" not in keys:
        message = "learning_rate has no use without gradient"
        yield Fault(message, ("learning_rate",), "write gradient: sum", needs="values")
    for key, origin, *others in kind.source_groups:
        if not any(name in keys for name in (key, origin, *others)):
            hint = f"{key} is made from {origin}; write {origin}: [[1, 0], [0, 1]]"
            yield Fault(f"there is neither {origin} nor {key}", (), hint)
            return


def _misfits(keys: Collection[str], name: str, values: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield a fault for each part of an option without use, and a slip in `scale`."""
    if name == "transformer":
        yield from _misfits_of_transformer(keys, values)
    if name == "encoder_decoder":
        yield from networks.misfits(keys, values)
    kind = KINDS[name]
    yield from _faults_of(_tests_of_kind(keys, kind, values))
    fitting = [form for form, row in MASKS.items() if kind.takes_mask(form, row.by_position)]
    for form in values["mask"]:
        if form in MASKS and form not in fitting:
            message = f"the mask {form} has no use in kind {name}"
            verb = "have" if fitting[1:] else "has"
            yield Fault(message, ("mask", form), f"{', '.join(fitting)} {verb}")
    yield from _misfits_of_normalizer(keys, name, values["normalize"])
    if values["weights_as"] == "out_in" and values["tokens_as"] == "columns":
        message = "tokens_as: columns has weights of (out, in), so weights_as: out_in has no use"
        yield Fault(message, ("weights_as",), "leave one of them out", related=("tokens_as",))
    if "gate" in keys and not {"X", "layers", "embedding"} & {*keys}:
        hint = "write X, or leave out gate"
        yield Fault("gate is made from X, which is left out", ("gate",), hint, needs="values")
    expressions = "when" in values["mask"] or isinstance(values.get("bias"), Formula)
    if "document" in keys and not expressions and name != "transformer":  # a layer may use it
        message = "document has no use without a condition of the mask, or a bias, that has it"
        hint = "write mask: {when: document[i] == document[j]}"
        yield Fault(message, ("document",), hint, needs="values")
    scale = values["scale"]
    right = RECIPROCALS.get(scale.replace(" ", ""))
    if right and values["score"]["name"] in PRODUCTS:
        message = f"scale is what scores are multiplied by, and {scale} makes products larger"
        hint = f"write scale: {right}; to multiply all the same, write 1*{scale}"
        yield Fault(message, ("scale",), hint, needs="values")


def _misfits_of_normalizer(
    keys: Collection[str], name: str, settings: Mapping[str, Any]
) -> Iterator[Fault]:
    axes = KINDS[name].axes
    axis = settings.get("axis", axes[0])
    if axis not in axes:
        message = f"normalize.axis has no use in kind {name}"
        yield Fault(message, ("normalize", "axis"), "leave it out")
    is_usual = (settings["name"], axis) == ("softmax", "keys") and "sink" not in settings
    if "online" in keys and not is_usual:
        message, hint = "online is softmax over the keys, without a sink", "leave out online"
        yield Fault(message, ("online",), hint, related=("normalize",), needs="values")


OF_FEED_FORWARD = ("b_1", "W_2", "b_2", "W_3", "b_3", "activation", "gain_2", "shift_2")
"""The keys that need W_1."""


def _misfits_of_transformer(keys: Collection[str], values: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield a fault for each key of a transformer that is missing, or has no use beside others."""
    embedding = values["embedding"]
    if "X" not in keys and not ("table" in embedding and values["tokens"]):
        hint = "write embedding: {vocabulary: […], table: [[…]]} and tokens, or X: [[1, 0], [0, 1]]"
        missing = "tokens" if "table" in embedding else "embedding"
        yield Fault(f"there is neither X nor {missing}", (), hint, needs="values")
    of_layer = () if values["layers"] else _tests_of_layer(keys, values)
    yield from _faults_of((*_tests_after_layers(keys, values), *of_layer))


KeyTest: TypeAlias = tuple[bool, str, str, str]
"""Whether a key is wrong, the key, the message and the hint."""

KeyTests: TypeAlias = Iterator[KeyTest]


def _faults_of(tests: Iterable[KeyTest]) -> Iterator[Fault]:
    for is_wrong, key, message, hint in tests:
        if is_wrong:
            yield Fault(message, (key,), hint, needs="values")


def _tests_of_kind(keys: Collection[str], kind: Kind, values: Mapping[str, Any]) -> KeyTests:
    """Yield a test for each key or option that needs another, or excludes it, in this kind."""
    for key, other in kind.pairs:
        hint = f"write {other}, or leave out {key}"
        yield key in keys and other not in keys, key, f"{key} has no use without {other}", hint
    if values["kind"] == "latent":
        yield from _tests_of_latent(keys, values)
    if kind.variants is None:
        return
    option, variants = kind.variants
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


def _tests_of_latent(keys: Collection[str], values: Mapping[str, Any]) -> KeyTests:
    no_queries = not {"W_q", "W_dq", "W_uq"} & {*keys}
    yield no_queries, "kind", "kind latent needs W_q, or W_dq and W_uq", "they make the queries"
    is_turned, score = "rope" in values["positions"], values["score"]["name"]
    message = "rope turns what W_qr and W_kr make, so each needs the other"
    hint = "write positions: rope, W_qr and W_kr, or none of them"
    yield is_turned != ("W_kr" in keys), "positions", message, hint
    is_other = values["form"] == "absorbed" and score not in ("dot", "scaled_dot")
    message = f"form: absorbed needs dot products as scores, not {score}"
    yield is_other, "form", message, "write form: naive, or leave out score"


def _tests_after_layers(keys: Collection[str], values: Mapping[str, Any]) -> KeyTests:
    tied, loss = bool(values["unembedding"]), values["gradient"].get("loss")
    unembeds = tied or "W_u" in keys
    no_table = tied and "table" not in values["embedding"]
    no_target = loss == OF_TARGET and not values["target"]
    other_loss = bool(values["gradient"]) and unembeds and loss != OF_TARGET
    yield no_table, "unembedding", "unembedding: tied needs a table", "write embedding: {table: …}"
    yield tied and "W_u" in keys, "W_u", "W_u has no use beside unembedding: tied", "leave one out"
    unused = "X" in keys and "embedding" in keys and not unembeds
    yield unused, "embedding", "X is given, so embedding has no use", "leave one of them out"
    words = values["embedding"].get("vocabulary", ())
    twice = next((word for word in words if words.count(word) > 1), "")
    message = f"the vocabulary has {visible(twice)} twice"
    yield bool(twice), "embedding", message, "leave one of them out"
    no_logits = bool(values["target"]) and not unembeds
    yield no_logits, "target", "target needs logits", "write unembedding: tied, or W_u"
    yield no_target, "gradient", "gradient: loss needs target", "write the words that should follow"
    message = "with an unembedding, derivatives are of the loss of target"
    yield other_loss, "gradient", message, "write target, and gradient: loss"


def _tests_of_layer(keys: Collection[str], values: Mapping[str, Any]) -> KeyTests:
    from attncli.core.attention.norms_and_activations import WITH_GATE

    known, activation = feed_forward_activations(), values["activation"] or "relu"
    half = "W_1" in keys and "W_2" not in keys
    yield half, "W_1", "W_1 needs W_2", "write W_2, which leads back to the features"
    yield "b_3" in keys and "W_3" not in keys, "b_3", "b_3 has no use without W_3", "write W_3"
    for key in OF_FEED_FORWARD:
        yield key in keys and "W_1" not in keys, key, f"{key} has no use without W_1", "write W_1"
    message = f"activation {activation} has no use in kind transformer"
    yield activation not in known, "activation", message, f"use {', '.join(known)}"
    no_gate = activation in WITH_GATE and "W_3" not in keys
    hint = f"write W_3, or activation: {WITH_GATE.get(activation)}"
    yield no_gate, "activation", f"{activation} needs W_3", hint
    for key in ("eps", "gain_1", "shift_1", "gain_2", "shift_2"):
        is_lost = key in keys and values["norm"] == "none"
        yield is_lost, key, f"{key} has no use without a norm", "write norm: layer, or rms"


def with_open_cells_together(faults: list[Fault], raw: Mapping[str, Any]) -> list[Fault]:
    """Return faults with a single one for all open cells.

    Each matrix of the values as they were written, `raw`, has a fault for its first open cell.
    """
    first = {fault.path for fault in faults}
    paths_of_cells = (path for key, value in raw.items() for path in _open_cells(value, (key,)))
    matrices = [[*paths] for _, paths in groupby(paths_of_cells, dotted)]
    matrices = [paths for paths in matrices if paths[0] in first]
    if not matrices:
        return faults
    cells = [*chain(*matrices)]
    words = [*map(name_of, cells)]
    if len(cells) > MAX_NAMED_CELLS:
        words = [f"{len(paths)} of {dotted(paths[0])}" for paths in matrices]
    count, there = f"{len(cells)} cells are open", "in the place of each"
    if len(cells) == 1:
        count, there = "1 cell is open", "there"
    needs = min(fault.needs for fault in faults if fault.path in cells)  # none, if one has none
    message, hint = f"{count}: {', '.join(words)}", f"write a number {there}"
    together = Fault(message, cells[0], hint, needs=needs)
    others = [fault for fault in faults if fault.path not in cells]
    return [together, *others]


def _open_cells(raw: Any, path: KeyPath) -> Iterator[KeyPath]:
    """Yield the paths of the open cells of a value, in the order in which they are written."""
    if isinstance(raw, Mapping):
        for key, value in raw.items():
            yield from _open_cells(value, (*path, key))
        return
    if isinstance(raw, str):
        with suppress(InputError):  # another fault tells of it
            raw = block_rows(raw, path)
    if isinstance(raw, list | tuple):
        for index, item in enumerate(raw):
            if isinstance(item, str) and is_open(item):
                yield (*path, index)
            elif not isinstance(item, str):
                yield from _open_cells(item, (*path, index))

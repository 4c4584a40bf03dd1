"""What was written, key by key: other names, values and defaults.

Faults are of keys under wrong names, of values that cannot be read, and of open cells.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain, groupby
from math import prod
from typing import Any

import numpy as np

from attncli.core.attention.scores import SCORES
from attncli.core.declare import WHEN_ADDED, Declared, Mechanism, declared
from attncli.core.errors import MAX_SHOWN_FAULTS, Fault, InputError, KeyPath, fail, refuse
from attncli.core.numbers.forms import ArrayForm
from attncli.core.numbers.matrices import as_raw, grid_in, to_array
from attncli.core.numbers.other_words import NOT_CALCULATED, import_named
from attncli.core.numbers.written import dotted, is_open, name_of, shape_words
from attncli.core.problem.keys import BESIDE_KINDS, KEYS, KINDS, WITH_PARTS, kind_of_config
from attncli.core.problem.rows import PATTERNS, row_name
from attncli.core.problem.shapes import heads_of
from attncli.core.records import EMPTY
from attncli.core.text import strings
from attncli.core.text.languages import words_for
from attncli.core.text.strings import near_words, plain_name, regex, visible

LONG = {"q": ("query",), "k": ("key",), "v": ("value",), "o": ("out", "output")}
"""Words for the letters of weights, as in W_query."""


def _weights() -> dict[str, str]:
    return {
        f"{letter}{word}".lower(): f"{letter}{key[1:]}"
        for letter in "Wb"
        for key, row in KEYS.items()
        if isinstance(row.form, ArrayForm) and row.form.is_weight
        for word in (key[2:], *LONG.get(key[2:], ()))
    } | {
        f"{word}{kind}": f"W_{letter}"
        for letter, words in LONG.items()
        for word in words
        for kind in ("weight", "weights", "weightmatrix", "projection")
    }


WEIGHTS = _weights()
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

SIZES_FOLLOW = "leave it out, sizes follow from the matrices; 1/sqrt(d_k) in scale knows d_k"
WITHOUT_KEY = {
    SIZES_FOLLOW: (
        "dk d_k dq d_q dv d_v d_model dmodel d_in d_out embed_dim emb_dim hidden_size head_dim "
        "d_head d seq_len n m kv_lora_rank q_lora_rank qk_nope_head_dim qk_rope_head_dim v_head_dim"
    ),
    "leave it out; nothing is dropped here": "dropout dropout_p",
    "write W_q, W_k and W_v, its columns in three equal parts": "c_attn",
    "write W_q, W_k and W_v, its rows in three equal parts, and weights_as: out_in": (
        "in_proj_weight"
    ),
    "write b_q, b_k and b_v, its three equal parts": "in_proj_bias c_attn.bias",
    "write it under W_o, as Conv1D stores (in, out)": "c_proj",
    "write it under b_o": "c_proj.bias",
}
"""Hints for keys of other tools that no one key replaces; declarations have the rest."""


@lru_cache(1)
def _by_alias(count: int) -> Mapping[str, str]:
    """Return the keys by their other names, of so many keys: there may be new ones."""
    return {word: key for key, row in KEYS.items() for word in (*row.aliases, *words_for(key))}


MAX_KEY_LENGTH = 100
"""Maximum length of a word, in characters, that may be another name of a key."""


def key_of(word: str) -> str:
    r"""Return the key that a word means; a word that is no other name is returned as it is.

    >>> [key_of(word) for word in ("WQ", "W^Q", "W_query", r"\mathbf{Q}", "num_heads", "dL/dV")]
    ['W_q', 'W_q', 'W_q', 'Q', 'heads', 'd_V']
    """
    if word in KEYS or len(word) > MAX_KEY_LENGTH:
        return word
    word = plain_name(word)
    if layer := strings.OF_LAYER.match(word):
        return layer[0] + key_of(word[layer.end() :])
    if derivative := DERIVATIVE.match(word):
        weight = _weight(word[derivative.end() :])
        return f"{derivative[1] or 'd'}_{_part(weight)}"
    folded = word if len(word) < 3 else word.casefold()  # Query, but x is no X
    aliases = _by_alias(len(KEYS))
    return aliases.get(word) or aliases.get(folded) or _weight(word)


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
    return tuple(strings.called_by(word, names) or with_key(word) for word in listed)


def pattern_of(key: str) -> str:
    """Return a regular expression of all names of a key, for a JSON Schema.

    >>> pattern_of("heads"), pattern_of("W_u")
    ('heads|num_heads|n_heads', '[_^{}$ ]*[Ww][_^{}$ ]*[Uu][_^{}$ ]*')
    """
    if key not in WEIGHTS.values():
        return "|".join([key, *KEYS[key].aliases, *filter(None, [PATTERNS.get(key)])])
    between = f"[{IGNORED_IN_WEIGHTS}]*"
    words = ((f"[{x.upper()}{x}]" for x in word) for word in WEIGHTS if WEIGHTS[word] == key)
    return "|".join(between + "".join(x + between for x in letters) for letters in words)


def with_key(word: str, known: Collection[str] = ()) -> str:
    """Return the name of a step, a cell or a matrix with the key that it begins with.

    A single letter is kept, as it also names rows: v[am] is a row of X where there is no V; and
    words that mean a step, too: value in a transformer, Skalierung for scaled, masque for masked.
    So are the `known` names of a course.

    >>> with_key("W^Q[1, 2]"), with_key("scores[am, I]"), with_key("inputs"), with_key("z₁")
    ('W_q[1, 2]', 'scores[am, I]', 'X', 'z_1')
    """
    base, bracket, rest = word.partition("[")
    key = key_of(name := plain_name(base))
    if base.strip() in (*known, key):
        return word
    is_kept = len(name) == 1 or key in ("Q", "K", "V", "scale", "mask")
    return f"{name if is_kept else key}{bracket}{rest}"


def _look_up(values: Mapping[str, Any]) -> None:
    """Import the kind of a problem if only an installed package has it: its keys are known then."""
    kind = values.get("kind")
    if isinstance(kind, str) and kind not in KINDS:
        import_named(kind)


def with_keys(written: Mapping[str, Any]) -> dict[str, Any]:
    """Return values under the keys that their names mean; refuse one key under two names.

    None leaves a key out. The name of a row, k1, becomes k_1.
    """
    _look_up(written)
    named: dict[str, Any] = {}
    first: dict[str, str] = {}
    faults: list[Fault] = []
    for word, raw in written.items():
        key = word if word in KEYS else row_name(plain_name(word)) or key_of(word)
        if raw is None and (key in KEYS or row_name(key)):
            continue
        # A sentence is split at blanks alone; labels in a text may have commas between them.
        is_sentence = word == "sentence" and isinstance(raw, str)
        named[key] = raw.split() if is_sentence else raw
        other = first.setdefault(key, word)
        if other != word:
            message = f"{visible(other)} and {visible(word)} are the same key"
            are_listed = key in KEYS and {word, other}.issubset((key, *KEYS[key].aliases))
            needs = "" if are_listed else "names"
            hint = "leave one of them out"
            faults.append(Fault(message, (word,), hint, related=(other,), needs=needs))
    refuse(faults)
    return named


def hint_for(word: str, shape: Sequence[int] = (), fitting: Sequence[str] = ()) -> str:
    """Return a hint for an unknown key: what to write here instead, or the key that is like it.

    Of a matrix, it says the shape, and which keys have it, of those that are `fitting`.

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
    rows = [(f"write {x}", words) for row in KEYS.values() for x, words in row.instead.items()]
    rows += WITHOUT_KEY.items()
    rows += [pair for one in declared().values() for pair in one.hints.items()]
    rows += NOT_CALCULATED.items()
    hints = [hint for hint, words in rows if ends & {*words.split()}]
    hints = [hint for hint in hints if not shape or hint != SIZES_FOLLOW]  # a matrix is no size
    if hints or not shape:
        return hints[0] if hints else strings.did_you_mean(word, KEYS, "attn schema")
    from attncli.core.tape.step_words import ALIASES, meant

    if steps := meant(word, ALIASES):
        return f"leave the step {steps[0]} out, or write it under answers to have it checked"
    by_letter = sorted(fitting, key=lambda key: key[0].lower() != plain[:1])
    near = near_words(word, fitting) or by_letter[: strings.MAX_NEAR_WORDS]
    return f"its shape is {shape_words(shape)}: is it {' or '.join(near) or 'left over'}?"


DEFAULTS: dict[str, Any] = {key: row.default for key, row in KEYS.items()}
MAX_KEPT_AS_WRITTEN = 10_000
"""Maximum number of numbers, or characters of a text block, of a key that is kept as written.

People calculate with less; to keep more would only take memory."""


def read_keys(named: Mapping[str, Any], copy: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return every key as it was written, and its value; refuse what is wrong with single keys."""
    raw: dict[str, Any] = {}
    values: dict[str, Any] = {}
    faults: list[Fault] = []
    _look_up(named)
    if kind := kind_of_config(named):
        message = "this is the config.json of a model, not a problem"
        hint = "attn count config.json counts its work, and attncli.load reads it as shapes"
        raise fail(message, kind.config_key, hint=hint)
    for key, written in named.items():
        if key not in KEYS:
            unknown = Fault(f"unknown key {visible(key)}", (key,))
            faults.append(_unknown(key, named) if len(faults) < MAX_SHOWN_FAULTS else unknown)
            continue
        try:
            raw[key] = as_raw(written, (key,), copy)
            values[key] = KEYS[key].form.read(raw[key], (key,))
        except InputError as error:
            faults.extend(error.faults)
    if faults:
        refuse(with_open_cells_together(faults, raw))
    return raw, values


def _unknown(key: str, named: Mapping[str, Any]) -> Fault:
    """Return the fault of an unknown key; of a matrix, with its shape and the keys that have it."""
    kind = KINDS.get(str(named.get("kind", "self")), KINDS["self"])
    sizes, shape = dict[str, int](), _shape(named[key])
    for name, axes in kind.shapes.items():
        sizes |= zip(axes, _shape(named.get(name))[-len(axes) :], strict=False)
    fitting = [
        name
        for name, axes in kind.shapes.items()
        if name in KEYS.keys() - named.keys() and prod(shape[: -len(axes)]) == 1
        if all(
            sizes.get(axis, size) == size
            for axis, size in zip(axes, shape[-len(axes) :], strict=False)
        )
    ]
    return Fault(f"unknown key {visible(key)}", (key,), hint_for(key, shape, fitting))


def _shape(raw: Any) -> tuple[int, ...]:
    with suppress(InputError):
        shape = to_array(raw, (), infinite=True).shape
        return shape if prod(shape) > 1 else ()
    return ()


@lru_cache(32)
def _defaults_in_order(kind: Mechanism) -> dict[str, Any]:
    return {key: DEFAULTS[key] for key in (*kind.keys, *DEFAULTS)}


@WHEN_ADDED.append
def _add(one: Declared) -> None:
    WEIGHTS.update(_weights())
    DEFAULTS.update({key: row.default for key, row in one.own.items()})
    _defaults_in_order.cache_clear()


def with_defaults(read: dict[str, Any]) -> dict[str, Any]:
    """Return the values of all keys; the defaults of some depend on other keys."""
    kind = KINDS[read.get("kind", DEFAULTS["kind"])]
    values = _defaults_in_order(kind) | {key: dict(DEFAULTS[key]) for key in WITH_PARTS} | read
    values["heads"], values["kv_heads"] = heads_of(values, read)
    values["score"] = values["score"] or {"name": kind.score}
    for one in (kind, *BESIDE_KINDS):
        one.defaults(read, values)
    usual = "1" if "scores" in read else SCORES[values["score"]["name"]].scale
    values["scale"] = values["scale"] or usual
    values |= kind.variant_of(values)
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


MAX_NAMED_CELLS = 6
"""Maximum number of open cells that are named one by one; of more, each matrix is counted."""


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
            raw = grid_in(raw, path).words()
    if isinstance(raw, list | tuple):
        for index, item in enumerate(raw):
            if isinstance(item, str) and is_open(item):
                yield (*path, index)
            elif not isinstance(item, str):
                yield from _open_cells(item, (*path, index))

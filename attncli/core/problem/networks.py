"""The weights of the networks of kind `encoder_decoder`: their names, shapes and faults.

Each gate has W for the word, U for the state before and a bias b; where a decoder attends before
its new state, it has C for what it found (Bahdanau et al. 2015, appendix A.1.2).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from attncli.core.errors import Fault, KeyPath, fail
from attncli.core.numbers import forms
from attncli.core.numbers.written import dotted
from attncli.core.records import replace
from attncli.core.text.strings import all_of

CELLS = {"lstm": ("_f", "_i", "_g", "_o"), "gru": ("_r", "_z", "_n"), "rnn": ("",)}
"""What the names of the weights of each gate end with, by the cell."""

VECTORS = {"lstm": ("h_0", "c_0"), "gru": ("h_0", "b_hn"), "rnn": ("h_0",)}
"""First states, and the bias of U h where a GRU resets after that product, as PyTorch names it."""

ATTENDS = ("after", "before")
"""Whether a decoder attends with its new state, or with the one before."""


def _shapes(cell: str) -> dict[str, tuple[str, ...]]:
    shapes: dict[str, tuple[str, ...]] = {"gradient": ("n", "d_h")}
    for network, size, width in (("encoder", "d_h", "d_x"), ("decoder", "d_s", "d_y")):
        of_gate = {"W": (size, width), "U": (size, size), "C": (size, "d_h"), "b": (size,)}
        gates = {f"{letter}{gate}": of_gate[letter] for gate in CELLS[cell] for letter in of_gate}
        parts = gates | dict.fromkeys(VECTORS[cell], (size,))
        shapes |= {f"{network}.{part}": shape for part, shape in parts.items()}
    return shapes


NETWORKS = {cell: _shapes(cell) for cell in CELLS}
"""The shapes of all weights and first states in letters, by the cell."""


def attending(shapes: Mapping[str, tuple[str, ...]], attends: str) -> dict[str, tuple[str, ...]]:
    """Return shapes with C of the decoder if it attends before; its states are the output then."""
    if attends == "before":
        kept = {key: shape for key, shape in shapes.items() if not key.startswith("encoder.C")}
        return kept | {"gradient": ("n", "d_s")}
    return {key: shape for key, shape in shapes.items() if ".C" not in key}


PARTS = {
    key.partition(".")[2]: (forms.vector, forms.matrix)[len(shape) - 1]()
    for shapes in NETWORKS.values()
    for key, shape in shapes.items()
    if "." in key
}
SUCH_AS = "encoder: {W_f: [[…]], U_f: [[…]], b_f: […], W_i: …}, with W and U of each gate"

HINTS = {
    "weight_": "write the rows of each gate by themselves: W_i, W_f, W_g, W_o, or W_r, W_z, W_n",
    "bias_": "write the sum of both biases for each gate: b_i, …; of a GRU's n both, b_n and b_hn",
    "W_c": "the candidate of an LSTM is g here: write W_g, U_g and b_g",
    "W_h": "the candidate of a GRU is n here: write W_n, U_n and b_n",
}
"""What to write in place of parts whose names begin so."""


def _read(raw: object, path: KeyPath) -> Any:
    for part in raw if isinstance(raw, Mapping) else ():
        if hint := next((hint for word, hint in HINTS.items() if str(part).startswith(word)), ""):
            raise fail(f"unknown key {part} in {dotted(path)}", *path, part, hint=hint)
    return OF_PARTS.read(raw, path)


OF_PARTS = forms.mapping(PARTS, SUCH_AS)
NETWORK = replace(OF_PARTS, read=_read)


def misfits(keys: Collection[str], values: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield a fault for each part of a network that is missing, or has no use beside others."""
    cell, attends, reset = values["cell"], values["attends"], values["reset"] or "before"
    if "reset" in keys and cell != "gru":
        yield Fault(f"reset has no use with cell: {cell}", ("reset",), "write cell: gru")
    for network in filter(keys.__contains__, ("encoder", "decoder")):
        parts = values[network]
        fitting = [
            k.partition(".")[2] for k in attending(NETWORKS[cell], attends) if k.startswith(network)
        ]
        fitting = [part for part in fitting if part != "b_hn" or reset == "after"]
        options = f"cell: {cell}, attends: {attends}" + f", reset: {reset}" * (cell == "gru")
        if unused := [part for part in parts if part not in fitting]:
            message = f"{all_of(unused)} {'have' if unused[1:] else 'has'} no use with {options}"
            hint = f"{network} may have {all_of(fitting)}"
            yield Fault(message, (network, unused[0]), hint)
        missing = [part for part in fitting if part[0] in "WUC" and part not in parts]
        starts = [part for part in fitting if part in ("h_0", "c_0")]
        missing += [part for part in starts if {*starts} & {*parts} and part not in parts]
        if missing:
            hint = f"write {SUCH_AS}, and both h_0 and c_0 of an LSTM, or none"
            yield Fault(f"{network} needs {all_of(missing)} with {options}", (network,), hint)

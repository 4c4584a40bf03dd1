"""The weights of the encoder and the decoder of kind `encoder_decoder`: names, shapes and faults.

Each gate of a cell has a matrix W for the word, U for the state before and a bias b; those of a
decoder that attends before its new state have C for what it found, as in Bahdanau et al. 2015.
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

STARTS = {"lstm": ("h_0", "c_0"), "gru": ("h_0",), "rnn": ("h_0",)}
"""The first state of each cell."""

RESET_BIAS = "b_hn"
"""The bias of U h, where a GRU resets after that product, as PyTorch calls it."""

ATTENDS = {"after": "d_h", "before": "d_s"}
"""The size of the output, by when the decoder attends: what it found, or its own state."""


def _shapes(cell: str, attends: str) -> dict[str, tuple[str, ...]]:
    shapes: dict[str, tuple[str, ...]] = {}
    for network, size, width in (("encoder", "d_h", "d_x"), ("decoder", "d_s", "d_y")):
        of_gate = {"W": (size, width), "U": (size, size), "C": (size, "d_h"), "b": (size,)}
        if (network, attends) != ("decoder", "before"):
            del of_gate["C"]
        for gate in CELLS[cell]:
            shapes |= {f"{network}.{letter}{gate}": shape for letter, shape in of_gate.items()}
        vectors = (*STARTS[cell], *((RESET_BIAS,) if cell == "gru" else ()))
        shapes |= {f"{network}.{part}": (size,) for part in vectors}
    return shapes | {"gradient": ("n", ATTENDS[attends])}


NETWORKS = {(cell, attends): _shapes(cell, attends) for cell in CELLS for attends in ATTENDS}
"""The shapes of all weights and first states in letters, by the keys `cell` and `attends`."""

MATRICES = tuple(
    key
    for shapes in NETWORKS.values()
    for key in shapes
    if key.partition(".")[2].startswith(("W", "U", "C"))
)
PARTS = {
    key.partition(".")[2]: (forms.vector, forms.matrix)[len(shape) - 1]()
    for shapes in NETWORKS.values()
    for key, shape in shapes.items()
    if key != "gradient"
}
SUCH_AS = "encoder: {W_f: [[…]], U_f: [[…]], b_f: […], W_i: …}, with W and U of each gate"

OTHER_PARTS = {
    "weight_ih weight_hh bias_ih bias_hh weight_ih_l0 weight_hh_l0 bias_ih_l0 bias_hh_l0": (
        "write the rows of each gate by themselves: those of weight_ih under W_i, W_f, W_g, W_o,"
        " or W_r, W_z, W_n, those of weight_hh under U_i, …, and the sums of both biases under b_i"
    ),
    "kernel recurrent_kernel": "write the columns of each gate, transposed, under W_i and U_i, …",
    "W_c U_c b_c W_C U_C b_C": "the candidate of an LSTM is g here: write W_g, U_g, b_g",
    "W_h U_h b_h": "the candidate of a GRU is n here: write W_n, U_n, b_n",
}
"""What to write in place of other names of weights."""


def _read(raw: object, path: KeyPath) -> Any:
    for part in raw if isinstance(raw, Mapping) else ():
        for words, hint in OTHER_PARTS.items():
            if part in words.split():
                raise fail(f"unknown key {part} in {dotted(path)}", *path, part, hint=hint)
    return forms.mapping(PARTS, SUCH_AS).read(raw, path)


NETWORK = replace(forms.mapping(PARTS, SUCH_AS), read=_read)


def misfits(keys: Collection[str], values: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield a fault for each part of a network that is missing, or has no use beside others."""
    cell, attends = values["cell"], values["attends"]
    if "reset" in keys and cell != "gru":
        yield Fault(f"reset has no use with cell: {cell}", ("reset",), "write cell: gru")
    for network in filter(keys.__contains__, ("encoder", "decoder")):
        parts, start = values[network], STARTS[cell]
        fitting = [k.partition(".")[2] for k in NETWORKS[cell, attends] if k.startswith(network)]
        for part in parts:
            if part == RESET_BIAS and values["reset"] == "before":
                message = f"{part} has no use where the state is reset before the product"
                yield Fault(message, (network, part), "write cell: gru and reset: after")
            elif part not in fitting:
                yield _without_use(network, part, cell, attends)
        missing = [part for part in fitting if part[0] in "WUC" and part not in parts]
        missing += [part for part in start if {*start} & {*parts} and part not in parts]
        if missing:
            hint = f"cell: {cell} has W and U of each gate; as in {SUCH_AS}"
            hint = "the state h_0 and the cell c_0 go together" if missing[0] in start else hint
            yield Fault(f"{network} needs {all_of(missing)}", (network,), hint)


def _without_use(network: str, part: str, cell: str, attends: str) -> Fault:
    """Return the fault of a part that is of another cell, or of a decoder that attends before."""
    others = [(c, a) for c, a in NETWORKS if f"{network}.{part}" in NETWORKS[c, a]]
    if not others:
        message, hint = f"{part} has no use in the encoder, which does not attend", "leave it out"
    elif others[0][0] != cell:
        message, hint = f"{part} has no use with cell: {cell}", f"write cell: {others[0][0]}"
    else:
        message, hint = f"{part} has no use with attends: {attends}", "write attends: before"
    return Fault(message, (network, part), hint)

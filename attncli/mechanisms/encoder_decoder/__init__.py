"""A decoder that attends to the states of a recurrent encoder.

Each gate has W for the word, U for the state before and a bias b; where a decoder attends before
its new state, it has C for what it found (Bahdanau et al. 2015, appendix A.1.2).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from attncli.core.declare import Implied, KeyTests, Mechanism, Shapes, key
from attncli.core.errors import KeyPath, fail
from attncli.core.numbers import forms
from attncli.core.numbers.written import dotted
from attncli.core.text.strings import all_of
from attncli.mechanisms.attention import SCORING

CELLS = {"lstm": ("_f", "_i", "_g", "_o"), "gru": ("_r", "_z", "_n"), "rnn": ("",)}
"""What the names of the weights of each gate end with, by the cell."""

VECTORS = {"lstm": ("h_0", "c_0"), "gru": ("h_0", "b_hn"), "rnn": ("h_0",)}
"""First states, and the bias of U h where a GRU resets after that product, as PyTorch names it."""

ATTENDS = ("after", "before")
"""Whether a decoder attends with its new state, or with the one before."""


def shapes_of_networks(cell: str, attends: str) -> Shapes:
    """Return the shapes of all weights and first states; C is that of a decoder alone."""
    shapes = Shapes()
    for network, size, width in (("encoder", "d_h", "d_x"), ("decoder", "d_s", "d_y")):
        of_gate = {"W": (size, width), "U": (size, size), "C": (size, "d_h"), "b": (size,)}
        if network == "encoder" or attends == "after":
            del of_gate["C"]
        gates = {f"{letter}{gate}": of_gate[letter] for gate in CELLS[cell] for letter in of_gate}
        parts = gates | dict.fromkeys(VECTORS[cell], (size,))
        shapes |= {f"{network}.{part}": shape for part, shape in parts.items()}
    return shapes


@lru_cache(1)
def of_parts() -> forms.Form:
    """Return the form of the parts of a network, of every cell."""
    shapes = (shapes_of_networks(cell, "before") for cell in CELLS)
    ranks = {part.partition(".")[2]: len(shape) for one in shapes for part, shape in one.items()}
    kinds = {1: forms.vector(), 2: forms.matrix()}
    return forms.mapping({part: kinds[rank] for part, rank in ranks.items()}, SUCH_AS)


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
    return of_parts().read(raw, path)


NETWORK = forms.Form(_read, parts=lambda: of_parts().parts(), types=forms.TYPES_OF_MAPPINGS)


class EncoderDecoder(Mechanism):
    """Attention between two networks (Luong et al. 2015; Bahdanau et al. 2015)."""

    meaning = "a decoder attends to the states of a recurrent encoder of memory"

    cell = key(
        forms.choice(CELLS),
        "the cell of both networks",
        "lstm",
        example="lstm, gru, rnn",
        instead={"cell: lstm, gru or rnn": "rnn_type cell_type"},
    )
    encoder = key(
        NETWORK,
        "its weights: W, U and b of each gate, W x + U h + b; h_0, if not zeros",
        {},
        required=True,
        fixed=("h_0", "c_0"),
        as_written=True,
        instead={SUCH_AS: "weight_ih weight_hh weight_ih_l0 weight_hh_l0"},
    )
    decoder = key(
        NETWORK,
        "the same; it starts with the encoder's last state",
        {},
        required=True,
        fixed=("h_0", "c_0"),
        as_written=True,
    )
    attends = key(
        forms.choice(ATTENDS),
        "whether a decoder attends after its new state, or before it",
        "after",
    )
    reset = key(
        forms.choice(("before", "after")),
        "when a GRU resets h: before its product with U, or after it",
    )

    takes = ("X", "memory")
    also_takes = ("W_q", "W_k", "W_c", *SCORING, "memory_tokens", "mask")
    shapes_here = {
        "X": "n, d_y",
        "memory": "m, d_x",
        "W_q": "d_q, d_s",
        "W_k": "d_k, d_h",
        "W_c": "d_c, d_h + d_s",
    }
    requires = ("X", "memory")
    implied = (
        Implied("d_s", "d_h", unless=("decoder.h_0",)),
        Implied("d_q", "d_s", unless=("W_q",)),
        Implied("d_k", "d_h", unless=("W_k",)),
        Implied("d_v", "d_h"),
    )
    score = "dot"
    by_position = False
    masks = ("lengths",)
    result = "n, d_h"
    other_names = {
        "seq2seq": (
            "write kind: cross, X: the decoder's states (queries), memory: the encoder's (keys);"
            " or kind: encoder_decoder, which makes them"
        ),
        **{cell: f"write kind: encoder_decoder, and cell: {cell}" for cell in CELLS},
    }
    hints = {other_names["seq2seq"]: "s h"}
    step_names = "f i g o c r z n hn h s"
    step_words = {"H": "h annotations states encoderstates hiddenstates"}

    def shapes_with(self, kind: Mechanism, values: Mapping[str, Any], shapes: Shapes) -> Shapes:
        return shapes_of_networks(values["cell"], values["attends"])

    def result_of(self, values: Mapping[str, Any]) -> str:
        """The states of a decoder that attends before them are the output."""
        return "n, d_s" if values["attends"] == "before" else self.result

    def tests(self, kind: Mechanism, given: Collection[str], values: Mapping[str, Any]) -> KeyTests:
        """Yield tests of the parts of each network: missing, or of no use beside others."""
        cell, attends, reset = values["cell"], values["attends"], values["reset"] or "before"
        is_lost = "reset" in given and cell != "gru"
        yield is_lost, "reset", f"reset has no use with cell: {cell}", "write cell: gru"
        shapes = shapes_of_networks(cell, attends)
        options = f"cell: {cell}, attends: {attends}" + f", reset: {reset}" * (cell == "gru")
        for network in filter(given.__contains__, ("encoder", "decoder")):
            parts = values[network]
            fitting = [k.partition(".")[2] for k in shapes if k.startswith(network)]
            fitting = [part for part in fitting if part != "b_hn" or reset == "after"]
            if unused := [part for part in parts if part not in fitting]:
                verb = "have" if unused[1:] else "has"
                message, hint = f"{all_of(unused)} {verb} no use with {options}", all_of(fitting)
                yield True, f"{network}.{unused[0]}", message, f"{network} may have {hint}"
            missing = [part for part in fitting if part[0] in "WUC" and part not in parts]
            starts = [part for part in fitting if part in ("h_0", "c_0")]
            missing += [part for part in starts if {*starts} & {*parts} and part not in parts]
            if missing:
                hint = f"write {SUCH_AS}, and both h_0 and c_0 of an LSTM, or none"
                yield True, network, f"{network} needs {all_of(missing)} with {options}", hint

"""A recurrent encoder of a sentence, and a decoder that attends to the encoder's states.

Each is an LSTM (Hochreiter, Schmidhuber 1997, with the forget gate of Gers et al. 2000), a GRU
(Cho et al. 2014) or a plain network (Elman 1990). The encoder reads `memory` a word at a time, and
its states h_1 … h_m are kept. The decoder reads X. Its new state s_t attends to them (Luong et al.
2015, section 3.1), or the state before, s_{t−1}, and what it finds goes into s_t (Bahdanau et al.
2015, section 3.1). Vectors are columns in the formulas, so weights multiply from the left.
"""

from __future__ import annotations

import numpy as np

from attncli.core.attention.norms_and_activations import Gate
from attncli.core.problem.problem import Problem
from attncli.core.records import Record
from attncli.core.tape.backward_operations import Hadamard, OneMinus
from attncli.core.tape.operations import Add, MatVec, Row, Stacked, Tanh
from attncli.core.tape.step import Expression, Step
from attncli.core.tape.tape import Tape
from attncli.mechanisms.attention.lines import attended, label, put
from attncli.mechanisms.attention.times import State, repeated

WHY = {
    "f": "The forget gate says how much of each number in the cell stays: all at 1, nothing at 0.",
    "i": "The input gate says how much of the candidate is written into the cell.",
    "g": "The candidate is what the word and the state before could write into the cell.",
    "o": "The output gate says how much of the cell the state shows.",
    "c": "The cell keeps what the forget gate leaves, and gets what the input gate lets in.",
    "lstm": "The state shows what the output gate lets out of the cell.",
    "r": "The reset gate says how much of the state before the candidate is made of.",
    "z": "The update gate says how much of the state before stays: all at 1, nothing at 0.",
    "n": "The candidate is what the state would be if nothing of the one before stayed.",
    "gru": "The state is mixed of the state before and the candidate, by the update gate.",
    "rnn": "The state is made of the word and of the state before.",
    "weights": "The weights of all times, a row each.",
    "attentional": "What was found and the decoder's own state together make the result.",
    "output": "The results of all times, a row each.",
}
"""Why a step is done, or the state of a cell is as it is."""

STATES = {"encoder": "h", "decoder": "s"}
"""The letters of the states of each network."""


def steps(tape: Tape, problem: Problem) -> None:
    """Record each gate and state of both networks, what the decoder attends to, and the output."""
    label(tape, query=problem.tokens, key=problem.memory_tokens)
    encoder, decoder = (Network(tape, problem, name) for name in STATES)
    source = put(tape, problem, "memory", ("key", "model"))

    def of_source(t: int, before: State) -> tuple[State, State]:
        encoder.head(t, problem.memory_tokens)
        state = encoder.step(t, Row(source, t - 1), before)
        return state, state[:1]

    state, (read,) = repeated(tape, problem, problem.sizes["m"], of_source, encoder.begin())
    tape.group = "decoder"
    h = tape.record("H", read.below, ("key", "feature"), array=read.array)
    x = put(tape, problem, "X", ("query", "model"))

    def of_target(t: int, before: State) -> tuple[State, tuple[Expression, Expression]]:
        decoder.head(t, problem.tokens)
        word, state = Row(x, t - 1), before
        if problem.attends == "after":
            state = decoder.step(t, word, before)
        with tape.within(suffix=f"_{t}"):
            context, shares = attended(tape, problem, state[0], h, "context", "key")
        if problem.attends == "before":
            state = decoder.step(t, word, before, context)
        result = context if problem.attends == "after" else state[0]
        if "W_c" in problem.given:
            w_c = put(tape, problem, "W_c", ("out", "joined"))
            with tape.within(suffix=f"_{t}"):
                both = Tanh(MatVec(w_c, Stacked((context, state[0]))))
                result = tape.record("attentional", both, ("feature",), why=WHY["attentional"])
        return state, (shares, result)

    count, start = problem.sizes["n"], decoder.begin(state)
    _, (weights, results) = repeated(tape, problem, count, of_target, start)
    tape.group = ""
    for name, axes, symbol, rows in (
        ("weights", ("query", "key"), "A", weights),
        ("output", ("query", "feature"), "Z", results),
    ):
        tape.record(name, rows.below, axes, symbol, WHY[name], array=rows.array)


class Network(Record):
    """The encoder or the decoder."""

    tape: Tape
    problem: Problem
    name: str  # its key

    def begin(self, last: State = ()) -> State:
        """Record the first state: given, or the last one of the network before, or zeros."""
        self.tape.group = self.name
        keys = ("h_0", "c_0") if self.problem.cell == "lstm" else ("h_0",)
        first = tuple(self.put(key, "feature") for key in keys if self.has(key)) or last
        if not first:
            zeros = np.zeros((1, 1, 1, self.problem.sizes["d_h"]), self.problem.floats)
            first = (self.tape.put("0", zeros, ("feature",)),) * len(keys)
        names = STATES[self.name], "c"
        return tuple(self.record(name, step, 0) for name, step in zip(names, first, strict=False))

    def head(self, t: int, words: tuple[str, ...]) -> None:
        """Begin the steps of a time."""
        self.tape.group = f"{self.name}, t = {t}" + (f" ({words[t - 1]})" if words else "")

    def step(self, t: int, x: Step | Row, before: State, context: Step | None = None) -> State:
        """Record the gates and the new state, from the word x, the state before and the context."""
        name, h = STATES[self.name], before[0]

        def net(gate: str, r: Step | None = None) -> Expression:
            return self.net(gate, x, h, context, r)

        if self.problem.cell == "rnn":
            return (self.record(name, Tanh(net("")), t),)
        if self.problem.cell == "lstm":
            f, i = (self.record(gate, Gate(net(f"_{gate}")), t) for gate in "fi")
            g = self.record("g", Tanh(net("_g")), t)
            o = self.record("o", Gate(net("_o")), t)
            c = self.record("c", Add(Hadamard(f, before[1]), Hadamard(i, g)), t)
            return self.record(name, Hadamard(o, Tanh(c)), t), c
        r, z = (self.record(gate, Gate(net(f"_{gate}")), t) for gate in "rz")
        n = self.record("n", Tanh(net("_n", r)), t)
        return (self.record(name, Add(Hadamard(OneMinus(z), n), Hadamard(z, h)), t),)

    def net(
        self, gate: str, x: Expression, h: Expression, context: Step | None, r: Step | None
    ) -> Expression:
        """Return W x + U h + C context + b of a gate, or of a candidate with h reset by r."""
        resets_before = self.problem.reset != "after"
        read: Expression = self.times("U", gate, Hadamard(r, h) if r and resets_before else h)
        if r and not resets_before:
            read = Hadamard(r, self.plus(read, "b_hn"))
        net: Expression = Add(self.times("W", gate, x), read)
        net = net if context is None else Add(net, self.times("C", gate, context))
        return self.plus(net, f"b{gate}")

    def times(self, letter: str, gate: str, vector: Expression) -> MatVec:
        return MatVec(self.put(f"{letter}{gate}", "feature", "input"), vector)

    def plus(self, net: Expression, bias: str) -> Expression:
        return Add(net, self.put(bias, "feature")) if self.has(bias) else net

    def has(self, part: str) -> bool:
        return part in getattr(self.problem, self.name)

    def put(self, part: str, *axes: str) -> Step:
        """Put a part of the network's key on the tape."""
        with self.tape.within(layer=self.name, layer_keys=frozenset((part,))):
            if (known := self.tape.input_of(part)) is not None:
                return known
            array = self.problem.array(f"{self.name}.{part}")
            return self.tape.put(part, array, axes, as_written=True, key=part)

    def record(self, name: str, operation: Expression, t: int) -> Step:
        """Record a vector of the network at a time: its state, or another that has its name."""
        layer = 0 if name == STATES[self.name] else self.name
        why = WHY[self.problem.cell if layer == 0 else name]
        with self.tape.within(layer=layer, suffix=f"_{t}"):
            return self.tape.record(name, operation, ("feature",), why=why)

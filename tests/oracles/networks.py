"""An encoder and a decoder that attends, by plain loops in 50-digit arithmetic.

`solve` takes the keys of a problem of kind encoder_decoder and returns every step, as nested lists
[batch][head][row][column] with one place along the first two. It shares nothing with the program
but the names of keys and steps.
"""

from __future__ import annotations

from typing import Any

from tests.oracles import reference
from tests.oracles.reference import Keys, Matrix, Vector, dot, exact, mp, plus, tanh, times

Steps = dict[str, Any]


def sigma(vector: Vector) -> Vector:
    return [1 / (1 + mp.exp(-x)) for x in vector]


def by_numbers(a: Vector, b: Vector) -> Vector:
    return [x * y for x, y in zip(a, b, strict=True)]


class Cell:
    """One network, which notes its gates in `steps`."""

    def __init__(self, keys: Keys, name: str, steps: Steps) -> None:
        self.keys, self.name, self.steps = keys, name, steps
        self.parts = {key: exact(part) for key, part in keys[name].items()}
        self.cell, self.letter = keys.get("cell", "lstm"), {"encoder": "h", "decoder": "s"}[name]

    def product(self, gate: str, x: Vector, h: Vector, context: Vector | None) -> Vector:
        """W x + U h + C context."""
        net = plus(times(self.parts[f"W{gate}"], x), times(self.parts[f"U{gate}"], h))
        return net if context is None else plus(net, times(self.parts[f"C{gate}"], context))

    def biased(self, gate: str, net: Vector) -> Vector:
        return plus(net, self.parts[f"b{gate}"]) if f"b{gate}" in self.parts else net

    def note(self, name: str, t: int, vector: Vector) -> Vector:
        own = name if name == self.letter else f"{self.name}.{name}"
        self.steps[f"{own}_{t}"] = [[[vector]]]
        return vector

    def begin(self, state: tuple[Vector, ...] | None) -> tuple[Vector, ...]:
        names = ("h_0", "c_0") if self.cell == "lstm" else ("h_0",)
        if "h_0" in self.parts:
            state = tuple(self.parts[name] for name in names)
        elif state is None:
            gate = {"lstm": "_f", "gru": "_z", "rnn": ""}[self.cell]
            state = tuple([mp.mpf(0) for _ in self.parts[f"U{gate}"]] for _ in names)
        for name, vector in zip((self.letter, "c"), state, strict=False):
            self.note(name, 0, vector)
        return state

    def next(
        self, t: int, x: Vector, state: tuple[Vector, ...], context: Vector | None = None
    ) -> tuple[Vector, ...]:
        h = state[0]
        if self.cell == "rnn":
            return (self.note("h" if self.letter == "h" else "s", t, self.plain(x, h, context)),)
        gates = {}
        for gate in {"lstm": "figo", "gru": "rz"}[self.cell]:
            net = self.biased(f"_{gate}", self.product(f"_{gate}", x, h, context))
            gates[gate] = self.note(gate, t, tanh(net) if gate == "g" else sigma(net))
        if self.cell == "lstm":
            kept, new = by_numbers(gates["f"], state[1]), by_numbers(gates["i"], gates["g"])
            c = self.note("c", t, plus(kept, new))
            return self.note(self.letter, t, by_numbers(gates["o"], tanh(c))), c
        n = self.note("n", t, tanh(self.candidate(x, h, context, gates["r"])))
        pairs = zip(gates["z"], n, h, strict=True)
        return (self.note(self.letter, t, [(1 - z) * a + z * b for z, a, b in pairs]),)

    def plain(self, x: Vector, h: Vector, context: Vector | None) -> Vector:
        return tanh(self.biased("", self.product("", x, h, context)))

    def candidate(self, x: Vector, h: Vector, context: Vector | None, r: Vector) -> Vector:
        if self.keys.get("reset", "before") == "before":
            return self.biased("_n", self.product("_n", x, by_numbers(r, h), context))
        read = times(self.parts["U_n"], h)
        read = plus(read, self.parts["b_hn"]) if "b_hn" in self.parts else read
        zeros = [mp.mpf(0) for _ in h]
        return plus(self.biased("_n", self.product("_n", x, zeros, context)), by_numbers(r, read))


def attend(keys: Keys, s: Vector, states: Matrix, t: int, steps: Steps) -> Vector:
    """Note scores, weights and what they give, of one state of the decoder."""
    score = keys.get("score", "dot")
    names = ("scale", "softcap", "mask", "normalize")
    known = {name: keys[name] for name in names if name in keys}
    read = reference.read(known | {"score": score if isinstance(score, dict) else {"name": score}})
    q = times(exact(keys["W_q"]), s) if "W_q" in keys else s
    k = [times(exact(keys["W_k"]), h) for h in states] if "W_k" in keys else states
    found = reference.scores([q], k, read["score"])
    sizes = {"d_k": len(k[0]), "d_v": len(states[0])}
    found |= reference.weigh(found["scores"], read, 0, 0, sizes)
    steps |= {f"{name}_{t}": [[matrix]] for name, matrix in found.items()}
    (weights,) = found["weights"]
    context = [dot(weights, list(column)) for column in zip(*states, strict=True)]
    steps[f"context_{t}"] = [[[context]]]
    return context


def solve(**keys: Any) -> Steps:
    """Return every step, in order."""
    steps: Steps = {}
    encoder, decoder = (Cell(keys, name, steps) for name in ("encoder", "decoder"))
    state = encoder.begin(None)
    states = []
    for t, word in enumerate(exact(keys["memory"]), 1):
        state = encoder.next(t, word, state)
        states.append(state[0])
    steps["H"] = [[states]]
    state = decoder.begin(state)
    weights, results = [], []
    for t, word in enumerate(exact(keys["X"]), 1):
        if keys.get("attends", "after") == "before":
            context = attend(keys, state[0], states, t, steps)
            state = decoder.next(t, word, state, context)
            result = state[0]
        else:
            state = decoder.next(t, word, state)
            result = context = attend(keys, state[0], states, t, steps)
        if "W_c" in keys:
            result = tanh(times(exact(keys["W_c"]), context + state[0]))
            steps[f"attentional_{t}"] = [[[result]]]
        weights.append(steps[f"weights_{t}"][0][0][0])
        results.append(result)
    return steps | {"weights": [[weights]], "output": [[results]]}

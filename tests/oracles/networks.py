"""Networks that attend: pooling, co-attention, recurrent ones, and an encoder with a decoder.

Elman 1990 and Cho et al. 2014 (rnn, gru), Hochreiter and Schmidhuber 1997 (lstm), Luong et al. 2015
(attends after), Bahdanau et al. 2015 (attends before), Yang et al. 2016 (pooling).
"""

from __future__ import annotations

from typing import Any

from tests.oracles.arithmetic import Hand, Keys, Matrix, Vector
from tests.oracles.attention import read
from tests.oracles.lists import depth, each, plus, times, transposed
from tests.oracles.weights import adjusted, normalized, read_by, scores, weigh


def pooling(hand: Hand, given: Keys) -> Matrix:
    """u_t = tanh(W h_t + b); Σ α_t h_t."""
    usual = "tanh" if {"W", "b"} & given.keys() else "none"
    keys = read({"score": "dot", "activation": usual, **given})
    x, u = hand.numbers(keys["X"]), hand.numbers(keys["u"])
    hidden = [net(hand, keys, "", h) for h in x]
    if keys["activation"] == "tanh":
        hidden = each(hand.own.tanh, hidden)
    if hidden != x:
        (hidden,) = hand.write("hidden", [hidden])
    u = u if depth(u) == 2 else [u]
    hand.names = {"hidden": "hidden_2"} if "hidden" in hand.steps else {}
    _, found = attend(hand, keys, u, hidden, x)
    hand.names = {}
    is_tanh = keys.get("output_activation") == "tanh"
    (found,) = hand.write("context" if is_tanh else "output", [found])
    if is_tanh:
        (found,) = hand.write("output", [each(hand.own.tanh, found)])
    return found


def attend(hand: Hand, keys: Keys, q: Matrix, k: Matrix, v: Matrix) -> tuple[Matrix, Matrix]:
    """Write scores and weights of queries, and return the weights and what they read."""
    s = scores(hand, [q], [k], keys["score"])
    weights = weigh(hand, s, keys, {"d_k": len(k[0]), "d_v": len(v[0])})
    return weights[0], hand.product(weights[0], v)


def net(hand: Hand, parts: Keys, gate: str, x: Vector) -> Vector:
    """W x + b."""
    w, b = (hand.numbers(parts.get(f"{letter}{gate}", [])) for letter in "Wb")
    found = hand.applied(w, x) if w else x
    return plus(found, b) if b else found


def co_attention(hand: Hand, given: Keys) -> Matrix:
    """Each side attends to the other, by the same scores."""
    keys = read(given)
    x, memory = hand.numbers(keys["X"]), hand.numbers(keys["memory"])
    s = scores(hand, [x], [memory], keys["score"])
    s = adjusted(hand, s, keys, {"d_k": len(x[0]), "d_model": len(x[0])})
    for name, rows, read_from in (("x", s, memory), ("memory", [transposed(s[0])], x)):
        hand.suffix = f"_{name}"
        found = hand.write(
            "aligned", read_by(hand, normalized(hand, rows, keys["normalize"]), [read_from])
        )
    hand.suffix = ""
    return found[0]


def recurrent(hand: Hand, given: Keys) -> Matrix:
    """h_t = tanh(A [x_t; c] + b); c_t = Σ α_i h_i over the states so far."""
    keys, does = read({"update": "input_context", **given}), hand.does
    a = hand.numbers(keys["A"])
    zeros = [0] * len(a)
    (state,) = hand.write("h_0", [[hand.numbers(keys.get("h_0", zeros))]])[0]
    context, states = hand.numbers(keys.get("c_0", zeros)), [state]
    for t, x in enumerate(hand.numbers(keys["X"]), 1):
        hand.here, hand.suffix = t, f"_{t}"
        last = states[-1] if does("state_instead_of_context") else context
        joined = x + last
        if keys["update"] != "input_context":
            joined = states[-1] + (x if keys["update"] == "plain" else joined)
        inner = hand.applied(a, joined)
        inner = plus(inner, hand.numbers(keys["b"])) if "b" in keys else inner
        ((state,),) = hand.write("h", [[each(hand.own.tanh, inner)]])
        states.append(state)
        if keys["update"] != "plain":
            asks = states[-2] if does("previous_state_as_query") else state
            seen = states[1:] if does("start_state_left_out") else states
            (q,), k = turned_by(hand, keys, "W_q", [asks]), turned_by(hand, keys, "W_k", seen)
            _, found = attend(hand, keys, [q], k, seen)
            ((context,),) = hand.write("c", [found])
    hand.suffix = ""
    return hand.write("output", [states[1:]])[0]


def turned_by(hand: Hand, keys: Keys, name: str, rows: Matrix) -> Matrix:
    """Return W x of each row, or the rows without such a matrix."""
    return [hand.applied(hand.numbers(keys[name]), row) for row in rows] if name in keys else rows


class Cell:
    """The encoder or the decoder, which writes its gates."""

    def __init__(self, hand: Hand, keys: Keys, name: str) -> None:
        self.hand, self.name, self.letter = hand, name, {"encoder": "h", "decoder": "s"}[name]
        self.parts = {key: hand.numbers(part) for key, part in keys[name].items()}
        self.cell, self.reset = keys.get("cell", "lstm"), keys.get("reset", "before")

    def net(self, gate: str, x: Vector, h: Vector, context: Vector | None) -> Vector:
        """W x + U h + C context + b."""
        if self.hand.does("weights_of_gate_exchanged"):
            x, h = h, x
        own, apply = self.parts, self.hand.applied
        found = plus(apply(own[f"W{gate}"], x), apply(own[f"U{gate}"], h))
        if context is not None and not self.hand.does("context_left_out"):
            found = plus(found, apply(own[f"C{gate}"], context))
        return plus(found, own[f"b{gate}"]) if f"b{gate}" in own else found

    def write(self, name: str, t: int, vector: Vector) -> Vector:
        own = name if name == self.letter else f"{self.name}.{name}"
        return self.hand.write(f"{own}_{t}", [[vector]])[0][0]

    def zeros(self) -> Vector:
        gate = {"lstm": "_f", "gru": "_z", "rnn": ""}[self.cell]
        return [self.hand.own.number(0) for _ in self.parts[f"U{gate}"]]

    def begin(self, state: tuple[Vector, ...]) -> tuple[Vector, ...]:
        names = ("h_0", "c_0") if self.cell == "lstm" else ("h_0",)
        if "h_0" in self.parts:
            state = tuple(self.parts[name] for name in names)
        state = state or tuple(self.zeros() for _ in names)
        pairs = zip((self.letter, "c"), state, strict=False)
        return tuple(self.write(name, 0, vector) for name, vector in pairs)

    def next(
        self, t: int, x: Vector, state: tuple[Vector, ...], context: Vector | None = None
    ) -> tuple[Vector, ...]:
        own, h = self.hand.own, state[0]
        if self.cell == "rnn":
            return (self.write(self.letter, t, each(own.tanh, self.net("", x, h, context))),)
        gates = {}
        for gate in {"lstm": "figo", "gru": "rz"}[self.cell]:
            function = self.candidate() if gate == "g" else own.sigmoid
            gates[gate] = self.write(gate, t, each(function, self.net(f"_{gate}", x, h, context)))
        if self.cell == "gru":
            return (self.write(self.letter, t, self.mixed(t, x, h, context, **gates)),)
        c = self.write("c", t, self.kept(state[1], **gates))
        shown = self.hand.either(each(own.tanh, c), tanh_missing=lambda: c)
        return self.write(self.letter, t, times(gates["o"], shown)), c

    def candidate(self) -> Any:
        return self.hand.either(self.hand.own.tanh, sigmoid_for_tanh=lambda: self.hand.own.sigmoid)

    def kept(self, c: Vector, f: Vector, i: Vector, g: Vector, o: Vector) -> Vector:
        """F ⊙ c + i ⊙ g."""
        del o
        return self.hand.either(
            plus(times(f, c), times(i, g)),
            gates_of_cell_exchanged=lambda: plus(times(i, c), times(f, g)),
            forget_gate_left_out=lambda: plus(c, times(i, g)),
            input_gate_left_out=lambda: plus(times(f, c), g),
        )

    def mixed(
        self, t: int, x: Vector, h: Vector, context: Vector | None, r: Vector, z: Vector
    ) -> Vector:
        """(1 − z) ⊙ n + z ⊙ h."""
        hand, own, zeros = self.hand, self.parts, [self.hand.own.number(0) for _ in h]
        if hand.does("reset_gate_left_out"):
            r = [hand.own.number(1) for _ in h]
        if (self.reset == "before") != hand.does("reset_on_other_side"):
            inner = self.net("_n", x, times(r, h), context)
        else:
            matrix = hand.either("U_n", weights_of_gate_exchanged=lambda: "W_n")
            other = plus(hand.applied(own[matrix], h), own.get("b_hn", zeros))
            inner = plus(self.net("_n", x, zeros, context), times(r, other))
        n = self.write("n", t, each(self.candidate(), inner))
        if hand.does("update_gate_reversed"):
            n, h = h, n
        return each(lambda a, b, c: (1 - a) * b + a * c, z, n, h)


def encoder_decoder(hand: Hand, given: Keys) -> Matrix:
    """Write every step of both networks, in order of time."""
    keys = read({"score": "dot", **given})
    encoder, decoder = (Cell(hand, keys, name) for name in ("encoder", "decoder"))
    words, states, weights, results = hand.numbers(keys["memory"]), [], [], []
    state = encoder.begin(())
    for t, word in enumerate(words, 1):
        state = encoder.next(t, word, state)
        states.append(state[0])
    (states,) = hand.write("H", [states])
    state = decoder.begin(hand.either(state, decoder_from_zeros=lambda: ()))
    for t, word in enumerate(hand.numbers(keys["X"]), 1):
        last, is_before = state[0], keys.get("attends", "after") == "before"
        state = state if is_before else decoder.next(t, word, state)
        asks = hand.either(state[0], query_of_time_before=lambda last=last: last)
        seen = hand.either(states, words_attended_to=lambda: words)
        (q,), k = turned_by(hand, keys, "W_q", [asks]), turned_by(hand, keys, "W_k", seen)
        hand.suffix = f"_{t}"
        shares, found = attend(hand, keys, [q], k, seen)
        ((context,),) = hand.write("context", [found])
        hand.suffix = ""
        state = decoder.next(t, word, state, context) if is_before else state
        result = state[0] if is_before else context
        if "W_c" in keys:
            joined = context + state[0]
            joined = hand.either(joined, joined_in_wrong_order=lambda a=context, b=state[0]: b + a)
            inner = hand.applied(hand.numbers(keys["W_c"]), joined)
            ((result,),) = hand.write(f"attentional_{t}", [[each(hand.own.tanh, inner)]])
        weights += shares
        results.append(result)
    hand.write("weights", [weights])
    return hand.write("output", [results])[0]


def solve(**keys: Any) -> dict[str, Any]:
    from tests.oracles import reference

    return reference.solve(**keys)

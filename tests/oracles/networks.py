"""Networks that attend: pooling, co-attention, recurrent ones, and an encoder with a decoder.

Elman 1990 and Cho et al. 2014 (rnn, gru), Hochreiter and Schmidhuber 1997 (lstm), Luong et al. 2015
(attends after), Bahdanau et al. 2015 (attends before), Yang et al. 2016 (pooling).
"""

from __future__ import annotations

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
    keys, does, weights = read({"update": "input_context", **given}), hand.does, Matrix()
    words, zeros = hand.numbers(keys["X"]), [0 for _ in keys["A"]]
    (states,) = hand.write("h_0", [[hand.numbers(keys.get("h_0", zeros))]])
    context = hand.numbers(keys.get("c_0", zeros))
    for t, x in enumerate(words, 1):
        hand.here, hand.suffix = t, f"_{t}"
        last = states[-1] if does("state_instead_of_context") else context
        joined = {
            "input_context": x + last,
            "state_input_context": states[-1] + x + last,
            "plain": states[-1] + x,
        }[keys["update"]]
        inner = hand.applied(hand.numbers(keys["A"]), joined)
        inner = plus(inner, hand.numbers(keys["b"])) if "b" in keys else inner
        states = states + hand.write("h", [[each(hand.own.tanh, inner)]])[0]
        if keys["update"] != "plain":
            asks = states[-2] if does("previous_state_as_query") else states[-1]
            seen = states[1:] if does("start_state_left_out") else states
            (q,), k = turned_by(hand, keys, "W_q", [asks]), turned_by(hand, keys, "W_k", seen)
            shares, found = attend(hand, keys, [q], k, seen)
            ((context,),) = hand.write("c", [found])
            weights += [row + [hand.own.number(0)] * (len(words) + 1 - len(row)) for row in shares]
    hand.suffix = ""
    if weights:
        hand.write("weights", [weights])
    return hand.write("output", [states[1:]])[0]


def turned_by(hand: Hand, keys: Keys, name: str, rows: Matrix) -> Matrix:
    """Return W x of each row, or the rows without such a matrix."""
    return [hand.applied(hand.numbers(keys[name]), row) for row in rows] if name in keys else rows


class Cell:
    """The encoder or the decoder, which writes its gates.

    Attributes:
        state: h, and c of an LSTM.
    """

    def __init__(self, hand: Hand, keys: Keys, name: str, state: list[Vector]) -> None:
        self.hand, self.keys, self.name = hand, keys, name
        self.parts = {key: hand.numbers(part) for key, part in keys[name].items()}
        self.cell, self.letter = keys.get("cell", "lstm"), {"encoder": "h", "decoder": "s"}[name]
        names = ("h_0", "c_0") if self.cell == "lstm" else ("h_0",)
        zeros = [[hand.own.number(0) for _ in next(iter(self.parts.values()))]] * 2
        if "h_0" in self.parts:
            state = [self.parts[name] for name in names]
        pairs = zip((self.letter, "c"), state or zeros[: len(names)], strict=False)
        self.state = [self.write(name, 0, vector) for name, vector in pairs]

    def write(self, name: str, t: int, vector: Vector) -> Vector:
        own = name if name == self.letter else f"{self.name}.{name}"
        return self.hand.write(f"{own}_{t}", [[vector]])[0][0]

    def net(self, gate: str, x: Vector, h: Vector, context: Vector | None) -> Vector:
        """W x + U h + C context + b."""
        if self.hand.does("weights_of_gate_exchanged"):
            x, h = h, x
        own, apply = self.parts, self.hand.applied
        found = plus(apply(own[f"W{gate}"], x), apply(own[f"U{gate}"], h))
        if context is not None and not self.hand.does("context_left_out"):
            found = plus(found, apply(own[f"C{gate}"], context))
        return plus(found, own[f"b{gate}"]) if f"b{gate}" in own else found

    def next(self, t: int, x: Vector, context: Vector | None = None) -> Vector:
        """Return the state after a word."""
        own, h, gates = self.hand.own, self.state[0], dict[str, Vector]()
        bent = self.hand.either(own.tanh, sigmoid_for_tanh=lambda: own.sigmoid)
        for gate in {"lstm": "figo", "gru": "rz", "rnn": ""}[self.cell]:
            inner = self.net(f"_{gate}", x, h, context)
            gates[gate] = self.write(gate, t, each(bent if gate == "g" else own.sigmoid, inner))
        if self.cell == "rnn":
            h = each(own.tanh, self.net("", x, h, context))
        elif self.cell == "gru":
            n = self.write("n", t, each(bent, self.candidate(x, h, context, gates["r"])))
            ends = self.hand.either((n, h), update_gate_reversed=lambda: (h, n))
            h = each(lambda z, a, b: (1 - z) * a + z * b, gates["z"], *ends)
        else:
            c = self.write("c", t, self.kept(self.state[1], **gates))
            h = times(gates["o"], self.hand.either(each(own.tanh, c), tanh_missing=lambda: c))
        self.state = [self.write(self.letter, t, h), *([c] if self.cell == "lstm" else [])]
        return self.state[0]

    def kept(self, c: Vector, f: Vector, i: Vector, g: Vector, o: Vector) -> Vector:
        """F ⊙ c + i ⊙ g."""
        del o
        return self.hand.either(
            plus(times(f, c), times(i, g)),
            gates_of_cell_exchanged=lambda: plus(times(i, c), times(f, g)),
            forget_gate_left_out=lambda: plus(c, times(i, g)),
            input_gate_left_out=lambda: plus(times(f, c), g),
        )

    def candidate(self, x: Vector, h: Vector, context: Vector | None, r: Vector) -> Vector:
        """W x + U (r ⊙ h) + b, or W x + b + r ⊙ (U h + b) where the reset comes after."""
        hand, own, zeros = self.hand, self.parts, [self.hand.own.number(0) for _ in h]
        if hand.does("reset_gate_left_out"):
            r = [hand.own.number(1) for _ in h]
        is_before = self.keys.get("reset", "before") == "before"
        if is_before != hand.does("reset_on_other_side"):
            return self.net("_n", x, times(r, h), context)
        matrix = hand.either("U_n", weights_of_gate_exchanged=lambda: "W_n")
        other = plus(hand.applied(own[matrix], h), own.get("b_hn", zeros))
        return plus(self.net("_n", x, zeros, context), times(r, other))


def encoder_decoder(hand: Hand, given: Keys) -> Matrix:
    """Write every step of both networks, in order of time."""
    keys, weights, results = read({"score": "dot", **given}), Matrix(), Matrix()
    encoder, words = Cell(hand, keys, "encoder", []), hand.numbers(keys["memory"])
    (states,) = hand.write("H", [[encoder.next(t, word) for t, word in enumerate(words, 1)]])
    is_before = keys.get("attends", "after") == "before"
    decoder = Cell(hand, keys, "decoder", hand.either(encoder.state, decoder_from_zeros=list))
    seen = hand.either(states, words_attended_to=lambda: words)
    for t, word in enumerate(hand.numbers(keys["X"]), 1):
        last = decoder.state[0]
        s = last if is_before else decoder.next(t, word)
        asks = last if hand.does("query_of_time_before") else s
        hand.suffix = f"_{t}"
        (q,), k = turned_by(hand, keys, "W_q", [asks]), turned_by(hand, keys, "W_k", seen)
        shares, found = attend(hand, keys, [q], k, seen)
        ((context,),) = hand.write("context", [found])
        hand.suffix = ""
        s = decoder.next(t, word, context) if is_before else s
        result = s if is_before else context
        if "W_c" in keys:
            joined = s + context if hand.does("joined_in_wrong_order") else context + s
            inner = hand.applied(hand.numbers(keys["W_c"]), joined)
            ((result,),) = hand.write(f"attentional_{t}", [[each(hand.own.tanh, inner)]])
        weights += shares
        results.append(result)
    hand.write("weights", [weights])
    return hand.write("output", [results])[0]

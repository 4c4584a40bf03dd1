"""Measure recurrences of many tokens beside a loop of NumPy over the same numbers.

Run `python -m benchmarks.recurrences`. It prints the processor time of the loop, what the output
alone and all steps take of it, and the largest difference; the smallest of some rounds, in turn.
BLAS has one thread, as the others would take time while they wait.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import attncli
from attncli.core.arithmetic.machine import one_blas_thread
from benchmarks.in_turn import machine

Keys = dict[str, Any]
ROUNDS = 3
COUNTS = (1_000, 10_000)
WIDTH, SOURCE = 64, 20  # features of a token, and words of the source

draw = np.random.default_rng(1)


def _drawn(*shape: int) -> Any:
    return draw.normal(size=shape) / shape[-1] ** 0.5


def _delta(n: int) -> tuple[Keys, Callable[[], np.ndarray]]:
    x, *weights = _drawn(n, WIDTH), *(_drawn(WIDTH, WIDTH) for _ in range(3))

    def loop() -> np.ndarray:
        q, k, v = (x @ w for w in weights)
        state, rows = np.zeros((WIDTH, WIDTH)), np.empty((n, WIDTH))
        for t in range(n):
            state = state + 0.1 * np.outer(k[t], v[t] - k[t] @ state)
            rows[t] = q[t] @ state
        return rows

    keys = dict(zip(("W_q", "W_k", "W_v"), weights, strict=True))
    return {"kind": "delta", "X": x, "scale": 1, "beta": np.full((n, 1), 0.1), **keys}, loop


def _encoder_decoder(n: int) -> tuple[Keys, Callable[[], np.ndarray]]:
    x, memory = _drawn(n, WIDTH), _drawn(SOURCE, WIDTH)
    networks = [
        {f"{letter}_{gate}": _drawn(WIDTH, WIDTH) for letter in "WU" for gate in "rzn"}
        for _ in ("encoder", "decoder")
    ]

    def states(of: Keys, words: np.ndarray, h: np.ndarray) -> np.ndarray:
        rows = np.empty((len(words), WIDTH))
        for t, word in enumerate(words):
            r, z = (1 / (1 + np.exp(-of[f"W_{g}"] @ word - of[f"U_{g}"] @ h)) for g in "rz")
            new = np.tanh(of["W_n"] @ word + of["U_n"] @ (r * h))
            rows[t] = h = (1 - z) * new + z * h
        return rows

    def loop() -> np.ndarray:
        source = states(networks[0], memory, np.zeros(WIDTH))
        rows = np.empty((n, WIDTH))
        for t, state in enumerate(states(networks[1], x, source[-1])):
            power = np.exp(source @ state)
            rows[t] = power / power.sum() @ source
        return rows

    keys = dict(zip(("encoder", "decoder"), networks, strict=True))
    about = {"kind": "encoder_decoder", "cell": "gru", "attends": "after", "score": "dot"}
    return {"X": x, "memory": memory, **about, **keys}, loop


def _plain(n: int) -> tuple[Keys, Callable[[], np.ndarray]]:
    x, a = _drawn(n, WIDTH), _drawn(WIDTH, 2 * WIDTH)

    def loop() -> np.ndarray:
        h, rows = np.zeros(WIDTH), np.empty((n, WIDTH))
        for t, word in enumerate(x):
            rows[t] = h = np.tanh(a @ np.concatenate((h, word)))
        return rows

    return {"kind": "recurrent", "update": "plain", "X": x, "A": a}, loop


def _attending(n: int) -> tuple[Keys, Callable[[], np.ndarray]]:
    x, a = _drawn(n, WIDTH), _drawn(WIDTH, 2 * WIDTH)

    def loop() -> np.ndarray:
        context, rows = np.zeros(WIDTH), np.zeros((n + 1, WIDTH))
        for t, word in enumerate(x, 1):
            rows[t] = np.tanh(a @ np.concatenate((word, context)))
            power = np.exp(rows[: t + 1] @ rows[t])
            context = power / power.sum() @ rows[: t + 1]
        return rows[1:]

    return {"kind": "recurrent", "score": "dot", "X": x, "A": a}, loop


def main() -> None:
    """Print a line for each kind and number of tokens."""
    print(machine())
    gc.disable()  # as the command does
    for make in (_delta, _encoder_decoder, _plain, _attending):
        for count in COUNTS if make is not _attending else COUNTS[:1]:  # it takes n² numbers
            keys, loop = make(count)
            problem = attncli.Problem(**keys)
            ways: tuple[Callable[[], Any], ...] = (
                loop,
                partial(attncli.compute, problem, only="output", alone=True),
                partial(attncli.compute, problem),
            )
            with one_blas_thread():
                spent = [[_busy(way) for way in ways] for _ in range(ROUNDS)]
            plain, alone, whole = map(min, zip(*spent, strict=True))
            away = np.abs(ways[1]().output - loop()).max()
            name = f"{make.__name__[1:]}, {count:,} tokens"
            ratios = f"output alone {alone / plain:5.1f}   all steps {whole / plain:5.1f}"
            print(f"{name:32}{plain * 1e3:7.0f} ms   {ratios}   Δ {away:.0e}", flush=True)


def _busy(work: Callable[[], object]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


if __name__ == "__main__":
    main()

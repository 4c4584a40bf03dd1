"""Measure attention over many tokens, where only the output is wanted, beside other engines.

Run `python -m benchmarks.engine` in an environment where attncli is installed; `--quick` takes
small sizes and few rounds. PyTorch and ONNX Runtime are peers where they can be imported, as with
the extra `peers`: here, or by the interpreter that `--peers` names. By length, heads, mask and type
are measured:

- the engine alone: `attncli.compute(problem, only=("output",))`, a plain `softmax(Q Kᵀ / √d) V` of
  NumPy, head by head, PyTorch's `scaled_dot_product_attention`, and ONNX Runtime's `Attention`
  (in float64 its products and softmax, as `Attention` there has the digits of float32);
- its floor: the two matrix products of each tile alone, and the exponentials alone; under a causal
  mask, the part of them that the pairs of the triangle have.

Each engine runs in a process of its own, with as many threads as there are processors, and they
take turns, round after round; a ratio is that of the medians. On a machine that others use, too,
`--busy` takes the time of the processors. Beside the times stand how far the
result of each is from that of attn, in units in the last place of the largest number of its row,
the billions of multiplications and additions of both products that attn does in a second, and the
share of its time that the products alone take. Where another engine is faster is said again at the
end.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.in_turn import has, machine

D = 64
PIPES: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
Case = dict[str, Any]
Arrays = tuple[Any, Any, Any]


def arrays_of(case: Case) -> Arrays:
    """Return Q, K and V (heads, n, D) of a case."""
    made = np.random.default_rng(0)
    shape = case["heads"], case["n"], D
    q, k, v = (made.normal(size=shape).astype(case["dtype"]) for _ in range(3))
    return q, k, v


def by_attn(case: Case) -> Callable[[], Any]:
    """Return the engine of attn on a case."""
    import attncli

    q, k, v = arrays_of(case)
    heads = {"heads": case["heads"]} if case["heads"] > 1 else {}
    q, k, v = (side if heads else side[0] for side in (q, k, v))
    problem = attncli.Problem(Q=q, K=k, V=v, mask=case["mask"] or None, **heads)
    return lambda: attncli.compute(problem, only=("output",)).output


def by_numpy(case: Case) -> Callable[[], Any]:
    """Return what anybody writes in NumPy, on a case."""
    n = case["n"]
    keep = np.tri(n, dtype=bool)

    def attend(q: Any, k: Any, v: Any) -> Any:
        scores = q @ k.T / np.sqrt(q.shape[-1], dtype=q.dtype)
        if case["mask"]:
            scores = np.where(keep, scores, -np.inf)
        exp = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return exp / exp.sum(axis=-1, keepdims=True) @ v

    heads = list(zip(*arrays_of(case), strict=True))
    return lambda: np.concatenate([attend(*head) for head in heads], axis=-1)


def by_torch(case: Case) -> Callable[[], Any]:
    """Return PyTorch's own kernel on a case."""
    import torch
    from torch.nn import functional

    q, k, v = (torch.from_numpy(side)[None] for side in arrays_of(case))
    causal = bool(case["mask"])

    def attend() -> Any:
        with torch.no_grad():
            found = functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return found[0].transpose(0, 1).reshape(case["n"], -1).numpy()

    return attend


GRAPHS = {
    "float32": "z = Attention <is_causal = CAUSAL> (q, k, v)",
    "float64": """
        kt = Transpose <perm = [0, 1, 3, 2]> (k)
        scores = MatMul (q, kt)
        over = Constant <value = double {8.0}> ()
        scaled = Div (scores, over)
        MASK
        weights = Softmax <axis = -1> (masked)
        z = MatMul (weights, v)
    """,
}
"""What ONNX Runtime works, by the type of the numbers; 8 is √d."""


def by_onnx(case: Case) -> Callable[[], Any]:
    """Return ONNX Runtime on a case, with as many threads as there are processors."""
    import onnxruntime
    from onnx import parser

    given = {name: side[None] for name, side in zip("qkv", arrays_of(case), strict=True)}
    masked = "masked = Add (scaled, bias)" if case["mask"] else "masked = Identity (scaled)"
    nodes = GRAPHS[case["dtype"]].replace("CAUSAL", str(int(bool(case["mask"]))))
    if case["mask"] and case["dtype"] == "float64":
        given["bias"] = np.where(np.tri(case["n"], dtype=bool), 0.0, -np.inf)
    kind = {"float32": "float", "float64": "double"}[case["dtype"]]
    inputs = ", ".join(f"{kind}{[*side.shape]} {name}" for name, side in given.items())
    head = '<ir_version: 10, opset_import: ["": 23]>'
    text = f"{head} attention ({inputs}) => ({kind}{[*given['q'].shape]} z) {{ {nodes} }}"
    model = parser.parse_model(text.replace("MASK", masked)).SerializeToString()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = len(os.sched_getaffinity(0))
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, given)[0][0].transpose(1, 0, 2).reshape(case["n"], -1)


def part_alone(case: Case, part: str) -> Callable[[], Any]:
    """Return the two products of every tile, or its exponentials, on every processor, alone."""
    from attncli.core.arithmetic.machine import over_threads
    from attncli.core.attention import tile_loop

    q, k, v = arrays_of(case)
    tiling = tile_loop.tiling_of(q[None], k[None])
    rows, n, buffers = tiling.rows, case["n"], threading.local()
    row = -np.abs(np.random.default_rng(0).normal(size=tiling.keys)).astype(q.dtype)
    given = np.broadcast_to(row, (rows, tiling.keys))

    def work(task: tuple[int, int]) -> None:
        if not hasattr(buffers, "scores"):
            buffers.scores = np.empty((rows, tiling.keys), q.dtype)
            buffers.product = np.empty((rows, D), q.dtype)
        head, first = task
        for key in range(0, n, tiling.keys):
            keys = slice(key, key + tiling.keys)
            if part == "exps":
                np.exp(given, out=buffers.scores)
            else:
                np.matmul(q[head, first : first + rows], k[head, keys].T, buffers.scores)
                np.matmul(buffers.scores, v[head, keys], buffers.product)

    tasks = [(head, first) for head in range(case["heads"]) for first in range(0, n, rows)]
    return lambda: over_threads(work, tasks, tiling.threads)


ENGINES: dict[str, Callable[[Case], Callable[[], Any]]] = {
    "attn": by_attn,
    "numpy": by_numpy,
    "torch": by_torch,
    "onnx": by_onnx,
    "products": partial(part_alone, part="products"),
    "exps": partial(part_alone, part="exps"),
}
PEERS = {"torch": "torch", "onnx": "onnxruntime, onnx"}
"""Engines that need not be there, and the modules that they need."""


def serve(name: str, case: Case) -> None:
    """Time one engine on a case whenever a line is read; keep the first result."""
    run, clock = ENGINES[name](case), getattr(time, case["clock"])
    for number, _ in enumerate(sys.stdin):
        start = clock()
        found = run()
        seconds = clock() - start
        if number == 0 and found is not None:
            np.save(f"{case['folder']}/{name}.npy", found)
        print(seconds, flush=True)


def measured(
    case: Case, pythons: dict[str, str], rounds: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the median seconds of every engine on a case, and how far its result is from attn's.

    The engines take turns; a first round is not counted. The distance is in units in the last place
    of the largest number of a row; the parts of the floor have no result.
    """
    seconds: dict[str, list[float]] = {name: [] for name in pythons}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        asked = json.dumps(case | {"folder": folder})
        engines = {
            name: running.enter_context(
                subprocess.Popen([python, __file__, "--serve", name, asked], text=True, **PIPES)
            )
            for name, python in pythons.items()
        }
        for _ in range(rounds + 1):
            for name, engine in engines.items():
                assert engine.stdout is not None
                print(file=engine.stdin, flush=True)
                seconds[name].append(float(engine.stdout.readline()))
        results = {path.stem: np.load(path) for path in Path(folder).glob("*.npy")}
    own = results.pop("attn")
    unit = np.spacing(np.abs(own).max(axis=-1, keepdims=True))
    apart = {name: float((np.abs(other - own) / unit).max()) for name, other in results.items()}
    return {name: statistics.median(found[1:]) for name, found in seconds.items()}, apart


def engines(
    sizes: list[int], heads: list[int], pythons: dict[str, str], rounds: int, clock: str
) -> None:
    """Print the time of each engine by length, heads, mask and type, and the ratios."""
    others = [name for name in ("numpy", *PEERS) if name in pythons]
    print(f"\nengine alone, d = {D}: medians of {rounds} rounds in ms, attn over each, units apart")
    print(f"{'type':8} {'n':>6} {'heads':>5} {'mask':7} {'attn':>8}", end="")
    print("".join(f" {name:>8} {'ratio':>6} {'ulp':>5}" for name in others), end="")
    print(f" {'floor':>8} {'ratio':>6} {'products':>9} {'GFLOP/s':>8}")
    slower = []
    for dtype, n, count, mask in product(("float64", "float32"), sizes, heads, ("", "causal")):
        case = {"dtype": dtype, "n": n, "heads": count, "mask": mask, "clock": clock}
        found, apart = measured(case, pythons, rounds)
        seen = (n + 1) / (2 * n) if mask else 1.0
        own, products = found["attn"], seen * found["products"]
        floor = products + seen * found["exps"]
        about = f"{dtype:8} {n:6} {count:5} {mask or '-':7}"
        line = f"{about} {own * 1e3:8.1f}"
        for name in others:
            line += f" {found[name] * 1e3:8.1f} {own / found[name]:6.2f} {apart[name]:5.1f}"
            if own > found[name]:
                slower.append(f"{about} {name:8} {own / found[name]:.2f}")
        operations = 4 * n**2 * D * count / (2 if mask else 1)
        line += f" {floor * 1e3:8.1f} {own / floor:6.2f} {products / own:9.2f}"
        print(f"{line} {operations / own / 1e9:8.1f}", flush=True)
    print("\nwhere another engine is faster, and how many times as long attn takes")
    print("\n".join(slower) or "nowhere")


def main() -> None:
    """Measure what the arguments ask for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds")
    parser.add_argument("--peers", default=sys.executable, help="an interpreter that has the peers")
    parser.add_argument("--rounds", type=int, help="how often each is run")
    parser.add_argument("--busy", action="store_true", help="time of the processors, not the wall")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        name, case = asked.serve
        serve(name, json.loads(case))
        return
    print(machine(asked.peers))
    pythons = dict.fromkeys(ENGINES, sys.executable)
    for name, modules in PEERS.items():
        pythons[name] = asked.peers
        if not has(asked.peers, modules):
            print(f"{modules} cannot be imported by {pythons.pop(name)}: measured without")
    sizes, rounds = ([1024], 3) if asked.quick else ([1024, 2048, 4096], 7)
    clock = "process_time" if asked.busy else "perf_counter"
    engines(sizes, [1, 8], pythons, asked.rounds or rounds, clock)


if __name__ == "__main__":
    main()

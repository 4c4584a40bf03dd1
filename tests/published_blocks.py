"""Numbers of transformer blocks that others published, with the problems that they are of.

Each was copied from the source that it names. What a source leaves out is left out here; where it
goes on with a rounded or a wrong number, another problem begins with that number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

Keys = dict[str, Any]
Matrix = list[Any]
Wrong = dict[tuple[str, tuple[int, ...]], float]


class Example(NamedTuple):
    """A published calculation.

    Attributes:
        source: title, author, address and date.
        keys: the problem.
        printed: the published numbers by step, and with how many decimals they are printed.
        wrong: the right number, with as many decimals, for each published one that is wrong, by
            step and place, counted from 0.
        note: in what the source differs from the problem, and where its errors come from.
    """

    source: str
    keys: Keys
    printed: dict[str, tuple[Matrix, int]]
    wrong: Wrong | None = None
    note: str = ""


NOTHING: Keys = {"kind": "transformer", "norm": "none", "place": "pre"}
"""A layer whose attention, with W_v of zeros, adds nothing to the tokens."""


def zeros(rows: int, columns: int) -> Matrix:
    return [[0] * columns for _ in range(rows)]


def activations(name: str, numbers: list[float]) -> Keys:
    """Return the keys of a problem in which an activation is that of each of some numbers."""
    one: Keys = {"W_1": [[1]], "W_2": [[1]], "activation": name, "W_v": [[0]]}
    return NOTHING | one | {"X": [[x] for x in numbers]}


def normed(name: str, rows: Matrix, **more: Any) -> Keys:
    """Return the keys of a problem in which `normed_1` is a norm of the rows."""
    return {"kind": "transformer", "norm": name, "place": "pre", "X": rows, **more}


RANDOM_TRANSFORMER = (
    "The Random Transformer, Omar Sanseviero, 2024-01-01, "
    "https://osanseviero.github.io/hackerllama/blog/posts/random_transformer/"
)
TOYAI = (
    "Hand Calculation Worksheet: Example 6, rpriyadarshi, ToyAI, "
    "https://github.com/rpriyadarshi/toyai/blob/fdf1cae/worksheets/example6_worksheet.md"
)
LLAMA = (
    "LLaMA 2023, worked example, ainiketan.in, "
    "https://ainiketan.in/papers/17-llama-2023/sections/05-worked-example/"
)
LLAMA_MATH = (
    "LLaMA 2023, the math, ainiketan.in, "
    "https://ainiketan.in/papers/17-llama-2023/sections/04-the-math/"
)
LECTURE = (
    "Lecture 3: Transformer Architecture, course notes of wangywUST, "
    "https://github.com/wangywUST/wangywust.github.io/blob/054024d/Course/lecture_3.md"
)
RASCHKA = (
    "Build a Large Language Model (From Scratch), section 4.2, Sebastian Raschka, 2024, "
    "https://github.com/rasbt/LLMs-from-scratch/blob/07d8043/ch04/01_main-chapter-code/ch04.ipynb"
)
TENSORFLOW_GELU = (
    "tf.nn.gelu, TensorFlow 2.7, "
    "https://www.tensorflow.org/versions/r2.7/api_docs/python/tf/nn/gelu"
)
KERAS_SILU = (
    "keras.ops.silu, Keras 3, 2024-06-07, "
    "https://www.tensorflow.org/api_docs/python/tf/keras/ops/silu"
)
KERAS_NORM = (
    "keras.ops.layer_normalization, Keras 3, "
    "https://www.tensorflow.org/api_docs/python/tf/keras/ops/layer_normalization"
)
MINDSPORE_GELU = (
    "mindspore.ops.GeLU, MindSpore 2.3.1, "
    "https://mindspore.cn/docs/en/r2.3.1/api_python/ops/mindspore.ops.GeLU.html"
)
MINDSPORE_RMS = (
    "mindspore.ops.rms_norm, MindSpore 2.11.0, "
    "https://www.mindspore.cn/docs/zh-CN/r2.11.0/api_python/ops/mindspore.ops.rms_norm.html"
)
MINDSPORE_NORM = (
    "mindspore.ops.layer_norm, MindSpore 2.4.10, "
    "https://mindspore.cn/docs/zh-CN/r2.4.10/api_python/ops/mindspore.ops.layer_norm.html"
)

EXAMPLES: dict[str, Example] = {
    "random transformer": Example(
        RANDOM_TRANSFORMER,
        {
            "kind": "transformer",
            "tokens": ["Hello", "World"],
            "X": [[1, 3, 3, 5], [2.84, 3.99, 4, 6]],
            "heads": 2,
            "W_q": [
                [[0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 0, 0]],
                [[1, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 1]],
            ],
            "W_k": [
                [[1, 0, 1], [0, 1, 0], [1, 0, 1], [0, 1, 0]],
                [[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 1, 0]],
            ],
            "W_v": [
                [[0, 1, 1], [1, 0, 0], [1, 0, 1], [0, 1, 0]],
                [[1, 0, 0], [0, 1, 1], [0, 0, 1], [1, 0, 0]],
            ],
            "scale": 1 / 30,
            "W_o": [
                [0.79445237, 0.1081456, 0.27411536, 0.78394531],
                [0.29081936, -0.36187258, -0.32312791, -0.48530339],
                [-0.36702934, -0.76471963, -0.88058366, -1.73713022],
                [-0.02305587, -0.64315981, -0.68306653, -1.25393866],
                [0.29077448, -0.04121674, 0.01509932, 0.13149906],
                [0.57451867, -0.08895355, 0.02190485, 0.24535932],
            ],
            "norm": "layer",
            "place": "post",
        },
        {
            "context": (
                [
                    [[7.54348784, 8.20276657, 6.20276657], [7.65266185, 8.35857269, 6.35857269]],
                    [[8.45589591, 3.85610456, 7.72085664], [8.63740591, 3.91937741, 7.84804146]],
                ],
                8,
            ),
            "concat": (
                [
                    [7.54348784, 8.20276657, 6.20276657, 8.45589591, 3.85610456, 7.72085664],
                    [7.65266185, 8.35857269, 6.35857269, 8.63740591, 3.91937741, 7.84804146],
                ],
                8,
            ),
            "attended": (
                [
                    [11.46394285, -13.18016471, -11.59340253, -17.04387829],
                    [11.62608573, -13.47454936, -11.87126395, -17.4926367],
                ],
                8,
            ),
            "mean_1": ([[-4.58837567], [-3.59559107]], 8),
            "output": (
                [
                    [1.718877, -0.563653, -0.403707, -0.751516],
                    [1.719090, -0.560505, -0.406954, -0.751632],
                ],
                6,
            ),
        },
        note="The matrices are those of its code: its formulas have another WQ1 and WK2. It divides"
        " by σ + 1e-6 and prints eight decimals of the norm, of which six are kept here.",
    ),
    "random transformer, first head": Example(
        RANDOM_TRANSFORMER,
        {
            "kind": "transformer",
            "X": [[1, 3, 3, 5], [2.84, 3.99, 4, 6]],
            "W_q": [[0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 0, 0]],
            "W_k": [[1, 0, 1], [0, 1, 0], [1, 0, 1], [0, 1, 0]],
            "W_v": [[0, 1, 1], [1, 0, 0], [1, 0, 1], [0, 1, 0]],
            "W_o": zeros(3, 4),
            "norm": "none",
            "place": "pre",
        },
        {
            "Q": ([[8, 3, 3], [9.99, 3.99, 4]], 2),
            "K": ([[4, 8, 4], [6.84, 9.99, 6.84]], 2),
            "V": ([[6, 6, 4], [7.99, 8.84, 6.84]], 2),
            "scores": ([[68, 105.21], [87.88, 135.5517]], 4),
            "scaled": ([[39.2598183, 60.74302182], [50.73754166, 78.26081048]], 8),
            "context": ([[7.99, 8.84, 6.84], [7.99, 8.84, 6.84]], 2),
        },
    ),
    "random transformer, positions": Example(
        RANDOM_TRANSFORMER,
        NOTHING
        | {"X": [[1, 2, 3, 4], [2, 3, 4, 5]], "positions": "sinusoidal", "W_v": zeros(4, 4)},
        {
            "positions": ([[0, 1, 0, 1], [0.84, 0.99, 0, 1]], 2),
            "embedded": ([[1, 3, 3, 5], [2.84, 3.99, 4, 6]], 2),
        },
        {
            ("positions", (1, 1)): 0.54,
            ("positions", (1, 2)): 0.01,
            ("embedded", (1, 1)): 3.54,
            ("embedded", (1, 2)): 4.01,
        },
        "It puts the column itself for 2j in the exponent, where the formula that it quotes has "
        "twice the number of the pair; and cos 0.01 is 1.00, not 0.99.",
    ),
    "worksheet, attention": Example(
        TOYAI,
        {
            "kind": "transformer",
            "tokens": ["A", "B"],
            "X": [[1, 0], [0, 1]],
            "W_q": [[0.1, 0], [0, 0.1]],
            "W_k": [[0.1, 0], [0, 0.1]],
            "W_v": [[0.1, 0], [0, 0.1]],
            "norm": "layer",
            "place": "post",
        },
        {
            "Q": ([[0.1, 0], [0, 0.1]], 1),
            "K": ([[0.1, 0], [0, 0.1]], 1),
            "V": ([[0.1, 0], [0, 0.1]], 1),
            "attended": ([[0.0498, 0.0502], [0.0498, 0.0502]], 4),
            "residual_1": ([[1.0498, 0.0502], [0.0498, 1.0502]], 4),
            "output": ([[0.707, -0.707], [-0.707, 0.707]], 3),
        },
        {
            ("attended", (0, 0)): 0.0502,
            ("attended", (0, 1)): 0.0498,
            ("residual_1", (0, 0)): 1.0502,
            ("residual_1", (0, 1)): 0.0498,
            ("output", (0, 0)): 1.0,
            ("output", (0, 1)): -1.0,
            ("output", (1, 0)): -1.0,
            ("output", (1, 1)): 1.0,
        },
        "It takes the row of B for A too, and divides by the length of a row where its own formula "
        "divides by the root of the variance.",
    ),
    "worksheet, feed-forward": Example(
        TOYAI,
        NOTHING
        | {
            "X": [[0.707, -0.707], [-0.707, 0.707]],
            "W_v": zeros(2, 2),
            "W_1": [[0.2, 0.1], [0.1, 0.2]],
            "W_2": [[0.2, 0.1], [0.1, 0.2]],
            "activation": "relu",
        },
        {
            "hidden": ([[0.0707, -0.0707], [-0.0707, 0.0707]], 4),
            "activated": ([[0.0707, 0], [0, 0.0707]], 4),
            "feed_forward": ([[0.01414, 0.00707], [0.00707, 0.01414]], 5),
            "output": ([[0.72114, -0.69993], [-0.69993, 0.72114]], 5),
        },
        note="It begins with the wrong norm of the attention, 0.707 in place of 1.",
    ),
    "worksheet, probabilities": Example(
        TOYAI,
        NOTHING
        | {
            "tokens": ["B"],
            "embedding": {
                "vocabulary": ["A", "B", "C", "D"],
                "table": [[0, 0], [-0.707, 0.707], [0, 0], [0, 0]],
            },
            "W_v": zeros(2, 2),
            "W_u": [[0.1, 0, 0.1, 0], [0, 0.1, 0, 0.1]],
        },
        {
            "logits": ([[-0.0707, 0.0707, -0.0707, 0.0707]], 4),
            "probabilities": ([[0.232, 0.268, 0.232, 0.268]], 3),
        },
        note="It has four logits of a matrix of two columns, and says that those of C and D are as "
        "those of A and B.",
    ),
    "one token of Llama": Example(
        LLAMA,
        {
            "kind": "transformer",
            "X": [[0.5, -1.2, 0.8, 0.3]],
            "norm": "rms",
            "place": "pre",
            "W_v": zeros(4, 4),
            "b_v": [0.6, -1.5, 1.0, 0.4],
            "W_1": zeros(4, 1),
            "W_2": zeros(1, 4),
        },
        {
            "mean_square_1": ([[0.605]], 3),
            "normed_1": ([[0.643, -1.543, 1.029, 0.386]], 3),
            "attended": ([[0.6, -1.5, 1.0, 0.4]], 1),
            "residual_1": ([[1.1, -2.7, 1.8, 0.7]], 1),
            "mean_square_2": ([[3.0575]], 4),
            "normed_2": ([[0.629, -1.544, 1.030, 0.400]], 3),
        },
        {("normed_2", (0, 2)): 1.029},
        "It supposes what attention gives, which is a bias here, and rounds the root to 1.749; "
        "1.8/1.749 is 1.029, too. Its feed-forward half is not copied.",
    ),
    "RMS norm": Example(
        LLAMA_MATH,
        normed("rms", [[2, -1, 3, 0]]),
        {"mean_square_1": ([[3.5]], 1), "normed_1": ([[1.069, -0.535, 1.604, 0]], 3)},
        note="It takes eps as 0.",
    ),
    "layer norm": Example(
        LLAMA_MATH,
        normed("layer", [[2, -1, 3, 0]]),
        {
            "mean_1": ([[1.0]], 1),
            "variance_1": ([[2.5]], 1),
            "normed_1": ([[0.632, -1.265, 1.265, -0.632]], 3),
        },
        note="It takes eps as 0.",
    ),
    "feed-forward of whole numbers": Example(
        LECTURE,
        NOTHING
        | {
            "X": [[1, 0], [0, 1], [1, 1]],
            "W_v": zeros(2, 2),
            "W_1": [[1, 1], [0, 1]],
            "b_1": [0, 1],
            "W_2": [[1, 0], [2, 1]],
            "b_2": [1, -1],
            "activation": "relu",
        },
        {
            "hidden": ([[1, 2], [0, 2], [1, 3]], 0),
            "activated": ([[1, 2], [0, 2], [1, 3]], 0),
            "feed_forward": ([[6, 1], [5, 1], [8, 2]], 0),
        },
    ),
    "layer norm of a book": Example(
        RASCHKA,
        normed(
            "layer",
            [[0.2260, 0.3470, 0, 0.2216, 0, 0], [0.2133, 0.2394, 0, 0.5198, 0.3297, 0]],
            eps=1e-12,
        ),
        {"mean_1": ([[0.1324], [0.2170]], 4), "variance_1": ([[0.0231], [0.0398]], 4)},
        {("variance_1", (0, 0)): 0.0192, ("variance_1", (1, 0)): 0.0332},
        "Its first variance is divided by one less than the number of features, 5 in place of 6, "
        "as it explains below it; its class LayerNorm divides by their number.",
    ),
    "gelu": Example(
        TENSORFLOW_GELU,
        activations("gelu", [-3, -1, 0, 1, 3]),
        {"activated": ([[-0.00404951], [-0.15865529], [0], [0.8413447], [2.9959507]], 5)},
        note="It prints numbers of float32, of which five decimals are kept here.",
    ),
    "gelu_tanh": Example(
        TENSORFLOW_GELU,
        activations("gelu_tanh", [-3, -1, 0, 1, 3]),
        {"activated": ([[-0.00363752], [-0.15880796], [0], [0.841192], [2.9963627]], 5)},
        note="It prints numbers of float32, of which five decimals are kept here.",
    ),
    "gelu by its formula": Example(
        MINDSPORE_GELU,
        activations("gelu", [1, 2, 3]),
        {"activated": ([[0.841192], [1.9545976], [2.9963627]], 6)},
        {
            ("activated", (0, 0)): 0.841345,
            ("activated", (1, 0)): 1.9545,
            ("activated", (2, 0)): 2.99595,
        },
        "Its formula is x·P(X < x); the numbers that it prints are those of the tanh form.",
    ),
    "silu": Example(
        KERAS_SILU,
        activations("silu", [-6, 1, 0, 1, 6]),
        {"activated": ([[-0.0148357], [0.7310586], [0], [0.7310586], [5.9851646]], 5)},
        note="It prints numbers of float32, of which five decimals are kept here.",
    ),
    "layer norm of five numbers": Example(
        KERAS_NORM,
        normed("layer", [[0, 1, 2, 3, 4]], eps=1e-7),
        {"normed_1": ([[-1.4142135, -0.70710677, 0, 0.7071067, 1.4142135]], 6)},
        note="It prints numbers of float32, of which six decimals are kept here.",
    ),
    "layer norm of three numbers": Example(
        MINDSPORE_NORM,
        normed("layer", [[1, 2, 3], [1, 2, 3]], eps=1e-7),
        {"normed_1": ([[-1.2247448, 0, 1.2247448], [-1.2247448, 0, 1.2247448]], 6)},
        note="It prints numbers of float32, of which six decimals are kept here.",
    ),
    "RMS norm of three numbers": Example(
        MINDSPORE_RMS,
        normed("rms", [[1, 2, 3], [1, 2, 3]]),
        {
            "normed_1": (
                [[0.46290997, 0.92581993, 1.3887299], [0.46290997, 0.92581993, 1.3887299]],
                6,
            )
        },
        note="It prints numbers of float32, of which six decimals are kept here.",
    ),
}

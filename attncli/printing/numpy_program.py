"""Traces as programs of NumPy. `apply` works on `Code`, arrays that record the calls to them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from keyword import iskeyword
from operator import getitem
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import ERF, Array, CallRecorder, each
from attncli.core.attention.norms_and_activations import Phi
from attncli.core.calculation.trace import Trace
from attncli.core.errors import fail, located
from attncli.core.formulas.text import text
from attncli.core.problem.problem import Problem
from attncli.core.tape.evaluation import apply_to, walk
from attncli.core.tape.step import Expression, Step
from attncli.core.text.numbers import floats
from attncli.core.text.strings import visible
from attncli.printing.selection import Selection, in_parts

SIGN_OF_UFUNC = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.true_divide: "/", np.matmul: "@",
    np.power: "**", np.bitwise_and: "&", np.bitwise_or: "|", np.equal: "==", np.not_equal: "!=",
    np.greater: ">", np.less: "<", np.greater_equal: ">=", np.less_equal: "<=",
}  # fmt: skip

MAX_IN_ARRAY = 10_000
"""Maximum number of numbers in one array of a program: about 200 kB of text (chosen)."""

MAX_CODE_WIDTH = 96
"""Number of characters from which a matrix has a line per row, and parts of a step have lines."""

MAX_REPEATED = 22
"""Maximum number of characters of an expression that is written again where it is used again."""


class Code(CallRecorder):
    """An array as operations take it, that of the program (no first axes of size 1), its text."""

    dtype = np.dtype(np.uint64)  # neither of floats nor of objects, so that formulas are plain

    def __init__(self, full: Array, array: Array, text: str) -> None:
        self.full, self.array, self.text = full, array, text
        self.shape = full.shape

    def called(self, function: Callable[..., Any], args: Any, options: dict[str, Any]) -> Code:
        return _called(function, args, options)

    def any(self) -> bool:
        return bool(self.full.any())


def refuse_large(_: Selection, problem: Problem) -> None:
    """Raise an InputError for a matrix with too many numbers to be written out."""
    with located(problem.source):
        for array in problem.matrices().values():
            _literal(array)


def _literal(array: Array) -> Code:
    if array.size > MAX_IN_ARRAY:
        message = f"a program with {array.size:,} numbers in one array is too long to read"
        raise fail(message, hint="use a smaller problem, or -f npz")
    array = array.astype(float) if array.dtype.kind == "u" else array
    short = array.reshape(_stripped(array.shape))
    kind = ", dtype=np.float32" * (short.dtype == np.float32)
    if len(values := {*short.flat}) == 1 and values <= {0.0, 1.0}:
        return Code(array, short, f"np.{'ones' if short.all() else 'zeros'}({short.shape}{kind})")
    numbers = floats(short) if short.dtype.kind == "f" else short.tolist()
    return Code(array, short, f"np.array({_argument(numbers)}{kind})")


def _stripped(shape: tuple[int, ...]) -> tuple[int, ...]:
    return _stripped(shape[1:]) if len(shape) > 2 and shape[0] == 1 else shape


@np.errstate(all="ignore")  # the calculation has warned; BLAS may set flags for no reason
def _called(function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Code:
    """Return what a function of NumPy gives, in code that is known to give the same."""
    if not hasattr(np, function.__name__) and function not in (ERF, getitem):
        raise NotImplementedError(f"a program cannot call np.{function.__name__}")
    args = each(each(args, np.ndarray, _literal), np.generic, np.generic.item)
    if function is np.concatenate:
        args = ([part for part in args[0] if part.full.size],)
    dtype = float if function is ERF else None  # which makes arrays of objects
    full = np.asarray(function(*each(args, Code, lambda code: code.full), **kwargs), dtype)
    whole = each(args, Code, lambda c: Code(c.full, c.full, f"{c.text}.reshape{c.shape}"))
    if function in (np.reshape, np.broadcast_to):
        args = args[0], _stripped(full.shape)
    for operands in (args, whole):
        with suppress(ValueError, IndexError):  # the program may lack axes that are needed
            arrays = each(operands, Code, lambda code: code.array)
            array = np.asarray(function(*arrays, **kwargs), dtype)
            if np.allclose(array.reshape(full.shape), full, equal_nan=True):
                is_move = function in (getitem, np.reshape, np.moveaxis)
                is_same = is_move and np.array_equal(array, operands[0].array)
                text = operands[0].text if is_same else _text(function, operands, kwargs)
                return Code(full, array, text)
    raise NotImplementedError(f"a program cannot call np.{function.__name__}")


def _text(function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> str:
    """Return the expression of a call, in brackets if it is that of an operator."""
    name, (first, *others) = function.__name__, map(_argument, args)
    rest = ", ".join([*others, *(f"{k}={value}" for k, value in kwargs.items() if k != "dtype")])
    if function is ERF:
        return f"erf({first})"
    if function is getitem:
        key, count = args[1], args[0].array.ndim
        if key[0] is ... and sum(part is not None for part in key) - 1 == count:
            return f"{first}[{', '.join(map(_argument, key[1:])).removesuffix(', :')}]"
        return f"{first}[{', '.join(map(_argument, key))}]"
    if function in SIGN_OF_UFUNC or function is np.negative:
        return f"({first} {SIGN_OF_UFUNC[function]} {rest})" if rest else f"(-{first})"
    if function is np.swapaxes and args[0].array.ndim == 2:
        return f"{first}.T".removesuffix(".T.T")
    is_method = hasattr(np.ndarray, name) and name != "sort"  # which would return nothing
    return f"{first}.{name}({rest})" if is_method else f"np.{name}({first}{rest and f', {rest}'})"


def _argument(item: Any) -> str:
    if isinstance(item, list):
        return f"[{', '.join(map(_argument, item))}]"
    if isinstance(item, slice):
        ends = (item.start, item.stop, item.step)
        return ":".join("" if end is None else str(end) for end in ends[: 3 if item.step else 2])
    if isinstance(item, Code):
        return item.text
    return "..." if item is ... else repr(item).replace("inf", "np.inf")


def as_numpy(traces: Iterable[Trace], selection: Selection) -> Iterator[bytes]:
    """Yield a program of the steps, unrounded, and of what they need; tokens are rows."""
    if not selection.follows:
        yield b"import numpy as np\n\n"
    programs = (_program(trace.unrounded or trace, selection) for trace in traces)
    yield from in_parts(programs, "\n", selection.follows)


def _program(trace: Trace, selection: Selection) -> Iterator[str]:
    about = [f"{axis}: {', '.join(words)}" for axis, words in trace.labels.items()]
    if trace.problem.columns:
        about = ["Tokens are rows here.", *about]
    if trace.problem.round:
        about = ["No step is rounded here.", *about]
    about = [trace.problem.title, *about]
    yield from (f"# {visible(line)}\n" for line in about if line)
    needed = {node for step in selection.steps(trace) for node in walk(step, into_steps=True)}
    if any(isinstance(node, Phi) for node in needed):
        yield "from math import erf\n\nerf = np.vectorize(erf)\n"
    codes: dict[Step, Code] = {}
    group = ""
    for step in (step for step in (*trace.inputs.values(), *trace) if step in needed):
        is_input = step.operation is None
        code = codes[step] = _literal(step.array) if is_input else _code(step.operation, codes)
        is_other = is_input and step.name in trace and not trace[step.name].is_given
        name = re.sub(r"\W", "_", step.name) + "_given" * is_other
        name += "_" * iskeyword(name)  # as lambda is one
        if step.is_given or not name.isidentifier():  # as the zeros that are called 0
            continue
        if not is_input and step.group != group:
            group = step.group
            yield f"\n# {visible(group)}\n" if group else "\n"
        *parts, line = _lines(name, code.text)
        yield from (f"{part}\n" for part in parts)
        yield f"{line:44}  # {code.array.shape}{f'  {text(step.note)}' if step.note else ''}\n"
        codes[step] = Code(step.array, code.array, name)


def _code(expression: Expression, codes: dict[Step, Code]) -> Code:
    if isinstance(expression, Step):
        return codes[expression]
    operands = [_code(part, codes) for part in expression.operands]
    result = apply_to(expression, operands, float)
    return result if isinstance(result, Code) else _literal(result)


def _lines(name: str, code: str) -> Iterator[str]:
    """Yield the assignment of a step, after those of parts that are long or in it several times."""
    parts: dict[str, str] = {}
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call | ast.BinOp | ast.Compare):
            word = getattr(getattr(node, "func", None), "attr", "part")
            parts[ast.get_source_segment(code, node) or ""] = word
    lines = {name: code}
    for part in sorted(parts, key=len, reverse=True):
        pattern = rf"(?<![\w.]){re.escape(part)}(?!\w)"
        uses = [line for line in lines.values() for _ in re.findall(pattern, line)]
        is_long = len(part) <= MAX_CODE_WIDTH < max(map(len, uses), default=0)
        if len(part) > MAX_REPEATED and (len(uses) > 1 or is_long):
            short = f"{name}_{parts[part]}"
            same = sum(key.startswith(short) for key in lines)
            short += str(same + 1) * bool(same)
            others = {key: re.sub(pattern, short, line) for key, line in lines.items()}
            lines = {short: part} | others
    for key, expression in lines.items():
        line = f"{key} = {ast.unparse(ast.parse(expression))}"
        if len(line) > MAX_CODE_WIDTH:  # each row of a matrix has a line
            line = re.sub(r"(?<=\(\[)(?=\[)|(?<=\],) (?=\[)", "\n    ", line)
            line = line.replace("]])", "],\n])")
        yield line

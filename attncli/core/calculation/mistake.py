"""Helpers for expressions: the operation of a step, its parts, and the kinds of its matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import UnionType
from typing import Any, TypeAlias, TypeGuard, TypeVar, get_args, get_type_hints

import numpy as np

from attncli.core.attention.scores import SplitHeads
from attncli.core.calculation.trace import Trace
from attncli.core.formulas.text import text
from attncli.core.formulas.tree import Root, named
from attncli.core.problem.shapes import form_of
from attncli.core.records import EMPTY, Record
from attncli.core.tape.evaluation import Change, rewritten, walk
from attncli.core.tape.operations import MatMul, MatVec, Scale, Transposed
from attncli.core.tape.step import Expression, Operation, Step, notation_of

N = TypeVar("N", bound=Operation)


def made_of(step: Step) -> Expression:
    """Return the operation of a step of the calculation."""
    assert step.operation is not None  # as it is no input
    return step.operation


def made_by(kind: type[N], expression: Expression) -> N | None:
    """Return the operation of a step if it is of a type; else None."""
    operation = expression.operation if isinstance(expression, Step) else None
    return operation if isinstance(operation, kind) else None


def put(expression: Expression, old: Expression, new: Expression) -> Expression:
    """Return an expression with its part `old` replaced by `new`, if it has that part."""
    return next(rewritten(expression, lambda node: (new,) if node is old else ()), expression)


def is_input(expression: Expression) -> TypeGuard[Step]:
    """Return True for a matrix or vector of the problem."""
    return isinstance(expression, Step) and expression.operation is None


def uncut(expression: Expression) -> Expression:
    """Return the operand of `SplitHeads`; any other expression unchanged."""
    return expression.operand if isinstance(expression, SplitHeads) else expression


def is_projection(expression: Expression) -> bool:
    """Return True for a matrix or vector of the problem that is applied to tokens."""
    whole = uncut(expression)
    return is_input(whole) and whole.trailing[0] not in ("query", "key", "time")


def is_named(expression: object, name: str | tuple[str, ...]) -> TypeGuard[Step]:
    """Return True for a step or input whose name starts with one of some words."""
    return isinstance(expression, Step) and expression.plain.startswith(name)


def is_mixture(expression: Expression) -> TypeGuard[MatMul]:
    """Return True for a product of weights and what they mix."""
    return isinstance(expression, MatMul) and is_named(expression.left, "weights")


def is_weight(expression: object) -> bool:
    """Return True for an input that is a matrix of weights, which programs may store (out, in)."""
    key = expression.key if isinstance(expression, Step) else ""
    return bool(key) and getattr(form_of(key), "is_weight", False)


def rewritten_steps(
    trace: Trace, names: Iterable[str], rule: Callable[[Expression], Iterator[Expression]]
) -> dict[str, Expression]:
    """Return the operations that a rule makes of those of some steps, where it changes them."""
    steps = [trace[name] for name in names if name in trace]
    return {step.name: other for step in steps for other in rewritten(made_of(step), rule)}


Words: TypeAlias = str | tuple[str, str]
"""A text, or one without and one with numbers: d_k and d_k = 3."""

Blanks: TypeAlias = Mapping[str, Words | Expression]
"""What fills the blanks of a mistake's sentence and advice; of an expression, its formula."""


def in_words(word: Words | Expression, step: Step) -> Words:
    """Return what fills a blank in a sentence about a step."""
    if isinstance(word, Step | Operation):
        return text(step.without_layer(notation_of(word, step.columns)))
    return word


Made: TypeAlias = Expression | Change
"""The changed calculation: of a node or a step, or of several steps by their names."""

Changes: TypeAlias = Iterator[Made | tuple[Made, Blanks]]
"""One result of a mistake in a step, perhaps with words for its sentence."""

Nodes: TypeAlias = Iterator[Expression]
"""The expressions that a mistake puts in the place of one node."""

Ways: TypeAlias = Iterator[tuple[Change, Blanks]]
"""The changes that a mistake may make, each with the words for its sentence."""

Rule: TypeAlias = Callable[..., Iterator[Any]]
"""A function that yields `Nodes` for a node, or `Changes` for a step and a trace."""


class Mistake(Record):
    """One row of the catalogue: its public name, what was done and what to do.

    `changes` yields what would be calculated instead in a step. Words that come with each change
    fill the blanks of the sentence and advice, beside `{step}` and `{formula}`. There are none but
    in steps of the stems, or whose formulas have operations of the types, in `of`.
    """

    id: str
    sentence: str
    advice: str
    changes: Callable[[Step, Trace], Ways]
    of: tuple[str | type, ...] = (object,)


def possible(rows: Iterable[Mistake], step: Step) -> list[Mistake]:
    """Return the rows that may change a step; the rules of the others need not be called."""
    known = {step.stem, *(base for node in walk(made_of(step)) for base in type(node).__mro__)}
    return [row for row in rows if not known.isdisjoint(row.of)]


CALCULATE = "Calculate {formula}."


def mistake(
    sentence: str,
    advice: str = CALCULATE,
    backward: bool | None = False,
    steps: tuple[str, ...] = (),
    kind: str = "",
    of: type | UnionType = object,
) -> Callable[[Rule], Mistake]:
    """Return a decorator for a mistake in the forward pass, the backward one, or (None) in both.

    It is made in the steps of some stems, by default in any, of one kind of problem or of any, and
    where a formula has a node of one of some types.

    A rule of a step and its trace yields changes. A rule of a `node` yields what is put in the
    place of a node of a step's operation that has the type with which `node` is annotated. Then the
    sentence may name the lines that sum to 1: `{line}` is a row or a column on paper, `{one}` the
    axis that it belongs to, `{other}` the other axis, `{shares}` what sums to 1; and a factor of a
    product that was changed: `{matrix}` was transposed or not, as `{how}` says.
    """

    def decorated(rule: Rule) -> Mistake:
        is_of_nodes = "node" in rule.__annotations__  # else its types need no time
        nodes = get_type_hints(rule)["node"] if is_of_nodes else None

        def changes(step: Step, trace: Trace) -> Ways:
            if backward not in (None, step.backward) or kind not in ("", trace.problem.kind):
                return
            if steps and step.stem not in steps:
                return
            every = rule(step, trace) if nodes is None else _of_nodes(rule, nodes, step, trace)
            for one in every:
                made, words = one if isinstance(one, tuple) else (one, EMPTY)
                yield ({step.name: made} if isinstance(made, Step | Operation) else made), words

        types = nodes or of
        known = steps or get_args(types) or (types,)
        return Mistake(rule.__name__, sentence, advice, changes, known)

    return decorated


def _of_nodes(rule: Rule, nodes: Any, step: Step, trace: Trace) -> Changes:
    whole = made_of(step)
    for node in walk(whole):
        for other in rule(node) if isinstance(node, nodes) else ():
            words = _words_of_factor(node, other, step, trace)
            yield put(whole, node, other), {**_words_of_lines(step, trace), **words}


def _words_of_lines(step: Step, trace: Trace) -> Blanks:
    is_of_words = "vocabulary" in step.trailing or step.plain == "sum_logits"
    by_query = is_of_words or trace.problem.rules.normalize.axis == "keys"
    one, other = ("query", "key") if by_query else ("key", "query")
    if is_of_words:
        one, other = "token", "word"
    line = "row" if by_query != step.columns else "column"
    shares = "probabilities" if is_of_words else "weights"
    return {"line": line, "one": one, "other": other, "shares": shares}


def _words_of_factor(node: Expression, other: Expression, step: Step, trace: Trace) -> Blanks:
    if isinstance(node, MatMul | MatVec) and type(other) is type(node):
        pairs = zip(node.operands, other.operands, strict=True)
        node = next((one for one, used in pairs if one is not used), node)
    is_transposed = isinstance(node, Transposed)
    matrix = node.operand if isinstance(node, Transposed) else node
    how = "not transposed" if is_transposed else "transposed, and should not be"
    if is_weight(matrix) and trace.problem.weights_as == "out_in":
        how = "used as it is stored, (out, in), without a transpose"
    return {"matrix": matrix, "how": how}


ROOT_OF_D_K = Root(named("d_k"))


def divides_by_root(scale: Scale) -> bool:
    """Return True for scores that are divided by √d_k."""
    return scale.times == 1 and scale.symbol is not None and text(scale.symbol) == text(ROOT_OF_D_K)


class Wrong(Operation):
    """An operation that is any function of its operands' arrays; it has no formula."""

    function: Callable[..., Any]
    parts: tuple[Expression, ...]
    ranges: Callable[..., Any] | None = None  # the function of intervals, where it is another

    def apply(self, *arrays: Any) -> Any:
        return self.function(*arrays)

    def bounds(self, *operands: Any) -> Any:
        return (self.ranges or self.function)(*operands)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"function": None, "ranges": None}  # a copy is only shown


def wrong(
    function: Callable[..., Any], *operands: Expression, ranges: Callable[..., Any] | None = None
) -> Wrong:
    """Return the operation of a function of arrays; `ranges` is the same function of intervals."""
    return Wrong(function, operands, ranges)


def rising(function: Callable[[Any], Any], operand: Expression) -> Wrong:
    return wrong(function, operand, ranges=lambda i: type(i)(function(i.low), function(i.high)))


def negative(expression: Expression) -> Wrong:
    """−s for s; a blocked cell stays blocked."""
    return wrong(lambda array: np.where(array == -np.inf, array, -array), expression)

"""Closed forms: e^10/(e^6 + e^10 + e^11) instead of 0.2676.

The operations run once more on terms, as for an explanation, and the terms are read as exact
numbers: integers, fractions, roots and powers of e, of the digits that the problem was written
with. Needs the extra `attncli[exact]`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from attncli.arithmetic.elements import Array, filled
from attncli.arithmetic.operators import OPERATORS
from attncli.errors import fail
from attncli.explaining import terms
from attncli.forms.matrices import SHORT_FLOATS
from attncli.mechanisms.trace import Trace
from attncli.notation import tree
from attncli.notation.parser import parse
from attncli.notation.pasted import grid_of
from attncli.notation.text import text as as_text
from attncli.notation.tree import Formula
from attncli.notation.written import NumberAsWritten, normalized, operation_of
from attncli.records import replace
from attncli.tape.step import Step
from attncli.tape.walk import evaluate

Number = Any  # a number of sympy, which carries no types

MOST_NUMBERS = 2_000
"""More numbers than this in all steps are no page that anybody reads."""

LONGEST = 150
"""How many operations a closed form may have; a longer one says less than its decimals."""

MOST_DIGITS = 4_000
"""How many digits a number may have, before or after the point; more take long, and Python prints
no integer of more than 4300."""

DIGITS = 50
"""With so many digits numbers are compared, to find the largest of a row."""

DECIMALS_WARNING = "the problem has decimals: exact results are of the fractions that they are"


def sympy_or_fail() -> Any:
    """Return the module sympy.

    Raises:
        InputError: where it is not installed; it tells how to get it.
    """
    try:
        import sympy
    except ImportError:
        raise fail(
            "exact results need sympy, which is not installed", hint="pip install 'attncli[exact]'"
        ) from None
    return sympy


class Exact:
    """The exact numbers of a trace, worked out step by step as they are asked for.

    Args:
        trace: what was calculated with floats.

    Raises:
        InputError: without sympy; for rounded steps; for more numbers than a page holds.
    """

    def __init__(self, trace: Trace) -> None:
        sympy = self.sympy = sympy_or_fail()
        if trace.problem.round is not None:
            raise fail("exact results are not rounded", "round", hint="leave out round")
        count = sum(step.array.size for step in trace)
        if count > MOST_NUMBERS:
            raise fail(
                f"the steps have {count} numbers: exact results are for at most {MOST_NUMBERS}",
                hint="take a smaller problem",
            )
        self.trace = trace
        self.has_decimals = False
        self.too_long: dict[str, None] = {}  # the names of steps, in order
        self.known: dict[Step, Array] = {}
        self.work: dict[str, Any] = OPERATORS | {
            "+": sympy.Add,
            "*": sympy.Mul,
            "negative": operator.neg,
            "square": lambda x: x * x,
            "exp": sympy.exp,
            "tanh": sympy.tanh,
            "sqrt": sympy.sqrt,
            "ln": sympy.log,
        }

    def step(self, step: Step) -> Array:
        """Return the exact numbers of a step, shaped as its array; None for what is too long."""
        if step not in self.known:
            self.known[step] = self._given(step) if step.operation is None else self._made(step)
        return self.known[step]

    def value(self, step: Step) -> Array:
        """Return the exact numbers of a step as they stand on paper."""
        return replace(step, array=self.step(step)).value

    def warnings(self) -> Iterator[str]:
        """Yield what a reader must know of the steps that were worked out so far."""
        if self.has_decimals:
            yield DECIMALS_WARNING
        if self.too_long:
            names = ", ".join(self.too_long)
            yield f"some closed forms of {names} are too long to be read, and left out"

    def texts(self, step: Step) -> Any:
        """Return the closed forms of a step on paper as nested lists; None for what is too long."""
        value = self.value(step)
        return filled(value.shape, lambda at: self.text(value[at])).tolist()

    def formula(self, number: Number) -> Formula | None:
        """Return the formula of an exact number; None for one that is too long."""
        from attncli.explaining.closed_forms import closed_form

        return None if number is None else closed_form(number)

    def text(self, number: Number) -> str | None:
        """Return the text of an exact number, such as 4√3/3; None for one that is too long."""
        formula = self.formula(number)
        return None if formula is None else as_text(formula)

    def _made(self, step: Step) -> Array:
        worked = evaluate(step.operation, self._leaves, terms.Constant) if step.operation else None
        whole = np.broadcast_to(np.asarray(worked, object), step.array.shape)

        def number(at: tuple[int, ...]) -> Number | None:
            return self._tidy(self._number(terms.term_of(whole[at])), step)

        return filled(whole.shape, number)

    def _leaves(self, step: Step) -> Array:
        """Return leaves that are compared with many digits, so that what is equal is a tie."""

        def leaf(at: tuple[int, ...]) -> terms.Leaf:
            number = self.step(step)[at]
            return terms.Leaf(step, at, step.array[at] if number is None else self._digits(number))

        return filled(step.array.shape, leaf)

    def _digits(self, number: Number) -> Any:
        """Return a number of Python for comparing: equal where equal numbers are."""
        if number.is_Integer:
            return int(number)
        if number.is_infinite:
            return float(number)
        near = self.sympy.N(number, DIGITS)
        return Fraction(str(self.sympy.N(near, DIGITS - 10)))

    def _number(self, term: terms.Term) -> Number | None:
        """Return the exact number of a term; None where an operand has none."""
        if isinstance(term, terms.Chosen | terms.Named):
            return self._number(term.operands[0])
        if isinstance(term, terms.Leaf):
            return self.step(term.step)[term.at]
        if isinstance(term, terms.Constant):
            number = term.number
            written = isinstance(number, NumberAsWritten)
            return self._written(number.formula) if written else self._plain(number)
        assert isinstance(term, terms.Made)  # there is no other kind
        total = terms.is_sum(term)
        parts = terms.summands(term) if total else [(False, part) for part in term.operands]
        numbers = [(minus, self._number(part)) for minus, part in parts]
        known = [-number if minus else number for minus, number in numbers if number is not None]
        if len(known) < len(numbers):
            return None
        if term.op == "at_least_zero":
            return known[0] if term.value > 0 else self.sympy.Integer(0)
        return self._worked("+" if total else term.op, known)

    def _worked(self, operation: str, operands: Sequence[Number]) -> Number | None:
        """Return what an operation makes of exact numbers; None for a power of too many digits."""
        power = [self.sympy.E, *operands][-2:] if operation in ("exp", "^") else []
        if power and self._has_many_digits(*power):
            return None
        return self.work[operation](*operands)

    def _has_many_digits(self, base: Number, exponent: Number) -> bool:
        """Whether a power has more digits than a number may have, as its logarithm tells."""
        if base.is_zero or base.is_infinite or exponent.is_infinite:
            return False
        digits = self.sympy.N(exponent) * self.sympy.log(abs(self.sympy.N(base)), 10)
        return bool(abs(digits) > MOST_DIGITS)

    def _tidy(self, number: Number | None, step: Step) -> Number | None:
        """Return a number on one fraction line, without what cancels."""
        if number is None or number.is_Atom:
            return self._counted(number, step)
        if self._counted(number, step) is None:
            return None
        if number.is_Add or any(map(self._has_fractions, number.args)):
            number = self.sympy.together(number)
        top, bottom = self.sympy.fraction(number)
        top = self.sympy.expand(top)
        if top == self.sympy.expand(bottom):
            return self.sympy.Integer(1)
        return self._counted(top / bottom, step)

    def _has_fractions(self, number: Number) -> bool:
        """Whether a number is a sum that has a fraction among its terms."""
        return number.is_Add and any(self.sympy.fraction(term)[1] != 1 for term in number.args)

    def _counted(self, number: Number | None, step: Step) -> Number | None:
        if number is None or self._is_long(number):
            self.too_long[step.name] = None
            return None
        return number

    def _is_long(self, number: Number) -> bool:
        most = 10**MOST_DIGITS
        rationals = number.atoms(self.sympy.Rational)
        has_digits = any(max(abs(one.p), one.q) > most for one in rationals)
        return has_digits or self.sympy.count_ops(number) > LONGEST

    def _given(self, step: Step) -> Array:
        """Return the numbers of an input as they were written."""
        problem = self.trace.problem
        matrix = problem.matrices().get(step.key)
        if matrix is not None:
            given = _cells_of(problem.as_given(step.key))
            cells = [self._counted(self._cell(cell), step) for cell in given]
            if len(cells) == matrix.size:
                written = np.array(cells, object).reshape(matrix.shape)
                return problem.laid_out(step.key, written)
        return filled(step.array.shape, lambda at: self._plain(step.array[at]))

    def _cell(self, cell: Any) -> Number | None:
        if not isinstance(cell, str):
            return self._plain(cell)
        word = cell.strip().lower()
        if word in ("true", "false"):
            return self._plain(word == "true")
        return self._written(parse(normalized(cell)))

    def _plain(self, number: Any) -> Number | None:
        """Return a number that is no text: its shortest decimal form."""
        if isinstance(number, bool | np.bool_ | int | np.integer):
            return self.sympy.Integer(int(number))
        if math.isinf(number):
            return self.sympy.oo if number > 0 else -self.sympy.oo
        return self._decimal(str(number))

    def _decimal(self, text: str) -> Number | None:
        exponent = text.lower().partition("e")[2].lstrip("+-0")
        if len(exponent) > len(str(MOST_DIGITS)):
            return None
        number = self.sympy.Rational(text)
        self.has_decimals |= not number.is_Integer
        return number

    def _written(self, formula: Formula) -> Number | None:
        """Return the exact number of a written one; None for one of too many digits."""
        if isinstance(formula, tree.Number):
            return self._digits_of(formula.text)
        if isinstance(formula, tree.Name):
            return {"e": self.sympy.E, "π": self.sympy.pi}[formula.base]
        parts = [self._written(part) for part in tree.parts(formula)]
        return None if None in parts else self._worked(operation_of(formula), parts)

    def _digits_of(self, text: str) -> Number | None:
        if text == "∞":
            return self.sympy.oo
        if text[:2].lower() in ("0x", "0o"):
            return self.sympy.Integer(int(text, 0))
        return self._decimal(text)


def _cells_of(raw: Any) -> Iterator[Any]:
    """Yield every number of a matrix as it was given, row by row."""
    if isinstance(raw, str):
        yield from (word for row in grid_of(raw).rows for _, word in row)
    elif isinstance(raw, np.ndarray):
        yield from raw.ravel() if raw.dtype in SHORT_FLOATS else raw.ravel().tolist()
    elif isinstance(raw, list | tuple):
        for item in raw:
            yield from [item] if isinstance(item, str) else _cells_of(item)
    elif raw is not None:
        yield raw

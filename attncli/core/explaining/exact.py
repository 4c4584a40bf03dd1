"""Closed forms: e^10/(e^6 + e^10 + e^11) instead of 0.2676.

The operations run once more on terms, as for an explanation, and the terms are read as exact
numbers: integers, fractions, roots and powers of e, of the digits that the problem was written
with. Needs sympy, the extra `attncli[exact]`, which takes long to import.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array, filled
from attncli.core.calculation.trace import Trace
from attncli.core.errors import InputError, fail, not_installed
from attncli.core.explaining import terms
from attncli.core.formulas import tree
from attncli.core.formulas.text import text as as_text
from attncli.core.numbers.matrices import labelled_texts
from attncli.core.numbers.parser import parse
from attncli.core.numbers.written import NumberAsWritten, normalized, operation_of
from attncli.core.records import replace
from attncli.core.tape.evaluation import evaluate
from attncli.core.tape.step import Step

Exactly = Any
"""A number of sympy, which carries no types, or None for one that is too long to be read."""

MAX_ON_PAGE = 2_000
"""Maximum number of numbers in all steps of a page; longer pages are refused. Chosen."""

MAX_OPERATIONS = 150
"""Maximum number of operations of a closed form; a longer one says less than its decimals."""

MAX_EXACT_DIGITS = 4_000
"""Maximum number of digits before or after the point; more take long, and Python prints no integer
of more than 4300."""

COMPARED_DIGITS = 50
"""Number of digits with which numbers are compared, to find the largest of a row."""

DECIMALS_WARNING = "the problem has decimals: exact results are of the fractions that they are"


class Exact:
    """The exact numbers of a trace; each step is calculated when it is first needed."""

    def __init__(self, trace: Trace) -> None:
        try:
            import sympy
        except ImportError:
            raise not_installed("exact results need sympy", "sympy") from None
        self.sympy: Any = sympy
        if trace.problem.round is not None:
            raise fail("exact results are not rounded", "round", hint="leave out round")
        count = sum(step.array.size for step in trace)
        if count > MAX_ON_PAGE:
            message = f"the steps have {count} numbers: exact results are for at most {MAX_ON_PAGE}"
            raise fail(message, hint="take a smaller problem")
        self.trace = trace
        self.has_decimals = False
        self.too_long: dict[str, None] = {}  # the names of steps, in order
        self.known: dict[Step, Array] = {}
        self.work = terms.TERM_OPERATIONS | {
            "+": sympy.Add, "*": sympy.Mul, "^": operator.pow, "exp": sympy.exp,
            "min": sympy.Min, "max": sympy.Max, "mod": sympy.Mod,
            "tanh": sympy.tanh, "sqrt": sympy.sqrt, "ln": sympy.log, "erf": sympy.erf,
        }  # fmt: skip

    def step(self, step: Step) -> Array:
        """Return the exact numbers of a step, shaped as its array; None for what is too long."""
        if step not in self.known:
            self.known[step] = self._given(step) if step.operation is None else self._made(step)
        return self.known[step]

    def value(self, step: Step) -> Array:
        """Return the exact numbers of a step as they are written on paper."""
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

    def formula(self, number: Exactly) -> tree.Formula | None:
        """Return the formula of an exact number; None for one that is too long."""
        return None if number is None else tree.Value(closed_form(number))

    def text(self, number: Exactly) -> str | None:
        """Return the text of an exact number, such as 4√3/3; None for one that is too long."""
        formula = self.formula(number)
        return None if formula is None else as_text(formula)

    def _made(self, step: Step) -> Array:
        assert step.operation is not None
        worked = np.asarray(evaluate(step.operation, self._leaves, terms.Constant), object)
        whole = np.broadcast_to(worked, step.array.shape)

        def number(at: tuple[int, ...]) -> Exactly:
            return self._tidy(self._number(terms.term_of(whole[at])), step)

        return filled(whole.shape, number)

    def _leaves(self, step: Step) -> Array:
        def leaf(at: tuple[int, ...]) -> terms.Leaf:
            number = self.step(step)[at]
            return terms.Leaf(step, at, step.array[at] if number is None else self._near(number))

        return filled(step.array.shape, leaf)

    def _near(self, number: Exactly) -> Any:
        """Return a number of Python, equal for equal numbers."""
        if number.is_Integer:
            return int(number)
        if number.is_infinite:
            return float(number)
        near = self.sympy.N(number, COMPARED_DIGITS)
        return Fraction(str(self.sympy.N(near, COMPARED_DIGITS - 10)))

    def _number(self, term: terms.Term) -> Exactly:
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

    def _worked(self, operation: str, operands: Sequence[Any]) -> Exactly:
        """Return what an operation makes of exact numbers; None without a closed form.

        A power of too many digits has none, nor has a comparison in a bias.
        """
        if operation not in self.work:
            return None
        if operation in ("exp", "^"):
            base, exponent = [self.sympy.E, *operands][-2:]
            if not (base.is_zero or base.is_infinite or exponent.is_infinite):
                logarithm = self.sympy.log(abs(self.sympy.N(base)), 10)
                if abs(self.sympy.N(exponent) * logarithm) > MAX_EXACT_DIGITS:
                    return None
        return self.work[operation](*operands)

    def _tidy(self, number: Exactly, step: Step) -> Exactly:
        """Return a number on one fraction line, without what cancels."""
        number = self._counted(number, step)
        if number is None or number.is_Atom:
            return number
        fraction = self.sympy.fraction
        addends = (part for sum_ in number.args if sum_.is_Add for part in sum_.args)
        if number.is_Add or any(fraction(part)[1] != 1 for part in addends):
            number = self.sympy.together(number)
        top, bottom = fraction(number)
        top = self.sympy.expand(top)
        if top == self.sympy.expand(bottom):
            return self.sympy.Integer(1)
        return self._counted(top / bottom, step)

    def _counted(self, number: Exactly, step: Step) -> Exactly:
        """Return a number that is short enough; of another one, note the step."""
        if number is not None:
            rationals = number.atoms(self.sympy.Rational)
            digits = max((max(abs(one.p), one.q) for one in rationals), default=0)
            if digits <= 10**MAX_EXACT_DIGITS and self.sympy.count_ops(number) <= MAX_OPERATIONS:
                return number
        self.too_long[step.name] = None
        return None

    def _given(self, step: Step) -> Array:
        """Return the numbers of an input as they were written."""
        problem = self.trace.problem
        matrix = problem.matrices().get(step.key)
        if matrix is not None:
            with suppress(InputError):  # no small matrix was given
                texts, _ = labelled_texts(problem.as_given(step.key), (step.key,), ragged=False)
                if texts.size == matrix.size:
                    numbers = [self._counted(self._cell(text), step) for text in texts.flat]
                    written = np.array(numbers, object).reshape(matrix.shape)
                    return problem.laid_out(step.key, written)
        return filled(step.array.shape, lambda at: self._plain(step.array[at]))

    def _cell(self, cell: str) -> Exactly:
        if cell.lower() in ("true", "false"):
            return self._plain(cell.lower() == "true")
        return self._written(parse(normalized(cell)))

    def _plain(self, number: Any) -> Exactly:
        """Return a number that is no text: its shortest decimal form."""
        if isinstance(number, bool | np.bool_ | int | np.integer):
            return self.sympy.Integer(int(number))
        if math.isinf(number):
            return self.sympy.oo if number > 0 else -self.sympy.oo
        return self._decimal(str(number))

    def _decimal(self, text: str) -> Exactly:
        exponent = text.lower().partition("e")[2].lstrip("+-0")
        if len(exponent) > len(str(MAX_EXACT_DIGITS)):
            return None
        number = self.sympy.Rational(text)
        self.has_decimals |= not number.is_Integer
        return number

    def _written(self, formula: tree.Formula) -> Exactly:
        """Return the exact number of a written one; None for one of too many digits."""
        if isinstance(formula, tree.Number):
            if formula.text == "∞":
                return self.sympy.oo
            if formula.text[:2].lower() in ("0x", "0o"):
                return self.sympy.Integer(int(formula.text, 0))
            return self._decimal(formula.text)
        if isinstance(formula, tree.Name):
            return {"e": self.sympy.E, "π": self.sympy.pi}[formula.base]
        parts = [self._written(part) for part in tree.parts(formula)]
        return None if None in parts else self._worked(operation_of(formula), parts)


def closed_form(number: Any) -> tree.Formula:
    """Return the formula of an exact number of sympy.

    >>> import sympy
    >>> as_text(closed_form(4 / sympy.sqrt(3))), as_text(closed_form(1 / (1 + sympy.E)))
    ('4√3/3', '1/(1 + e)')
    """
    import sympy

    known = {
        sympy.oo: tree.Number("∞"), -sympy.oo: tree.Number("-∞"),
        sympy.E: tree.Name("e"), sympy.pi: tree.Name("π"),
    }  # fmt: skip
    if number in known:
        return known[number]
    if number.is_Integer:
        return tree.Number(str(number))
    if number.is_Rational:
        return _over(tree.Number(str(number.p)), tree.Number(str(number.q)))
    functions = {sympy.tanh: "tanh", sympy.erf: "erf", sympy.log: "ln"}
    if number.func in functions:
        return tree.Call(functions[number.func], (closed_form(number.args[0]),))
    if isinstance(number, sympy.exp):
        return tree.Power(tree.Name("e"), closed_form(number.args[0]))
    if number.is_Pow:
        return _power(number)
    if number.is_Add:
        return tree.Plus(tuple(map(_signed, number.as_ordered_terms(order="lex"))))
    if not number.is_Mul:
        return tree.Words(str(number))
    if number.could_extract_minus_sign():
        return _signed(number)
    top, bottom = sympy.fraction(number)
    return _factors(top) if bottom == 1 else _over(_factors(top), closed_form(bottom))


def _over(top: tree.Formula, bottom: tree.Formula) -> tree.Formula:
    return tree.Fraction(top, bottom, tight=True)


def _signed(number: Any) -> tree.Formula:
    minus = number.could_extract_minus_sign()
    return tree.Minus(closed_form(-number)) if minus else closed_form(number)


def _power(power: Any) -> tree.Formula:
    if 2 * power.exp == 1:
        return tree.Root(closed_form(power.base))
    if power.exp.is_number and power.exp.is_negative:
        return _over(tree.Number("1"), closed_form(1 / power))
    return tree.Power(closed_form(power.base), closed_form(power.exp))


def _factors(product: Any) -> tree.Formula:
    factors = product.as_ordered_factors() if product.is_Mul else [product]
    formulas: list[tree.Formula] = []
    for factor in map(closed_form, factors):
        before = formulas[-1] if formulas else None
        if isinstance(factor, tree.Root) and isinstance(before, tree.Number):  # 4√3
            formulas[-1] = tree.Times((before, factor), "")
        else:
            formulas.append(factor)
    return formulas[0] if len(formulas) == 1 else tree.Times(tuple(formulas))

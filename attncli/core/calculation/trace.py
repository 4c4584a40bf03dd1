"""A finished calculation: the problem and its steps, and steps that change nothing, put back.

A trace leaves out `scaled` where the scale is 1, `masked` where nothing is masked, `context` and
`concat` where they are the output. `with_named_steps` puts those back that a textbook or a student
names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.weights import ADJUSTED, Tiled
from attncli.core.errors import InputError, fail
from attncli.core.problem.key_values import with_key
from attncli.core.problem.keys import KINDS
from attncli.core.problem.problem import Problem
from attncli.core.records import Record, replace
from attncli.core.tape.evaluation import with_steps
from attncli.core.tape.step import Step, prefix_of
from attncli.core.text.strings import called_by, did_you_mean, visible

if TYPE_CHECKING:
    from attncli.core.tape.cell_names import Cells

Result = TypeVar("Result")

MAX_KEPT_RESULTS = 1_000
"""Maximum number of results that are kept in memory; then all are dropped. One submission needs at
most 220 of those of a sample, and 1,000 take about 16 MB (measured). Chosen."""

FRAME = 'style="border:0;width:100%;height:40em"'


class Shown:
    """A value that has a page: Python shows it as a table, and a notebook as a page in a frame."""

    def _page(self, form: str) -> str:
        return str(import_module("attncli").render(self, form))  # a public name, from rooms above

    def __str__(self) -> str:
        return self._page("table").rstrip("\n")

    def _repr_html_(self) -> str:
        from html import escape  # its table of names takes a millisecond that no command needs

        return f'<iframe srcdoc="{escape(self._page("html"))}" {FRAME}></iframe>'


class Trace(Record, Shown, eq=False):
    """A finished calculation.

    `trace["weights"]` is a step, `trace.output` the numbers of the last one; iterating gives the
    steps in the order of computation. Where steps were rounded by hand, `unrounded` is what they
    would be without; `added` are names of steps that change nothing (`with_named_steps`).
    """

    problem: Problem
    inputs: Mapping[str, Step]
    steps: Mapping[str, Step]
    labels: Mapping[str, tuple[str, ...]]
    warnings: tuple[str, ...] = ()
    unrounded: Trace | None = None
    added: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Trace {', '.join(self.steps)}>"

    def __getitem__(self, name: str) -> Step:
        """Return the step of that name; a KeyError tells which there are."""
        try:
            return self.steps[name]
        except KeyError:
            raise KeyError(f"no step {name}; there are {', '.join(self.steps)}") from None

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps.values())

    def __len__(self) -> int:
        return len(self.steps)

    def __contains__(self, name: object) -> bool:
        return name in self.steps

    @cached_property
    def _kept(self) -> dict[Hashable, Any]:
        return {}

    def kept(self, key: Hashable, make: Callable[[], Result]) -> Result:
        """Return a result that depends on this trace and a key alone; work it out only once."""
        with suppress(KeyError):  # another thread may clear them
            result: Result = self._kept[key]
            return result
        result = make()
        if len(self._kept) >= MAX_KEPT_RESULTS:
            self._kept.clear()
        self._kept[key] = result
        return result

    @property
    def weights(self) -> list[Step]:
        """The steps of weights, without those of single rows where there are whole ones."""
        every = [step for step in self if step.is_weights]
        return [step for step in every if step.plain == "weights"] or every

    def around(self, step: Step) -> Trace:
        """Return the layer of a step as a trace, by the plain names of its steps and inputs.

        If there are not several layers, or it is not in one, that is the whole trace.
        """
        if not isinstance(step.layer, int) or not step.layer:
            return self
        return self.kept(("layer", step.layer), partial(self._layer, step.layer))

    def _layer(self, number: int) -> Trace:
        inputs = {one.plain: one for one in self.inputs.values() if one.layer in (0, number)}
        steps = {one.plain: one for one in self if one.layer == number}
        problem = self.problem.layers[number - 1]
        return replace(self, problem=problem, inputs=inputs, steps=steps)

    @property
    def last(self) -> Step:
        """The step `output`; where there is no such step, the last one."""
        return self.steps["output" if "output" in self.steps else list(self.steps)[-1]]

    @property
    def called(self) -> list[str]:
        """What the course of the problem calls some of the steps."""
        return [step.called for step in self if step.called] if self.problem.names else []

    @property
    def path(self) -> str:
        """How the steps of n × m numbers were calculated, in words."""
        tiled = (step.operation for step in self if isinstance(step.operation, Tiled))
        return next((one.path for one in tiled), "every step is calculated and kept")

    @property
    def output(self) -> Array:
        return self["output"].value


def furthest(trace: Trace) -> tuple[float, tuple[int, ...]]:
    """Return how far the last step is from the unrounded one at most, and at which cell."""
    assert trace.unrounded is not None  # or there is nothing to compare
    # Not as on paper: tokens may be rows in one calculation and columns in the other.
    rounded, unrounded = trace.last.array, trace.unrounded[trace.last.name].array
    equal = rounded == unrounded  # −∞ too, of which no difference can be taken
    between = np.abs(np.where(equal, 0.0, rounded) - np.where(equal, 0.0, unrounded))
    distance = trace.last.on_paper(between)
    place = np.unravel_index(int(distance.argmax()), distance.shape)
    return float(distance[place]), tuple(int(i) for i in place)


def with_meant_steps(trace: Trace, words: Collection[str]) -> Trace:
    """Return a trace with every step that words mean, also those that change nothing here.

    Raises:
        InputError: for a word that means no step of this calculation.
    """
    from attncli.core.tape.find_cells import find_steps

    wide = with_named_steps(trace)
    names: set[str] = set()
    for word in words:
        meant = find_steps(word, trace.steps, trace.inputs, trace.added)
        meant = meant or find_steps(word, wide.steps, wide.inputs, wide.added)
        if not meant:
            message = f"there is no step {visible(word)} in this calculation"
            raise fail(message, hint=did_you_mean(word, trace.steps, "attn explain INPUT"))
        names.update(step.name for step in meant)
    return with_named_steps(trace, names)


def with_named_steps(trace: Trace, names: Collection[str] | None = None) -> Trace:
    """Return a trace with those of the named steps that change nothing here, by default with all.

    Each is in its usual place, made by the step that it equals, and later steps are made of it.
    `added` has their names.

    >>> from attncli import Problem, compute
    >>> trace = with_named_steps(compute(Problem(X=[[1, 0]], score="dot")), ("scaled", "context"))
    >>> [trace[name].formula for name in ("scaled", "exp", "context", "output")]
    ['scaled = scores', 'exp = e^scaled', 'context = weights V', 'output = context']
    """
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    for name, known, is_before in _equal_steps(trace):
        if names is None or name in names:
            (before if is_before else after).setdefault(known, []).append(name)
    if not before and not after:
        return trace
    steps: dict[str, Step] = {}
    read: dict[str, Step] = {}  # by the name of a step: which one later steps are made of

    def named(step: Step, name: str, **changes: Any) -> Step:
        word = called_by(name, trace.problem.called)
        steps[name] = replace(step, name=name, called=word, **changes)
        return steps[name]

    for step in trace:
        new = None if step.operation is None else with_steps(step.operation, read)
        for name in before.get(step.name, ()):
            new = named(step, name, operation=new)
        last = steps[step.name] = step if new is step.operation else replace(step, operation=new)
        for name in after.get(step.name, ()):
            symbol = "A" if name.startswith("weights") else name
            last = named(last, name, symbol=symbol, operation=last)
        read[step.name] = last
    added = tuple(name for name in steps if name not in trace.steps)
    unrounded = trace.unrounded and with_named_steps(trace.unrounded, names)
    return replace(trace, steps=steps, unrounded=unrounded, added=added)


def find(name: str, trace: Trace) -> tuple[Trace, Cells]:
    """Return the cells that a name means, and the trace, with a step of that name put back.

    Raises:
        InputError: for a name that means nothing in this calculation.
    """
    from attncli.core.tape.find_cells import find_cells

    rows_of = name.rpartition("_")[0]  # as beta_2, which else is a vector of a norm
    if rows_of not in trace.steps and rows_of not in trace.inputs:
        name = with_key(name, trace.called)
    try:
        return trace, find_cells(name, trace.steps, trace.inputs, trace.added)
    except InputError:
        wide = with_named_steps(trace)
        with suppress(InputError):
            step = find_cells(name, wide.steps, wide.inputs, wide.added).step
            if step.name in wide.added:
                trace = with_named_steps(trace, (step.name,))
                return trace, find_cells(name, trace.steps, trace.inputs)
        raise


def equal_steps(trace: Trace) -> dict[str, str]:
    """Return the names of all steps that change nothing here, with the step that each equals.

    >>> from attncli import Problem, compute
    >>> equal_steps(compute(Problem(X=[[1, 0]], score="dot")))["concat"]
    'output'
    """
    return {name: known for name, known, _ in _equal_steps(trace)}


def _equal_steps(trace: Trace) -> Iterator[tuple[str, str, bool]]:
    """Yield a name that is left out, the step that it equals, and whether it comes before that."""
    for name, known, is_before in dict.fromkeys(_equal_values(trace)):
        yield name, known, is_before
        if f"d_{known}" in trace:  # the backward pass has them in the other order
            yield f"d_{name}", f"d_{known}", not is_before


def _equal_values(trace: Trace) -> Iterator[tuple[str, str, bool]]:
    for scores in [step for step in trace if step.stem == "scores"]:
        problem, suffix = trace.around(scores).problem, scores.suffix
        kind = KINDS[problem.kind]
        layer = prefix_of(scores.layer)
        before = f"{layer}{kind.adjusts}{suffix}"
        for name in (f"{layer}{one}{suffix}" for one in ADJUSTED):
            if name in trace:
                before = name
            else:
                yield name, before, False
        is_normalized = problem.normalize["name"] != "none"
        weights = f"{layer}weights{suffix}"
        if weights not in trace and not is_normalized and kind.result:
            yield weights, before, False
        last = f"{layer}{kind.last}"
        if kind.last and last in trace:
            context, concat = f"{layer}context", f"{layer}concat"
            if context not in trace:
                yield context, last, True
            if concat not in trace and "heads" in kind.keys:
                # With one head and W_o it is the context; else it is the last step.
                is_projected = context in trace and problem.heads == 1
                yield concat, context if is_projected else last, not is_projected

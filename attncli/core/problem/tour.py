"""A tour of a calculation: the cells that a lecture shows one after another, each with a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attncli.core.errors import Fault, InputError, KeyPath, collected, fail, refuse
from attncli.core.numbers import forms
from attncli.core.numbers.forms import Form
from attncli.core.numbers.written import dotted
from attncli.core.records import Record

if TYPE_CHECKING:
    from attncli.core.tape.cell_names import Cells
    from attncli.core.tape.find_cells import Steps

EXAMPLE_STOP = "{step: weights, cell: [its, cat], text: …}"

STOP = forms.mapping(
    {"step": forms.TEXT, "cell": forms.LABELS, "text": forms.TEXT},
    EXAMPLE_STOP,
    needs=("step", "text"),
)


class Stop(Record):
    """One stop of a tour.

    Attributes:
        step: the name of a step or of an input, also of one head: `weights[head 2]`.
        text: what is said there.
        cell: the places of a cell, or the place of a row; () for the whole step.
    """

    step: str
    text: str
    cell: tuple[str, ...] = ()

    def cells(self, steps: Steps, inputs: Steps, path: KeyPath = ()) -> Cells:
        """Return the cells that are shown.

        Raises:
            InputError: for a step or a cell that the calculation does not have.
        """
        from attncli.core.tape.find_cells import find_cells  # few problems have a tour

        part, name = "step", self.step
        try:
            cells = find_cells(name, steps, inputs)
            part, name = "cell", f"{name}[{', '.join(self.cell)}]"
            return find_cells(name, steps, inputs) if self.cell else cells
        except InputError as error:
            faults = (Fault(one.message, (*path, part), one.hint) for one in error.faults)
            raise InputError(*faults) from None


def check_tour(tour: Sequence[Stop], steps: Steps, inputs: Steps) -> None:
    """Raise an InputError for the stops whose step or cell the calculation does not have."""
    faults = list[Fault]()
    for number, stop in enumerate(tour):
        with collected(faults):
            stop.cells(steps, inputs, ("tour", number))
    refuse(faults)


def _read(raw: object, path: KeyPath) -> tuple[Stop, ...]:
    if not isinstance(raw, list | tuple):
        hint = f"write such as [{EXAMPLE_STOP}]"
        raise fail(f"{dotted(path)} must be a list of stops", *path, hint=hint)
    faults, stops = list[Fault](), list[Stop]()
    for number, stop in enumerate(raw):
        with collected(faults):
            is_read = isinstance(stop, Stop)
            stops.append(stop if is_read else Stop(**STOP.read(stop, (*path, number))))
    refuse(faults)
    return tuple(stops)


STOPS = Form(
    _read,
    ({"type": "array", "items": STOP.schema()},),
    types=("tuple[Stop, ...]", f"Sequence[{forms.SOME_KEYS}] | None"),
)

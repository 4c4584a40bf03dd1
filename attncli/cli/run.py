"""A run over any number of problems: each is read, calculated and reported on as it comes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeAlias

from attncli.cli.progress import counted, tell
from attncli.cli.shared import complain, standard_input, wait_for, warn
from attncli.errors import InputError, fail
from attncli.text.escapes import visible

if TYPE_CHECKING:
    from attncli.files.load import Overrides
    from attncli.mechanisms.trace import Trace
    from attncli.problem.problem import Problem

Found: TypeAlias = "Problem | InputError"


class Run:
    """Problems of some sources, one after the other; errors are printed as they come.

    Args:
        sources: the files, "-" for standard input; without any, flags are the only problem.
        overrides: keys that flags set in each problem.
        keep_going: whether the run goes on after an error.
        quiet: whether warnings are left out.

    Attributes:
        single: whether there may be one problem only, as in an npz file.
        failed: whether there was an error.
    """

    def __init__(
        self,
        sources: Sequence[str],
        overrides: Overrides,
        keep_going: bool = False,
        quiet: bool = False,
    ) -> None:
        self.sources = sources
        self.overrides = overrides
        self.keep_going = keep_going
        self.quiet = quiet
        self.single = False
        self.failed = False
        self._is_alone = not sources
        self._source = ""
        self._number = 0  # of the problem in its source

    def problems(self) -> Iterator[Problem]:
        """Yield the problems that can be read; the others leave gaps in `number`."""
        for number, found in enumerate(counted(self._found(), "problems"), 1):
            if not isinstance(found, InputError):
                yield found if self._is_alone else found.numbered(number)
            elif self._is_over(found):
                return

    def traces(
        self,
        only: tuple[str, ...] = (),
        alone: bool = False,
        foresee: Callable[[Problem], None] | None = None,
        accept: Callable[[Trace], object] | None = None,
    ) -> Iterator[Trace]:
        """Yield the calculations of the problems; of all steps, or as far as `only` needs them.

        With `alone`, large steps that those of `only` are made from are not kept. `foresee` is
        called with each problem before it is calculated, and `accept` with each calculation; both
        may raise an InputError.
        """
        from attncli.mechanisms.compute import compute as calculate

        for problem in self.problems():
            try:
                if foresee is not None:
                    foresee(problem)
                trace = calculate(problem, only or None, alone=alone)
                if accept is not None:
                    accept(trace)
            except InputError as error:
                if self._is_over(error, problem.title):
                    return
                continue
            yield trace
            if not self.quiet:
                warn(trace.warnings, "" if self._is_alone else self._name(problem.title))

    def _found(self) -> Iterator[Found]:
        from attncli.files.load import from_flags, load_each

        if not self.sources:
            self._number = 1
            yield from_flags(self.overrides)
        for source in self.sources:
            self._source, self._number = source, 0
            if source == "-":
                wait_for("a problem")
            try:
                problems = load_each(source, self.overrides, standard_input())
                for found in self._counted_up_to_two(problems):
                    self._number += 1
                    yield found
            except InputError as error:
                yield error

    def _counted_up_to_two(self, problems: Iterator[Found]) -> Iterable[Found]:
        """Return the same problems, and find out whether there is only one.

        A file is read up to its second problem before the first is calculated. A pipe may bring
        its second problem much later, so the first does not wait for it.
        """
        first: list[Found] = []
        if len(self.sources) == 1 and (self.single or self._is_whole()):
            try:
                first.extend(islice(problems, 2))
            except InputError as error:
                first.append(error)
            self._is_alone = len(first) < 2
        if self.single and not self._is_alone:
            hint = "use json, yaml or csv; or a file for each, as in -o '{number}.npz'"
            raise fail("an npz file holds one problem", hint=hint)
        return chain(first, problems)

    def _is_whole(self) -> bool:
        if self._source == "-":
            file = standard_input()
            return file is not None and file.seekable()
        return os.path.isfile(self._source)  # noqa: PTH113 – it raises nothing

    def _is_over(self, error: InputError, title: str = "") -> bool:
        """Print an error, with the problem's name; return whether it ends the run."""
        complain(error)
        if self._number > 1:
            name = f", {visible(title)}" if title else ""
            tell(f"  in problem {self._number}{name}")
        self.failed = True
        return not self.keep_going

    def _name(self, title: str) -> str:
        is_counted = self._number > 1 or len(self.sources) < 2
        return title or (f"problem {self._number}" if is_counted else self._source)

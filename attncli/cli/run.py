"""A run over problems of any number: each is read, calculated and told of as it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from attncli.cli.progress import counted, tell
from attncli.cli.shared import complain, standard_input, wait_for, warn
from attncli.errors import InputError
from attncli.text.escapes import visible

if TYPE_CHECKING:
    from attncli.files.load import Overrides
    from attncli.mechanisms.trace import Trace
    from attncli.problem.problem import Problem


class Run:
    """Problems of any number, one after the other; what is wrong is told as it comes.

    Args:
        sources: the files, "-" for standard input; with none, there is one problem, of flags.
        overrides: what flags set in each problem.
        keep_going: whether the others are calculated where one cannot be.
        quiet: whether warnings are left out.

    Attributes:
        failed: whether something could not be read or calculated.
    """

    def __init__(
        self,
        sources: Sequence[str],
        overrides: Overrides | None = None,
        keep_going: bool = False,
        quiet: bool = False,
    ) -> None:
        self.sources = sources
        self.overrides = overrides
        self.keep_going = keep_going
        self.quiet = quiet
        self.failed = False
        self._source = ""
        self._number = 0  # of the problem in its source
        self._first: Trace | None = None  # whose warnings wait, as it may be the only one

    def problems(self) -> Iterator[Problem]:
        """Yield the problems that can be read, as they come; the others leave gaps in `number`."""
        for number, found in enumerate(counted(self._found(), "problems"), 1):
            self._warn_of_first()
            if not isinstance(found, InputError):
                yield found.numbered(number)
            elif self._ends(found):
                return

    def traces(
        self,
        only: tuple[str, ...] = (),
        alone: bool = False,
        foresee: Callable[[int], None] | None = None,
        accept: Callable[[Trace], object] | None = None,
    ) -> Iterator[Trace]:
        """Yield the calculations of the problems; of all steps, or as far as `only` needs them.

        With `alone`, large steps that those of `only` are made from are not kept; `foresee` is
        called before many numbers are calculated, and may raise an error; so may `accept`, which
        is called with each calculation.
        """
        from attncli.mechanisms.compute import compute as calculate

        for problem in self.problems():
            try:
                trace = calculate(problem, only or None, alone=alone, foresee=foresee)
                if accept is not None:
                    accept(trace)
            except InputError as error:
                if self._ends(error, problem.title):
                    return
                continue
            if self._number == 1 and len(self.sources) < 2:
                self._first = trace
            else:
                self._warn_of(trace, self._name(trace.problem.title))
            yield trace
        if self._first is not None:
            self._warn_of(self._first)

    def _found(self) -> Iterator[Problem | InputError]:
        from attncli.files.load import Overrides, from_flags, load_each

        overrides = self.overrides or Overrides()
        if not self.sources:
            self._number = 1
            yield from_flags(overrides)
        for source in self.sources:
            self._source, self._number = source, 0
            if source == "-":
                wait_for("a problem")
            try:
                for found in load_each(source, overrides, standard_input()):
                    self._number += 1
                    yield found
            except InputError as error:
                yield error

    def _ends(self, error: InputError, title: str = "") -> bool:
        """Tell an error, with the problem's name; return whether it ends the run."""
        complain(error)
        if self._number > 1:
            named = f", {visible(title)}" if title else ""
            tell(f"  in problem {self._number}{named}")
        self.failed = True
        return not self.keep_going

    def _name(self, title: str) -> str:
        """Return what a problem is called among several."""
        return title or (f"problem {self._number}" if self._number > 1 else self._source)

    def _warn_of_first(self) -> None:
        if self._first is not None:
            self._warn_of(self._first, self._first.problem.title or "problem 1")
            self._first = None

    def _warn_of(self, trace: Trace, name: str = "") -> None:
        if not self.quiet:
            warn(trace.warnings, name)

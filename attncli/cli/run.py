"""A run over problems of any number: each is read, calculated and told of as it comes."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from attncli.cli.progress import counted, tell
from attncli.cli.shared import complain, standard_input, wait_for, warn
from attncli.errors import InputError, fail
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
        single: whether there must be one problem at most, as an npz file holds no more.
        failed: whether something could not be read or calculated.
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
        """Yield the problems that can be read, as they come; the others leave gaps in `number`."""
        for number, found in enumerate(counted(self._found(), "problems"), 1):
            if not isinstance(found, InputError):
                yield found if self._is_alone else found.numbered(number)
            elif self._ends(found):
                return

    def traces(
        self,
        only: tuple[str, ...] = (),
        alone: bool = False,
        foresee: Callable[[Problem], None] | None = None,
        accept: Callable[[Trace], object] | None = None,
    ) -> Iterator[Trace]:
        """Yield the calculations of the problems; of all steps, or as far as `only` needs them.

        With `alone`, large steps that those of `only` are made from are not kept; `foresee` is
        called with each problem before it is calculated, and may raise an error; so may `accept`,
        which is called with each calculation.
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
                if self._ends(error, problem.title):
                    return
                continue
            yield trace
            if not self.quiet:
                warn(trace.warnings, "" if self._is_alone else self._name(problem.title))

    def _found(self) -> Iterator[Problem | InputError]:
        from attncli.files.load import from_flags

        if not self.sources:
            self._number = 1
            yield from_flags(self.overrides)
        for source in self.sources:
            self._source, self._number = source, 0
            if source == "-":
                wait_for("a problem")
            try:
                for found in self._of(source):
                    self._number += 1
                    yield found
            except InputError as error:
                yield error

    def _of(self, source: str) -> Iterator[Problem | InputError]:
        """Yield the problems of a source, and find out whether there is only one.

        A file is asked for its second problem before the first is calculated. A pipe may bring
        others later, for which the first does not wait.
        """
        from attncli.files.load import load_each

        file = standard_input()
        is_whole = os.path.isfile(source)  # noqa: PTH113 – it raises nothing
        if source == "-":
            is_whole = file is not None and file.seekable()
        problems = load_each(source, self.overrides, file)
        begun: deque[Problem | InputError] = deque()
        if len(self.sources) == 1 and (is_whole or self.single):
            try:
                begun.extend(islice(problems, 2))
            except InputError as error:
                begun.append(error)
            self._is_alone = len(begun) < 2
        if self.single and not self._is_alone:
            hint = "use json, yaml or csv; or a file for each, as in -o '{number}.npz'"
            raise fail("an npz file holds one problem", hint=hint)
        while begun:
            yield begun.popleft()
        yield from problems

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
        is_counted = self._number > 1 or len(self.sources) < 2
        return title or (f"problem {self._number}" if is_counted else self._source)

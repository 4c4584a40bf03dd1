"""A run over the problems of some files: each is read, calculated, and told from the others."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import typer

from attncli.cli.options import standard_input, wait_for
from attncli.cli.output import BAD_INPUT, complain, counted, tell, warn
from attncli.core.errors import InputError, fail
from attncli.core.text.strings import visible

if TYPE_CHECKING:
    from attncli.core.calculation.trace import Trace
    from attncli.core.problem.problem import Forms, Problem
    from attncli.core.tape.tape import TakeRows
    from attncli.reading.load import Overrides
    from attncli.reading.portions import Portion

ReadProblem: TypeAlias = "Problem | InputError"

Result = TypeVar("Result")


MAX_WARNED = 1000
"""Maximum number of different warnings that are noted before they are printed. Chosen."""


class Run:
    """The problems of some files, one after the other; errors are printed when they occur.

    Without files, the flags are the only problem; with `quiet`, there are no warnings.
    """

    def __init__(
        self,
        sources: Sequence[str],
        overrides: Overrides,
        keep_going: bool = False,
        quiet: bool = False,
        portions: Sequence[Portion] = (),
        is_part: bool = False,
    ) -> None:
        self.sources = sources
        self.overrides = overrides
        self.keep_going = keep_going
        self.quiet = quiet
        self.single = False  # whether there may be one problem only, as in an npz file
        self.is_one_file = False  # whether all goes to one file, which an error leaves as it is
        self.portions = portions  # of the files, that are read instead
        self.is_part = is_part  # whether those are a part of a larger run
        self.count = portions[0].before if portions else 0  # of the problems that were read
        self.failed = False  # whether there was an error
        self.warned: dict[str, tuple[str, int]] = {}  # by warning its first problem, and how many
        self._is_paused = False  # whether the next problem may be late
        self._is_alone = not sources
        self._source = ""
        self.number = 0  # of the problem in its source
        self._places = deque[tuple[str, int, str]]()  # source, number, title of what was read

    def problems(self) -> Iterator[Problem]:
        """Yield the problems that can be read; the others leave gaps in `number`."""
        return self.each(lambda problem: problem)

    def each(self, work: Callable[[Problem], Result]) -> Iterator[Result]:
        """Yield what some work makes of each problem; it may raise an InputError."""
        for problem in self._read():
            if problem is None:
                continue
            self._source, self.number, title = self._places.popleft()
            try:
                if isinstance(problem, InputError):
                    raise problem
                result = work(problem)
            except InputError as error:
                if self._is_over(error, title):
                    return
            else:
                yield result

    def traces(
        self,
        only: tuple[str, ...] = (),
        alone: bool = False,
        foresee: Callable[[Problem], object] | None = None,
        accept: Callable[[Trace], object] | None = None,
        take_rows: TakeRows | None = None,
    ) -> Iterator[Trace]:
        """Yield the calculations of the problems; of all steps, or as far as `only` needs them.

        With `alone`, no other large steps are kept. `foresee` gets each problem before it is
        calculated by itself, and `accept` each calculation; both may raise an InputError.
        `take_rows` may get the weights of a problem without others; see `compute`.
        """
        from attncli.core.calculation.compute import compute as calculate
        from attncli.core.calculation.compute_together import compute_each

        def of_one(problem: Problem) -> Trace:
            if foresee is not None:
                foresee(problem)
            is_one_step = self._is_alone and not (problem.columns or problem.layers)
            take = take_rows if is_one_step else None
            return calculate(problem, only or None, alone=alone, take_rows=take)

        for trace in compute_each(self._read(), only or None, alone, of_one):
            self._source, self.number, title = self._places.popleft()
            try:
                if isinstance(trace, InputError):
                    raise trace
                if accept is not None:
                    accept(trace)
            except InputError as error:
                if self._is_over(error, title):
                    break
                continue
            yield trace
            is_counted = self.number > 1 or len(self.sources) < 2
            name = f"problem {self.number}" if is_counted else self._source
            name = "" if self._is_alone else trace.problem.title or name
            for warning in () if self.quiet else trace.warnings:
                self.add_warning(warning, name, 1)
            if self._is_paused or len(self.warned) > MAX_WARNED:
                self._tell_if_all_done()
        self.tell_warnings()

    def add_warning(self, warning: str, name: str, count: int) -> None:
        """Note a warning of some problems; `name` is that of the first."""
        first, before = self.warned.get(warning, (name, 0))
        self.warned[warning] = first, before + count

    def _tell_if_all_done(self) -> None:
        if not self._places:
            self.tell_warnings()

    def tell_warnings(self) -> None:
        """Print each warning that was noted once: with its problem, or the number of problems.

        That is at the end, or where a pipe holds no more for now. A part of a run keeps its own.
        """
        if not self.is_part:
            for warning, (name, count) in self.warned.items():
                warn([warning], f"{count} problems" if count > 1 else name)
            self.warned.clear()

    def _read(self) -> Iterator[ReadProblem | None]:
        """Yield the problems, also such as cannot be read; None where the next may be late."""
        problems = self._of_sources()
        first: list[ReadProblem | None] = []
        is_only = len(self.sources) == 1 and not self.is_part
        if is_only and (self.single or _is_whole(self.sources[0])):
            # A pipe may bring its second problem much later, so the first does not wait for it.
            first.extend(islice(filter(None, problems), 2))
            self._is_alone = len(first) < 2
        if self.single and not self._is_alone:
            hint = "use json, yaml or csv; or a file for each, as in -o '{number}.npz'"
            raise fail("an npz file holds one problem", hint=hint)
        for problem in counted(chain(first, problems), "problems"):
            self.count += problem is not None
            self._is_paused = problem is None and not _is_whole(self._source or "-")
            if self._is_paused:
                self._tell_if_all_done()
            if problem is None or isinstance(problem, InputError) or self._is_alone:
                yield problem
            else:
                yield problem.numbered(self.count)

    def _of_sources(self) -> Iterator[ReadProblem | None]:
        from attncli.reading.load import csv_options, from_flags, load_stream
        from attncli.reading.portions import Portion

        if not self.sources:
            self._places.append(("", 1, ""))
            yield from_flags(self.overrides)
        forms: Forms = {}
        options = csv_options()
        for at, one in enumerate(self.portions or map(Portion, self.sources)):
            if not (at and one.number):  # it is the first of its file
                number = one.number
                if not _is_whole(one.source):
                    yield None
                if one.source == "-" and one.content is None:
                    wait_for("a problem")
            try:
                documents = one.read(standard_input(), options, self.overrides.only_shapes)
                for problem in load_stream(documents, self.overrides, forms):
                    if problem is not None:
                        number += 1
                        self._places.append((one.source, number, getattr(problem, "title", "")))
                    yield problem
            except InputError as error:
                self._places.append((one.source, number, ""))
                yield error

    def _is_over(self, error: InputError, title: str = "") -> bool:
        """Print an error, with the problem's name; return whether it ends the run."""
        complain(error)
        if self.number > 1:
            name = f", {visible(title)}" if title else ""
            tell(f"  in problem {self.number}{name}")
        self.failed = True
        if self.is_one_file and not self.keep_going:
            raise typer.Exit(BAD_INPUT)
        return not self.keep_going


def _is_whole(source: str) -> bool:
    from attncli.reading import files

    if source == "-":
        file = standard_input()
        return file is not None and file.seekable()
    return files.is_file(source)

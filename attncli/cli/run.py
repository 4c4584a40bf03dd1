"""What commands do first, and a run over any number of problems, each reported on as it comes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

import typer

from attncli.cli.output import BAD_INPUT, complain, counted, tell, warn
from attncli.core.arithmetic.memory import of_bytes, room_within_limit
from attncli.core.errors import InputError, fail, located
from attncli.core.text.escapes import visible
from attncli.reading import file_access

if TYPE_CHECKING:
    from attncli.core.mechanisms.trace import Trace
    from attncli.core.problem.problem import Problem
    from attncli.core.tape.tape import TakeRows
    from attncli.printing.selection import Selection
    from attncli.reading.load import Overrides

Found: TypeAlias = "Problem | InputError"

LARGE_FILES = 2**20
"""Size of the input, in bytes, from which on NumPy may start threads."""

NUMPY_BYTES = 120_000_000
"""Address space that NumPy reserves when it is imported, most of it for OpenBLAS."""

MARKING_OPTIONS = (
    *("ask", "points", "decimals_asked", "tolerance", "follow", "few_digits"),
    *("dtype", "rtol"),
)

LARGE_TEXT = 100e6
"""Size in bytes from which text that was not asked for by name or file is warned of."""

MAX_KEPT = 2**25
"""Maximum number of numbers, 256 MiB, that are calculated where only the terminal shows them."""

CHARACTERS = 23
"""Length of a number with every digit in a file, with what separates it from the next."""

PLACE_CHARACTERS = 35
"""Length of the columns that name the place of a number in tidy data."""


def prepare(sources: Sequence[str], *written: str | None) -> None:
    """Note which files will be read, and prepare for NumPy, which is imported later.

    Without room for it, it would end the process; its threads only cost time in small problems.
    """
    if "" in (*sources, *written):
        raise fail("the name of a file is empty", hint="write its name, or leave it out")
    if (room := room_within_limit()) < NUMPY_BYTES:
        message = f"{of_bytes(max(room, 0))} of memory are left, and NumPy takes more"
        raise fail(message, hint="raise the limit, such as by ulimit -v 1000000")
    file_access.begin_run("/dev/stdin" if name == "-" else name for name in sources)
    try:
        size = sum(Path(name).stat().st_size for name in sources if name != "-")
    except OSError:  # the reader of the file will say what is wrong with it
        size = 0
    if size < LARGE_FILES:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def marking_options(ctx: typer.Context) -> dict[str, str]:
    """Return the given options that are keys: of `marking`, as `--decimals-asked`, and `names`."""
    values = {name.removesuffix("_asked"): ctx.params.get(name) for name in MARKING_OPTIONS}
    given = ((key, value) for key, value in values.items() if value not in (None, (), []))
    found = {f"marking.{k}": v if isinstance(v, str) else ",".join(v) for k, v in given}
    return found | ({"names": names} if (names := ctx.params.get("names")) else {})


def matrix_flags(matrices: Sequence[str], such_as: str) -> dict[str, str]:
    """Return the files of NAME=FILE flags by name."""
    from attncli.core.problem.key_values import key_of

    pairs: dict[str, str] = {}
    for text in matrices:
        name, sign, file = text.partition("=")
        if not (name and sign and file):
            raise fail(f"-m {visible(text)} is not of the form NAME=FILE", hint=f"-m {such_as}")
        if file == "-":
            message = f"-m {visible(text)}: a matrix is read from a file, not from standard input"
            raise fail(message, hint=f"-m {such_as}")
        key = key_of(name.strip())
        if key in pairs:
            raise fail(f"-m gives {visible(key)} twice", hint="leave one of them out")
        pairs[key] = file
    return pairs


def listed(texts: Sequence[str] | None) -> tuple[str, ...]:
    words = (word.strip() for text in texts or () for word in text.split(","))
    return tuple(filter(None, words))


def standard_input() -> BinaryIO | None:
    """Return what `-` reads; None if standard input is closed."""
    return sys.stdin.buffer if sys.stdin is not None else None


def wait_for(what: str) -> None:
    """Say what to type, if standard input is a terminal."""
    if sys.stdin is not None and sys.stdin.isatty():
        tell(f"type or paste {what}, as YAML, JSON or CSV; end with Ctrl-D on a line of its own")


class Run:
    """Problems of some files, one after the other; errors are printed as they come.

    Without files, the flags are the only problem; with `quiet`, there are no warnings.
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
        self.single = False  # whether there may be one problem only, as in an npz file
        self.is_one_file = False  # whether all goes to one file, which an error leaves as it is
        self.failed = False  # whether there was an error
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
        take_rows: TakeRows | None = None,
    ) -> Iterator[Trace]:
        """Yield the calculations of the problems; of all steps, or as far as `only` needs them.

        With `alone`, no other large steps are kept. `foresee` gets each problem before it is
        calculated, and `accept` each calculation; both may raise an InputError. `take_rows` may
        get the weights of a problem without others; see `compute`.
        """
        from attncli.core.mechanisms.compute import compute as calculate

        for problem in self.problems():
            try:
                if foresee is not None:
                    foresee(problem)
                is_one_step = self._is_alone and not (problem.columns or problem.layers)
                take = take_rows if is_one_step else None
                trace = calculate(problem, only or None, alone=alone, take_rows=take)
                if accept is not None:
                    accept(trace)
            except InputError as error:
                if self._is_over(error, problem.title):
                    return
                continue
            yield trace
            if not self.quiet:
                is_counted = self._number > 1 or len(self.sources) < 2
                name = f"problem {self._number}" if is_counted else self._source
                warn(trace.warnings, "" if self._is_alone else problem.title or name)

    def _found(self) -> Iterator[Found]:
        from attncli.reading.load import from_flags, load_each

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

        A pipe may bring its second problem much later, so the first does not wait for it.
        """
        first: list[Found] = []
        if len(self.sources) == 1 and (self.single or _is_whole(self._source)):
            try:
                first.extend(islice(problems, 2))
            except InputError as error:
                first.append(error)
            self._is_alone = len(first) < 2
        if self.single and not self._is_alone:
            hint = "use json, yaml or csv; or a file for each, as in -o '{number}.npz'"
            raise fail("an npz file holds one problem", hint=hint)
        return chain(first, problems)

    def _is_over(self, error: InputError, title: str = "") -> bool:
        """Print an error, with the problem's name; return whether it ends the run."""
        complain(error)
        if self._number > 1:
            name = f", {visible(title)}" if title else ""
            tell(f"  in problem {self._number}{name}")
        self.failed = True
        if self.is_one_file and not self.keep_going:
            raise typer.Exit(BAD_INPUT)
        return not self.keep_going


def _is_whole(source: str) -> bool:
    from attncli.reading import archives

    if source == "-":
        file = standard_input()
        return file is not None and file.seekable()
    return archives.is_file(source)


def warn_of_size(problem: Problem, format_: str, selection: Selection) -> None:
    """Warn if all steps of a problem are much text; refuse more numbers than are kept."""
    characters = CHARACTERS if selection.decimals is None else selection.decimals + 4
    characters += PLACE_CHARACTERS if format_ == "tidy" else 0
    count = numbers_of_steps(problem)
    if count * characters <= LARGE_TEXT:
        return
    message = f"all steps are about {of_bytes(count * characters)} of {format_}"
    hint = f"--only STEP writes some of them; -o FILE.npz holds all in {of_bytes(count * 8)}"
    if count > MAX_KEPT:
        message += ", more than is calculated unasked"
        with located(problem.source):
            raise fail(message, hint=f"{hint}; -o FILE writes them all the same")
    tell(f"warning: {message}; {hint}")


def numbers_of_steps(problem: Problem) -> int:
    """Return about how many numbers the steps up to the weights have."""
    from attncli.core.attention.weights import steps_of_scores

    sizes = problem.sizes
    n, m, batch = (sizes.size(letter) or 1 for letter in ("n", "m", "batch"))
    widths = ("heads*d_q", "kv_heads*d_k", "kv_heads*d_v", "hidden")
    q, k, v, hidden = (sizes.size(letter) or 0 for letter in widths)
    of_each_pair = steps_of_scores(problem.rules) + hidden
    return batch * (n * q + m * (k + v) + problem.heads * n * problem.keys * of_each_pair)

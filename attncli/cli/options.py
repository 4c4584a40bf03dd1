"""What commands share: options, preparations, and a run over any number of problems.

Modules of commands have no postponed annotations: typer would evaluate each of them at every start.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, wraps
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Literal, TypeAlias

import typer
from typer import Option
from typer.core import TyperOption

from attncli.cli.output import BAD_INPUT, complain, counted, tell, warn
from attncli.core.arithmetic.memory import of_bytes, room_within_limit
from attncli.core.errors import InputError, fail
from attncli.core.text.strings import visible

if TYPE_CHECKING:
    from attncli.core.jobs import Pool
    from attncli.core.mechanisms.trace import Trace
    from attncli.core.problem.problem import Problem
    from attncli.core.tape.tape import TakeRows
    from attncli.reading.load import Overrides
    from attncli.reading.read import Portion


Color: TypeAlias = Literal["auto", "always", "never"]
Theme: TypeAlias = Literal["auto", "dark", "light"]


def _named(out: str | None) -> str | None:
    return None if out == "-" else out


# Each of these makes options of one group of a help page.
marking = partial(Option, rich_help_panel="Marking")
variants = partial(Option, rich_help_panel="Variants")
blanks = partial(Option, rich_help_panel="Blanks")
content = partial(Option, rich_help_panel="Content")
output = partial(Option, rich_help_panel="Output")

# Each command has its help for these options.
decimals = partial(content, "--decimals", "-d", metavar="N", min=0, max=17)
quiet = partial(content, "--quiet", "-q")
format_ = partial(output, "--format", "-f", metavar="FORMAT")
out = partial(output, "--out", "-o", metavar="FILE", callback=_named)
matrix = partial(Option, "--matrix", "-m", metavar="NAME=FILE")

WordList: TypeAlias = list[str] | None
"""The value of an option that may be repeated; each time adds to it."""

INPUTS_HELP = "YAML, JSON, CSV or NPZ files; - is standard input."
OUT_HELP = """Write to a file; its suffix tells the format; missing folders are made. FOLDER/, or a
pattern as in pages/{}: a file for each {}."""

Out = Annotated[str | None, out(help=OUT_HELP.format("{number}-{title}.html", "problem"))]
KeepGoing = Annotated[
    bool, output("--keep-going", help="Go on where a problem is wrong; exit status 2.")
]
Standalone = Annotated[bool, output("--standalone", help="A complete LaTeX document.")]
ColorOption = Annotated[Color, output("--color", help="When to colour.")]
ThemeOption = Annotated[Theme, output("--theme", help="The terminal's background.")]
NoPager = Annotated[bool, output("--no-pager", help="Print long output at once.")]
Decimals = Annotated[int | None, decimals(help="Digits after the point.")]
Full = Annotated[bool, content("--full", help="Show large matrices whole.")]
Why = Annotated[bool, content("--why", help="Say in a sentence why each step is done.")]
AllowOutside = Annotated[
    bool, Option("--allow-outside", help="Files may name matrix files outside their own folder.")
]


JOBS_HELP = "How many processes share the work; 0 is one for each processor."
CLUSTER_HELP = "The scheduler of a cluster of dask.distributed that does the work."
Jobs = Annotated[int, Option("--jobs", metavar="N", min=0, help=JOBS_HELP)]
Cluster = Annotated[str | None, Option("--cluster", metavar="ADDRESS", help=CLUSTER_HELP)]


def pool_of(jobs: int, cluster: str | None) -> Pool | None:
    """Return the processes of this machine, or of a cluster, that share the work, if any do."""
    if jobs == 1 and cluster is None:
        return None
    from attncli.core import jobs as pools

    if cluster is None:
        return pools.Processes(jobs)
    if jobs != 1:
        raise fail("--jobs and --cluster exclude each other", hint="leave out --jobs")
    return pools.cluster(cluster)


MARKING_OPTIONS: Mapping[str, tuple[str, str]] = {
    "ask": ("STEP[,STEP]", "The steps, or cells, that count; by default all."),
    "points": ("'STEP: N, …'", "Points of each right step, or cell."),
    "decimals_asked": ("N", "Digits that answers must have; fewer are wrong."),
    "tolerance": ("X", "How far a right number may be off."),
    "follow": ("X", "Share of the points for numbers that follow from an earlier error."),
    "few_digits": ("X", "Share of the points for numbers with too few digits."),
    "dtype": ("TYPE", "The floats of arrays from a program: float64, float32, float16, bfloat16."),
    "rtol": ("X", "How far such an array may be off, relative to its step's largest number."),
}
"""The options that set parts of the key `marking`: how a value is written, and the help."""

Command: TypeAlias = Callable[..., None]


TextsByKey = Annotated[Mapping[str, str], Option(parser=str)]
"""The parameter of a command that `main.build` replaces by flags, one for each key."""


def key_flags(*only: str) -> Callable[[Command], Command]:
    """Return a decorator that replaces the parameter `keys` of a command by flags.

    There is one flag for each of `only`, or of all keys that have flags. The command gets a mapping
    of keys to the texts of their flags.
    """
    from attncli.core.problem.keys import KEYS

    flags: dict[str, TyperOption] = {}
    for key in only or KEYS:
        if names := KEYS[key].flags_of(key):
            flags[key] = _flag(key, *names, help=KEYS[key].help)
    return partial(_with_flags, "keys", flags)


def marking_flags(**helps: str) -> Callable[[Command], Command]:
    """Return a decorator that replaces the parameter `asked` of a command by `MARKING_OPTIONS`.

    With `helps` there are only those options, with another help. The command gets a mapping of keys
    such as `marking.ask` to the texts of their options.
    """
    flags: dict[str, TyperOption] = {}
    for name in helps or MARKING_OPTIONS:
        metavar, help_ = MARKING_OPTIONS[name]
        settings = {"metavar": metavar, "rich_help_panel": "Marking", "multiple": name == "ask"}
        option = f"--{name.replace('_', '-')}"
        key = f"marking.{name.removesuffix('_asked')}"
        flags[key] = _flag(name, option, help=helps.get(name, help_), **settings)
    return partial(_with_flags, "asked", flags)


def _flag(*names: str, **settings: Any) -> TyperOption:
    """Return an option that takes a text; by way of a signature it would take twice the time."""
    return TyperOption(param_decls=[*names], show_default=True, **settings)


def _with_flags(parameter: str, flags: Mapping[str, TyperOption], command: Command) -> Command:
    """Return a command whose parameter is a mapping, with an option for each of its keys."""

    @wraps(command)
    def with_flags(**arguments: Any) -> None:
        values = {key: arguments.pop(flag.name or key) for key, flag in flags.items()}
        chosen = {key: value for key, value in values.items() if value not in (None, [], ())}
        texts = {key: x if isinstance(x, str) else ",".join(x) for key, x in chosen.items()}
        command(**arguments | {parameter: texts})

    with_flags.__dict__["flags"] = {parameter: [*flags.values()]}
    return with_flags


LARGE_FILES = 2**20
"""Minimum size of the input, in bytes, for which NumPy may start threads."""

NUMPY_BYTES = 120_000_000
"""Address space that NumPy reserves when it is imported, most of it for OpenBLAS."""


def prepare(sources: Sequence[str], *written: str | None, jobs: int = 1) -> None:
    """Note which files will be read, and prepare for the import of NumPy.

    If memory is short, NumPy would end the process; in small problems its threads only cost time.
    """
    from attncli.reading import files

    if "" in (*sources, *written):
        raise fail("the name of a file is empty", hint="write its name, or leave it out")
    if (room := room_within_limit()) < NUMPY_BYTES:
        message = f"{of_bytes(max(room, 0))} of memory are left, and NumPy takes more"
        raise fail(message, hint="raise the limit, such as by ulimit -v 1000000")
    files.begin_run("/dev/stdin" if name == "-" else name for name in sources)
    try:
        size = sum(Path(name).stat().st_size for name in sources if name != "-")
    except OSError:  # the reader of the file will say what is wrong with it
        size = 0
    if size < LARGE_FILES or jobs != 1:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def matrix_flags(texts: WordList, such_as: str) -> list[tuple[str, str]]:
    """Return the name and the file of each NAME=FILE flag."""
    pairs = []
    for text in texts or ():
        name, sign, file = text.partition("=")
        if not (name and sign and file):
            raise fail(f"-m {visible(text)} is not of the form NAME=FILE", hint=f"-m {such_as}")
        if file == "-":
            message = f"-m {visible(text)}: a matrix is read from a file, not from standard input"
            raise fail(message, hint=f"-m {such_as}")
        pairs.append((name.strip(), file))
    return pairs


def files_by_key(matrices: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the files of `matrix_flags` by the keys that the names mean.

    It imports NumPy, so `prepare` comes before it.
    """
    from attncli.core.problem.key_values import key_of

    files: dict[str, str] = {}
    for name, file in matrices:
        key = key_of(name)
        if key in files:
            raise fail(f"-m gives {visible(key)} twice", hint="leave one of them out")
        files[key] = file
    return files


def listed(texts: Sequence[str] | None) -> tuple[str, ...]:
    words = (word.strip() for text in texts or () for word in text.split(","))
    return tuple(filter(None, words))


def standard_input() -> BinaryIO | None:
    """Return what `-` reads; None if standard input is closed."""
    return sys.stdin.buffer if sys.stdin is not None else None


def wait_for(what: str) -> None:
    """Tell the user what to type, if standard input is a terminal."""
    if sys.stdin is not None and sys.stdin.isatty():
        tell(f"type or paste {what}, as YAML, JSON or CSV; end with Ctrl-D on a line of its own")


ReadProblem: TypeAlias = "Problem | InputError"


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
    ) -> None:
        self.sources = sources
        self.overrides = overrides
        self.keep_going = keep_going
        self.quiet = quiet
        self.single = False  # whether there may be one problem only, as in an npz file
        self.is_one_file = False  # whether all goes to one file, which an error leaves as it is
        self.portions: Sequence[Portion] | None = None  # of the files, that are read instead
        self.is_part = False  # whether those are a part of a larger run
        self.count = 0  # of the problems that were read
        self.failed = False  # whether there was an error
        self._is_alone = not sources
        self._source = ""
        self._number = 0  # of the problem in its source
        self._places = deque[tuple[str, int, str]]()  # source, number, title of what was read

    def problems(self) -> Iterator[Problem]:
        """Yield the problems that can be read; the others leave gaps in `number`."""
        for problem in self._read():
            if problem is not None:
                self._source, self._number, _ = self._places.popleft()
                if not isinstance(problem, InputError):
                    yield problem
                elif self._is_over(problem):
                    return

    @property
    def number(self) -> int:
        """The number of the last problem in its file."""
        return self._number

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
        calculated by itself, and `accept` each calculation; both may raise an InputError.
        `take_rows` may get the weights of a problem without others; see `compute`.
        """
        from attncli.core.mechanisms.compute import compute as calculate
        from attncli.core.mechanisms.together import compute_each

        def of_one(problem: Problem) -> Trace:
            if foresee is not None:
                foresee(problem)
            is_one_step = self._is_alone and not (problem.columns or problem.layers)
            take = take_rows if is_one_step else None
            return calculate(problem, only or None, alone=alone, take_rows=take)

        for trace in compute_each(self._read(), only or None, alone, of_one):
            self._source, self._number, title = self._places.popleft()
            try:
                if isinstance(trace, InputError):
                    raise trace
                if accept is not None:
                    accept(trace)
            except InputError as error:
                if self._is_over(error, title):
                    return
                continue
            yield trace
            if not self.quiet:
                is_counted = self._number > 1 or len(self.sources) < 2
                name = f"problem {self._number}" if is_counted else self._source
                warn(trace.warnings, "" if self._is_alone else trace.problem.title or name)

    def _read(self) -> Iterator[ReadProblem | None]:
        """Return the problems, also such as cannot be read; None where the next may be late."""
        return counted(self._of_sources(), "problems")

    def _of_sources(self) -> Iterator[ReadProblem | None]:
        from attncli.core.problem.alike import Forms
        from attncli.reading.load import csv_options, from_flags, load_stream
        from attncli.reading.read import Portion

        if not self.sources:
            self._places.append(("", 1, ""))
            yield from_flags(self.overrides)
        forms = Forms()
        options = csv_options()
        before = self.portions[0].before if self.portions else 0
        for portions in _by_file(self.portions or map(Portion, self.sources)):
            source, number = portions[0].source, portions[0].number
            if not (is_whole := _is_whole(source)):
                yield None
            if source == "-" and portions[0].text is None:
                wait_for("a problem")
            try:
                read = (one.read(standard_input(), options) for one in portions)
                stream = load_stream(chain.from_iterable(read), self.overrides, forms)
                for problem in self._counted_up_to_two(stream, is_whole):
                    if problem is None:
                        yield None
                        continue
                    number, self.count = number + 1, self.count + 1
                    self._places.append((source, number, getattr(problem, "title", "")))
                    if isinstance(problem, InputError) or self._is_alone:
                        yield problem
                    else:
                        yield problem.numbered(before + self.count)
            except InputError as error:
                self.count += 1
                self._places.append((source, number, ""))
                yield error

    def _counted_up_to_two(
        self, problems: Iterator[ReadProblem | None], is_whole: bool
    ) -> Iterable[ReadProblem | None]:
        """Return the same problems, and find out whether there is only one.

        A pipe may bring its second problem much later, so the first does not wait for it.
        """
        first: list[ReadProblem | None] = []
        if len(self.sources) == 1 and not self.is_part and (self.single or is_whole):
            try:
                first.extend(islice(filter(None, problems), 2))
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


def _by_file(portions: Iterable[Portion]) -> list[list[Portion]]:
    """Return portions, those of a file together."""
    files: list[list[Portion]] = []
    for one in portions:
        if one.number and files:
            files[-1].append(one)
        else:
            files.append([one])
    return files


def _is_whole(source: str) -> bool:
    from attncli.reading import files

    if source == "-":
        file = standard_input()
        return file is not None and file.seekable()
    return files.is_file(source)

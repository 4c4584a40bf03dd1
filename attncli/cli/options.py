"""What commands share: options, and what they do before their work.

Modules of commands have no postponed annotations: typer would evaluate each of them at every start.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Literal, TypeAlias

from typer import Option

from attncli.cli.output import refuse_input, tell
from attncli.core.arithmetic.machine import of_bytes, room_within_limit
from attncli.core.errors import fail
from attncli.core.text.strings import visible

if TYPE_CHECKING:
    from attncli.core.jobs import Pool


Color: TypeAlias = Literal["auto", "always", "never"]
Theme: TypeAlias = Literal["auto", "dark", "light"]


def _without_notes(quiet: bool) -> bool:
    if quiet:
        warnings.simplefilter("ignore", UnicodeWarning)  # which is the filter `SILENT`
    return quiet


def _named(out: str | None) -> str | None:
    return None if out == "-" else out


# Each of these makes options of one group of a help page.
marking = partial(Option, rich_help_panel="Marking")
variants = partial(Option, rich_help_panel="Variants")
blanks = partial(Option, rich_help_panel="Blanks")
content = partial(Option, rich_help_panel="Content")
output = partial(Option, rich_help_panel="Output")
more = partial(Option, rich_help_panel="More")

# Each command has its help for these options.
decimals = partial(content, "--decimals", "-d", metavar="N", min=0, max=17)
quiet = partial(content, "--quiet", "-q", callback=_without_notes)
format_ = partial(output, "--format", "-f", metavar="FORMAT")
out = partial(output, "--out", "-o", metavar="FILE", callback=_named)
matrix = partial(Option, "--matrix", "-m", metavar="NAME=FILE")

WordList: TypeAlias = list[str] | None
"""The value of an option that may be repeated; each time adds to it."""

SET_HELP = """Set any key, such as --set round=2, --set gradient=sum; attn compute --help-all
lists them."""
Settings = Annotated[WordList, Option("--set", metavar="KEY=VALUE", help=SET_HELP)]

INPUTS_HELP = "YAML, JSON, CSV, XLSX or NPZ files; - is standard input."
OUT_HELP = """Write to this file; its suffix tells the format. FOLDER/, or a pattern such as
pages/{}: a file for each {}."""

Out = Annotated[str | None, out(help=OUT_HELP.format("{number}-{title}.html", "problem"))]
KeepGoing = Annotated[
    bool, more("--keep-going", help="Go on where a problem is wrong; exit status 2.")
]
Standalone = Annotated[bool, more("--standalone", help="A complete LaTeX document.")]
ColorOption = Annotated[Color, more("--color", help="When to colour.")]
ThemeOption = Annotated[Theme, more("--theme", help="The terminal's background.")]
NoPager = Annotated[bool, more("--no-pager", help="Print long output at once.")]
Decimals = Annotated[int | None, decimals(help="Digits after the point.")]
Full = Annotated[bool, content("--full", help="Show large matrices whole.")]
Why = Annotated[bool, content("--why", help="Say in a sentence why each step is done.")]
AllowOutside = Annotated[
    bool, more("--allow-outside", help="Files may name matrix files outside their own folder.")
]


JOBS_HELP = "How many processes share the work; 0 is one for each processor."
CLUSTER_HELP = "The scheduler of a cluster of dask.distributed that does the work."
Jobs = Annotated[int, more("--jobs", metavar="N", min=0, help=JOBS_HELP)]
Cluster = Annotated[str | None, more("--cluster", metavar="ADDRESS", help=CLUSTER_HELP)]


def pool_of(jobs: int, cluster: str | None) -> Pool | None:
    """Return the processes of this machine, or of a cluster, that share the work, if any do."""
    if jobs == 1 and cluster is None:
        return None
    from attncli.core import jobs as pools

    if cluster is None:
        return pools.Processes(jobs)
    if jobs != 1:
        raise fail("--jobs and --cluster exclude each other", hint="leave out --jobs")
    return pools.Cluster(cluster)


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

MAIN_MARKING = ("ask", "points", "decimals_asked")
"""The options of `MARKING_OPTIONS` that the short help page shows."""

Command: TypeAlias = Callable[..., None]

Flags: TypeAlias = Mapping[str, Parameter]
"""The parameter of a command, with a flag of typer, for each key that it sets."""

TextsByKey: TypeAlias = Mapping[str, str]
"""The parameter of a command for which `with_flags` puts flags."""


def key_flags(*shown: str) -> Callable[[Command], Command]:
    """Return a decorator that gives a command a flag for each key, in place of `keys`.

    Those of the `shown` keys are on the short help page.
    """

    def flags() -> Flags:
        from attncli.core.problem.keys import KEYS

        made: dict[str, Parameter] = {}
        for key in dict.fromkeys((*shown, *KEYS)):
            if names := KEYS[key].flags_of(key):
                panel = None if key in shown else "Keys of the problem"
                made[key] = _flag(key, *names, help=KEYS[key].help, rich_help_panel=panel)
        return made

    return partial(_note_flags, "keys", flags)


def marking_flags(**helps: str) -> Callable[[Command], Command]:
    """Return a decorator that gives a command `MARKING_OPTIONS`, in place of `asked`.

    With `helps` there are only those options, with another help. Their keys are such as
    `marking.ask`.
    """

    def flags() -> Flags:
        made: dict[str, Parameter] = {}
        for name in helps or MARKING_OPTIONS:
            metavar, help_ = MARKING_OPTIONS[name]
            panel = "Marking" if name in MAIN_MARKING else "More"
            settings: dict[str, Any] = {
                "metavar": metavar,
                "rich_help_panel": panel,
                "multiple": name == "ask",
            }
            option = f"--{name.replace('_', '-')}"
            key = f"marking.{name.removesuffix('_asked')}"
            made[key] = _flag(name, option, help=helps.get(name, help_), **settings)
        return made

    return partial(_note_flags, "asked", flags)


def _note_flags(parameter: str, flags: Callable[[], Flags], command: Command) -> Command:
    command.__dict__["flags"] = parameter, flags
    return command


def _flag(name: str, *names: str, multiple: bool = False, **settings: Any) -> Parameter:
    form = WordList if multiple else str | None
    option = Option(None, *names, **settings)  # in `Annotated` it would take twice the time
    return Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation=form, default=option)


def with_flags(command: Command, are_used: bool) -> Command:
    """Return a command with its flags of keys, which set a mapping of keys to texts.

    Unless they are used, it has none: typer takes a millisecond to make those of all keys.
    """
    mapping, flags = command.__dict__["flags"]
    by_key: Flags = flags() if are_used else {}

    def called(**arguments: Any) -> None:
        texts = {}
        for key, flag in by_key.items():
            value = arguments.pop(flag.name)
            if value is not None:
                texts[key] = value if isinstance(value, str) else ",".join(value)
        command(**arguments, **{mapping: texts})

    parameters: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        parameters += by_key.values() if parameter.name == mapping else [parameter]
    called.__dict__["__signature__"] = Signature(parameters)  # which typer reads
    return called


LARGE_FILES = 2**20
"""Minimum size of the input, in bytes, for which NumPy may start threads."""

NUMPY_BYTES = 160_000_000
"""Address space that the program takes before a calculation, and at most for one more thread of
OpenBLAS, which ends the process where it has less. Measured: NumPy takes 90 MB, a product 35 MB."""


def prepare(sources: Sequence[str], *written: str | None, jobs: int = 1) -> None:
    """Note which files will be read, refuse to write them, and prepare for the import of NumPy."""
    from attncli.reading import files

    if "" in (*sources, *written):
        raise fail("the name of a file is empty", hint="write its name, or leave it out")
    files.begin_run("/dev/stdin" if name == "-" else name for name in sources)
    for path in map(Path, filter(None, written)):
        if path.is_file():  # which a terminal, read and written, is not
            refuse_input(path)
    try:
        size = sum(Path(name).stat().st_size for name in sources if name != "-")
    except OSError:  # the reader of the file will say what is wrong with it
        size = 0
    prepare_numpy(size if jobs == 1 else 0)


def prepare_numpy(size: int = 0) -> None:
    """Refuse less memory than NumPy needs; let it start threads only for files of a large size."""
    if (room := room_within_limit()) < NUMPY_BYTES:
        message = f"{of_bytes(max(room, 0))} of memory are left, and attn takes more"
        raise fail(message, hint="raise the limit, such as by ulimit -v 1000000")
    if size < LARGE_FILES or room < NUMPY_BYTES * (os.cpu_count() or 1):
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _pairs(flag: str, texts: WordList, form: str, such_as: str) -> Iterator[tuple[str, str]]:
    for text in texts or ():
        name, sign, value = text.partition("=")
        if not (name and sign and value):
            raise fail(
                f"{flag} {visible(text)} is not of the form {form}", hint=f"{flag} {such_as}"
            )
        yield name.strip(), value


def matrix_flags(texts: WordList, such_as: str) -> list[tuple[str, str]]:
    """Return the name and the file of each NAME=FILE flag."""
    pairs = [*_pairs("-m", texts, "NAME=FILE", such_as)]
    for name, file in pairs:
        if file == "-":
            message = f"-m {visible(name)}=-: a matrix is read from a file, not from standard input"
            raise fail(message, hint=f"-m {such_as}")
    return pairs


def by_key(pairs: Iterable[tuple[str, str]], known: Collection[str] = ()) -> dict[str, str]:
    """Return values by the keys that their names mean; refuse a `known` key, and one twice.

    It imports NumPy, so `prepare` comes before it.
    """
    from attncli.core.problem.key_values import key_of

    values: dict[str, str] = {}
    for name, value in pairs:
        key = key_of(name)
        if key in values or key in known:
            raise fail(f"{visible(key)} is set twice", hint="leave one of them out")
        values[key] = value
    return values


def with_settings(
    keys: Mapping[str, str], settings: WordList, others: Collection[str] = ()
) -> dict[str, str]:
    """Return the texts of flags, and those of `--set`, by key; `others` are set otherwise."""
    from attncli.core.numbers.other_words import import_named
    from attncli.core.problem.key_values import hint_for
    from attncli.core.problem.keys import KEYS

    texts = by_key(_pairs("--set", settings, "KEY=VALUE", "mask=causal"), {*keys, *others})
    if not KEYS.keys() >= texts.keys():
        import_named()  # an installed package may have the key
    for key in texts:
        if key not in KEYS:
            raise fail(f"--set: unknown key {visible(key)}", hint=hint_for(key))
    return {**keys, **{key: text.strip() for key, text in texts.items()}}


def listed(texts: Sequence[str] | None) -> tuple[str, ...]:
    words = (word.strip() for text in texts or () for word in text.split(","))
    return tuple(filter(None, words))


def step_names(only: WordList) -> tuple[str, ...]:
    """Return the names of steps that `--only` has."""
    from attncli.core.problem.key_values import with_key

    # The commas of a formula such as `masked = scaled, −∞ where mask = 0` do not separate names.
    names = [x for one in only or () for x in ([one] if "=" in one else listed([one]))]
    if only is not None and not names:
        raise fail("--only names no step", hint="write such as --only weights, or leave it out")
    return tuple(map(with_key, names))


def standard_input() -> BinaryIO | None:
    """Return what `-` reads; None if standard input is closed."""
    return sys.stdin.buffer if sys.stdin is not None else None


def wait_for(what: str) -> None:
    """Tell the user what to type, if standard input is a terminal."""
    if sys.stdin is not None and sys.stdin.isatty():
        tell(f"type or paste {what}, as YAML, JSON or CSV; end with Ctrl-D on a line of its own")

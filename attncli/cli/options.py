"""What commands share: options, and what they do before their work.

Modules of commands have no postponed annotations: typer would evaluate each of them at every start.
"""

import os
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, TypeAlias

from typer import Option

from attncli.cli.output import refuse_input, tell
from attncli.core.arithmetic.machine import of_bytes, room_within_limit
from attncli.core.errors import fail
from attncli.core.records import EMPTY, Record
from attncli.core.text.strings import visible

if TYPE_CHECKING:
    from attncli.core.jobs import Pool
    from attncli.reading.load import Overrides


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

INPUTS_HELP = "YAML, JSON, CSV, XLSX or NPZ files; - is standard input."
OUT_HELP = """Write to this file; its suffix tells the format. FOLDER/, or a pattern such as
pages/{}: a file for each {}."""

Out = Annotated[str | None, out(help=OUT_HELP.format("{number}-{title}.html", "problem"))]
KeepGoing = Annotated[
    bool, more("--keep-going", help="Go on where a problem is wrong; exit status 2.")
]
Standalone = Annotated[bool, more("--standalone", help="A complete LaTeX document.")]
Only = Annotated[WordList, content(metavar="STEP[,STEP]", help="Only these steps.")]
Decimals = Annotated[int | None, decimals(help="Digits after the point.")]
Full = Annotated[bool, content("--full", help="Show large matrices whole.")]
Why = Annotated[bool, content("--why", help="Say in a sentence why each step is done.")]

# Groups of flags

Command: TypeAlias = Callable[..., None]

Flags: TypeAlias = Mapping[str, Parameter]
"""Parameters of a command, each with a flag of typer, by the names under which a group has them."""


class FlagGroup:
    """Flags that together are one argument of a command, each of more than one letter.

    Args:
        value: the function that makes the argument of the values of its flags, or a record.
        flags: what returns the flags; by default, they are the parameters or fields of `value`.
    """

    def __init__(self, value: Callable[..., Any], flags: Callable[[], Flags] | None = None) -> None:
        self.value = value
        self.flags = flags or partial(_flags_of, value)


def _flags_of(value: Callable[..., Any]) -> Flags:
    if not isinstance(value, type):
        return signature(value).parameters
    fields = ((n, kind, getattr(value, n)) for n, kind in value.__annotations__.items())
    return {name: _parameter(name, kind, default) for name, kind, default in fields}


def _parameter(name: str, kind: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation=kind, default=default)


def with_flags(command: Command, words: Sequence[str]) -> Command:
    """Return a command in which each group is replaced by those of its flags that are used.

    A help page has all; typer takes a millisecond to make those of all keys.
    """
    used = {word.partition("=")[0] for word in words if word[:1] == "-"}
    has_all = any("h" in word for word in used if word[:2] != "--" or word[2:6] == "help")
    has_some = has_all or any(word[:2] == "--" for word in used)
    groups: dict[str, tuple[FlagGroup, Flags]] = {}
    parameters: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        notes = getattr(parameter.annotation, "__metadata__", ())
        group = next((note for note in notes if isinstance(note, FlagGroup)), None)
        if group is None:
            parameters.append(parameter)
        else:
            flags = group.flags() if has_some else {}
            flags = {key: x for key, x in flags.items() if has_all or used & {*_names_of(x)}}
            groups[name] = group, flags
            parameters += groups[name][1].values()

    def called(**arguments: Any) -> None:
        for name, (group, flags) in groups.items():
            values = {key: arguments.pop(flag.name) for key, flag in flags.items()}
            arguments[name] = group.value(**values)
        command(**arguments)

    by_name = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in parameters]
    called.__dict__["__signature__"] = Signature(by_name)  # which typer reads
    return called


def _names_of(flag: Parameter) -> Sequence[str]:
    option = next(iter(getattr(flag.annotation, "__metadata__", ())), flag.default)
    names = option.default, *option.param_decls  # the first one, in `Annotated`, is its default
    written = [name for name in names if str(name).startswith("-")]
    return written or [f"--{flag.name.replace('_', '-')}"]


JOBS_HELP = "How many processes share the work; 0 is one for each processor."
CLUSTER_HELP = "The scheduler of a cluster of dask.distributed that does the work."


class Workers(Record):
    """Who shares the work: how many processes of this machine, or the cluster of an address."""

    jobs: Annotated[int, more("--jobs", metavar="N", min=0, help=JOBS_HELP)] = 1
    cluster: Annotated[str | None, more("--cluster", metavar="ADDRESS", help=CLUSTER_HELP)] = None

    def pool(self) -> "Pool | None":
        """Return the processes that share the work, if any do."""
        if self.jobs == 1 and self.cluster is None:
            return None
        from attncli.core import jobs as pools

        if self.cluster is None:
            return pools.Processes(self.jobs)
        if self.jobs != 1:
            raise fail("--jobs and --cluster exclude each other", hint="leave out --jobs")
        return pools.Cluster(self.cluster)


class Settings(Record):
    """What sets keys of a problem, and whether a file may name files outside its own folder."""

    set_: WordList
    allow_outside: bool
    keys: "TextsByKey"

    def overrides(
        self, others: Mapping[str, str] = EMPTY, files: Mapping[str, str] = EMPTY
    ) -> "Overrides":
        """Return what the command line sets, with the texts and files of other flags, by key."""
        from attncli.reading.load import Overrides

        keys = with_settings({**self.keys, **others}, self.set_, files)
        return Overrides(keys, files, self.allow_outside)


SET_HELP = """Set any key, such as --set round=2, --set gradient=sum; attn compute --help-all
lists them."""
SetFlag = Annotated[WordList, Option("--set", metavar="KEY=VALUE", help=SET_HELP)]
OUTSIDE_HELP = "Files may name matrix files outside their own folder."


def _settings(
    set_: SetFlag = None,
    allow_outside: Annotated[bool, more("--allow-outside", help=OUTSIDE_HELP)] = False,
    **keys: str | None,
) -> Settings:
    return Settings(set_, allow_outside, _texts(**keys))


WorkerFlags = Annotated[Workers, FlagGroup(Workers)]

TextsByKey: TypeAlias = Mapping[str, str]
"""What flags of keys set: texts, by key."""


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


def key_flags(*shown: str) -> FlagGroup:
    """Return a flag for each key; those of the `shown` keys are on the short help page."""

    def flags() -> Flags:
        from attncli.core.problem.keys import KEYS

        made: dict[str, Parameter] = {}
        for key in dict.fromkeys((*shown, *KEYS)):
            if names := KEYS[key].flags_of(key):
                panel = None if key in shown else "Keys of the problem"
                made[key] = _flag(key, *names, help=KEYS[key].help, rich_help_panel=panel)
        return made

    return FlagGroup(_texts, flags)


def setting_flags(*shown: str) -> FlagGroup:
    """Return `--set`, `--allow-outside` and `key_flags`."""

    def flags() -> Flags:
        set_, allow_outside, _ = signature(_settings).parameters.values()
        own = {one.name: one for one in (set_, allow_outside)}
        return own | {**key_flags(*shown).flags()}

    return FlagGroup(_settings, flags)


SettingFlags = Annotated[Settings, setting_flags()]


def marking_flags(**helps: str) -> FlagGroup:
    """Return `MARKING_OPTIONS`, whose keys are such as `marking.ask`.

    With `helps` there are only those options, with another help.
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

    return FlagGroup(_texts, flags)


def _texts(**values: str | list[str] | None) -> TextsByKey:
    used = {key: value for key, value in values.items() if value is not None}
    return {key: text if isinstance(text, str) else ",".join(text) for key, text in used.items()}


def _flag(name: str, *names: str, multiple: bool = False, **settings: Any) -> Parameter:
    form = WordList if multiple else str | None
    option = Option(None, *names, **settings)  # in `Annotated` it would take twice the time
    return _parameter(name, form, option)


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

"""`attn completion`: completion for shells.

The scripts in `shells/` call the command again with the line up to the cursor. The answer is a line
`files`, or a line `words` and one line for each word: for bash the part of it that replaces what
was typed, for the others the word, a tab, and its meaning.
"""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer
from typer import Option

from attncli.cli.options import LARGE_FILES, prepare, with_settings
from attncli.cli.output import print_lines, write_bytes
from attncli.core.errors import InputError

if TYPE_CHECKING:
    from attncli.core.calculation.trace import Trace
    from attncli.formats import FormatKind

Shell: TypeAlias = Literal["bash", "zsh", "fish"]

Candidates: TypeAlias = Mapping[str, str]
"""Words that may be typed, each with its meaning, or an empty text."""

FILE_PARAMETERS = {
    *("inputs", "input_", "problem", "answers", "roster", "manifest"),
    *("file", "out", "map_", "feedback"),
}
"""The names of parameters whose values are files or folders."""

STEP_PARAMETERS = {"only", "ask", "blank", "give"}
"""The names of options whose values are lists of steps."""

KIND_OF_OUTPUT: Mapping[str, "FormatKind"] = {
    "compute": "traces",
    "check": "reports",
    "count": "counts",
    "explain": "explanations",
    "worksheet": "worksheets",
    "assign": "worksheets",
}
"""What each command with formats writes."""

MAXIMUM_CELLS = 100
"""Maximum number of cells of a step that completion offers. Chosen: longer lists are no help."""

CURSOR = "\0"
"""Marks the end of the line, where the word that is being typed may still be empty."""


def completion(
    ctx: typer.Context,
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
    line: Annotated[str | None, Option(hidden=True)] = None,
    word: Annotated[str, Option(hidden=True)] = "",
) -> None:
    if line is None:
        from importlib.resources import files

        script = files("attncli.cli") / "shells" / f"completion.{shell}"
        write_bytes([script.read_bytes()], None)
        return
    prepare([])
    words, last, quote = split(line)
    try:
        matches = candidates(words, last, ctx.find_root())
    except (InputError, OSError):  # a problem that cannot be read has no steps
        matches = {}
    if matches is None:
        print_lines(["files"])
        return
    matches = {text: meaning for text, meaning in matches.items() if text.isprintable()}
    if shell == "bash":
        # bash replaces `word` only, the end of the word after a sign such as "=".
        kept = len(last) - len(split(quote + word)[1])
        shown = [text[kept:] for text in matches]
    else:
        shown = [f"{text}\t{matches[text]}".rstrip("\t") for text in matches]
    print_lines(["words", *shown])


def split(text: str) -> tuple[list[str], str, str]:
    r"""Return the complete words of a line, the last one, and the quotation mark open in that.

    >>> split(r"attn explain my\ hw.yaml 'scores[am, ")
    (['attn', 'explain', 'my hw.yaml'], 'scores[am, ', "'")
    """
    for quote in ("", "'", '"'):
        with suppress(ValueError):  # another quotation mark is open
            *words, last = shlex.split(text + CURSOR + quote)
            break
    return words, last.removesuffix(CURSOR), quote


def candidates(words: list[str], last: str, root: Any) -> Candidates | None:
    """Return the whole words that may be at the cursor; None if it is the name of a file."""
    group, prefix = root.command, ""
    name = next((word for word in words[1:] if not word.startswith("-")), None)
    if name is None:
        return _named(group.shell_complete(root, last))
    command = group.get_command(root, name)
    if command is None:
        return {}
    words = words[words.index(name) + 1 :]
    if last.startswith("-") and "=" in last:
        option, _, last = last.partition("=")
        prefix = f"{option}="
        words.append(option)
    options = [p for p in command.params if p.param_type_name == "option" and not p.is_flag]
    parameter = next((p for p in options if words and words[-1] in p.opts), None)
    if parameter is not None:
        words.pop()  # click would refuse an option without a value
    # click reads what is complete; it ignores whatever is wrong with it.
    settings = {"resilient_parsing": True, "ignore_unknown_options": True}
    context = command.make_context(name, words, parent=root, allow_extra_args=True, **settings)
    if parameter is None and last.startswith("-"):
        return _named(command.shell_complete(context, last))
    parameter = parameter or _next_argument(context)
    if parameter is None:
        return {}
    values = values_of(parameter.name, last, context)
    if values is None:
        return None
    values = values or _named(parameter.shell_complete(context, last))
    return {prefix + word: values[word] for word in values if word.startswith(last)}


def _named(items: Any) -> Candidates:
    return {item.value: " ".join((item.help or "").split()) for item in items}


def _next_argument(context: Any) -> Any:
    arguments = (p for p in context.command.params if p.param_type_name == "argument")
    return next((p for p in arguments if p.nargs < 0 or context.params.get(p.name) is None), None)


def values_of(parameter: str, last: str, context: Any) -> Candidates | None:
    """Return the values of a parameter, empty if it takes any text; None if it is a file."""
    command = str(context.info_name)
    if parameter in STEP_PARAMETERS or parameter == "rows":
        before = last[: last.rfind(",") + 1]
        words: dict[str, str] = {}
        for trace in _traces(context):
            labels = dict.fromkeys(trace.labels.get("query", ()), "")
            names = {step.name: step.formula for step in trace}
            words |= labels if parameter == "rows" else names
        return {before + name: words[name] for name in words if name not in before.split(",")}
    if parameter == "cells":
        return {cell: text for trace in _traces(context) for cell, text in _cells(trace, last)}
    if parameter in FILE_PARAMETERS or (parameter == "matrix" and "=" in last):
        return None
    if parameter == "format_":
        from attncli.formats import formats_of

        if command == "vary":
            return {"table": "for a terminal", "json": "for programs"}
        return {name: row.meaning for name, row in formats_of(KIND_OF_OUTPUT[command]).items()}
    if parameter == "name":
        from attncli.reading.files import sample_files, title

        return {name: title(path) for name, path in sample_files().items()}
    if parameter == "set_":
        from attncli.core.problem.keys import KEYS

        key, sign, _ = last.partition("=")
        if not sign:
            return {f"{name}=": row.about for name, row in KEYS.items()}
        return {f"{key}={word}": meaning for word, meaning in _of_keys(command, key).items()}
    return _of_keys(command, parameter.rstrip("_"))


def _cells(trace: "Trace", last: str) -> Iterator[tuple[str, str]]:
    """Yield the steps, and the cells of the step whose name is typed."""
    from attncli.core.tape.cell_names import cell_name

    typed = last.partition("[")[0]
    for step in trace:
        yield step.name, step.formula
        if step.name == typed and step.value.size <= MAXIMUM_CELLS:
            import numpy as np

            yield from ((cell_name(step, place), "") for place in np.ndindex(step.value.shape))


def _of_keys(command: str, key: str) -> Candidates:
    """Return the words that a key of a problem may be, or the keys that are matrices."""
    from attncli.core.attention.masks import MASKS
    from attncli.core.numbers.forms import TRUTH, ArrayForm
    from attncli.core.problem.keys import KEYS

    if key == "matrix":
        rows = KEYS.items()
        return {f"{name}=": row.about for name, row in rows if isinstance(row.form, ArrayForm)}
    if key not in KEYS:
        return {}
    if key == "mask" and command == "new":
        return {name: row.summary for name, row in MASKS.items()}
    form = KEYS[key].form
    return dict.fromkeys(["true", "false"] if form is TRUTH else form.words(), "")


def _traces(context: Any) -> Iterator["Trace"]:
    """Yield the calculations of the problems on the line, with the options on the line."""
    from attncli.core.calculation.compute import compute
    from attncli.core.problem.keys import KEYS
    from attncli.reading.load import Overrides, load_each

    values = context.params
    names = values.get("inputs") or [values.get("input_") or values.get("problem")]
    flags = {key: text for key, text in values.items() if key in KEYS and isinstance(text, str)}
    options = with_settings(flags, values.get("set_"))
    for path in (Path(name).expanduser() for name in names if name not in (None, "-")):
        if path.is_file() and path.stat().st_size < LARGE_FILES:
            for problem in load_each(str(path), Overrides(options)):
                if not isinstance(problem, InputError):
                    yield compute(problem)

"""What completion offers at the end of an unfinished command line."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from attncli.cli.shared import LARGE_FILES
from attncli.records import Record

if TYPE_CHECKING:
    from attncli.mechanisms.trace import Trace
    from attncli.rendering.formats import Kind

Candidates: TypeAlias = Mapping[str, str]
"""Words that may be typed, each with its meaning, or an empty text."""

FILE_PARAMETERS = {
    *("inputs", "input_", "problem", "answers", "roster", "file", "out", "map_", "feedback")
}
"""The names of parameters whose values are files or folders."""

STEP_PARAMETERS = {"only", "ask", "blank", "give"}
"""The names of options whose values are lists of steps."""

KIND_OF_OUTPUT: Mapping[str, Kind] = {
    "compute": "traces",
    "check": "reports",
    "explain": "explanations",
    "worksheet": "worksheets",
}
"""What each command with formats writes."""

MAXIMUM_CELLS = 100
"""Cells of larger steps are not offered: nobody reads a longer list."""

CURSOR = "\0"
"""Marks the end of the line, where the word that is being typed may still be empty."""


class Line(Record):
    """A command line up to the cursor, split as a shell does.

    Attributes:
        words: the complete words.
        last: the word that is being typed, without quotation marks.
        quote: the quotation mark that is open at the cursor, or an empty text.
    """

    words: tuple[str, ...]
    last: str
    quote: str


def split(text: str) -> Line:
    r"""Return the words of a line.

    >>> split(r"attn explain my\ hw.yaml 'scores[am, ")
    Line(words=('attn', 'explain', 'my hw.yaml'), last='scores[am, ', quote="'")
    """
    for quote in ("", "'"):
        with suppress(ValueError):  # another quotation mark is open
            return _closed(text, quote)
    return _closed(text, '"')


def _closed(text: str, quote: str) -> Line:
    words = shlex.split(text + CURSOR + quote)
    return Line(tuple(words[:-1]), words[-1].removesuffix(CURSOR), quote)


def candidates(line: Line, root: Any) -> Candidates | None:
    """Return the whole words that may stand at the cursor; None if it is the name of a file.

    Args:
        line: the line up to the cursor.
        root: the click context of `attn` itself.

    Raises:
        InputError: if the steps of a problem are wanted that cannot be read.
    """
    group = root.command
    name = next((word for word in line.words[1:] if not word.startswith("-")), None)
    if name is None:
        return _named(group.shell_complete(root, line.last))
    command = group.get_command(root, name)
    if command is None:
        return {}
    words = list(line.words[line.words.index(name) + 1 :])
    prefix, last = "", line.last
    if last.startswith("-") and "=" in last:
        option, _, last = last.partition("=")
        prefix, words = f"{option}=", [*words, option]
    options = (p for p in command.params if words and words[-1] in p.opts and not p.is_flag)
    parameter = next(options, None)
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
    found = _values(parameter.name, last, context)
    if found is None:
        return None
    found = found or dict.fromkeys(getattr(parameter.type, "choices", ()), "")
    return {prefix + word: found[word] for word in found if word.startswith(last)}


def _named(items: Any) -> Candidates:
    return {item.value: " ".join((item.help or "").split()) for item in items}


def _next_argument(context: Any) -> Any:
    """Return the first argument that can take another value, or None."""
    arguments = (p for p in context.command.params if p.param_type_name == "argument")
    return next((p for p in arguments if p.nargs < 0 or context.params.get(p.name) is None), None)


def _values(parameter: str, last: str, context: Any) -> Candidates | None:
    """Return the values of a parameter, empty if it takes any text; None if it is a file."""
    command = str(context.info_name)
    if parameter in STEP_PARAMETERS:
        before = last[: last.rfind(",") + 1]
        found = {step.name: step.formula for trace in _traces(context) for step in trace}
        return {before + name: found[name] for name in found if name not in before.split(",")}
    if parameter == "rows":
        before = last[: last.rfind(",") + 1]
        labels = (trace.labels.get("query", ()) for trace in _traces(context))
        return {before + label: "" for some in labels for label in some}
    if parameter == "cells":
        return {cell: text for trace in _traces(context) for cell, text in _cells(trace, last)}
    if parameter == "matrix":
        return None if "=" in last else _matrices()
    if parameter == "format_":
        return _formats(command)
    if parameter == "name":
        from attncli.files.sample_files import sample_files, title

        return {name: title(path) for name, path in sample_files().items()}
    return None if parameter in FILE_PARAMETERS else _choices(command, parameter.rstrip("_"))


def _cells(trace: Trace, last: str) -> Iterator[tuple[str, str]]:
    """Yield the steps, and the cells of the step whose name is typed."""
    from attncli.tape.cells import cell_name

    typed = last.partition("[")[0]
    for step in trace:
        yield step.name, step.formula
        if step.name == typed and step.value.size <= MAXIMUM_CELLS:
            import numpy as np

            yield from ((cell_name(step, place), "") for place in np.ndindex(step.value.shape))


def _formats(command: str) -> Candidates:
    from attncli.rendering.formats import formats_of

    if command == "vary":
        return {"table": "for a terminal", "json": "for programs"}
    return {name: row.meaning for name, row in formats_of(KIND_OF_OUTPUT[command]).items()}


def _matrices() -> Candidates:
    from attncli.forms.form import ArrayForm
    from attncli.problem.keys import KEYS

    rows = KEYS.items()
    return {f"{key}=": row.meaning for key, row in rows if isinstance(row.form, ArrayForm)}


def _choices(command: str, key: str) -> Candidates:
    """Return the words that a key of a problem may be."""
    from attncli.attention.masks import MASKS
    from attncli.forms.form import TRUTH
    from attncli.problem.keys import KEYS

    if key not in KEYS:
        return {}
    if key == "mask" and command == "new":
        return {name: row.summary for name, row in MASKS.items()}
    form = KEYS[key].form
    return dict.fromkeys(["true", "false"] if form is TRUTH else form.words(), "")


def _traces(context: Any) -> Iterator[Trace]:
    """Yield the calculations of the problems on the line, with the options on the line.

    Raises:
        InputError: if a problem cannot be read or calculated.
    """
    from attncli.errors import InputError
    from attncli.files.load import Overrides, load_each
    from attncli.mechanisms.compute import compute
    from attncli.problem.keys import KEYS

    values = context.params
    names = values.get("inputs") or [values.get("input_") or values.get("problem")]
    options = {key: text for key, text in values.items() if key in KEYS and isinstance(text, str)}
    for path in (Path(name).expanduser() for name in names if name not in (None, "-")):
        if path.is_file() and path.stat().st_size < LARGE_FILES:
            for problem in load_each(str(path), Overrides(options)):
                if not isinstance(problem, InputError):
                    yield compute(problem)

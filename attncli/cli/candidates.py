"""What may stand where somebody is writing a command, for completion."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import typer

from attncli.cli.shared import LARGE_FILES
from attncli.records import Record

if TYPE_CHECKING:
    from attncli.mechanisms.trace import Trace
    from attncli.rendering.formats import Kind

Words: TypeAlias = Mapping[str, str]
"""Words, each with what it means, or nothing."""

FILES = {"inputs", "input_", "problem", "answers", "roster", "file", "out", "map_", "feedback"}
"""The names of parameters that are files."""

STEPS = {"only", "ask", "blank", "give"}
"""The names of options that list steps."""

WRITERS: Mapping[str, Kind] = {
    "compute": "traces",
    "check": "reports",
    "explain": "explanations",
    "worksheet": "worksheets",
}
"""What each command with formats writes."""

MOST_CELLS = 100
"""Of a step with more cells, none is a candidate."""

PLAIN = re.compile(r"[\w./:=,+%@^-]*", re.ASCII)
"""What means itself in a shell."""


class Written(Record):
    """The words of a command before the cursor, read as a shell reads them.

    Attributes:
        words: those that are complete.
        last: the one that is being written, without its quotation marks.
        quote: the quotation mark that is open at the cursor, or nothing.
    """

    words: tuple[str, ...]
    last: str
    quote: str


def words_of(line: str) -> Written:
    r"""Return the words of a line.

    >>> words_of(r"attn explain my\ hw.yaml 'scores[am, ")
    Written(words=('attn', 'explain', 'my hw.yaml'), last='scores[am, ', quote="'")
    """
    words, quote = [""], ""
    signs = iter(line)
    for sign in signs:
        if sign == "\\" and quote != "'":
            words[-1] += next(signs, "")
        elif sign == quote:
            quote = ""
        elif not quote and sign in "'\"":
            quote = sign
        elif quote or not sign.isspace():
            words[-1] += sign
        elif words[-1]:
            words.append("")
    return Written(tuple(words[:-1]), words[-1], quote)


def after(written: Written, root: Any) -> Words | None:
    """Return the whole words that may stand at the cursor; None where it is a file.

    Args:
        written: the line up to the cursor.
        root: the context of `attn` itself.

    Raises:
        InputError: for a problem that cannot be read, and has no steps.
    """
    commands: Mapping[str, Any] = getattr(root.command, "commands", {})
    name = next((word for word in written.words[1:] if not word.startswith("-")), "")
    if name not in commands:
        options = _options(root.command.get_params(root), ()) if not name else {}
        summaries = {} if name else {n: c.get_short_help_str(79) for n, c in commands.items()}
        return _beginning(written.last, {**summaries, **options})
    command = commands[name]
    params = command.get_params(typer.Context(command))
    given, waiting = _read(params, written.words[written.words.index(name) + 1 :])
    sign, head, last = "=", "", written.last
    if waiting is None and last.startswith("-"):
        option, sign, last = last.partition("=")
        if not sign:
            return _beginning(option, _options(params, given))
        waiting = next((p for p in params if option in p.opts and not p.is_flag), None)
        head = f"{option}="
    else:
        waiting = waiting or _argument(params, given)
    if waiting is None:
        return {}
    found = _values(name, str(waiting.name), last, given)
    if found is None:
        return None
    found = found or dict.fromkeys(getattr(waiting.type, "choices", ()), "")
    return {head + word: meaning for word, meaning in _beginning(last, found).items()}


def answer(found: Words | None, written: Written, shell: str, replaced: str) -> Iterator[str]:
    """Yield what the script of a shell reads: `files` or `words`, then a line for each word.

    A word stands before a tab and what it means. bash takes the words alone, each as it is to stand
    in the place of `replaced`, the end of the last word; the others put quotation marks themselves.
    """
    if found is None:
        yield "files"
        return
    yield "words"
    shown = {word: meaning for word, meaning in found.items() if word.isprintable()}
    if shell != "bash":
        yield from (f"{word}\t{meaning}" if meaning else word for word, meaning in shown.items())
        return
    kept = len(written.last) - len(words_of(written.quote + replaced).last)
    ends = [word[kept:] for word in shown]
    if written.quote:
        yield from (end for end in ends if written.quote not in end)
    else:
        yield from _quoted(ends)


def _quoted(words: Sequence[str]) -> list[str]:
    """Return words as those of bash, with marks around all or none: bash writes what they share."""
    if all(map(PLAIN.fullmatch, words)):
        return [*words]
    if not any("'" in word for word in words):
        return [f"'{word}'" for word in words]
    return ['"' + re.sub(r'(["$`\\])', r"\\\1", word) + '"' for word in words]


def _beginning(start: str, words: Words) -> Words:
    return {word: meaning for word, meaning in words.items() if word.startswith(start)}


def _options(params: Sequence[Any], given: Sequence[str] | Mapping[str, Any]) -> Words:
    """Return the options that may still be given, the long ones first."""
    free = [p for p in params if p.param_type_name == "option" and not p.hidden]
    free = [p for p in free if p.multiple or p.name not in given]
    pairs = [(opt, (p.help or "").splitlines()[0]) for p in free for opt in p.opts]
    return dict(sorted(pairs, key=lambda pair: not pair[0].startswith("--")))


def _read(params: Sequence[Any], words: Sequence[str]) -> tuple[dict[str, list[str]], Any]:
    """Return what parameters have been given, by name, and the option that waits for its value."""
    named = {opt: p for p in params for opt in p.opts if p.param_type_name == "option"}
    given: dict[str, list[str]] = {}
    waiting: Any = None
    for word in words:
        option, sign, value = word.partition("=")
        param = waiting or named.get(option) or _argument(params, given)
        if waiting is not None or not word.startswith("-") or word == "-":
            if param is not None:
                given.setdefault(param.name, []).append(word)
            waiting = None
        elif option in named:
            given.setdefault(param.name, []).extend([value] if sign else [])
            waiting = param if not (sign or param.is_flag) else None
    return given, waiting


def _argument(params: Sequence[Any], given: Mapping[str, Sequence[str]]) -> Any:
    """Return the next argument that is not an option, or None."""
    arguments = (p for p in params if p.param_type_name == "argument")
    return next((p for p in arguments if p.nargs < 0 or p.name not in given), None)


def _values(
    command: str, param: str, last: str, given: Mapping[str, Sequence[str]]
) -> Words | None:
    """Return what a parameter may hold, as a whole word that begins like the last; None for files.

    It is nothing where any text will do.
    """
    if param == "format_" and command == "vary":
        return {"table": "for a terminal", "json": "for programs"}
    if param == "format_":
        from attncli.rendering.formats import formats_of

        return {name: row.meaning for name, row in formats_of(WRITERS[command]).items()}
    if param == "name":
        from attncli.files.sample_files import sample_files, title

        return {name: title(path) for name, path in sample_files().items()}
    if param in STEPS:
        before = last[: last.rfind(",") + 1]
        found = {s.name: s.formula for trace in _traces(given) for s in trace}
        return {before + s: found[s] for s in found if s not in before.split(",")}
    if param == "rows":
        before = last[: last.rfind(",") + 1]
        return {before + w: "" for trace in _traces(given) for w in trace.labels.get("query", ())}
    if param == "cells":
        return {cell: text for trace in _traces(given) for cell, text in _cells(trace, last)}
    if param == "matrix":
        return None if "=" in last else _matrices()
    return None if param in FILES else _choices(command, param.rstrip("_"))


def _cells(trace: Trace, last: str) -> Iterator[tuple[str, str]]:
    """Yield steps, and the cells of the one that the word names."""
    from attncli.tape.cells import cell_name

    named = last.partition("[")[0]
    for step in trace:
        yield step.name, step.formula
        if step.name == named and step.value.size <= MOST_CELLS:
            import numpy as np

            yield from ((cell_name(step, place), "") for place in np.ndindex(step.value.shape))


def _matrices() -> Words:
    from attncli.forms.form import ArrayForm
    from attncli.problem.keys import KEYS

    rows = KEYS.items()
    return {f"{key}=": row.meaning for key, row in rows if isinstance(row.form, ArrayForm)}


def _choices(command: str, key: str) -> Words:
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


def _traces(given: Mapping[str, Sequence[str]]) -> Iterator[Trace]:
    """Yield the calculations of the problems that were given, as the options that were given say.

    Raises:
        InputError: for what cannot be read or calculated.
    """
    names = [n for param in ("inputs", "input_", "problem") for n in given.get(param, ())]
    paths = [Path(name).expanduser() for name in names if name != "-"]
    paths = [path for path in paths if path.is_file() and path.stat().st_size < LARGE_FILES]
    if not paths:
        return
    from attncli.errors import InputError
    from attncli.files.load import Overrides, load_each
    from attncli.mechanisms.compute import compute
    from attncli.problem.keys import KEYS

    keys = {name.rstrip("_"): values[-1] for name, values in given.items() if values}
    overrides = Overrides({key: value for key, value in keys.items() if key in KEYS})
    for path in paths:
        for problem in load_each(str(path), overrides):
            if not isinstance(problem, InputError):
                yield compute(problem)

"""`attn explain`: how a number is calculated, with the numbers put in."""

import re
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attncli.cli import options, targets
from attncli.cli.options import WordList, prepare
from attncli.cli.output import BAD_INPUT, complain, tell, warn
from attncli.cli.run import Run
from attncli.cli.terminal import DisplayFlags, terminal_width, write_lines
from attncli.core.errors import Fault, InputError
from attncli.core.text.strings import visible

if TYPE_CHECKING:
    from attncli.core.calculation.trace import Trace
    from attncli.printing.blocks import Block

CELLS_HELP = """STEP[ROW, COLUMN] by labels or numbers from 1; STEP[ROW], STEP[:, COLUMN],
STEP[1:2, 3], STEP[head 2], z_ROW; STEP is every cell; a number, such as 0.27, is every cell that
shows it. Without any, what can be asked is listed."""

MAX_SHOWING = 12
"""Maximum number of cells that are explained because they show a number. Chosen."""

INPUT_HELP = "A YAML, JSON, CSV, XLSX or NPZ file; - is stdin."
DEEP_HELP = "Go on to the operands, down to the input."
EXPLANATION_FORMATS = "table, json, latex or markdown."
CLOSED_FORMS_HELP = "Closed forms too, such as 4√3/3; needs sympy."


def explain(
    input_: Annotated[str, typer.Argument(metavar="INPUT", help=INPUT_HELP)],
    cells: Annotated[WordList, typer.Argument(metavar="[CELL]...", help=CELLS_HELP)] = None,
    *,
    deep: Annotated[bool, options.content("--deep", help=DEEP_HELP)] = False,
    format_: Annotated[str, options.format_(help=EXPLANATION_FORMATS)] = "table",
    decimals: options.Decimals = None,
    full: Annotated[bool, options.content("--full", help="Write long sums whole.")] = False,
    why: options.Why = False,
    settings: options.SettingFlags,
    exact: Annotated[bool, options.content("--exact", help=CLOSED_FORMS_HELP)] = False,
    display: DisplayFlags,
) -> None:
    input_, *cells = _with_file_first([input_, *(cells or ())])
    prepare([input_])
    from attncli.core.text.strings import whole_names
    from attncli.printing import explanations
    from attncli.printing.layout import plain_text
    from attncli.printing.prose import lines, pages
    from attncli.printing.selection import Selection

    if exact:
        from attncli.core.explaining.exact import Exact

    format_ = targets.format_name("explanations", format_)
    selection = Selection(decimals, full, why=why)
    run = Run([input_], settings.overrides())
    if not cells:
        groups = map(explanations.names_to_ask, run.traces())
        write_lines((lines(group, terminal_width()) for group in groups), display)
        raise typer.Exit(BAD_INPUT if run.failed else 0)
    requests: list[explanations.Request] = []
    facts: list[list[Block]] = []  # on what is no cell, such as d_k
    for trace in run.traces():
        closed = Exact(trace) if exact else None
        known: list[str] = []
        names = map(" ".join, whole_names(cells))  # a shell splits them at blanks
        for name in _with_places(names, trace):
            known += _names_of(name, trace, run, facts)
        requests += explanations.requests_of(trace, known, deep, closed)
    if format_ == "table":
        width = terminal_width()
        shown = pages(explanations.page, requests, selection, width)
        write_lines(chain((lines(group, width) for group in facts), shown), display)
    else:
        for line in chain.from_iterable(map(lines, facts)):
            tell(plain_text(line))
        targets.write_format("explanations", format_, requests, selection, None)
    for closed in dict.fromkeys(request.exact for request in requests):
        if closed is not None:
            warn(closed.warnings())
    raise typer.Exit(BAD_INPUT if run.failed else 0)


def _with_places(words: Iterable[str], trace: "Trace") -> list[str]:
    """Return names of cells: weights[head 2][the, cat] for weights, head, 2, the and cat.

    Words that mean nothing behind a slip of a step's name are its places, too.
    """
    names: list[str] = []
    with_heads = re.sub(r"(?i)\nhead\n(\d+)(?=\n|\Z)", r"[head \1]", "\n".join(words))
    for word in with_heads.split("\n"):
        fault = _fault_of(word, trace)
        name = names[-1] if names and fault else ""
        longer = (f"{name}[{word}]", f"{name.removesuffix(']')}, {word}]")
        known = [one for one in longer if name and not _fault_of(one, trace)]
        wrong = _fault_of(name, trace) if name and not known else None
        is_slip = bool(wrong and wrong.nearest and not (fault and fault.nearest))
        if known or is_slip or (wrong and name.endswith("]")):
            further = longer[1] if is_slip and name.endswith("]") else longer[0]
            names[-1] = known[0] if known else further
        else:
            names.append(word)
    return names


def _fault_of(word: str, trace: "Trace") -> Fault | None:
    """Return why a word means no cells of this calculation; None if it means some."""
    from attncli.core.calculation.trace import find

    try:
        find(word, trace)
    except InputError as error:
        return error.faults[0]
    return None


def _names_of(name: str, trace: "Trace", run: Run, facts: list[list["Block"]]) -> list[str]:
    """Return the names of the cells that a name means, at most `MAX_SHOWING`.

    If it means none, there are `facts` on it, or an error is printed.
    """
    from attncli.printing.explanations import facts_of, names_of

    try:
        named = names_of(name, trace, MAX_SHOWING + 1)
    except InputError as error:
        if known := [*facts_of(name, trace)]:
            facts.append(known)
        else:
            complain(error)
            run.failed = True
        return []
    if len(named) > MAX_SHOWING:
        tell(f"{visible(name)} is in more than {MAX_SHOWING} cells; here are the first")
    return named[:MAX_SHOWING]


def _with_file_first(words: list[str]) -> list[str]:
    """Return the input, then the cells; where only a later word is there as a file, it is that."""
    from attncli.reading.files import is_file

    if words[0] == "-" or Path(words[0]).exists():
        return words
    is_only = sum(map(is_file, words)) == 1
    return sorted(words, key=is_file, reverse=True) if is_only else words

"""Files to write in: a problem file, a worksheet with room for numbers, and sheets for answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from math import isfinite, isinf
from typing import Any

import numpy as np

from attncli.core.arithmetic.elements import Array
from attncli.core.attention.masks import MASKS
from attncli.core.attention.scores import SCORES, SplitHeads
from attncli.core.calculation.trace import Trace, equal_steps
from attncli.core.errors import InputError, fail
from attncli.core.numbers.forms import ArrayForm
from attncli.core.numbers.written import shape_words
from attncli.core.problem.key_values import key_of
from attncli.core.problem.keys import KEYS, KINDS, TEXT_KEYS, meaning_in
from attncli.core.problem.problem import Problem
from attncli.core.tape.by_hand import Rounding
from attncli.core.tape.cell_names import matrix_name
from attncli.core.tape.step import Operation, Step
from attncli.core.text.numbers import DEFAULT_DECIMALS, every_digit
from attncli.core.text.strings import (
    all_of,
    as_cell,
    count_of,
    csv_text,
    did_you_mean,
    label_text,
    regex,
    visible,
)
from attncli.printing.selection import (
    NO_ROOM,
    Room,
    Selection,
    WorksheetSelection,
    pieces,
    steps_named,
)

UNQUOTED = regex(r"(?!(null|Null|NULL)$)-?\w(?:[\w ./^*+()-]*[\w)])?")
"""Text that YAML needs no quotes for."""

SUGGESTED = [(key, value) for key, row in KEYS.items() for value in row.suggests]
"""Options to suggest below a problem, with a value: of each key the first that fits it."""


def problem_file(problem: Problem, blank: bool = False, above: str = "") -> str:
    """Return a problem, made of lists and text, as commented YAML.

    With `blank`, each number of a matrix, except a mask's, is a `?`. `above` is a comment for the
    first line; without it options are suggested.
    """
    keys = [key for key in KEYS if key in problem.given]
    first = [entry(key, problem.written[key]) for key in keys if key in TEXT_KEYS]
    first[:0] = [f"# {above}"] if above else []
    blocks = [first, *(_block(problem, key, blank) for key in keys if key not in TEXT_KEYS)]
    if not above and (options := [*_options(problem)]):
        title = "# Without the # before it, each of these is an option that may be used:"
        blocks.append([title, *options])
    texts = ("".join(f"{line}\n" for line in block) for block in blocks)
    return "\n".join(filter(None, texts))


def _block(problem: Problem, key: str, blank: bool) -> Iterable[str]:
    raw, form = problem.written[key], KEYS[key].form
    array = problem.matrices().get(key)
    size = "" if array is None else f"{key} {shape_words(array.shape)}: "
    yield f"# {size}{_meaning(problem, key)}"
    if key == "layers":
        yield f"{key}:"
        for layer in problem.layers:
            keys = [part for part in KEYS if part in layer.layer_keys]
            parts = [_entry(layer, part, blank, "    ") for part in keys]
            yield from (f"  - {parts[0][4:]}", *parts[1:])
    elif key == "score" and len(raw) == 1:
        yield entry(key, raw["name"])
    elif not isinstance(raw, dict) or not any(map(_is_matrix, raw.values())):
        yield _entry(problem, key, blank)
    else:
        yield f"{key}:"
        for name, part in raw.items():
            is_open = blank and key != "mask" and isinstance(form.parts()[name], ArrayForm)
            yield entry(name, part, is_open, "  ")


def _entry(problem: Problem, key: str, blank: bool, indent: str = "") -> str:
    is_open = blank and isinstance(KEYS[key].form, ArrayForm)
    return entry(key, problem.written[key], is_open, indent)


def _meaning(problem: Problem, key: str) -> str:
    if key == "kind":
        return f"the mechanism: {', '.join(KINDS)}"
    if key == "score":
        return f"how alike a query and a key are: {SCORES[problem.score['name']].formula}"
    if key == "mask":
        forms = "; ".join(MASKS[name].formula for name in problem.mask if name in MASKS)
        return f"which keys j a query i may attend to: {forms}"
    meaning = meaning_in(problem.kind, key)
    by_column = meaning.replace("per row", "per column").replace("X W_q", "W_q X")
    return by_column if problem.columns else meaning


def entry(key: str, raw: Any, blank: bool = False, indent: str = "") -> str:
    """Return a key with its value; a row of a matrix has a line of its own."""
    rows = raw if _is_matrix(raw) else None
    if blank:
        lines = [" ".join("?" * len(row)) for row in rows or [raw]]
        return f"{indent}{key}: |" + "".join(f"\n{indent}  {line}" for line in lines)
    if rows is None:
        return f"{indent}{key}: {_flow(raw)}"
    between = ",\n" + " " * (len(f"{indent}{key}: ["))
    return f"{indent}{key}: [{between.join(map(_flow, rows))}]"


def _is_matrix(raw: object) -> bool:
    return isinstance(raw, list) and isinstance(raw[0], list)


def _flow(raw: Any) -> str:
    if isinstance(raw, dict):
        return f"{{{', '.join(f'{_flow(key)}: {_flow(part)}' for key, part in raw.items())}}}"
    if isinstance(raw, list | tuple):
        return f"[{', '.join(map(_flow, raw))}]"
    if isinstance(raw, bool):
        return str(raw).lower()
    if isinstance(raw, float):
        return every_digit(raw) if isfinite(raw) else str(raw)
    if not isinstance(raw, str) or UNQUOTED.fullmatch(raw):
        return str(raw)
    return json.dumps(raw, ensure_ascii=not raw.isprintable())


def _options(problem: Problem) -> Iterator[str]:
    lines: dict[str, tuple[str, str]] = {}
    for key, raw in SUGGESTED:
        if key not in problem.given and key not in lines:
            with suppress(InputError):
                changed = Problem(**{**problem.written, key: raw})
                if changed.warnings == problem.warnings:
                    is_form = isinstance(raw, dict)
                    meaning = _meaning(changed, key) if is_form else KEYS[key].about
                    lines[key] = f"# {key}: {_flow(raw)}", meaning
    width = max((len(line) for line, _ in lines.values()), default=0)
    for line, meaning in lines.values():
        yield f"{line:{width}}  # {meaning}"


MOST_OPEN = 10_000
"""Maximum number of numbers to write: a page with more fields would be slow. Chosen."""

SAME_DIGITS = 12
"""Number of significant digits in which floats agree between machines. Chosen."""

OPEN = "?"
"""The text for a number that is to be written; it is read as one that was left out."""

NO_CELL = "~"
"""The text for a cell that has no number."""


def room_of(trace: Trace, selection: Selection) -> Room:
    """Return what a worksheet leaves out, and what of that is asked.

    This is what `blank` names, else what the marking asks for, else all that is left out.

    Raises:
        InputError: for a step that is not there, or if nothing is to be written.
    """
    if not isinstance(selection, WorksheetSelection):
        return NO_ROOM
    opened = _named(selection.blank, trace)
    give = _named(selection.give, trace)
    if both := [name for name in opened if name in give]:
        hint = "leave it out of --blank or of --give"
        raise fail(f"{all_of(both)} cannot be blank and given at once", hint=hint)
    chosen = opened or {step.name: step for step in trace if _is_worked(step)}
    blank = {name: step for name, step in chosen.items() if name not in give}
    if not blank:
        hint = f"use --blank; the steps are {', '.join(trace.steps)}"
        raise fail("nothing is left to be written on this worksheet", hint=hint)
    is_all = opened or not trace.problem.marking.ask
    asked = {name: _has_number(step) for name, step in blank.items()}
    asked = asked if is_all else _counting(trace, asked)
    count = sum(cells.size for cells in asked.values())
    if count > MOST_OPEN:
        message = f"{count} numbers would be to write on this worksheet; {MOST_OPEN} is the most"
        raise fail(message, hint="use --blank, as in --blank weights")
    return Room(blank, asked)


def _counting(trace: Trace, numbers: Mapping[str, Array]) -> dict[str, Array]:
    """Return which numbers of some steps the marking asks for, by the names of those with any."""
    from attncli.checking.answers.step_names import mask_of, with_step_names

    marking, meant = with_step_names(trace)
    same, cells = equal_steps(trace), {name: np.zeros_like(has) for name, has in numbers.items()}
    for step, at in map(meant.__getitem__, marking.ask):
        if (name := same.get(step.name, step.name)) in cells:
            cells[name] |= mask_of(step, [at]) & numbers[name]
    if asked := {name: some for name, some in cells.items() if some.any()}:
        return asked
    hint = f"what is asked is {all_of(marking.ask)}: change --ask or --give"
    raise fail("no number that counts is open on this worksheet", hint=hint)


def _is_worked(step: Step) -> bool:
    """Return False for an input, also one that is renamed or cut into heads."""
    operation = step.operation
    if isinstance(operation, SplitHeads):
        operation = operation.operand
    return operation is not None and not isinstance(operation, Step)


def instruction(trace: Trace, room: Room) -> str:
    marking = trace.problem.marking
    said = "Write the numbers that are missing"
    if count := marking.decimals:
        said += f", with {count_of(count, 'decimal')} where they have more"
    if marking.ask:
        said += f"; what counts is {all_of(marking.ask)}"
    if not all(map(room.shows, room.blank)):
        said += "; work the other steps on paper of your own"
    points = [f"{name} {every_digit(number)}" for name, number in marking.points.items()]
    return f"{said}. Points: {', '.join(points)}." if points else f"{said}."


def _named(words: Sequence[str], trace: Trace) -> dict[str, Step]:
    for word in words:
        if not any(step.name in trace for step in steps_named((key_of(word),), trace)):
            message = f"there is no step {visible(word)} in this calculation"
            raise fail(message, hint=did_you_mean(word, trace.steps))
    return {step.name: step for step in steps_named([*map(key_of, words)], trace)}


def answer_sheet(problem: Problem, trace: Trace, above: str) -> str:
    """Return the right answers, rounded half up; whole numbers have no decimals."""
    decimals = problem.marking.decimals
    decimals = DEFAULT_DECIMALS if decimals is None else decimals
    rounding = Rounding(decimals=decimals)

    def written(number: float) -> str:
        number = float(f"{number:.{SAME_DIGITS}g}")
        if isinf(number):
            return f"{number}"
        return f"{rounding.number(number) + 0.0:.{decimals if number % 1 else 0}f}"

    lines = [f"# {above}", *(entry(key, text) for key, text in _whose(problem).items() if text)]
    texts = np.vectorize(written, otypes=[object])
    lines += [entry(step.name, texts(step.value).tolist()) for step in trace]
    return "".join(f"{line}\n" for line in lines)


def _whose(problem: Problem) -> dict[str, str]:
    """Return the keys of a submission that tell whose it is, the first of them always."""
    number = problem.problem or ("" if problem.variant else str(problem.number or ""))
    texts = {"student": problem.student, "variant": problem.variant, "problem": number}
    return {key: text for key, text in texts.items() if text or key == "student"}


def as_yaml(traces: Iterable[Trace], selection: Selection) -> Iterator[bytes]:
    """Yield sheets to fill in, with a `?` for each number of the open steps."""
    return pieces((_yaml(trace, selection) for trace in traces), "---\n")


def as_csv(traces: Iterable[Trace], selection: Selection) -> Iterator[bytes]:
    return pieces((_csv(trace, selection) for trace in traces), "---\n")


def _yaml(trace: Trace, selection: Selection) -> str:
    title = trace.problem.title
    lines = [f"# {visible(title)}"] if title else []
    room = room_of(trace, selection)
    lines += [f"# {instruction(trace, room)} Each ? is one."]
    whose = _whose(trace.problem).items()
    lines += [entry(key, text) if text else f"{key}:" for key, text in whose]
    for step, asked in ((trace[name], asked) for name, asked in room.asked.items()):
        lines.append(f"# {_about(step)}")
        for name, rows in _open_matrices(step, asked):
            key = name if name == step.name else "'{}'".format(name.replace("'", "''"))
            lines += [f"{key}: |", *(f"  {' '.join(row)}" for row in rows)]
    return "".join(f"{line}\n" for line in lines)


def _csv(trace: Trace, selection: Selection) -> str:
    rows = [[key, as_cell(text)] for key, text in _whose(trace.problem).items()]
    for step_name, asked in room_of(trace, selection).asked.items():
        for name, cells in _open_matrices(trace[step_name], asked):
            rows += [[name], *cells]
    return csv_text(rows)


def _open_matrices(step: Step, asked: Array) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the matrices of a step to fill in, each with its name as a key of answers."""
    value = step.value if step.value.ndim > 1 else step.value[np.newaxis]
    cells = np.where(asked.reshape(value.shape), OPEN, NO_CELL)
    for place in np.ndindex(value.shape[:-2]):
        yield matrix_name(step, place), cells[place].tolist()


def _has_number(step: Step) -> Array:
    """Return which cells of a step's `value` are numbers; others are nothing, rather than 0."""
    filled = np.ones(step.array.shape, bool)
    if isinstance(step.operation, Operation):
        rows, columns = step.array.shape[-2:]
        blank = [[step.operation.is_blank(r, c) for c in range(columns)] for r in range(rows)]
        filled[..., np.array(blank)] = False
    return step.on_paper(filled)


def _about(step: Step) -> str:
    from attncli.printing.blocks import axis_labels

    labels = zip(("rows", "columns"), axis_labels(step), strict=True)
    words = [f"{name}: {', '.join(map(label_text, names))}" for name, names in labels if names]
    return "   ".join([step.formula, shape_words(step.value.shape), "; ".join(words)]).rstrip()

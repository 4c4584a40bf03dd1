"""A run over many problems that other processes share: this one cuts texts and writes bytes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stderr
from itertools import chain, islice, tee
from typing import TYPE_CHECKING

import typer

from attncli.cli import options
from attncli.cli.options import Run
from attncli.core.errors import InputError, Place
from attncli.core.jobs import Pool, in_order
from attncli.core.records import Record, replace
from attncli.reading.document import Chunk, error_at
from attncli.reading.read import Portion, portions

if TYPE_CHECKING:
    from attncli.core.mechanisms.trace import Trace
    from attncli.printing.formats import Selection, Write

LIST_CHARACTERS = 2**17
"""Size of the text of problems that are sent together: of most, a few hundred. Chosen."""

LIST_PORTIONS = 500
"""Maximum number of portions that are sent together, as files count for one character. Chosen."""


class Written(Record):
    """What a process wrote for a part of a file, or for a file of its own."""

    data: bytes
    number: int | None = None
    title: str = ""

    @property
    def problem(self) -> Written:
        return self


class Part(Record):
    """The result of some portions: what they write and, as text, their messages, in order."""

    events: list[Written | str]
    portions: int
    problems: int  # their number
    number: int  # that of the last one in its file
    failed: bool
    end: Exception | None  # what ends the run


def lists_of(sources: Sequence[str]) -> Iterator[list[Portion] | None]:
    """Yield the portions of files in lists; None where the next may take a while."""
    some, size, before = list[Portion](), 0, 0
    is_first = True
    for source in sources:
        if source == "-":
            options.wait_for("a problem")
        number = 0
        for one in portions(source, options.standard_input()):
            if one is not None:
                some.append(replace(one, before=before, number=number, follows=not is_first))
                size += len(one.text.text) if isinstance(one.text, Chunk) else 1
                before, number = before + one.count, number + one.count
            if some and (one is None or size >= LIST_CHARACTERS or len(some) >= LIST_PORTIONS):
                yield some
                some, size, is_first = [], 0, False
            if one is None:
                yield None
    if some:
        yield some


def part_of(
    new_run: Callable[[], Run],
    traces: Callable[[Run], Iterator[Trace]],
    write: Write,
    selection: Selection,
    is_many: bool,
    some: Sequence[Portion],
) -> Part:
    """Return what becomes of some portions, which are calculated and written as others are."""
    events: list[Written | str] = []
    end: Exception | None = None
    run = new_run()
    run.portions, run.is_part = some, True

    class Messages(io.StringIO):
        def write(self, text: str) -> int:
            count = super().write(text)  # which raises a TypeError for bytes
            events.append(text)
            return count

    with redirect_stderr(Messages()):
        try:
            if is_many:
                for trace in traces(run):
                    data = b"".join(write([trace], selection))
                    events.append(Written(data, trace.problem.number, trace.problem.title))
            else:
                for data in _written(traces(run), write, selection, some[0].follows):
                    events.append(Written(data))
        except (InputError, typer.Exit, MemoryError) as error:
            end = error
    return Part(events, len(some), run.count, run.number, run.failed, end)


def _written(
    traces: Iterator[Trace], write: Write, selection: Selection, follows: bool
) -> Iterator[bytes]:
    """Yield traces as they are written, if they follow others without what is above the first."""
    first = [*islice(traces, 1)]
    is_other = follows  # whether the first is written in the place of another, for nobody

    def every() -> Iterator[Trace]:
        nonlocal is_other
        if is_other:
            yield from first
            is_other = False
        yield from chain(first, traces)

    for data in write(every(), selection) if first else ():
        if not is_other:
            yield data


def joined(parts: Iterable[Written], _: Selection) -> Iterator[bytes]:
    return (one.data for one in parts)


def in_parts(
    run: Run, work: Callable[[Sequence[Portion]], Part], pool: Pool
) -> Iterator[Written] | None:
    """Return what a run writes, of which processes of a pool do parts; None if it is one part.

    The part is then what `run` calculates.
    """
    lists = lists_of(run.sources)
    begun = list(islice(lists, 2))
    if len(begun) < 2:
        run.portions = next(iter(begun), None)
        return None
    return _in_parts(run, chain(begun, lists), work, pool)


def _in_parts(
    run: Run,
    lists: Iterable[list[Portion] | None],
    work: Callable[[Sequence[Portion]], Part],
    pool: Pool,
) -> Iterator[Written]:
    """Yield what is written, and print messages, in order."""
    sent, kept = tee(lists)
    rest = chain.from_iterable(filter(None, kept))
    before, number, follows = 0, 0, False
    for made in in_order(work, sent, pool, lambda one: lost(one, work)):
        part = made
        first, *others = islice(rest, part.portions)
        number = number if first.number else 0
        if (first.before, first.number, first.follows) != (before, number, follows):
            # Some portion was empty, or held several problems.
            first = replace(first, before=before, number=number, follows=follows)
            part = work([first, *others])
        for one in part.events:
            if isinstance(one, str):
                typer.echo(one, err=True, nl=False)
            else:
                follows = True
                yield one
        run.failed |= part.failed
        if part.end is not None:
            raise part.end
        if run.failed and not run.keep_going:
            return
        before, number = before + part.problems, part.number


def lost(one: Portion, work: Callable[[Sequence[Portion]], Part]) -> Part:
    """Return what becomes of a problem that twice ended the process that worked on it."""
    line = one.text.before + 1 if isinstance(one.text, Chunk) else 0
    message = f"problem {one.before + 1}: the process that worked on it ended, and so did another"
    part = work([replace(one, text=error_at(Place(one.source, line), message))])
    return replace(part, number=one.number + 1)

"""A run over many problems that other processes share: this one cuts texts and writes bytes."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING

import typer

from attncli.cli.options import standard_input, wait_for
from attncli.cli.run import Run
from attncli.core.errors import InputError, Place
from attncli.core.jobs import Pool, in_order
from attncli.core.records import Record, replace
from attncli.reading.portions import Portion, lists_of
from attncli.reading.read import STDIN

if TYPE_CHECKING:
    from attncli.core.calculation.trace import Trace
    from attncli.formats import Write
    from attncli.printing.selection import Selection


class Written(Record):
    """What a process wrote for some problems, or for one that has a file of its own."""

    data: bytes
    number: int | None = None
    title: str = ""

    @property
    def problem(self) -> Written:
        return self


class Part(Record):
    """The result of some portions.

    Attributes:
        events: what they write and, as text, their messages, in order.
        before: the number of problems down to their end, in all files.
        number: the same in the last file.
        failed: whether there was an error.
        end: what ends the run.
        warned: its warnings, as `Run.warned` has them.
    """

    events: Sequence[Written | str]
    before: int
    number: int
    failed: bool
    end: Exception | None
    warned: Mapping[str, tuple[str, int]]


def part_of(
    new_run: Callable[..., Run],
    traces: Callable[[Run], Iterator[Trace]],
    write: Write,
    selection: Selection,
    is_many: bool,
    some: Sequence[Portion],
    follows: bool | None = None,
) -> Part:
    """Return what becomes of some portions, which are calculated and written as others are."""
    events: list[Written | str] = []
    end: Exception | None = None
    run = new_run(portions=some, is_part=True)
    selection = replace(selection, follows=_follows(some) if follows is None else follows)

    class Messages(io.StringIO):
        def write(self, text: str) -> int:
            count = super().write(text)  # which raises a TypeError for bytes
            events.append(text)
            return count

    with redirect_stderr(Messages()):
        try:
            every = traces(run)
            if is_many:
                for trace in every:
                    data = b"".join(write([trace], selection))
                    events.append(Written(data, trace.problem.number, trace.problem.title))
            elif first := [*islice(every, 1)]:
                events.extend(map(Written, write(chain(first, every), selection)))
        except (InputError, typer.Exit, MemoryError) as error:
            end = error
    joined = events if is_many else [*_joined(events)]
    return Part(joined, run.count, run.number, run.failed, end, run.warned)


def _follows(some: Sequence[Portion]) -> bool:
    """Return whether something is written before portions, if no problem is wrong."""
    return some[0].before > 0


def _joined(events: Iterable[Written | str]) -> Iterator[Written | str]:
    for kind, some in groupby(events, type):
        if kind is str:
            yield from some
        else:
            yield Written(b"".join(one.data for one in some if isinstance(one, Written)))


def data_of(parts: Iterable[Written], _: Selection) -> Iterator[bytes]:
    return (one.data for one in parts)


def in_parts(run: Run, work: Callable[..., Part], pool: Pool) -> Iterator[Written] | None:
    """Return what a run writes, of which processes of a pool do parts; None if it is one part.

    The part is then what `run` calculates.
    """
    lists = lists_of(_awaited(run.sources), standard_input())
    begun = [*islice(lists, 2)]
    if len(begun) < 2:
        run.portions = [*chain.from_iterable(filter(None, begun))]
        return None
    return _in_parts(run, chain(begun, lists), work, pool)


def _awaited(sources: Iterable[str]) -> Iterator[str]:
    for source in sources:
        if source == "-":
            wait_for("a problem")
        yield source


def _in_parts(
    run: Run, lists: Iterable[list[Portion] | None], work: Callable[..., Part], pool: Pool
) -> Iterator[Written]:
    before, number, follows = 0, 0, False

    def lost(one: Portion) -> Part:
        """Return what becomes of a problem that twice ended the process that worked on it."""
        line = one.lines + 1 if isinstance(one.content, str) else 0
        name = STDIN if one.source == "-" else one.source
        message = "the process that worked on this problem ended, and so did another"
        error = Place(name, line).error(message)
        return work([one._replace(content=error, number=one.number + 1)])

    def singly(some: list[Portion]) -> Iterator[Portion]:
        return chain.from_iterable(one.each() for one in some)

    for some, result in in_order(work, lists, pool, lost, singly):
        part = result
        first, *others = some
        number = number if first.number else 0
        if (first.before, first.number, _follows(some)) != (before, number, follows):
            # Some part was empty, or held several problems, or all before were wrong.
            part = work([first._replace(before=before, number=number), *others], follows)
        for one in part.events:
            if isinstance(one, str):
                typer.echo(one, err=True, nl=False)
            else:
                follows = True
                yield one
        run.failed |= part.failed
        for warning, (name, count) in part.warned.items():
            run.add_warning(warning, name, count)
        if part.end is not None:
            raise part.end
        if run.failed and not run.keep_going:
            break
        before, number = part.before, part.number
        pool.done = before
    run.tell_warnings()

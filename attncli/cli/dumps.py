"""`attn check` of two dumps: arrays that programs saved, compared with each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from attncli.cli import options
from attncli.core.errors import Place, fail, located
from attncli.core.numbers.written import dotted

DUMP_SUFFIXES = (".npz", ".safetensors", ".json", ".npy")
"""Suffixes of files that may hold the arrays of a program, and not a problem."""

OF_ARRAYS = ("marking.dtype", "marking.rtol", "marking.tolerance")
"""The parts of the marking that two dumps have."""

OTHER_NAMES = {"map_": "map", "roster": "for"}
"""The names of flags whose parameters have other names."""


def is_dump(problem: str, sources: list[str]) -> bool:
    """Return True if the first of several files of arrays holds steps, and no problem."""
    suffixes = {Path(file).suffix.lower() for file in (problem, *sources)}
    if not sources or not suffixes.issubset(DUMP_SUFFIXES):
        return False
    from attncli.reading import dumps

    return dumps.is_dump(problem)


def refuse_flags_of_answers(
    keys: Mapping[str, str], others: Mapping[str, object], format_: str
) -> None:
    """Refuse flags that two dumps do not have, and formats that show a problem."""
    from attncli.core.problem.marking import FLAGS

    parts = [key.removeprefix("marking.") for key in keys if key not in OF_ARRAYS]
    for name in [*parts, *(name for name, value in others.items() if value)]:
        flag = FLAGS.get(name, f"--{OTHER_NAMES.get(name, name).replace('_', '-')}")
        raise fail(f"{flag} is of answers to a problem", hint="leave it out for two dumps")
    if format_ in ("html", "gradescope"):
        hint = "take table, markdown, csv or json"
        raise fail(f"-f {format_} shows a problem, and two dumps have none", hint=hint)


def each_dump(
    reference: str | None, sources: list[str], keys: Mapping[str, str], outside: bool
) -> Callable[[Callable[..., Any]], Iterable[Any]]:
    """Return what marks each dump, compared with a reference, or the first, as the marking says."""
    from attncli.checking.two_dumps import TwoDumps
    from attncli.core.problem.problem import Problem
    from attncli.reading.dumps import read_dump
    from attncli.reading.load import flag_of

    if reference is None:
        reference, *sources = sources
    parts = {key.removeprefix("marking."): text for key, text in keys.items()}
    with located(lambda path: Place(flag_of(dotted(path)), key=dotted(path))):
        marking = Problem(X=[[1]]).marked(parts).marking  # which reads the texts
    stdin = options.standard_input()
    dumps = TwoDumps(reference, read_dump(reference, stdin, outside), marking, stdin, outside)
    return lambda mark: map(mark, dumps.students(sources))

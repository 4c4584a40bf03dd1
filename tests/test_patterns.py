"""Every regular expression of the package takes linear time for its own operation.

They are found in the syntax trees of all modules, and each is tried on the same hostile texts.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from itertools import chain, product
from pathlib import Path
from typing import Any

import pytest

import attncli
from attncli.classroom import answer_files
from attncli.core.numbers import tex_matrices
from attncli.core.text.strings import _Regex

FLAGS_AT = {"split": 3, "sub": 4, "subn": 4}
"""Where the flags are among the arguments of functions of `re`; else they are the third."""
OPERATIONS = {"match", "fullmatch", "search", "findall", "finditer", *FLAGS_AT}

Use = tuple[str, int, str]
"""A pattern, its flags, and what is done with it."""
OF_NAMES = {answer_files.CANVAS.pattern, answer_files.MOODLE.pattern}
"""Patterns of the names of files, of at most 255 bytes, which a function gets as an argument."""
PASSED: list[Use] = [
    (tex_matrices.ROW_END, 0, "finditer"),
    (rf"\s*{tex_matrices.ROW_END}", 0, "finditer"),
]
"""Patterns that are arguments of functions of the package."""


class Unknown(str):
    """Stands for what only a call knows: a text that matches itself, with any part and item."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        return self

    def __getitem__(self, index: object) -> Any:
        return self


class Names(dict[str, Any]):
    """The local names of a function, with the values of assignments and loops as far as known."""

    def __init__(self, function: ast.AST, space: dict[str, Any], turn: int) -> None:
        self.space, self.turn = space, turn
        self.sources: dict[str, tuple[ast.expr, ast.expr, bool]] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.ImportFrom):
                module = importlib.import_module(node.module or "")
                self.update((one.name, getattr(module, one.name)) for one in node.names)
            is_loop = isinstance(node, ast.For | ast.comprehension)
            if is_loop or isinstance(node, ast.Assign):
                target = node.target if is_loop else node.targets[0]
                source = target, node.iter if is_loop else node.value, is_loop
                names = (one.id for one in ast.walk(target) if isinstance(one, ast.Name))
                self.sources.update((name, source) for name in names)

    def __missing__(self, name: str) -> Any:
        if name in self.space or hasattr(builtins, name):
            raise KeyError(name)
        self[name] = Unknown(",")
        target, source, is_loop = self.sources.get(name, (None, None, False))
        calls = [n for n in ast.walk(source) if isinstance(n, ast.Call)] if source else []
        if source and all(ast.unparse(call.func) == "re.escape" for call in calls):
            with suppress(TypeError, ValueError, AttributeError, LookupError):
                value = self.value(source)
                value = [*value][self.turn % len([*value])] if is_loop else value
                exec(f"{ast.unparse(target)} = _", {"_": value}, self)
        return self[name]

    def value(self, node: ast.expr) -> Any:
        return eval(compile(ast.Expression(node), "", "eval"), self.space, self)


def uses_in(function: ast.AST, space: dict[str, Any]) -> Iterator[Use]:
    calls = {id(node.func): node for node in ast.walk(function) if isinstance(node, ast.Call)}
    nodes = [n for n in ast.walk(function) if getattr(n, "attr", "") in OPERATIONS]
    for node, turn in product(nodes, range(9)):
        names = Names(function, space, turn)
        if ast.unparse(node.value) == "re":
            call = calls[id(node)]
            given = {key.arg: key.value for key in call.keywords} | dict(enumerate(call.args))
            flags = given.get("flags", given.get(FLAGS_AT.get(node.attr, 2)))
            pattern = names.value(given[0])
            if isinstance(pattern, _Regex | re.Pattern):
                yield pattern.pattern, pattern.flags & ~re.UNICODE, node.attr
            else:
                yield pattern, names.value(flags) if flags else 0, node.attr
        else:
            parts = [one for one in ast.walk(node.value) if isinstance(one, ast.expr)]
            for part in parts:
                with suppress(Exception):
                    value = names.value(part)
                    if isinstance(value, _Regex | re.Pattern):
                        yield value.pattern, value.flags & ~re.UNICODE, node.attr


@cache
def uses() -> tuple[list[Use], set[str]]:
    """Return all uses of patterns, and the patterns of modules that have none."""
    found, defined = {*PASSED}, set()
    for path in Path(attncli.__file__).parent.rglob("*.py"):
        name = ".".join(path.relative_to(Path(attncli.__file__).parents[1]).with_suffix("").parts)
        if path.stem.startswith("__"):
            continue
        space = vars(importlib.import_module(name))
        defined |= {one.pattern for one in space.values() if isinstance(one, _Regex | re.Pattern)}
        tree = ast.parse(path.read_text(encoding="utf-8"))
        methods = chain(tree.body, *(node.body for node in tree.body if hasattr(node, "body")))
        for function in methods:
            found |= {*uses_in(function, space)}
    return sorted(found), defined - {pattern for pattern, *_ in found}


ALPHABET = " 0a,;[](){}.:|=-\"'\t\n\\_/&$#>xX\x00é√−%*^~`<…"
FIXED = [*ALPHABET, r"\begin{matrix}", "[;", "a ", " a", "a=", "a\n", " \n", "1,", "1 ", "A 0\n"]
ENDS = ["\x00", "\n"]
STARTS = ["", "["]
"""What may be before a text that is repeated."""


def seconds(work: Callable[[str], object], text: str) -> float:
    start = time.thread_time()
    work(text)
    return time.thread_time() - start


def worker(pattern: str, flags: int, operation: str) -> Callable[[str], object]:
    method = getattr(re.compile(pattern, flags), operation)
    if operation in ("sub", "subn"):
        return lambda text: method("", text)
    return (lambda text: [*method(text)]) if operation == "finditer" else method


def is_slow(work: Callable[[str], object], before: str, repeated: str, after: str) -> bool:
    """Return True if four times the length takes clearly more than four times as long."""
    text, longer = (before + repeated * (n // len(repeated)) + after for n in (1_200, 4_800))
    first = seconds(work, text)
    if first < 0.002:  # what is quadratic takes ten times as long
        return False
    first = min(first, seconds(work, text))
    return all(seconds(work, longer) > 2.6**2 * first for _ in range(2))


@pytest.mark.parametrize("start", range(8))
def test_a_pattern_takes_linear_time(start: int) -> None:
    slow = []
    for pattern, flags, operation in uses()[0][start::8]:
        work, texts = worker(pattern, flags, operation), product(STARTS, FIXED, ENDS)
        if any(is_slow(work, before, repeated, after) for before, repeated, after in texts):
            slow.append((operation, pattern))
    assert slow == []


def test_every_pattern_of_a_module_is_tried() -> None:
    assert {*uses()[1]} <= OF_NAMES


def test_what_is_slow_is_seen() -> None:
    assert is_slow(worker(r"\s*\Z", 0, "sub"), "", " ", "x")
    assert not is_slow(worker(r"\s*+\Z", 0, "fullmatch"), "", " ", "x")

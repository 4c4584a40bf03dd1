"""Every regular expression of the package takes linear time for what is done with it.

What strangers write is read by patterns. A search, unlike a match, begins anew at each character,
so a pattern that looks ahead as far as the text goes takes quadratic time.
"""

from __future__ import annotations

import ast
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

import attncli
from attncli.core.text.strings import _Regex
from tests.conftest import table

FOLDER = Path(attncli.__file__).parent
OPERATIONS = {"match", "fullmatch", "search", "findall", "finditer", "split", "sub", "subn"}
PUMPS = [
    *" 0a,;[](){}.:|=-\"'\t\n\\_/&$#>x√−%*^<…",
    *(r"\begin{matrix}", "[;", "a ", " a", "a=", " \n", "1,", "1 ", "<c", "# aa"),
]
TEXTS = list(product(("", "[", "eye(", "step"), PUMPS, ("\x00", "\n", "")))
"""What a text begins with, repeats and ends with."""

Use = tuple[str, re.Pattern[str]]
"""An operation, and the pattern that it is done with."""


def is_pattern(value: object) -> TypeGuard[re.Pattern[str]]:
    return isinstance(value, (re.Pattern, _Regex))


def parts(nodes: Iterable[ast.expr], module: ModuleType) -> str | None:
    texts = [known(one, module) for one in nodes]
    return None if any(not isinstance(one, str) for one in texts) else "".join(texts)


def known(node: ast.expr, module: ModuleType) -> Any:
    """Return the value of an expression that only names or joins constants of its module."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.Name(id=name):
            return vars(module).get(name)
        case ast.Attribute(value=owner, attr=name):
            return getattr(known(owner, module), name, None)
        case ast.Subscript(value=owner, slice=ast.Constant(value=str(key))):
            table = known(owner, module)
            return table.get(key) if isinstance(table, dict) else None
        case ast.FormattedValue(value=value):
            return known(value, module)
        case ast.JoinedStr(values=values):
            return parts(values, module)
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return parts((left, right), module)
    return None


def uses(module: ModuleType, tree: ast.Module) -> Iterator[Use | None]:
    """Yield what a module does with patterns; None where a function builds the pattern."""
    for call in ast.walk(tree):
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=name)) if (
                name in OPERATIONS
            ):
                pattern = known(call.args[0], module)
                flags = re.findall(r"\bre\.([A-Z]+)\b", ast.unparse(call))
                yield pattern and (
                    name,
                    re.compile(pattern, sum(getattr(re, one) for one in flags)),
                )
            case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in OPERATIONS:
                pattern = known(owner, module)
                if is_pattern(pattern):
                    yield name, pattern


def seconds(operation: str, pattern: re.Pattern[str], text: str) -> float:
    method = getattr(pattern, operation)
    start = time.thread_time()
    found = method("", text) if operation in {"sub", "subn"} else method(text)
    if operation == "finditer":
        list(found)
    return time.thread_time() - start


def is_slow(use: Use, before: str, pump: str, after: str) -> bool:
    """Return True if four times the length takes clearly more than four times as long."""
    text, longer = (before + pump * (n // len(pump)) + after for n in (2_500, 10_000))
    if seconds(*use, text) < 0.003:  # what is quadratic takes ten times as long
        return False
    # In turn, as a processor may be slower in one moment than in the next.
    return all(seconds(*use, longer) > 2.6**2 * seconds(*use, text) for _ in range(6))


def test_every_pattern_takes_linear_time_for_its_own_operation() -> None:
    found: list[tuple[str, Use]] = []
    built: Counter[str] = Counter()
    named: dict[int, tuple[str, re.Pattern[str]]] = {}
    for file in sorted(FOLDER.rglob("*.py")):
        name = ".".join(file.relative_to(FOLDER).with_suffix("").parts).removesuffix("__init__")
        if name == "__main__":  # runs the program
            continue
        module = import_module(f"attncli.{name}".rstrip("."))
        for key, value in vars(module).items():
            if is_pattern(value):
                named.setdefault(id(value), (f"{name} {key}", value))
        for use in uses(module, ast.parse(file.read_text(encoding="utf-8"))):
            if use:
                found.append((name, use))
            else:
                built[name] += 1
    seen = {id(pattern) for _, (_, pattern) in found}
    others = dict(one for key, one in named.items() if key not in seen)
    assert built == table("linear_time", "built_patterns")
    called = table("linear_time", "patterns_called_otherwise")
    assert others.keys() == called.keys()
    found += [(name, (called[name], pattern)) for name, pattern in others.items()]
    slow = [
        (name, operation, pattern.pattern, texts)
        for name, (operation, pattern) in found
        if (texts := [one for one in TEXTS if is_slow((operation, pattern), *one)])
    ]
    assert slow == []


def test_what_is_slow_is_seen() -> None:
    assert is_slow(("sub", re.compile(r"\s*\Z")), "", " ", "x")
    assert not is_slow(("fullmatch", re.compile(r"\s*+\Z")), "", " ", "x")

"""What an HTML page tells of its cells, put together from its data as the page's script does."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any, NamedTuple
from xml.etree import ElementTree


class Told(NamedTuple):
    """What is told of a cell: its name, its text, what is lit, and what numbers lead to.

    In `words` there is a blank wherever an element begins or ends.
    """

    name: str
    lines: list[str]
    words: str
    lit: set[str]
    links: list[tuple[str, str]]


def told_in(page: str) -> dict[str, Told]:
    """Return what a page tells, by the numbers of its cells."""
    (data,) = re.findall(r'<script id="made" type="application/json">(.*?)</script>', page)
    record = json.loads(data)
    return {number: _told(record["shapes"], *about) for number, about in record["cells"].items()}


def _told(shapes: list[str], lit: str, shape: int, *fills: Any) -> Told:
    texts: list[str] = []
    links: list[tuple[str, str]] = []
    for fill in fills:
        if isinstance(fill, int):
            links.append((texts[-1].strip("()"), str(fill)))
        else:
            texts.append(fill)
    rest = iter(texts)
    markup = re.sub(
        r'<(\w+) class="(name )?s"></\1>',
        lambda match: f"<{match[1]}>{escape(next(rest))}</{match[1]}>",
        shapes[shape],
    )
    assert next(rest, None) is None, "all of them have a place"
    body = ElementTree.fromstring(f"<div>{markup}</div>")
    lines = ["".join(p.itertext()) for p in body.iter("p")]
    numbers: set[str] = set()
    for run in lit.split():
        first, _, last = run.partition("-")
        numbers |= set(map(str, range(int(first), int(last or first) + 1)))
    return Told(texts[0], lines, " ".join(" ".join(body.itertext()).split()), numbers, links)

"""Titles and labels that mean something to one format or another, and must mean nothing."""

from typing import Any

HOSTILE = (
    "<script>alert(1)</script>",
    "[red]bold[/red]",
    "\\input{x}",
    "$x_1$ costs $5",
    "a|b & c",
    "snake_case_name",
    "# not a heading",
    "`code` ``",
    "*stars* **and** ~tildes~ ^^",
    "1. item",
    "- item",
    ":smile:",
    "50% {brace} }",
    "&amp; &#35;",
    "]]> --> <!--",
    "say \"so\" 'or' not -- ??!`",
    "😀👩‍🎓",
    "你好",
    "مرحبا",
    "ẽ é ß",
    "\x1b[31mred\x07",
)
"""What each is shown as is itself, but for the last, whose control characters are written out."""

PROBLEM: dict[str, Any] = {
    "title": " / ".join(HOSTILE),
    "notes": "\n".join(HOSTILE),
    "tokens": list(HOSTILE),
    "X": [[row + 1, row % 3] for row in range(len(HOSTILE))],
    "score": "dot",
}

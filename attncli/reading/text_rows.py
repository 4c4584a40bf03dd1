"""Matrices of a text that are rows, or of one head, with what tells that in their names."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence

from attncli.core.records import replace
from attncli.core.text.strings import regex
from attncli.reading.text_names import HEAD_HEADING, ROW_HEADING
from attncli.reading.texts import Block

ONE_ROW = regex(r"\s*\[?[^\[\];\n]*\]?\s*")
QUERY = regex(r"^[ \t]*q_\{?(?P<row>\w+)\}?[ \t]*=", re.MULTILINE)
"""The name of a query, behind which its rows of other steps may follow."""
REMARK = regex(r"[ \t]*\(([^\W\d][^()\[\]\n]{0,40}|\d{1,3})\)[ \t*]*[:=][ \t]*")
"""A remark between a name and a row: scores (cat): 5 7 7."""


def with_rows(blocks: Sequence[Block], text: str) -> Iterator[Block]:
    """Yield the matrices of a text; one that is a row has its row in its name, if that is told.

    A heading such as Token 2 tells it, up to the next heading of Markdown or matrix that is no row.
    Of a name that is there several times, the name of a query or a remark behind it tells the row,
    and a heading the head.
    """
    counts = Counter(one.name for one in blocks)
    remarks = [_remark(one, text) for one in blocks]
    told = Counter((one.name, remark) for one, remark in zip(blocks, remarks, strict=True))
    headings = [*ROW_HEADING.finditer(text), *QUERY.finditer(text)]
    headings.sort(key=re.Match.start)
    starts = [heading.start() for heading in headings]
    heads = [*HEAD_HEADING.finditer(text)]
    head_starts = [heading.start() for heading in heads]
    after_whole = 0  # where the last matrix ends that is no row
    for one, remark in zip(blocks, remarks, strict=True):
        is_row = ONE_ROW.fullmatch(text, one.table.start, one.table.end) is not None
        number = bisect_right(starts, one.at) - 1
        under = bisect_right(head_starts, one.at) - 1
        head = f"[head {heads[under]['head']}]" if under >= 0 and counts[one.name] > 1 else ""
        row = ""
        if is_row and one.name.isalpha():
            is_several = counts[one.name] > 1
            if is_several and told[one.name, remark] == 1:
                row = remark
            if not row and number >= 0 and (is_several or starts[number] >= after_whole):
                row = _row_of(headings[number], text[starts[number] : one.at], is_several)
        after_whole = after_whole if is_row else one.table.end
        name = f"{one.name}{head if one.name.isalpha() else ''}{f'[{row}]' if row else ''}"
        yield replace(one, name=name) if name != one.name else one


def _row_of(heading: re.Match[str], between: str, is_several: bool) -> str:
    """Return the row of a heading, if it is that of a name behind it; else ""."""
    after = between.lstrip("\n")
    if "step" not in heading.re.groupindex:
        is_meant = is_several
    elif heading["step"]:
        is_meant = "\n" not in after
    else:
        is_meant = is_several or "\n#" not in after
    return heading["row"] if is_meant else ""


def _remark(block: Block, text: str) -> str:
    remark = REMARK.fullmatch(text, block.at + len(block.name), block.table.start)
    return remark[1] if remark else ""

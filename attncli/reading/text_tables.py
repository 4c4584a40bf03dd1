"""Tables in a text, told by their form alone: rows of numbers, lists, calls, LaTeX, Markdown.

What is rewritten keeps its length, so that places stay the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from attncli.core.numbers.notations import MAKER, with_commas
from attncli.core.numbers.written import CELL
from attncli.core.records import Record, replace
from attncli.core.text.strings import regex, visible
from attncli.reading.text_names import AND, ROW_HEADING, Known, name_in

MAX_BETWEEN = 200
"""Maximum number of characters between matrices of one calculation, and of a line with a name."""
PROMPT = r"(?:>{1,3}|In ?\[\d+\]:=?|Out\[\d+\] ?[:=]|octave:\d+>|julia>)(?=\s)"
AROUND_ROWS = regex(
    rf"^{PROMPT}|^\[?(?:[\d./-]{{6,10}},? )?\d{{1,2}}:\d\d(?::\d\d)?\]?(?: -)? "
    r"[^\W\d][^\n:=\[\]]{0,30}:(?=[ \t])"  # who wrote a line of a chat, and when
    rf"|^(?:\.\.\.|\+)(?=[ \t])|^[ \t]*(?:```|~~~)[^\n]*"
    r"|(?<=[^\s#])[ \t]+(?:#(?!\S)|//)[^\n|]*|(?:^|(?<=[\s;]))%[ \t]*(?=[^\W\d])[^\n|]*"
    r"|^[ \t]*(?:%[^\n]*|//[^\n]*|#(?!#)[^\n=]*(?:=|<-)[^\n]*[\[(][^\n]*)"
    r"|<!--(?! answer)[^\n]{0,300}?-->|/\*[^\n]{0,300}?\*/|^[ \t]*/\*(?:[^*]|\*(?!/)){0,1000}+\*/"
    r"|(?:\A|(?<=\n\n))[ \t]*(?P<quotes>\"\"\"|''')(?s:.{0,1000}?)(?P=quotes)"
    rf"|^[ \t]*[-*•‣◦][ \t]+(?=[^\W\d]|[*$`\\])|(?<=[\])][, ])[ ]?(?:and|{AND})(?=[ ][\[(])"
    r"|^[ \t]*[*•‣◦][ \t]+(?=[-+.\d][^\s,;|]*+[,;]?[ \t]+[-+.\d])"  # a row of numbers
    r"|<tf\.Tensor: shape=\([\d, ]*\), dtype=\w+, numpy=|Parameter containing:"
    r"|(?<![\w×])\d++(?:×\d++){0,4}+(?:-element)? ?[A-Z]\w*+\{[^\n:]{1,40}\}:",
    re.MULTILINE,
)
"""Prompts, comments, bullets, Markdown's fences, and types that libraries print before a matrix."""

WORD_FOR_NUMBER = (
    r"(?i:inf(?:ini)?(?:ty)?)|∞|oo|[nN]a[nN]|e\^[^\s,;]+|√[\d.]+|(?:sqrt|exp)\([^()\n]*\)"
)
ENTRY = rf"(?:{CELL}|[-+−]?(?:{WORD_FOR_NUMBER})|n/a|idk|[-–—]|=[^\s,;=]+)"
"""A number, or what a student writes in its place."""
MARK, APART = r"(?:[xX×/]|masked|blocked)", r"[ \t|&,;]++"
MARKED = regex(rf"(?<![^\s|&,;\[(]){MARK}(?![^\s|&,;\])\\])")
BLOCKED_ROW = regex(
    rf"^[ \t|\[(]*+(?:[^\W\d]\w*+[ \t]*+[:|][ \t]*+)?[-+−]?\d[\w.%]*+{APART}"
    rf"(?:[-+−]?[\d∞][\w.%]*+{APART})*+(?:{MARK}(?:{APART}|(?![^\s\])\\])))++[ \t\r\])\\]*+$",
    re.MULTILINE,
)
"""A mark of a blocked cell, and a row that ends with some of them."""
SURE_COMMA = regex(r"(?<![^\s|&;])0,\d{2,}+(?![^\s|&;%])")
"""A number that cannot have another comma than a decimal one."""
ENTRIES = rf"{ENTRY}(?:[ \t,;]+{ENTRY})*+"
IN_ROUND = rf"\([ \t]*{ENTRIES}[ \t,]*\)"
IN_SQUARE = rf"\[[ \t]*{ENTRIES}[ \t,;]*\]"
ONE_LIST = rf"(?:{IN_SQUARE}|{IN_ROUND})"
LABEL = r"[^\W\d_][^\s:|=\[\](){},;\\]*"
LINE_END = r"[ \t\r,;]*(?:\n|\Z)"
ROW = rf"^[ \t]*(?:\(?\d{{1,3}}\)[ \t]+)?(?:{ENTRIES}|{ONE_LIST}){LINE_END}"
LABELLED_ROW = (
    rf"^[ \t]*{LABEL}(?:(?: [^\s:|=\[\](){{}},;\\]+){{0,2}}[ \t]*:[ \t]*(?:{ENTRIES}|{ONE_LIST})"
    rf"|[ \t]+(?:{ENTRY}(?:[ \t,;]+{ENTRY})++|{ONE_LIST})){LINE_END}"
)
FILLED = r"(?:\w+\.)*(?:eye|identity|diag|zeros|ones|tri[lu])[ \t]*\("
PIPED_ROW = rf"^[ \t|]*(?:{LABEL}|{ENTRIES})(?:[ \t]*\|[ \t]*{ENTRIES})+[ \t|]*{LINE_END}"
"""A row whose cells are separated by bars, without one at its beginning or its end."""
PIPED_HEADS = r"^[^\n|]+\|[^\n]*\n(?:^[ \t]*[-:]+[-:| \t]*\n)?"
BAR_ROW = r"[ \t]*\|[^\n]*\|[ \t\r]*(?:\n|\Z)"
IS_LABELLED = {"labelled": rf"(?:{LABELLED_ROW}){{2,}}"}
FORMS = {
    "tex": r"\\(?:begin|end)\s*\{[a-zA-Z]*(?:matrix|array|tabular)\*?\}",
    "bars": rf"(?:^|(?<=[=:])){BAR_ROW}(?:^{BAR_ROW})*",
    "console": r"^[ \t]*\[,1\][^\n]*\n(?:[ \t]*[^\s=()]+[ \t]+[-\d.][^\n]*(?:\n|\Z))+",
    "drawn": r"(?:^[^\n]*[⎡⎢⎣⎛⎜⎝][^\n]*(?:\n|\Z)|^[ \t]*[┌│└][^\n]*(?:\n|\Z))+",
    "rows": (
        r"(?:^[ \t]*1\.0+e[-+]\d{2,3}[ \t]*\*[ \t\r]*\n\s*)?"  # a factor, as MATLAB prints it
        rf"(?:{ROW}(?:[ \t\r]*\n(?={ROW}))?){{2,}}|^[ \t]*{ENTRY}(?:[ \t,;]+{ENTRY})+{LINE_END}"
    ),
    "piped": rf"(?:{PIPED_HEADS})?(?:{PIPED_ROW})+",
    "in_round": rf"(?<=[=:≈→])[ \t]*{IN_ROUND}(?:[ \t]*[,;]?\s*+{IN_ROUND})+",
    "filled": rf"(?<![\w.])(?:[\d.]++[ \t]*\*[ \t]*)?{FILLED}",
    "call": rf"(?<![\w.])(?:{MAKER}|(?:matrix|[rc]bind|c|mat)[ \t]*\()",
    "list": (r"(?<![\w\])}'\"\\])\[|(?<=left)[ \t]*\[|\{(?=\s*\{)|(?<=[=:≈→])[ \t]*\("),
    "flat": (  # after a name; up to the end of a line, or another name
        rf"(?<=[=:≈→])[ \t]*{ENTRIES}"
        r"(?=[.,;$]*[ \t\r]*$|[,;$]*[ \t]+(?:and[ \t]+)?\S+[ \t]*=)"
    ),
}
"""Patterns of tables by their form: of all, where lines tell the end, else of the beginning.

Those that are found first count; `_table` and `_bracketed` find the end of the others.
"""


def _any_form(forms: Mapping[str, str]) -> re.Pattern[str]:
    return regex("|".join(f"(?P<{kind}>{one})" for kind, one in forms.items()), re.MULTILINE)


TABLE, UNLABELLED = _any_form(IS_LABELLED | FORMS), _any_form(FORMS)
PAGE_NUMBER = regex(
    r"^(?:(?!\d[ \t,;]+[-+.\d])[^\n])*\d[ \t,;]+[-+.\d][^\n]*\n([ \t]*\d{1,3}[ \t\r]*(?:\n|\Z))\Z",
    re.MULTILINE,
)
"""A line of one whole number below a row of several, as between the pages of a PDF.

At the end of a text it is one only if the number before it stands alone in a line, too."""
NUMBER_ALONE = regex(r"^[ \t]*(\d{1,3})[ \t\r]*$", re.MULTILINE)
DENSE_ROWS = regex(rf"(?:{ROW}){{2,}}", re.MULTILINE)
"""Rows without an empty line between them."""
TEX_EDGE = regex(r"\\(?:begin|(?P<end>end))\s*\{[a-zA-Z]*(?:matrix|array|tabular)\*?\}")
NUMERIC = regex(rf"(?:[\[({{\s≈~]|[\w.]{{1,40}}\(){{0,40}}{ENTRY}(?=[\s,;\])}}&…*])")
"""The beginning of a list, up to its first number."""
TUPLE = regex(rf"\(\s*+{MAKER}")
"""The beginning of several matrices, as functions return them: (tensor(…), tensor(…))."""
NO_WORDS = regex(r"[\[\](){}\s]*[-+.\d]")
"""The beginning of a list whose brackets do not match, up to its first number."""
COLUMN_HEADS = regex(r"[ \t]*([^\W\d][^\s:=|]*(?:[ \t]+[^\W\d][^\s:=|]*)+)[ \t\r]*\n")
"""A line of several words, as the headings of columns are."""
WORD_WITHIN = regex(rf"[ \t]*+(?:{ENTRY}[ \t,;]++)++[^\W\d]\w*+(?:[ \t,;]++{ENTRY})++{LINE_END}")
"""Numbers with one word among them."""
NEAR_ROW = regex(
    rf"[ \t]*+(?:[^\W\d][^\s:|]*+[ \t:|]++)?{ENTRY}[ \t,;]+(?![–-] [^\W\d]){ENTRY}(?![\w.%])[^\n]*"
    rf"|{WORD_WITHIN.pattern}"
)
"""A line that may be meant as a row of numbers, beside rows that are."""
ROW_LABEL = regex(r"[^:\n]*:|[^\w\n]*\d+[.)][ \t]")
TORN = regex(r"[ \t]*+[^\w\n(]*+[\d½¼¾⅓⅔](?!.*(?:[^\W\d]{2}|=))[^\n]*")
"""A line that begins with a number, without a word: a row with a sign too many."""
MISREAD = str.maketrans("lI|OoSBZ", "11100582")
"""Letters for which programs take the digits of a scanned page, each with its digit."""
MAY_BE_MISREAD = regex(r"(?=.*\d)[-+−.,\d\slI|OoSBZ]+")
WHOLE_ROW = regex(ROW)
ROWS_BESIDE = regex(rf"(?:[ \t]*+[,;]?[ \t]*+{IN_SQUARE})++(?![ \t]*=)")
"""The other rows of a matrix behind its first one, a list. Before = they are operands."""
LIST_BESIDE = regex(rf"[ \t]*+,[ \t]*+[\[(]|[ \t\r]*\n[ \t]*{ONE_LIST}[ \t\r]*$", re.MULTILINE)
"""The sign behind a row that another one is there, which cannot be read with it."""


class Table(Record):
    """The place of a table in a text. `fault` is why it cannot be read."""

    start: int
    end: int
    is_flat: bool = False  # one row, or one number, after a name
    fault: str = ""
    fault_at: int | None = None  # where that is, if not at the start


def cleaned(text: str) -> str:
    """Return a text with blanks in place of prompts, comments and other words around matrices.

    Marks of blocked cells at the end of a row, `x` or `masked`, become `-`. Where a number such as
    0,25 shows decimal commas, that of 1,250 becomes a point.
    """
    if not text.isascii():
        text = NO_BREAK.sub(" ", text.translate(NARROW))
    text = with_commas(AROUND_ROWS.sub(lambda noise: re.sub(r"[^\n]", " ", noise[0]), text))
    if SURE_COMMA.search(text) and not re.search(r"\d\.\d", text):
        text = re.sub(r"(?<![\d,.])([1-9]\d{0,2}),(?=\d{3}(?![\d,.]))", r"\1.", text)
    return BLOCKED_ROW.sub(lambda row: MARKED.sub(lambda x: "-".ljust(len(x[0])), row[0]), text)


NARROW = str.maketrans("．，：＝（）【】０１２３４５６７８９", ".,:=()  0123456789")
"""The digits and separators of East Asian fonts, with those of a keyboard."""
NO_BREAK = regex(r"\u00a0(?!(?<=\d.)\d{3}(?!\d))")
"""A no-break space that does not separate thousands."""


def tables_in(text: str, known: Known) -> list[Table]:
    """Return the tables of a text; the last one has a fault if its end is missing."""
    brackets = _closed_brackets(text)
    tables = list[Table]()
    at = unlabelled = 0
    while found := _next_table(text, at, unlabelled):
        start, kind = found.start(), found.lastgroup or ""
        after = tables[-1].end if tables else 0
        before = text[after:start]
        if kind == "labelled" and not _is_open(before, found[0], known):
            unlabelled = found.end()
            continue
        table = _table(text, found, kind, brackets)
        if table and kind in ("labelled", "rows"):
            table = replace(table, start=_with_heads(text, after, table, known))
            if torn := _torn_row(text, after, table, kind == "labelled"):
                fault = f"{visible(torn[1])} is no row of numbers"
                table = replace(table, fault=fault, fault_at=torn[0])
        tables += [table] if table else []
        if table and table.fault:
            return tables
        at = table.end if table else start + 1
    return tables


def _torn_row(text: str, after: int, table: Table, labelled: bool) -> tuple[int, str] | None:
    """Return a line beside rows of numbers that may be one of them, with its offset; or None."""
    above = text[after : table.start].removesuffix("\n").rpartition("\n")[2]
    below = line_at(text, table.end) if text[table.end - 1 : table.end] == "\n" else ""
    width = _entries(line_at(text, table.start)) - labelled
    for at, line in ((table.start - 1 - len(above), above), (table.end, below)):
        more = _entries(line) - width
        is_near = NEAR_ROW.fullmatch(line) and (more == 1 or not WORD_WITHIN.fullmatch(line))
        plain = line.translate(MISREAD) if MAY_BE_MISREAD.fullmatch(line) else ""
        is_misread = _entries(plain) == width and WHOLE_ROW.fullmatch(plain)
        if (
            is_near
            or is_misread
            or (TORN.fullmatch(line) and more in (0, bool(ROW_LABEL.match(line))))
        ):
            return at + len(line) - len(line.lstrip()), line.strip()
    return None


def _entries(line: str) -> int:
    return sum(any(map(str.isalnum, word)) for word in re.split(r"[\s|&,;]", line))


def line_at(text: str, at: int) -> str:
    """Return the rest of a line."""
    end = text.find("\n", at)
    return text[at : end if end >= 0 else None]


def _next_table(text: str, at: int, unlabelled: int) -> re.Match[str] | None:
    if at < unlabelled and (found := UNLABELLED.search(text, at, unlabelled)):
        return found
    return TABLE.search(text, max(at, unlabelled))


def _closed_brackets(text: str) -> dict[int, tuple[int, bool]]:
    """Return the end of what each bracket opens, and whether that is inside of a call."""
    closed = dict[int, tuple[int, bool]]()
    opened = list[tuple[str, int, bool]]()
    for one in re.finditer(r"[\[\](){}]", text):
        at, sign = one.start(), one[0]
        if sign in "[({":
            in_call = bool(opened) and opened[-1][2]
            is_call = sign == "(" and re.match(r"\w", text[at - 1 : at]) is not None
            opened.append((sign, at, in_call or is_call))
            closed[at] = 0, in_call
            continue
        while opened:
            other, start, _ = opened.pop()
            if other + sign in ("[]", "()", "{}"):
                closed[start] = at + 1, closed[start][1]
                break
    return closed


def _table(
    text: str, found: re.Match[str], kind: str, brackets: dict[int, tuple[int, bool]]
) -> Table | None:
    """Return the table that begins at a match; None if it is none after all."""
    start, end = found.span()
    if kind == "tex":
        if found[0].startswith("\\end"):
            return Table(start, end, fault=r"\end has no \begin before it")
        edge = TEX_EDGE.search(text, end)
        fault = r"the matrix has no \end; % begins a comment, \% is percent"
        return Table(start, edge.end()) if edge and edge["end"] else Table(start, end, fault=fault)
    line = text[text.rfind("\n", 0, start) + 1 : start]
    if kind == "rows" and (dense := DENSE_ROWS.match(text, start)):
        end = dense.end()  # an empty line ends them, unless there is one after each row
    if kind == "rows" and (page := PAGE_NUMBER.search(text[start:end])):
        numbers = {int(one[1]) for one in NUMBER_ALONE.finditer(text, 0, start)}
        if text[end:].strip() or int(page[1]) - 1 in numbers:
            end = start + page.start(1)
    if kind == "drawn" and "=" in found[0]:
        return Table(start, end, fault="write the name above the matrix, and each matrix by itself")
    if kind not in ("filled", "call", "list"):
        near = line[-MAX_BETWEEN:]
        in_call = kind == "flat" and near.count("(") > near.count(")")
        return None if in_call else Table(start, end, is_flat=kind == "flat")
    return _bracketed(text, found, line, kind, *brackets[end - 1])


def _bracketed(
    text: str, found: re.Match[str], line: str, kind: str, closing: int, in_call: bool
) -> Table | None:
    """Return the table in the brackets that open at the end of a match; None if it is none."""
    start, end = found.span()
    start += len(found[0]) - len(found[0].lstrip())
    before = line.rstrip()
    is_set = before.endswith(("=", ":", "<-", "≈", "→", "left", " is", " are"))
    if kind == "list" and TUPLE.match(text, end - 1):
        return None
    if kind != "filled" and not NUMERIC.match(text, end - 1):
        is_matrix = kind == "call" and is_set and NO_WORDS.match(text, end)
        return Table(start, end, fault="this is no matrix of numbers") if is_matrix else None
    if not closing:
        fault = f"the {text[end - 1]} is not closed"
        is_list = is_set or kind == "call" or not before or text[end : end + 1] == "["
        return Table(start, end, fault=fault) if is_list else None
    if kind == "filled":
        times = re.compile(r"(?:\)*[ \t]*\*[ \t]*[\d.]+)?").match(text, closing)
        return Table(start, times.end() if times else closing)
    inside = text[end:closing]
    is_nested = kind == "call" or "[" in inside or "{" in inside or ";" in inside
    more = ROWS_BESIDE.match(text, closing) if kind == "list" and (is_set or not before) else None
    rows_end = more.end() if more else closing
    is_alone = not before and not line_at(text, rows_end).strip(" \t\r,;.")
    if is_nested or is_alone or (is_set and not in_call):
        is_row = more if is_nested else is_set and LIST_BESIDE.match(text, rows_end)
        fault = "another row is beside this one; write [[1, 0], [0, 1]]" if is_row else ""
        return Table(start, rows_end, not (is_nested or more), fault)
    return None


def _with_heads(text: str, after: int, table: Table, known: Known) -> int:
    """Return the start of rows, or of a line of words above them, one for each column."""
    above = text.rfind("\n", after, max(table.start - 1, after)) + 1 or after
    heads = COLUMN_HEADS.fullmatch(text, above, table.start)
    if heads is None or known(name_in(heads[1], known)):
        return table.start
    count = len(re.split(r"[\s,;]+", text[table.start : table.end].partition("\n")[0].strip()))
    return above if len(heads[1].split()) in (count, count - 1) else table.start


def _is_open(before: str, rows: str, known: Known) -> bool:
    """Return True if the last line before labelled rows is a name without a value, so it is theirs.

    With nothing before them, their labels are no names of their own.
    """
    if not before.strip():
        labels = re.findall(r"(?m)^[ \t]*([^\W\d][\w ]{2,40}):", rows)
        return not any(map(known, labels))
    above, _, line = before.rstrip().rpartition("\n")
    if ROW_HEADING.fullmatch(line):
        return False
    if COLUMN_HEADS.fullmatch(f"{line}\n") and not known(name_in(line, known)):  # of the columns
        line = above.rstrip().rpartition("\n")[2]
    line = line.strip()
    name = name_in(line, known)
    has_value = re.search(r"[:=]\s*[^\s*]", line[max(line.rfind(name), 0) :]) is not None
    return (not has_value or line.endswith((":", "="))) and known(name)

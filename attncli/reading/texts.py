"""Matrices in a text, each with the name that is written before it.

A text may be lines of a program, a console, a notebook, a mail or course notes. A table is told by
its form alone; the words before it, on its line or above it, name it. All else is prose. What is
rewritten keeps its length, so that places stay the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import TypeAlias

from attncli.core.numbers.grid import undecorated
from attncli.core.numbers.pasted import MAKER
from attncli.core.numbers.written import CELL
from attncli.core.records import Record, replace
from attncli.core.tape.cell_names import ROW_WORDS
from attncli.core.text.strings import regex, visible

Known: TypeAlias = Callable[[str], bool]
"""Whether a word is the name of a matrix of a problem, or of a step."""

PROMPT = r"(?:>{1,3}|In ?\[\d+\]:=?|Out\[\d+\] ?[:=]|octave:\d+>|julia>)(?=\s)"
NOISE = regex(
    rf"^{PROMPT}|^(?:\.\.\.|\+)(?=[ \t])|^[ \t]*(?:```|~~~)[^\n]*"
    r"|(?<=[^\s#])[ \t]+(?:#(?!\S)|//)[^\n|]*|(?:^|(?<=[\s;]))%[ \t]*(?=[^\W\d])[^\n|]*"
    r"|^[ \t]*(?:%[^\n]*|//[^\n]*|#(?!#)[^\n=]*(?:=|<-)[^\n]*[\[(][^\n]*)"
    r"|<!--(?! answer)[^\n]{0,300}?-->|/\*[^\n]{0,300}?\*/|^[ \t]*/\*(?:[^*]|\*(?!/)){0,1000}+\*/"
    r"|(?:\A|(?<=\n\n))[ \t]*(?P<quotes>\"\"\"|''')(?s:.{0,1000}?)(?P=quotes)"
    r"|^[ \t]*[-*•‣◦][ \t]+(?=[^\W\d]|[*$`\\])"
    r"|<tf\.Tensor: shape=\([\d, ]*\), dtype=\w+, numpy=|Parameter containing:"
    r"|(?<![\w×])\d++(?:×\d++){0,4}+(?:-element)? ?[A-Z]\w*+\{[^\n:]{1,40}\}:",
    re.MULTILINE,
)
"""Prompts, comments, bullets, Markdown's fences, and types that libraries print before a matrix."""

WORD_FOR_NUMBER = r"[iI]nf(?:inity)?|∞|oo|[nN]a[nN]|e\^[^\s,;]+|√[\d.]+|(?:sqrt|exp)\([^()\n]*\)"
ENTRY = rf"(?:{CELL}|[-+−]?(?:{WORD_FOR_NUMBER})|n/a|idk|[-–—]|=[^\s,;=]+)"
"""A number, or what a student writes in its place."""
ENTRIES = rf"{ENTRY}(?:[ \t,;]+{ENTRY})*+"
ONE_LIST = rf"(?:\[[ \t]*{ENTRIES}[ \t,;]*\]|\([ \t]*{ENTRIES}[ \t,]*\))"
LABEL = r"[^\W\d_][^\s:|=\[\](){},;\\]*"
LINE_END = r"[ \t\r,;]*(?:\n|\Z)"
ROW = rf"^[ \t]*(?:\(?\d{{1,3}}\)[ \t]+)?(?:{ENTRIES}|{ONE_LIST}){LINE_END}"
LABELLED_ROW = (
    rf"^[ \t]*{LABEL}(?:(?: [^\s:|=\[\](){{}},;\\]+){{0,2}}[ \t]*:[ \t]*(?:{ENTRIES}|{ONE_LIST})"
    rf"|[ \t]+(?:{ENTRY}(?:[ \t,;]+{ENTRY})++|{ONE_LIST})){LINE_END}"
)
FILLED = r"(?:\w+\.)*(?:eye|identity|diag|zeros|ones|tri[lu])[ \t]*\("
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
PAGE_NUMBER = regex(r"\d[ \t,;]+[-+.\d][^\n]*\n([ \t]*\d{1,3}[ \t\r]*(?:\n|\Z))\Z")
"""A line of one whole number below a row of several, as between the pages of a PDF.

At the end of a text it is one only if the number before it stands alone in a line, too."""
NUMBER_ALONE = regex(r"^[ \t]*(\d{1,3})[ \t\r]*$", re.MULTILINE)
DENSE_ROWS = regex(rf"(?:{ROW}){{2,}}", re.MULTILINE)
TEX_EDGE = regex(r"\\(?:begin|(?P<end>end))\s*\{[a-zA-Z]*(?:matrix|array|tabular)\*?\}")
NUMERIC = regex(rf"(?:[\[({{\s≈~]|[\w.]{{1,40}}\(){{0,40}}{ENTRY}(?=[\s,;\])}}&…*])")
"""The beginning of a list, up to its first number."""
TUPLE = regex(rf"\(\s*+{MAKER}")
"""The beginning of several matrices, as functions return them: (tensor(…), tensor(…))."""
NO_WORDS = regex(r"[\[\](){}\s]*[-+.\d]")
"""The beginning of a list whose brackets do not match, up to its first number."""
HEADS = regex(r"[ \t]*([^\W\d][^\s:=|]*(?:[ \t]+[^\W\d][^\s:=|]*)+)[ \t\r]*\n")
NEAR_ROW = regex(
    rf"[ \t]*+(?:[^\W\d][^\s:|]*+[ \t:|]++)?{ENTRY}[ \t,;]+{ENTRY}(?![\w.%])[^\n]*"
    rf"|[ \t]*+(?:{ENTRY}[ \t,;]++)++[^\W\d]\w*+(?:[ \t,;]++{ENTRY})++{LINE_END}"
)
"""A line that may be meant as a row of numbers, beside rows that are."""
TORN = regex(r"[ \t]*+[^\w\n]*+[\d½¼¾⅓⅔](?!.*(?:[^\W\d]{2}|=))[^\n]*")
"""A line that begins with a number, without a word: a row with a sign too many."""
LIST_BESIDE = regex(rf"[ \t]*,[ \t]*[\[(]|[ \t\r]*\n[ \t]*{ONE_LIST}[ \t\r]*$", re.MULTILINE)
"""What shows behind a list that it is only the first row."""


class Table(Record):
    """The place of a table in a text. `fault` is why it cannot be read."""

    start: int
    end: int
    is_flat: bool = False  # one row, or one number, after a name
    fault: str = ""
    fault_at: int | None = None  # where that is, if not at the start


class Block(Record):
    """A table with its name, or "", and the offset of the name or else of the table.

    `names` are all names in a heading such as W_q = W_k =.
    """

    name: str
    at: int
    table: Table
    names: tuple[str, ...] = ()


def cleaned(text: str) -> str:
    """Return a text with blanks in place of prompts, comments and other words around matrices."""
    if not text.isascii():
        text = NO_BREAK.sub(" ", text.translate(KEYBOARD_SIGNS))
    return NOISE.sub(lambda noise: re.sub(r"[^\n]", " ", noise[0]), text)


KEYBOARD_SIGNS = str.maketrans("‐‑‒－．，０１２３４５６７８９", "----.,0123456789")
"""Minus signs and digits of word processors and of wide fonts, with those of a keyboard."""
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
        if table and (torn := _torn_row(text, after, table, kind)):
            fault = f"{visible(torn[1])} is no row of numbers"
            table = replace(table, fault=fault, fault_at=torn[0])
        tables += [table] if table else []
        if table and table.fault:
            return tables
        at = table.end if table else start + 1
    return tables


def _torn_row(text: str, after: int, table: Table, kind: str) -> tuple[int, str] | None:
    """Return a line beside rows of numbers that may be one of them, with its offset; or None."""
    if kind not in ("rows", "labelled"):
        return None
    above = text[after : table.start].removesuffix("\n").rpartition("\n")[2]
    below = _line_at(text, table.end) if text[table.end - 1 : table.end] == "\n" else ""
    for at, line in ((table.start - 1 - len(above), above), (table.end, below)):
        is_page = line.strip().isdigit()  # else it would be a row
        if not is_page and (NEAR_ROW.fullmatch(line) or TORN.fullmatch(line)):
            return at + len(line) - len(line.lstrip()), line.strip()
    return None


def _line_at(text: str, at: int) -> str:
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
    if kind == "rows" and (page := PAGE_NUMBER.search(text, start, end)):
        numbers = {int(one[1]) for one in NUMBER_ALONE.finditer(text, 0, start)}
        if text[end:].strip() or int(page[1]) - 1 in numbers:
            end = page.start(1)
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
    is_alone = not before and not _line_at(text, closing).strip(" \t\r,;.")
    if is_nested or is_alone or (is_set and not in_call):
        is_row = not is_nested and is_set and LIST_BESIDE.match(text, closing)
        fault = "another row is beside this one; write [[1, 0], [0, 1]]" if is_row else ""
        return Table(start, closing, not is_nested, fault)
    return None


def _with_heads(text: str, after: int, table: Table, known: Known) -> int:
    """Return the start of rows, or of a line of words above them, one for each column."""
    above = text.rfind("\n", after, max(table.start - 1, after)) + 1 or after
    heads = HEADS.fullmatch(text, above, table.start)
    if heads is None or known(name_in(heads[1], known)):
        return table.start
    count = len(re.split(r"[\s,;]+", text[table.start : table.end].partition("\n")[0].strip()))
    return above if len(heads[1].split()) in (count, count - 1) else table.start


def _is_open(before: str, rows: str, known: Known) -> bool:
    """Return True if the last line before labelled rows is a name without a value, so it is theirs.

    With nothing before them, their labels are no names of their own.
    """
    if not before.strip():
        labels = re.findall(r"(?m)^[ \t]*([^\W\d]\w{2,}):", rows)
        return not any(map(known, labels))
    above, _, line = before.rstrip().rpartition("\n")
    if HEADS.fullmatch(f"{line}\n") and not known(name_in(line, known)):  # of the columns
        line = above.rstrip().rpartition("\n")[2]
    line = line.strip()
    name = name_in(line, known)
    has_value = re.search(r"[:=]\s*[^\s*]", line[max(line.rfind(name), 0) :]) is not None
    return (not has_value or line.endswith((":", "="))) and known(name)


BRACES = r"\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}"
TEX_WORDS = (
    (r"\\[a-z]+\s*\{(?=[^{}]*\Z)", " "),  # which closes behind the matrix
    (r"\\(?:begin|end|label|vspace|hspace|documentclass|usepackage)\*?\s*\{[^{}]*\}", " "),
    (rf"\\[dt]?frac\s*{BRACES}\s*{BRACES}", r"\1/\2"),
    (r"\\sqrt\s*\{([^{}]*)\}", r"√\1"),
    (r"\\alpha\b", "α"),
    (r"\\in\b", "∈"),
    (r"_\{\s*\d+\s*(?:\\times|×)\s*\d+\s*\}", ""),
    (r"\\approx\b", "≈"),
    (r"\\(?:rightarrow|Rightarrow|to)\b", "→"),
    (r"(?:\^|\b)\{?\\(?:top|intercal)\}?|⊤", "^T"),
    (r"\\(?:cdot|times|quad|qquad|left|right|item|[;,!:\[\]() ])|\\\\|[$&]", " "),
    (r"\\[a-zA-Z]+\*?\s*\{([^{}]*)\}", r"\1"),
    (r"\\[a-zA-Z]+\b|\\", " "),
)
"""LaTeX around and in a name, with what is left of it."""
QUOTED = regex(r"(?:.*[^\w\s])?[ \t]*(['\"])([\w.^]+)\1\s*[:,]\s*")
"""The key of a matrix in a mapping of Python, behind what is before it."""
ROW_HEADING = regex(
    rf"^[ \t#*>-]*(?:for[ \t]+)?(?:the[ \t]+)?{ROW_WORDS}[ \t]+[\"'“‘]?"
    r"(?!(?:weight|vector|matri|project|embed|count)\w*)"
    r"(?P<row>[^\W_][\w’.-]*?)[\"'”’]?(?:[ \t]*\([^()\n]*\))?[ \t*`]*(?:[:,–]|[ \t\r]*$)",
    re.IGNORECASE | re.MULTILINE,
)
"""A line, or its beginning, that tells whose rows follow: Row 1: weights = …."""
ARGUMENT = regex(r"(?<=\w)\([-\d.,;\s\[\]{}]*+\)(?=\s*+(?:=|≈|:|→|\Z))")
"""Numbers to which a function is applied: softmax([1, 0]) =."""
PLACES = r"(?:\[[^\]\n]{1,20}\])*(?:_?[{(]\d+, ?\d+[)}])?"
NAME = rf"(?:\\\w+(?:\{{\w+\}}| (?=\w))|[^\W\d])[\w.^{{}}]*{PLACES}"
IS_SET = r"(?<![<>!=*+/-])(?::?=)(?!=)|<-|≈|→"
NEXT_STATEMENT = regex(rf"(?:[,;]\s++|(?<=\S)\s++and\s++)(?={NAME}\s*+(?:{IS_SET}))")
OPENERS = regex(r"(?<![\s$&({\[<\w.])(?:\\left\s*[\[({|.\\]*|[\w.]++\(|[\s$&({\[<])++\Z")
"""The start of what encloses a matrix, at the end of the text before it."""
AROUND = regex(r"\W*|\s*\\(?:begin|end|left|centering|hline|label)\b.*")
"""A line between a name and its matrix that is neither."""
BEFORE = """a an and assume const final for gegeben get given have here in input let matrix my now
of our resulting seien sei so suppose table take the then und var we where with wir your"""
AFTER = "are as be below by equals follows is matrices matrix table tensor values vector vectors"
BEFORE_NAME, AFTER_NAME = frozenset(BEFORE.split()), frozenset(AFTER.split())
"""Words before and after a name in a sentence."""
MAX_LINES_ABOVE = 5
"""Maximum number of lines between a name and its matrix."""
MAX_ABOVE = 2000
"""Maximum number of characters between a name and its matrix."""
MAX_BETWEEN = 200
"""Maximum number of characters between matrices of one calculation, and of a line with a name."""


def plain_words(heading: str) -> str:
    r"""Return a heading without LaTeX.

    >>> plain_words(r"\frac{QK^\top}{\sqrt{d_k}} ="), plain_words(r"\textbf{Weights}")
    ('QK^T/√d_k =', 'Weights')
    """
    heading = re.sub(r":[ \t]*[|>][-+\d]*[ \t]*(?:#.*)?\Z", ":", heading)  # a text block of YAML
    for pattern, words in TEX_WORDS if re.search(r"[\\$&⊤]", heading) else ():
        heading = re.sub(pattern, words, heading)
    return heading.strip()


def name_in(heading: str, known: Known) -> str:
    """Return the name in a heading, by the words that are known; all of its words for none.

    Of a formula, such as S = Q K^T / sqrt(d_k), a word tells more than a letter.

    >>> name_in("Query (Q) matrix:", "Query Q".split().__contains__)
    'Query'
    """
    text = ARGUMENT.sub("", plain_words(heading))
    rest = ROW_HEADING.sub("", text, 1).strip()
    text = rest if re.search(r"\w", rest) else text
    if quoted := QUOTED.fullmatch(text):
        return quoted[2]
    if (remark := REMARK.fullmatch(text)) and known(remark[1]):
        return remark[1]
    text = re.sub(r"∈[^=:\n]*", "", text)
    statement = NEXT_STATEMENT.split(text)[-1]
    parts = [part.strip() for part in re.split(rf"{IS_SET}|(?<=\w)\s++(?:is|ist)\s++", statement)]
    parts = [part for part in parts if part] or [""]
    is_set = re.search(rf"{IS_SET}|:[ \t*`$]*\Z", statement) is not None
    first = _name_in_words(parts[0], known, is_set)
    others = [part for part in parts[1:] if len(part) > 2 and known(part.rstrip(": "))]
    if others and len(first) < 3:
        return others[0].rstrip(": ")
    return first or undecorated(parts[0]).strip("[(&>,;. ")


def names_in(heading: str, known: Known) -> tuple[str, ...]:
    """Return the names before a matrix, if there are several, as in W_q = W_k = …."""
    parts = re.split(rf"{IS_SET}|(?<=\S)\s++(?:and|und)\s++|[,;/&]", plain_words(heading))
    names = list[str]()
    for part in filter(str.strip, parts):
        words = re.sub(r"(?<=\S)\s++(?:is|are|be)\b(?:\s++both)?+\s*+\Z", "", part).split()
        while len(words) > 1 and (words[0].casefold() in BEFORE_NAME or words[0][:1].isdigit()):
            words.pop(0)
        names.append(" ".join(words).strip("[()&>,;:. *`"))
    last = [*takewhile(known, reversed(names))][::-1]
    return tuple(last) if len(last) > 1 else ()


WITH_SYMBOL = regex(r"([^()\n]*+)\(\s*+([A-Za-z](?:[_^{}]++\w++}?)?)\s*+\)[:*\s]*+")
"""Words with their symbol behind them: Query weight matrix (W_Q)."""
REMARK = regex(r"[ \t*#]*+([^()\s]++)\s++\([^()]*+\)[:*\s]*+")
"""A name with a remark behind it: X (3 tokens, d = 3)."""


def _name_in_words(text: str, known: Known, is_set: bool) -> str:
    """Return the name in the words of a heading; "" if none is known."""
    whole = undecorated(text).strip("[(&>,;. ")
    symbol = WITH_SYMBOL.fullmatch(text)
    if symbol and known(symbol[2]) and not known(symbol[1].strip(" \t*#")):
        return symbol[2]
    words = re.sub(r"\s\(([^()]*)\)|[:*`“”„]", r" \1 ", whole or text).split()
    count = len(words)
    while words and words[-1].casefold() in AFTER_NAME:
        words.pop()
    is_sentence = is_set or len(words) < count
    while words and words[0] != "A" and words[0].casefold() in BEFORE_NAME:
        words.pop(0)
    if "of" in words[1:] and any(known(word) and len(word) > 2 for word in words[2:]):
        words = words[: words.index("of", 1)]  # the softmax of the scores, but not weights of cat
    runs = [words]
    if len(words) > 1:  # a letter beside a word is its symbol
        ends = (words[:-1], words[-1]), (words[1:], words[0])
        without = [rest for rest, letter in ends if _is_symbol(letter, rest)]
        inside = range(1, len(words)) if is_sentence else ()
        runs = [*without, *(rest[at:] for rest in without[:1] for at in inside), words]
        runs += [words[at:] for at in inside if _is_prose(words[:at], words[at], known)]
    names = [" ".join(run) for run in runs if run]
    words_known = [
        one for one in names if known(one) and (len(one) > 2 or len(words) < 2 or one[-1].isdigit())
    ]
    last = words[-1] if is_set and words and known(words[-1]) else ""
    last = last if len(words) < 2 or (last and _is_prose(words[:-1], last, known)) else ""
    return words_known[0] if words_known else whole if known(whole) else last


PROSE_WORD = regex(r"[^\W\d_]{2,}+[,.;:]?|[^\W\d_]++-[^\W\d_]++|[aI]")


def _is_prose(words: list[str], name: str, known: Known) -> bool:
    """Return True for words before a name that are no factors of it, as in weights V and 2 W_q."""
    is_factor = known(words[-1]) and not words[-1].casefold().startswith(name[:1].casefold())
    return not is_factor and all(map(PROSE_WORD.fullmatch, words))


def _is_symbol(letter: str, words: list[str]) -> bool:
    """Return True for a letter beside a word that may be its symbol; weights V is a product."""
    is_input = letter.upper() in "QKVX" and not words[-1].casefold().startswith(letter.casefold())
    return letter.isalpha() and len(letter) < 3 and not is_input


def _heading(before: str, known: Known, is_flat: bool) -> tuple[str, int, str]:
    """Return the name before a table, its offset, and its line, that of the table or one above."""
    *above, line = before.split("\n")
    head = OPENERS.sub("", line[-MAX_BETWEEN:])
    filled = [one for one in above[::-1] if one.strip()]
    lines = [head] if re.search(r"\w", head) else filled[: 1 if is_flat else MAX_LINES_ABOVE]
    names = list[tuple[str, str]]()
    for one in lines:
        if len(one) < MAX_BETWEEN and not AROUND.fullmatch(one) and (name := name_in(one, known)):
            names.append((name, one))
            if known(name):
                break
    name, line = next((pair for pair in names if known(pair[0])), names[0] if names else ("", ""))
    return name, before.rfind(name) if name else -1, line


AROUND_SET = regex(
    rf"(?:(?<![\w.]){MAKER}|\\(?:left|displaystyle|textstyle|q?quad|[,;:! ])|[\s$&*_`(\[{{<|.\\])+"
)
"""What may be written between the sign after a name and its matrix."""
CODE_BEFORE = regex(
    rf"(?s:(?=.{{0,200}}\Z)).*(?:=|<-|:)[\s$&]*(?:{MAKER}\s*+)*+"
    r"(?P<code>[^=:(]*[-+−*/@·×^]|(?:[A-Za-z][\w.]*\()+)\s*"
)
CODE_AFTER = regex(
    r"(?:[)\] \t]|\\right\s*\\?[\])}|.])*"
    r"(?P<code>\.m?T\b|\.\w+\(|ᵀ|\.?['’](?=[\s;,.$]|\Z)|\^[ \t]*\{?\\?\w*\}?|\\(?:frac|sqrt)"
    r"|[<>&][ \t]*\d|(?<=[\])])\[[^\]\n]*\]|[²³]|==|\bif\b|x[ \t]*\d|%\*%|//|%[ \t]*\d|\*\*"
    r"|\.[*/^]|\\(?:cdot|times)\s*[\d\\(]|[@×·/^*÷⋅∗⊙⊗√][ \t]*[\w\[(\\√]"
    r"|(?<=[\])])\((?=[\d:, ]+\))[^()]*\)|\((?:transpos\w+|columns?)\)"
    r"|[-+−][ \t]*(?:[\d\[(\\]|[\w.]+\(|[A-Za-z]\b))"
)
"""Code before a matrix on its line, or after it, by which its numbers are not those of the name."""
RESULT = regex(
    r"(?s:(?=.{0,200}\Z))(?!.*\n[ \t\r]*\n)"
    rf"(?:{CODE_AFTER.pattern}[^\n;,]*?|(?:\W|\\(?:right|cdot|times|quad)\b|\^\{{?T\b)*?)(?P<equals>=?)[\s&$\\]*(?:left\W)?[(\[]*",
    re.DOTALL,
)
"""The text between two matrices of one calculation, with = before a result."""


UNPACKED = regex(rf"\A\W*{NAME}(?:, ?{NAME})+ ?=[^=]*\Z")
"""A line that gives several names to the parts of what follows."""
NOT_SHARED = "in Python these names are those of its rows; write A = B = … for equal matrices"
NEXT_OF_TUPLE = regex(rf"[)\s]*,[\s(]*(?=\Z|\[|{MAKER})")
"""The text between two matrices of a tuple."""
LIKE_CELL = regex(r"[^\W\d](?=[^\n]*[_(\[{\d₀-₉])[^\n]*")
"""What may be the name of a cell or a row of a step, even if it is not known."""


def blocks_in(text: str, known: Known) -> list[Block]:
    """Return the tables of a text, each with the name before it.

    Of a calculation, Q = X W = …, only the result is returned, with the first name.
    """
    blocks = list[Block]()
    end = first = 0
    for table in tables_in(text, known):
        before = text[max(end, table.start - MAX_ABOVE) : table.start]
        name, at, heading = _heading(before, known, table.is_flat)
        if table.is_flat and not known(name) and not LIKE_CELL.fullmatch(name):
            continue
        joined = RESULT.fullmatch(before) if blocks and len(before) < MAX_BETWEEN else None
        if not known(name) and (corner := _corner(text, table, known)):
            name, at = corner, -1
        fault = (
            table.fault or _fault(text, before, table, name) or _fault_above(before, at, heading)
        )
        place = table.start if at < 0 else table.start - len(before) + at
        one = Block(name, place, replace(table, fault=fault), names_in(heading, known))
        if blocks and blocks[-1].names and NEXT_OF_TUPLE.fullmatch(before):
            blocks[-1], one = _of_tuple(blocks[-1], one)
        if joined and joined["equals"]:
            kept = blocks[first]
            blocks[first:] = [replace(one, name=kept.name, at=kept.at, names=())]
        else:
            first = first if joined else len(blocks)
            blocks.append(one)
        end = table.end
    return blocks


def _corner(text: str, table: Table, known: Known) -> str:
    """Return the name in the corner of a table with bars: | X | d1 | d2 |; "" for none."""
    if text[table.start : table.end].lstrip()[:1] != "|":
        return ""
    heads = [cell.strip(" *`$") for cell in _line_at(text, table.start).strip(" \t\r|").split("|")]
    others = [
        head for head in heads[1:] if re.match(r"[-+.\d]", head) or (head[2:] and known(head))
    ]
    return heads[0] if known(heads[0]) and not others and heads[0].upper() not in "QKV" else ""


def _of_tuple(first: Block, second: Block) -> tuple[Block, Block]:
    """Return two parts of a tuple, each with its own of the names before it."""
    name, *others = first.names
    known = "" if first.table.fault == NOT_SHARED else first.table.fault
    fault = second.table.fault or (NOT_SHARED if len(others) > 1 else "")
    return (
        replace(first, name=name, names=(), table=replace(first.table, fault=known)),
        replace(
            second,
            name=others[0],
            names=tuple(others) if len(others) > 1 else (),
            table=replace(second.table, fault=fault),
        ),
    )


TURNED = regex(
    r"\S+\s*(\((?:(?:one|each|a|the|tokens?|vectors?|is|are|as|in|per)\s+)*"
    r"(?:transposed?|transponiert|columns?)\))",
    re.IGNORECASE,
)
"""A name with a remark that rows and columns are exchanged."""


def _fault_above(before: str, at: int, heading: str) -> str:
    """Return why numbers cannot be those of the name above them; "" if they can."""
    if turned := TURNED.match(before, max(at, 0)):
        said = f"{visible(turned[1])} is written beside the matrix"
        return f"{said}; write it with its rows and columns exchanged"
    if re.search(r"[(\s]%|percent|Prozent", heading):
        return "these numbers are percent; write a % behind each, or fractions"
    if "\n" not in before[max(at, 0) :]:
        return ""
    if heading.rstrip().endswith("|") and before[at:].partition("\n")[2].strip():
        return "a line above is no row of numbers"
    if "=" in heading and heading.rstrip().endswith(tuple("*/+@(·×\\-")):
        return f"{visible(heading.strip())} changes the matrix below; write the matrix itself"
    between = before[max(at, 0) :].split("\n")[1:]
    lost = next((line.strip() for line in between if NEAR_ROW.fullmatch(line)), "")
    return f"{visible(lost)} is no row of numbers" if lost else ""


VECTOR = regex(r"[a-z][_^{(]*\w{0,4}[)}]*")
TRANSPOSED = regex(r"\.?m?T|ᵀ|\.?['’]|\^[ \t]*\{?(?:T|\\top|\\intercal|⊤|t)\}?")


def _fault(text: str, before: str, table: Table, name: str) -> str:
    """Return why a table of a text cannot be read; "" if it can."""
    way = "is written beside the matrix; write the matrix itself, worked out"
    line = before.rpartition("\n")[2].replace("**", "  ").replace("\\approx", "≈")
    *above, beside = re.split(IS_SET, line) if len(line) < MAX_BETWEEN else [""]
    if code := re.search(r"(?:[*+/@-]|=)=\s*\Z", line):
        return f"{visible(code[0].strip())} changes a matrix; write the matrix itself"
    is_nested = re.search(r"\[\s*\[", text[table.start : table.end]) is not None
    if is_nested and UNPACKED.search(line):
        return NOT_SHARED
    if (above and AROUND_SET.sub("", beside)) or re.search(r"\\(?:under|over)brace", beside):
        return f"{visible(beside.strip())} {way}"
    code = CODE_BEFORE.fullmatch(line) if len(line) < MAX_BETWEEN else None
    if text[table.start : table.end].rstrip()[-1] in "])}":
        code = code or CODE_AFTER.match(text, table.end)
        if code and table.is_flat and VECTOR.fullmatch(name) and TRANSPOSED.fullmatch(code["code"]):
            return ""  # a vector is a row, whichever way it is written
    return f"{visible(code['code'].strip())} {way}" if code else ""

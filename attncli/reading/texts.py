"""Matrices in a text, each with the name that is written before it, and lines that set other keys.

A text may be lines of a program, a console, a notebook, a mail or course notes: it has signs by
which it is no YAML. A table is told by its form alone; the words before it, on its line or above
it, name it. All else is prose.
"""

from __future__ import annotations

import re
from contextlib import suppress

from attncli.core.errors import InputError
from attncli.core.numbers.forms import ArrayForm
from attncli.core.numbers.grid import CORNERS
from attncli.core.numbers.notations import MAKER
from attncli.core.numbers.parser import NumberError
from attncli.core.numbers.pasted import grid_of
from attncli.core.problem.key_values import hint_for, key_of
from attncli.core.problem.keys import KEYS, TEXT_KEYS
from attncli.core.records import Record, replace
from attncli.core.tape.step_words import ALIASES
from attncli.core.text.strings import regex, visible
from attncli.reading import text_tables
from attncli.reading.chunks import Chunk, blanked
from attncli.reading.document import STUDENT_KEYS, Raw
from attncli.reading.text_names import IS_SET, NAME, Known, is_step, name_in, names_in
from attncli.reading.text_tables import MAX_BETWEEN, PROMPT, Table, cleaned, line_at, tables_in

OPENERS = regex(r"(?<![\s$&({\[<\w.])(?:\\left\s*[\[({|.\\]*|[\w.]++\(|[\s$&({\[<])++\Z")
"""The start of what encloses a matrix, at the end of the text before it."""
AROUND = regex(r"\W*|\s*\\(?:begin|end|left|centering|hline|label)\b.*")
"""A line between a name and its matrix that is neither."""
MAX_LINES_ABOVE = 5
"""Maximum number of lines between a name and its matrix."""
MAX_ABOVE = 2000
"""Maximum number of characters between a name and its matrix."""


class Block(Record):
    """A table with its name, or "", and the offset of the name or else of the table.

    `names` are all names in a heading such as W_q = W_k =.
    """

    name: str
    at: int
    table: Table
    names: tuple[str, ...] = ()


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
"""Signs and words between the = after a name and its matrix that change nothing."""
CODE_BEFORE = regex(
    rf"(?s:(?=.{{0,200}}\Z)).*(?:=|<-|:)[\s$&]*(?:{MAKER}\s*+)*+"
    r"(?P<code>[^=:(]*[-+−*/@·×^]|(?:[A-Za-z][\w.]*\()+)\s*"
)
CODE_AFTER = regex(
    r"(?:[)\] \t]|\\right\s*\\?[\])}|.])*"
    r"(?P<code>\.m?T\b|\.\w+\(|ᵀ|\.?['’](?=[\s;,.$]|\Z)|\^[ \t]*\{?\\?\w*\}?|\\(?:frac|sqrt)"
    r"|[<>&][ \t]*\d|(?<=[\])])\[[^\]\n]*\]|[²³]|==|\bif\b|x[ \t]*\d|%\*%|//|%[ \t]*\d|\*\*"
    r"|\.[*/^]|\\(?:cdot|times)\s*[\d\\(]|[@×·/^*÷⋅∗⊙⊗][ \t]*[\w\[(\\√]|(?<=\])[ \t]*√"
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
"""A name like that of a cell or a row of a step, even if it is not known."""


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
        fault = table.fault or _fault(text, before, table, name)
        numbers = text[table.start : table.end]
        fault = fault or _fault_above(before, at, heading, numbers)
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
    heads = [cell.strip(" *`$") for cell in line_at(text, table.start).strip(" \t\r|").split("|")]
    corner, *heads = heads
    others = [one for one in heads if re.match(r"[-+.\d]", one) or (one[2:] and known(one))]
    is_name = known(corner) and corner.upper() not in "QKV" and corner.casefold() not in CORNERS
    return corner if is_name and heads and not others else ""


def _of_tuple(first: Block, second: Block) -> tuple[Block, Block]:
    """Return two parts of a tuple, each with its own of the names before it."""
    name, *others = first.names
    known = "" if first.table.fault == NOT_SHARED else first.table.fault
    fault = second.table.fault or (NOT_SHARED if len(others) > 1 else "")
    rest = tuple(others) if len(others) > 1 else ()
    first = replace(first, name=name, names=(), table=replace(first.table, fault=known))
    table = replace(second.table, fault=fault)
    return first, replace(second, name=others[0], names=rest, table=table)


TURNED = regex(
    r"\S+\s*(\((?:(?:one|each|a|the|tokens?|vectors?|is|are|as|in|per)\s+)*"
    r"(?:transposed?|transponiert|columns?)\))",
    re.IGNORECASE,
)
"""A name with a remark that rows and columns are exchanged."""


EMPHASIS = regex(r"(\*+)(\S[^*]*)\1")
"""Words in bold or italics in Markdown."""


def _fault_above(before: str, at: int, heading: str, numbers: str) -> str:
    """Return why numbers cannot be those of the name above them; "" if they can."""
    if turned := TURNED.match(before, max(at, 0)):
        said = f"{visible(turned[1])} is written beside the matrix"
        return f"{said}; write it with its rows and columns exchanged"
    has_bare = re.search(r"\d(?![\d.,]|\s?\\?%)", numbers)
    if has_bare and re.search(r"[(\s]%|percent|Prozent", heading):
        return "these numbers are percent; write a % behind each, or fractions"
    if "\n" not in before[max(at, 0) :]:
        return ""
    if heading.rstrip().endswith("|") and before[at:].partition("\n")[2].strip():
        return "a line above is no row of numbers"
    plain = EMPHASIS.sub(r"\2", heading).rstrip()
    if "=" in plain and plain.endswith(tuple("*/+@(·×\\-")):
        return f"{visible(heading.strip())} changes the matrix below; write the matrix itself"
    between = before[max(at, 0) :].split("\n")[1:]
    lost = next((line.strip() for line in between if text_tables.NEAR_ROW.fullmatch(line)), "")
    return f"{visible(lost)} is no row of numbers" if lost else ""


VECTOR_NAME = regex(r"[a-z][_^{(]*\w{0,4}[)}]*")
TRANSPOSE = regex(r"\.?m?T|ᵀ|\.?['’]|\^[ \t]*\{?(?:T|\\top|\\intercal|⊤|t)\}?")
"""The name of a vector, and the signs behind one that is written as a column."""


def _fault(text: str, before: str, table: Table, name: str) -> str:
    """Return why a table of a text cannot be read; "" if it can."""
    way = "is written beside the matrix; write the matrix itself, worked out"
    line = before.rpartition("\n")[2].replace("**", "  ").replace("\\approx", "≈")
    *above, beside = re.split(IS_SET, line) if len(line) < MAX_BETWEEN else [""]
    if code := re.search(r"(?:[*+/@-]|=)=\s*\Z", line):
        return f"{visible(code[0].strip())} changes a matrix; write the matrix itself"
    has_rows = re.search(r"\[\s*\[|\)[\s,;]*\(", text[table.start : table.end]) is not None
    if has_rows and UNPACKED.search(line):
        return NOT_SHARED
    if (above and AROUND_SET.sub("", beside)) or re.search(r"\\(?:under|over)brace", beside):
        return f"{visible(beside.strip())} {way}"
    code = CODE_BEFORE.fullmatch(line) if len(line) < MAX_BETWEEN else None
    if text[table.start : table.end].rstrip()[-1] in "])}":
        code = code or CODE_AFTER.match(text, table.end)
        is_vector = table.is_flat and VECTOR_NAME.fullmatch(name) is not None
        if code and is_vector and TRANSPOSE.fullmatch(code["code"]):
            return ""  # which is a row, whichever way it is written
    return f"{visible(code['code'].strip())} {way}" if code else ""


def names_steps(text: str) -> bool:
    """Return True if a text holds a matrix under the name of a step."""
    return any(is_step(one.name) for one in blocks_in(cleaned(text), is_step))


SETTING = regex(
    r"^[ \t]*(?:(?:const|let|var)[ \t]+|\$)?(?P<key>[^\W\d][\w^{}.]*)[ \t]*"
    r"(?:(?P<sign>:?=|<-)(?!=)|:(?=\s|\Z))[ \t]*(?P<value>[^\n]*)",
    re.MULTILINE,
)
TWO_NUMBERS = r"[-+.\d][\d.eE+-]*(?:[ \t]*,)?[ \t]+[-+.\d]"
PRINTED_LIST = r"\[(?:\s*\[)?\s*[-+.\d][^\s,]*[ \t]+[-+.\d]|(?:\w+\.)*(?:array|[tT]ensor)\("
CODE_LINE = (
    r"(?:import|from|using)[ \t]+[\w.]+(?:[ \t]+(?:as|import)[ \t]+[\w., *]+)?[ \t;]*"
    r"|(?:print|disp|display|library)\([^\n]*\)[ \t;]*|(?:clear|clc|close)(?:[ \t]+all)?[ \t;]*"
)
"""A line of a program without numbers of a matrix."""
TEXT_SIGNS = regex(
    rf"^(?:{PROMPT}[ \t]+)?(?:[$\\\[]+[ \t]*)?"
    rf"(?:{NAME}[ \t]*+|[^\W\d][\w ()\t,]*+)(?:<-|≈|:?=)(?!=)"
    rf"|^(?:{PROMPT}[ \t]+|##+[ \t]+){NAME}[ \t]*$"
    rf"|^(?:{PROMPT}[ \t]+)?(?:{CODE_LINE})$"
    rf"|^[^\W\d](?:[^\n:\t|>]*\n|\w*[ \t(][^\n:]*:[ \t]*\n)[ \t]*{TWO_NUMBERS}"
    rf"|^[^\W\d][^\n:]*(?::[ \t]*\n?|\n)[ \t]*(?:{PRINTED_LIST}|\{{\{{[-\d])"
    r"|^(?:\\[a-zA-Z\[]|\$|\||:?--+:?[ \t]*\||\*\*|[-•*][ \t]+[*$`]|```|~~~)"
    r"|^[^\W\d][^\n:|]*\n[ \t]*[⎡⎛]|^[^\W\d][^\n=]*=[ \t]*\[+[-\d.]"
    r"|^(?:\{|OrderedDict\(\[\()['\"]\w+['\"][:,][ \t]*(?:\w+\.)*(?:array|tensor)\(",
    re.MULTILINE,
)
"""Lines of programs and consoles, matrices without commas, LaTeX, Markdown: none is YAML."""
JSON_START = regex(r"\s*\{\s*\"\w+\"\s*:\s*[\[{\"\d]")
WRAPPED = regex(r"\s*(?:Parameter containing:\s*)?(?:[\w.]+\(\s*)?(?:[\[({|⎡⎛┌$\\]|\+-|c\()")
"""The beginning of a pasted matrix without a name, by what is around it."""
ROWS_ALONE = regex(
    rf"(?:[ \t]*\n)*+(?:(?:{text_tables.LABELLED_ROW}){{2}}|(?!-\s)(?=[^\n]*\d){text_tables.ROW})",
    re.MULTILINE,
)
FENCE_LINE = regex(r"^(?:```|~~~).*$", re.MULTILINE)
"""The line before or after a problem in a chat or a README file."""


def may_be_text(text: str, has_prose: bool) -> bool:
    """Return True for a text that is not just YAML with a fault, of which nothing is passed over.

    It has a sign of a program, a console, LaTeX or Markdown, or may have any prose, as answers do.
    """
    if JSON_START.match(text):
        return False
    if has_prose or TEXT_SIGNS.search(text):
        return True
    if text.lstrip()[:1] not in ("[", "{"):
        return bool(WRAPPED.match(text) or ROWS_ALONE.match(text))
    with suppress(NumberError):  # it is a matrix, or else JSON or YAML with a fault
        return not any(set("[]{}\"':") & {*word} for row in grid_of(text).rows for _, word in row)
    return False


def unwrapped(chunk: Chunk) -> Chunk | None:
    """Return a chunk without the `>` before each line, or of what is between two fences alone.

    None if there is neither, or several parts between fences.
    """
    text = chunk.text
    lines = [*filter(str.strip, text.splitlines())]
    if lines and all(line.lstrip().startswith(">") for line in lines):
        inside = re.sub(r"(?m)^[ \t]*+(?:> ?)++", "", text)
        return replace(chunk, text=inside, original=chunk.original or text)
    fences = [*FENCE_LINE.finditer(text)]
    if not 0 < len(fences) <= 2:
        return None
    start, end = [*(fence.start() for fence in fences), len(text)][:2]
    for line in SETTING.finditer(text):
        key = line["key"]
        is_known = key_of(key) in KEYS or key in ALIASES or key in STUDENT_KEYS
        if not start < line.start() < end and is_known:
            message = f"{key} is written outside of the ``` marks"
            raise chunk.place_at(line.start()).error(message, "write it between them")
    return replace(chunk, text=blanked(text[:end], [(0, fences[0].end())]))


NO_CONTENT = regex(r"(?:^|(?<=[\s;]))(?:#(?!\S)|//|%[ \t]*(?=[^\W\d]))[^\n|]*", re.MULTILINE)
"""Comments between the rows of a matrix."""


BESIDE = regex(
    r"(?:\A|(?<![,;.$\s])[,;.$])[ \t$]*+(?:and[ \t]+)?(?P<key>[^\W\d][\w.]*)[ \t]*"
    r"(?P<sign>[=:])[ \t]*(?P<value>[^\s,;$](?:[^,;$\n]*[^\s,;$.])?)(?=[ \t.]*(?:[,;$]|\Z))"
)
"""An option behind a matrix, on the same line."""


QUOTED = regex(r"(?:c?[\[({]\s*)?([\"'])")
"""The beginning of a word between quotes, or of a list of such words."""


OPTION = regex(
    r"^[ \t]*(?:[-*•][ \t]+)?(?P<bold>\*\*|__)?(?P<key>[A-Za-z]\w{3,})(?:\*\*|__)?[ \t]*"
    r"(?P<sign>[:=])(?:\*\*|__)?[ \t]+(?P<value>[^\s=]+)[ \t\r]*$",
    re.MULTILINE,
)
"""A line that sets an option to one word, perhaps in bold, or with a capital letter."""


NOT_OPTIONS = (*TEXT_KEYS, "answers", "marking", "names")


def plain_option(line: re.Match[str]) -> str:
    """Return a line that sets an option without its signs, in a text of the same length."""
    key, value = line["key"].casefold(), line["value"]
    name = key_of(key)
    if line["key"] == key and not line["bold"]:
        return line[0]
    if name not in KEYS or name in NOT_OPTIONS or isinstance(KEYS[name].form, ArrayForm):
        is_option = hint_for(key).startswith("write")
    else:
        plain = value.casefold().rstrip(".")
        value = plain if _is_readable(name, plain) else value
        is_option = _is_readable(name, value)
    setting = f"{key.rjust(line.end('key') - line.start())} = {value}"
    return setting.ljust(len(line[0])) if is_option else line[0]


def _is_readable(key: str, value: str) -> bool:
    with suppress(InputError):
        return KEYS[key].form.read(value, (key,)) is not None
    return False


def each_setting(line: re.Match[str]) -> list[tuple[re.Match[str], int]]:
    """Return what a line sets, each with the offset of its text: heads = 1, scale = 2."""
    several = [*BESIDE.finditer(line[0])] if line["sign"] else []
    is_all = not re.search(r"\w", blanked(line[0], (one.span() for one in several)))
    return [(one, line.start()) for one in several] if len(several) > 1 and is_all else [(line, 0)]


def value_in(text: str) -> Raw:
    """Return a list of words between quotes; else the text, with blanks in place of comments."""
    text = NO_CONTENT.sub(lambda comment: " " * len(comment[0]), text).rstrip("; \t\r\n")
    if (quoted := QUOTED.match(text)) and ":" not in text:
        words = re.findall(rf"{quoted[1]}([^{quoted[1]}\n]*){quoted[1]}", text)
        return words if quoted[0] != quoted[1] else " ".join(words)
    return text

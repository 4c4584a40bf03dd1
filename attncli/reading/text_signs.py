"""Signs of a text of a program, a console or notes, which is no YAML; fences and quotations."""

from __future__ import annotations

import re
from contextlib import suppress

from attncli.core.errors import error_at
from attncli.core.numbers.parser import NumberError
from attncli.core.numbers.pasted import grid_of
from attncli.core.problem.key_values import key_of
from attncli.core.problem.keys import KEYS
from attncli.core.records import replace
from attncli.core.tape.cell_names import ALIASES
from attncli.core.text.strings import regex
from attncli.reading.chunks import Chunk, blanked
from attncli.reading.document import STUDENT_KEYS
from attncli.reading.text_names import NAME
from attncli.reading.text_tables import LABELLED_ROW, PROMPT, ROW

SETTING = regex(
    r"^[ \t]*(?:(?:const|let|var)[ \t]+|\$)?(?P<key>[^\W\d][\w^{}.]*)[ \t]*"
    r"(?:(?P<sign>:?=|<-)(?!=)|:(?=\s|\Z))[ \t]*(?P<value>[^\n]*)",
    re.MULTILINE,
)
"""A line that sets a key."""
TWO_NUMBERS = r"[-+.\d][\d.eE+-]*(?:[ \t]*,)?[ \t]+[-+.\d]"
PRINTED_LIST = r"\[(?:\s*\[)?\s*[-+.\d][^\s,]*[ \t]+[-+.\d]|(?:\w+\.)*(?:array|[tT]ensor)\("
CODE_LINE = (
    r"(?:import|from|using)[ \t]+[\w.]+(?:[ \t]+(?:as|import)[ \t]+[\w., *]+)?[ \t;]*"
    r"|(?:print|disp|display|library)\([^\n]*\)[ \t;]*|(?:clear|clc|close)(?:[ \t]+all)?[ \t;]*"
)
"""A line of a program without numbers of a matrix."""
TEXT_SIGNS = regex(
    rf"^(?:{PROMPT}[ \t]+)?(?:[$\\\[]+[ \t]*)?(?:{NAME}[ \t]*+|[^\W\d][\w ()\t,]*+)(?:<-|:?=)(?!=)"
    rf"|^(?:{PROMPT}[ \t]+|##+[ \t]+){NAME}[ \t]*$"
    rf"|^(?:{PROMPT}[ \t]+)?(?:{CODE_LINE})$"
    rf"|^[^\W\d](?:[^\n:\t|>]*\n|\w*[ \t(][^\n:]*:[ \t]*\n)[ \t]*{TWO_NUMBERS}"
    rf"|^[^\W\d][^\n:]*(?::[ \t]*\n?|\n)[ \t]*(?:{PRINTED_LIST}|\{{\{{[-\d])"
    r"|^(?:\\[a-zA-Z\[]|\$|\||\*\*|[-•*][ \t]+[*$`]|```|~~~)"
    r"|^[^\W\d][^\n:|]*\n[ \t]*[⎡⎛]|^[^\W\d][^\n=]*=[ \t]*\[+[-\d.]"
    r"|^(?:\{|OrderedDict\(\[\()['\"]\w+['\"][:,][ \t]*(?:\w+\.)*(?:array|tensor)\(",
    re.MULTILINE,
)
"""Lines of programs and consoles, matrices without commas, LaTeX, Markdown: none is YAML."""
JSON_START = regex(r"\s*\{\s*\"\w+\"\s*:\s*[\[{\"\d]")
WRAPPED = regex(r"\s*(?:Parameter containing:\s*)?(?:[\w.]+\(\s*)?(?:[\[({|⎡⎛┌$\\]|\+-|c\()")
"""The beginning of a pasted matrix without a name, by what is around it."""
ROWS_ALONE = regex(
    rf"(?:[ \t]*\n)*+(?:(?:{LABELLED_ROW}){{2}}|(?!-\s)(?=[^\n]*\d){ROW})", re.MULTILINE
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
    if text.lstrip()[:1] in ("[", "{"):
        return _has_rows(text)
    return bool(WRAPPED.match(text) or ROWS_ALONE.match(text))


def _has_rows(text: str) -> bool:
    """Return True if a text in brackets is a matrix, and not JSON or YAML with a fault."""
    with suppress(NumberError):
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
        is_known = (
            key_of(line["key"]) in KEYS or line["key"] in ALIASES or line["key"] in STUDENT_KEYS
        )
        if not start < line.start() < end and is_known:
            message = f"{line['key']} is written outside of the ``` marks"
            raise error_at(chunk.place_at(line.start()), message, "write it between them")
    return replace(chunk, text=blanked(text[:end], fences[0].end()))

"""Signs of a text of a program, a console or notes, which is no YAML; its lines that set keys."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress

from attncli.core.errors import InputError, error_at
from attncli.core.numbers.forms import ArrayForm
from attncli.core.numbers.parser import NumberError
from attncli.core.numbers.pasted import grid_of
from attncli.core.problem.key_values import hint_for, key_of
from attncli.core.problem.keys import KEYS, TEXT_KEYS
from attncli.core.records import replace
from attncli.core.tape.cell_names import ALIASES
from attncli.core.text.strings import regex
from attncli.reading.chunks import Chunk, blanked
from attncli.reading.document import STUDENT_KEYS, Raw
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
    is_all = not re.search(r"\w", without(line[0], (one.span() for one in several)))
    return [(one, line.start()) for one in several] if len(several) > 1 and is_all else [(line, 0)]


def without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return a text with blanks in place of some parts."""
    parts, at = list[str](), 0
    for start, end in sorted(spans):
        parts += text[at:start], re.sub(r"[^\n]", " ", text[max(at, start) : end])
        at = max(at, end)
    return "".join([*parts, text[at:]])


def value_in(text: str) -> Raw:
    """Return a list of words between quotes; else the text, with blanks in place of comments."""
    text = NO_CONTENT.sub(lambda comment: " " * len(comment[0]), text).rstrip("; \t\r\n")
    if (quoted := QUOTED.match(text)) and ":" not in text:
        words = re.findall(rf"{quoted[1]}([^{quoted[1]}\n]*){quoted[1]}", text)
        return words if quoted[0] != quoted[1] else " ".join(words)
    return text

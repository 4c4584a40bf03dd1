"""Text fit for a terminal, a table, a spreadsheet or the name of a file; and words in sentences.

Words in sentences are lists, hints for misspelt words, and a course's names of steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast


class _Regex:
    """A regular expression; its methods become attributes at their first use."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self.flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        self.__dict__[name] = value = getattr(re.compile(self.pattern, self.flags), name)
        return value


def regex(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that is compiled at its first use: most commands need few.

    To compile those of all imported modules would be a thirtieth of the time of a short command.
    """
    return cast("re.Pattern[str]", _Regex(pattern, flags))


FORMULA = regex(r"(?:\A|(?<=;))['\"]*\s*[=+\-@＝＋－＠]")
"""How a cell begins that spreadsheets take for a formula, behind any number of apostrophes and
quotation marks. Some split every file at semicolons, also inside of quotation marks."""

SEPARATOR = regex(r'[;\t\r\n"]')
"""What parts cells, beside the delimiter, for some spreadsheet."""

TEX = (
    (r"\\d?frac\s*\{((?:[^{}]|\{[^{}]*\})*)\}", r"\1/"),
    (r"\\(?:top|intercal)(?![a-zA-Z])", "T"),
    (r"\\(?:text|math|operatorname|bold|vec|left|right)\w*|[\\$]", ""),
    (r"\A\{(\w+)\}", r"\1"),
)
"""Commands of TeX around or in a name, each with what it means there."""

SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")


def plain_name(word: str) -> str:
    r"""Return a name without commands of TeX and with its subscript behind a _.

    >>> [plain_name(word) for word in (r"$\mathbf{q}_1$", "k₂", r"\frac{QK^\top}{\sqrt{d_k}}")]
    ['q_1', 'k_2', 'QK^T/{sqrt{d_k}}']
    """
    if word.isascii() and "\\" not in word and "$" not in word:
        return word.strip()
    for pattern, plain in TEX:
        word = re.sub(pattern, plain, word)
    return re.sub("([₀-₉]+)", r"_\1", word).translate(SUBSCRIPTS).strip()


JOINERS = "\u200c\u200d"
"""Characters that shape words and move nothing on the screen."""

HARMLESS = f"{JOINERS}\u3000\xa0\u202f"
"""Joiners, and wide and unbreakable blanks."""


def lines_of(text: str) -> list[str]:
    """Return the lines of a text as editors count them: they end at LF, CR LF or CR."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def visible(text: str) -> str:
    r"""Return text safe to show on a terminal: control characters are written out as escapes.

    >>> visible("a\x1b[31m")
    'a\\x1b[31m'
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in HARMLESS else c.encode("unicode_escape").decode("ascii")
        for c in text
    )


def as_cell(text: str) -> str:
    """Return text as a cell of CSV that is safe to show, and no formula to a spreadsheet."""
    return FORMULA.sub(r"'\g<0>", visible(text))


def of_cell(cell: str) -> str:
    """Return the text that `as_cell` wrote as a cell."""
    return FORMULA.sub(lambda start: start[0].removeprefix("'"), cell)


def csv_text(rows: Iterable[Iterable[str]], delimiter: str = ",") -> str:
    """Return rows as lines of CSV or TSV; all formats write their cells by this rule.

    A cell with the delimiter or any `SEPARATOR` is quoted.
    """

    def quoted(cell: str) -> str:
        is_parted = delimiter in cell or SEPARATOR.search(cell)
        return '"{}"'.format(cell.replace('"', '""')) if is_parted else cell

    return "".join(f"{delimiter.join(map(quoted, row))}\n" for row in rows)


def label_text(label: str) -> str:
    """Return a label safe to show, which keeps its line in order if it runs right to left."""
    text = visible(label)
    if text.isascii():
        return text
    import unicodedata

    if any(unicodedata.bidirectional(c) in ("R", "AL", "AN") for c in text):
        # Isolates keep a right-to-left word from turning the numbers of its line around.
        return f"\u2068{text}\u2069"
    return text


SIGNS = str.maketrans("", "", "·×÷–ᵀ²√∞−→…‖⊙⎡⎢⎣⎤⎥⎦│─")
"""The signs that the tables of nearly every problem hold; each takes one column."""


def cell_width(text: str) -> int:
    """Return how many terminal columns a text takes: 2 for a wide character, 0 for a joiner."""
    if text.translate(SIGNS).isascii():
        return len(text)
    from rich.cells import cell_len  # a millisecond that few labels need

    return cell_len(text)


def label_width(text: str) -> int:
    return cell_width(text.strip("\u2068\u2069"))


EDGE = 3
"""Number of rows and columns that stay at either end of a large matrix, as NumPy shows it."""

LIMIT = 12
"""Maximum length of an axis that is shown whole."""

MAX_NAME_LENGTH = 40
"""Maximum length of a name, in characters, in a table."""


def kept(length: int, full: bool, limit: int = LIMIT) -> list[int | None]:
    """Return the places of an axis to show, None for those left out in the middle."""
    if full or length <= limit:
        return list(range(length))
    return [*range(EDGE), None, *range(length - EDGE, length)]


def shortened(name: str, length: int = MAX_NAME_LENGTH) -> str:
    """Return a name without its middle where it is long: of a file the end tells most."""
    half = length // 2
    return name if len(name) <= length else f"{name[: half - 1]}…{name[-half:]}"


MAX_BYTES = 120
"""Maximum length of a part of a name, in bytes; file systems take 255 for the whole."""

DEVICE_NAMES = r"(?i:con|prn|aux|nul|com\d|lpt\d)(\..*)?"
"""The pattern of the names that Windows keeps for devices, whatever their suffix."""


def safe(text: str) -> str:
    """Return a text as part of the name of a file: what a system refuses, or reads, becomes _."""
    printable = "".join(c if c.isprintable() or c in JOINERS else "_" for c in text)
    plain = re.sub(r'[/\\<>:"|?*]', "_", _composed(printable))
    cut = plain.strip(" .").encode()[:MAX_BYTES].decode(errors="ignore").rstrip(" .")
    return f"{cut}_" if not cut or re.fullmatch(DEVICE_NAMES, cut) else cut


def alike(name: str) -> str:
    """Return a key that is equal for names that are one name to some system, as Ada and ADA."""
    return _composed(_composed(name).casefold())


def _composed(text: str) -> str:
    from unicodedata import normalize  # which few commands need

    return normalize("NFC", text)


def all_of(words: Sequence[str]) -> str:
    """Return words as a list: "1, 2 and 3"."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def count_of(count: int, noun: str) -> str:
    """Return a count with its noun: "1 file", "2,000 files"."""
    return f"{count:,} {noun}{'s'[: count != 1]}"


def small(sentence: str) -> str:
    """Return a sentence that goes on after other words; K, Q and RoPE stay as they are.

    >>> small("The scores"), small("RoPE turned"), small("K_rotated"), small("A row")
    ('the scores', 'RoPE turned', 'K_rotated', 'a row')
    """
    is_word = sentence[1:2].islower() and sentence.split(maxsplit=1)[0][1:].islower()
    is_word = is_word or sentence.startswith("A ")
    return sentence[0].lower() + sentence[1:] if is_word else sentence


def whole_names(pieces: Sequence[str]) -> list[list[str]]:
    """Return the pieces of each name; `scores[1,1]`, split at the comma, is in two.

    >>> whole_names(["Q", "scores[am,", "I]", "z_am"])
    [['Q'], ['scores[am,', 'I]'], ['z_am']]
    """
    names, opened = list[list[str]](), 0
    for piece in pieces:
        if opened > 0:
            names[-1].append(piece)
        else:
            names.append([piece])
            opened = 0
        opened += piece.count("[") - piece.count("]")
    return names


SHORT_WORD = 2
"""Maximum length of a word that must be very like a known one: dk is no slip for K."""

MAX_DIGITS_OF_COUNT = 9
"""Maximum number of digits of a count or a place; Python converts at most 4,300. Chosen."""


def count_in(text: str) -> int:
    """Return the whole number that a text of decimal digits is; −1 for any other text.

    >>> count_in("12"), count_in("②"), count_in("1.0"), count_in("9" * 5000)
    (12, -1, -1, -1)
    """
    return int(text) if text.isdecimal() and len(text) <= MAX_DIGITS_OF_COUNT else -1


MIN_SIMILARITY, MIN_OF_SHORT = 0.6, 0.8
"""Minimum similarity (of `difflib`) of a word to one that may be meant."""


MAX_LISTED_WORDS, MAX_NEAR_WORDS, MIN_LIKENESS = 20, 4, 0.4
"""Maximum number of known words that a message lists, and of those nearest if there are more, with
the minimum similarity of these where another command lists all."""


def did_you_mean(word: str, known: Iterable[str], lists_all: str = "") -> str:
    """Return a hint for a misspelt word: the nearest known one, or `those_like` it."""
    words = list(known)
    near = near_words(word, words)
    return f"did you mean {near[0]}?" if near else f"known: {those_like(word, words, lists_all)}"


def those_like(word: str, known: Sequence[str], lists_all: str = "") -> str:
    """Return known words as a list; of many only those like a word, and what lists them all.

    >>> many = [f"k{number}" for number in range(40)]
    >>> those_like("c", ["a", "b"]), those_like("k30", many, "attn schema")
    ('a, b', 'k30, k3, k0, k39, … (40 in all: see attn schema)')
    """
    if len(known) <= MAX_LISTED_WORDS:
        return ", ".join(known)
    import difflib  # which only a misspelt word needs

    likeness = MIN_LIKENESS if lists_all else 0.0
    near = difflib.get_close_matches(word, known, n=MAX_NEAR_WORDS, cutoff=likeness)
    if not near:
        return f"{len(known)} words, which {lists_all} lists"
    return f"{', '.join(near)}, … ({len(known)} in all{lists_all and f': see {lists_all}'})"


def near_words(word: str, known: Iterable[str], at_least: float = MIN_SIMILARITY) -> list[str]:
    """Return the known word that is most like a misspelt one, or nothing."""
    import difflib  # which only a misspelt word needs

    lower = {w.lower(): w for w in known}
    plain = re.sub(r"[\s_-]+", "_", word.lower())
    for same in (plain, plain.removesuffix("_attention"), plain.removesuffix("_a")):
        if same in lower:
            return [lower[same]]
    least = at_least if len(word) > SHORT_WORD else MIN_OF_SHORT
    return [lower[w] for w in difflib.get_close_matches(word.lower(), lower, n=1, cutoff=least)]


OF_LAYER = regex(r"(?<![^_])layers\.(\d+)\.")
"""What begins the name of a step, an input or a key that is of one of several layers."""

OF_PART = regex(rf"{OF_LAYER.pattern}|(?<![^_])(?:en|de)coder\.")
"""The start of the name of a step that is of a layer, or of one of two networks."""

OF_COURSE = regex(rf"(?P<before>(?:d_)?(?:{OF_PART.pattern})?)(?P<name>.+?)(?P<time>_\d+)?")
"""The name of a step, with what a course's name of it keeps before and behind."""


def called_by(name: str, called: Mapping[str, str]) -> str:
    """Return what a course calls a step, by what it calls some steps; "" if there is no such word.

    >>> called_by("d_layers.2.scores", {"scores": "a"}), called_by("scores_3", {"scores": "a"})
    ('d_layers.2.a', 'a_3')
    """
    match = OF_COURSE.fullmatch(name) if called else None
    if match is None:
        return ""
    whole = match["name"] + (match["time"] or "")
    time = "" if whole in called else match["time"] or ""
    word = called.get(whole) or called.get(match["name"], "")
    return word and f"{match['before']}{word}{time}"

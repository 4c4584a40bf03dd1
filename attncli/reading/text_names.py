"""Names of matrices in a text: which words are names, and the name in the words before a matrix."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import takewhile
from typing import TypeAlias

from attncli.core.numbers.forms import ArrayForm
from attncli.core.numbers.grid import undecorated
from attncli.core.problem.key_values import key_of
from attncli.core.problem.keys import KEYS
from attncli.core.problem.rows import row_name
from attncli.core.tape import step_words
from attncli.core.tape.step_words import ALIASES, LETTERS, ROW_WORDS
from attncli.core.text.languages import words_for
from attncli.core.text.strings import plain_name, regex

Known: TypeAlias = Callable[[str], bool]
"""Whether a word is the name of a matrix of a problem, or of a step."""

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
QUOTED_KEY = regex(r"(?:.*[^\w\s])?[ \t]*(['\"])([\w.^]+)\1\s*[:,]\s*")
"""The key of a matrix in a mapping of Python, behind what is before it."""
ROW_HEADING = regex(
    r"^[ \t#*>-]*(?:for[ \t]+)?(?:the[ \t]+)?(?P<step>[^\W\d_]{3,}[ \t]+(?:(?:of|for|in)[ \t]+)?)??"
    rf"(?:{ROW_WORDS}[ \t]+[\"'“‘]?|(?<=for )[\"'“‘])"
    r"(?!(?:weight|vector|matri|project|embed|count)\w*)"
    r"(?P<row>[^\W_][\w’.-]*?)[\"'”’]?(?:[ \t]*\([^()\n]*\))?[ \t*`]*(?:[:,–]|[ \t\r]*$)",
    re.IGNORECASE | re.MULTILINE,
)
"""A line, or its beginning, that tells whose rows follow: Row 1: weights = ….

Behind the name of a step, only those on its line: Softmax row 1: sum = ….
"""
HEAD_HEADING = regex(
    r"^[ \t#*>-]*head[ \t]+(?P<head>\d{1,3})(?:[ \t]*\([^()\n]*\))?[ \t*`]*:?[ \t*`\r]*$",
    re.IGNORECASE | re.MULTILINE,
)
"""A line that tells whose matrices follow: Head 1."""
ARGUMENT = regex(r"(?<=\w)\([-\d.,;\s\[\]{}]*+\)(?=\s*+(?:=|≈|:|→|\Z))")
"""Numbers to which a function is applied: softmax([1, 0]) =."""
PLACES = r"(?:\[[^\]\n]{1,20}\])*(?:_?[{(]\d+, ?\d+[)}])?"
NAME = rf"(?:\\\w+(?:\{{\w+\}}| (?=\w))|[^\W\d])[\w.^{{}}]*{PLACES}"
IS_SET = r"(?<![<>!=*+/-])(?::?=)(?!=)|<-|≈|→"
"""The signs between a name and its value."""
NEXT_STATEMENT = regex(rf"(?:[,;]\s++|(?<=\S)\s++and\s++)(?={NAME}\s*+(?:{IS_SET}))")
BEFORE = """a an and assume calculate calculating calculation compute computing const final for get
given have here in input let matrix my now of our resulting so suppose table take the then var we
where with your"""
AFTER = "are as be below by equals follows is matrices matrix table tensor values vector vectors"
BEFORE_NAME = {
    *BEFORE.split(),
    *(word for row in ("BEFORE", "AND", "MATRIX", "X") for word in words_for(row)),
}
AFTER_NAME = {*AFTER.split(), *words_for("AFTER")}
"""Words before and after a name in a sentence."""
AND = "|".join(words_for("AND"))
OF_MATRICES = """weight weights matrix matrices input inputs embedding embeddings token tokens query
queries key keys value values projection projections vector vectors"""
PLAIN_WORDS = (BEFORE_NAME | AFTER_NAME | {*OF_MATRICES.split()}) - {"for"}
PLAIN_WORDS |= {word for row in ("Q", "K", "V") for word in words_for(row)}
"""Words beside a name by which its numbers are no others."""


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
    if quoted := QUOTED_KEY.fullmatch(text):
        return quoted[2]
    if (remark := REMARK.fullmatch(text)) and known(name := undecorated(remark[1])):
        return name
    text = re.sub(r"∈[^=:\n]*", "", text)
    statement = NEXT_STATEMENT.split(text)[-1]
    parts = [part.strip() for part in re.split(rf"{IS_SET}|(?<=\w)\s++(?:is|ist)\s++", statement)]
    parts = [part for part in parts if part] or [""]
    if step_words.PRODUCT.fullmatch(nearest := re.split("[:,;]", parts[-1])[-1].strip()):
        return nearest
    is_set = re.search(IS_SET, statement) is not None
    if not is_set and (with_colon := re.fullmatch(r"(.*\s)\S+:[ \t*`$]*+", statement)):
        is_set = _are_plain(with_colon[1])
    first = _name_in_words(parts[0], known, is_set)
    others = [part for part in parts[1:] if len(part) > 2 and known(part.rstrip(": "))]
    if others and len(first) < 3:
        return others[0].rstrip(": ")
    return first or undecorated(parts[0]).strip("[(&>,;. ")


def names_in(heading: str, known: Known) -> tuple[str, ...]:
    """Return the names before a matrix, if there are several, as in W_q = W_k = …."""
    parts = re.split(rf"{IS_SET}|(?<=\S)\s++(?:and|{AND})\s++|[,;/&]", plain_words(heading))
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
REMARK = regex(r"[ \t*#]*+([^()=:]*[^()=:*\s])[*\s]++\((?=[^()]*[=×≈])[^()]*+\)[:*\s]*+")
"""A name with a remark behind it: X (3 tokens, d = 3)."""


def _are_plain(words: str) -> bool:
    """Return True for words that say no more of a matrix than its name does."""
    return all(word.casefold() in PLAIN_WORDS for word in re.findall(r"[^\W\d_]+", words))


def _name_in_words(text: str, known: Known, is_set: bool) -> str:
    """Return the name in the words of a heading; "" if none is known."""
    whole = undecorated(text).strip("[(&>,;. ")
    symbol = WITH_SYMBOL.fullmatch(text)
    is_token = symbol and len(symbol[2]) < 2 and symbol[2] not in LETTERS and not is_key(symbol[2])
    if symbol and not is_token and known(symbol[2]) and _are_plain(symbol[1]):
        return symbol[2]
    words = re.sub(r"\s\(([^()]*)\)|[:*`“”„]", r" \1 ", whole or text).split()
    count = len(words)
    while words and words[-1].casefold() in AFTER_NAME:
        words.pop()
    words = _without_formula(words, known)
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
    are_long = [one for one in names if len(one) > 2 or len(words) < 2 or one[-1].isdigit()]
    words_known = [*filter(known, are_long)]
    last = words[-1] if is_set and words and known(words[-1]) else ""
    last = last if len(words) < 2 or (last and _is_prose(words[:-1], last, known)) else ""
    return words_known[0] if words_known else whole if known(whole) else last


MAX_FORMULA = 6
"""Maximum number of words of a formula behind a name, such as Q K^T / sqrt(d_k)."""


def _without_formula(words: list[str], known: Known) -> list[str]:
    """Return words without the formula of a step behind its name, as in scores Q K^T."""
    for at in range(max(len(words) - MAX_FORMULA, 1), len(words)):
        name, formula = words[at - 1], " ".join(words[at:])
        if known(name) and known(formula) and not formula.isalnum():  # as a letter is
            steps = (step_words.meant(one, ALIASES) for one in (name, formula))
            return words[:at] if set.intersection(*map(set, steps)) else words
    return words


PROSE_WORD = regex(r"[^\W\d_]{2,}+[,.;:]?|[^\W\d_]++-[^\W\d_]++|[aI]")
"""A word of a sentence, and not of a formula."""


def _is_prose(words: list[str], name: str, known: Known) -> bool:
    """Return True for words before a name that are no factors of it, as in weights V and 2 W_q."""
    is_factor = known(words[-1]) and not words[-1].casefold().startswith(name[:1].casefold())
    return not is_factor and all(map(PROSE_WORD.fullmatch, words))


def _is_symbol(letter: str, words: list[str]) -> bool:
    """Return True for a letter beside a word that may be its symbol; weights V is a product."""
    is_input = letter.upper() in "QKVX" and not words[-1].casefold().startswith(letter.casefold())
    return letter.isalpha() and len(letter) < 3 and not is_input


def is_key(word: str) -> bool:
    """Return True if a word may be the name of a matrix of a problem, or of a row of one."""
    word = plain_name(word).removesuffix("^T")  # of a vector
    key = key_of(word.partition("[")[0]).partition(".")[0]
    return (key in KEYS and is_array(key)) or row_name(word) != "" or word == "s"


def is_array(key: str) -> bool:
    return (key in KEYS and isinstance(KEYS[key].form, ArrayForm)) or key in ("mask", "bias")


ROW_OF_STEP = regex(r"(?P<step>[^\W\d_]{3,})_\w+")


def is_step(word: str) -> bool:
    """Return True if a word may be the name of a step, or of cells of one."""
    if step_words.PRODUCT.fullmatch(word):
        return True
    row = step_words.ROW_IN_WORDS.fullmatch(word) or ROW_OF_STEP.fullmatch(word)
    of_row = row["step"] if row else ""
    names = re.split(r"(?<!\s)\s*+\[|(?<!\s)\s++head\b", word)[:1]
    names += [of_row] if len(of_row) > 2 or of_row in LETTERS else []
    names = [one for one in names if one and one[0] not in "√0123456789"]
    return any(step_words.may_mean_step(one, ()) for one in names)


LIKE_INPUTS = {"positions", "embedded", "H"}
"""Steps whose names people also give to inputs, such as positional encoding."""


def may_be_result(word: str) -> bool:
    """Return True for the name of a step that a program may print below its inputs."""
    if len(word) < 3:
        return word in LETTERS or row_name(word) != ""
    steps = {*step_words.meant(word, ALIASES)} - LIKE_INPUTS
    return (is_step(word) and " " not in word) or bool(steps)

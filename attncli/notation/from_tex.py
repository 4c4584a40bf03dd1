"""Matrices of LaTeX as lines whose cells are parted by `&`, every number where it stood."""

from __future__ import annotations

import re
from functools import partial

from attncli.notation.parser import MAX_DEPTH, NumberError

NUMBER = r"\d+\.?\d*|\.\d+"
BEGIN = r"\\begin\s*\{[a-zA-Z]*(?:matrix|array|tabular)"
NOTHING = (
    r"\\(?:begin|end)\s*\{\s*[a-zA-Z]*(?:matrix|array|tabular|smallmatrix)\*?\s*\}"
    r"(?:\s*\[[a-z]*\])?(?:\s*\{[lcr|\s]*\})?"
    r"|\\(?:begin|end)\s*\{\s*(?:equation|align|displaymath|math|center|gather)\*?\s*\}"
    r"|\\(?:left|right|[bB]igg?[lr]?)\s*(?:\\[{}|]|[\[\]().|])"
    r"|\\[hv]?phantom\s*\{[^{}]*\}|\\(?:hline|toprule|midrule|bottomrule|displaystyle|quad|qquad)\b"
    r"|\\[,;:!\s\[\]()]|\$|\\notag\b"
)
"""What changes no number."""
COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%[ \t]*$", re.MULTILINE)
"""The sign of a comment at the end of a line; \\% is percent."""

ENDS = (
    r"\\end\s*\{[^{}]*\}|\\right\s*(?:\\[}|]|[\])|.])|\\[bB]igg?r?\s*[\])|]"
    r"|\\tag\s*\{[^{}]*\}|\\[\])]|[\s$.,;]"
)
"""What may stand behind a matrix."""

WORK_OUT = "write the matrix itself, worked out"

SIGNS = (
    (r"\\infty(?![a-zA-Z])", "inf"),
    (r"\\pi(?![a-zA-Z])", "pi"),
    (r"\\(?:cdot|times)(?![a-zA-Z])", "*"),
    (r"\\approx(?![a-zA-Z])", "≈"),
    (r"\\exp(?![a-zA-Z])", "exp"),
    (r"\\%", "%"),
    (r"\\&", " "),
    (r"\\#", "#"),
    (r"\\_", "_"),
)


def is_matrix(text: str) -> bool:
    """Whether a text is a matrix of LaTeX; else it may have numbers of LaTeX in it."""
    return "\\\\" in text or "&" in text or "\\begin" in text


def rows_in_lines(text: str) -> str:
    r"""Return a matrix of LaTeX with the end of a line for each `\\\\`, and nowhere else.

    Raises:
        NumberError: for several matrices, or one with more beside it than a name.
    """
    text = re.sub(COMMENT, _no_comment, text)
    begins = re.findall(BEGIN, text)
    if len(begins) > 1:
        raise NumberError("the text holds several matrices; write each under its own key")
    if begins:
        start = text.index(begins[0])
        before = re.sub(r"\\left\s*(\\[{|]|[\[(|.])\s*\Z|[$\s]|\\[\[(]", "", text[:start])
        behind = re.sub(ENDS, "", text[text.rfind(r"\end") :]) if r"\end" in text else ""
        if before and not re.fullmatch(r"(\\?\w|[\^{}])+:?=", before):
            raise NumberError(f"{before[:20]} stands before the matrix; {WORK_OUT}")
        if behind:
            raise NumberError(f"{behind[:20]} stands behind the matrix; {WORK_OUT}")
        text = " " * start + text[start:]
    text = re.sub(r"[\r\n]", " ", text)
    text = re.sub(r"(?<=\})(?:[\s$.,;]|\\[\])])+\Z", lambda m: " " * len(m[0]), text)
    return re.sub(r"\\\\\*?(\s{0,9}\[[^\]\[&\\]{0,20}\])?", lambda m: "\n".ljust(len(m[0])), text)


def without_tex(text: str) -> str:
    r"""Return a text with the numbers of LaTeX in the signs that the parser knows.

    >>> without_tex(r"\frac{1}{2} & -\infty").split()
    ['1/2', '&', '-inf']
    """
    text = re.sub(NOTHING, lambda m: " " * len(m[0]), text)
    for sign, plain in SIGNS:
        text = re.sub(sign, partial(_instead, plain), text)
    words = r"\\(?:text\w*|math\w+|operatorname)\s*\{([^{}]*)\}"
    text = re.sub(words, lambda m: m[1].rjust(len(m[0]) - 1).ljust(len(m[0])), text)
    text = re.sub(r"\\[dt]?frac\s*(\d)\s*(\d)(?!\s*[\d.])", _fraction, text)
    text = re.sub(r"\\sqrt\s*(\d)(?![\d.])", lambda m: f"√{m[1]}".ljust(len(m[0])), text)
    text = re.sub(r"(?<=\d)\{,\}(\d+)", r",\1  ", text)
    for _ in range(MAX_DEPTH if "{" in text else 0):  # from the inside out
        before = text
        text = re.sub(r"\\[dtc]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}", _fraction, text)
        text = re.sub(r"\\sqrt\s*\{([^{}]*)\}", _root, text)
        text = re.sub(r"([\^_])\{([^{}\\]*)\}", r"\1(\2)", text)
        if text == before:
            break
    return text.replace("{", "(").replace("}", ")")


def _no_comment(match: re.Match[str]) -> str:
    if match.string[: match.start()][-1:].isdigit() and not match[1]:
        raise NumberError(r"in LaTeX % begins a comment; write \% for percent")
    return match[1].ljust(len(match[0]))


def _instead(plain: str, match: re.Match[str]) -> str:
    return plain.ljust(len(match[0]))


def _fraction(match: re.Match[str]) -> str:
    above, below = match[1].strip(), match[2].strip()
    if match.string[: match.start()][-1:].isdigit():
        mixed = match.string[: match.start()].split()[-1]
        raise NumberError(
            rf"{mixed}\frac may be a mixed number or a product; write {above}/{below}"
        )
    behind = match.string[match.end() :].lstrip()[:1]
    before = match.string[: match.start()].rstrip()[-1:]
    if not (behind == "^" or before in ("/", "^")) and all(
        re.fullmatch(NUMBER, part) for part in (above, below)
    ):
        return f"{above}/{below}".ljust(len(match[0]))
    return f"(({above})/({below}))".ljust(len(match[0]))


def _root(match: re.Match[str]) -> str:
    return f"sqrt({match[1]})".ljust(len(match[0]))

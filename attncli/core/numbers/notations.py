"""Matrices in LaTeX, in brackets, and as calls of R and NumPy make them.

They are rewritten for the parser; every number keeps its offset.
"""

from __future__ import annotations

import re
from functools import partial

from attncli.core.numbers.grid import (
    Words,
    ambiguous,
    cells_in,
    decimal_comma,
    pieces_of,
    trimmed,
    whole_number,
)
from attncli.core.numbers.parser import MAX_DEPTH, NumberError
from attncli.core.numbers.written import SEVERAL
from attncli.core.text.strings import regex, visible

PLAIN_DECIMAL = r"\d++(?:\.\d*+)?|\.\d++"
BEGIN = r"\\begin\s*\{\s*[a-zA-Z]*(?:matrix|array|tabular)"
LAYOUT = (
    r"\\(?:begin|end)\s*\{\s*[a-zA-Z]*(?:matrix|array|tabular|smallmatrix)\*?\s*\}"
    r"(?:\s*\[[a-z]*\])?(?:\s*\{[lcr|\s]*\})?"
    r"|\\(?:begin|end)\s*\{\s*(?:equation|align|displaymath|math|center|gather)\*?\s*\}"
    r"|\\(?:left|right|[bB]igg?[lr]?)\s*(?:\\[{}|]|[\[\]().|])"
    r"|\\[hv]?phantom\s*\{[^{}]*\}"
    r"|\\(?:hline|toprule|midrule|bottomrule|displaystyle|q?quad|notag|attnroom)(?![a-zA-Z])"
    r"|\\[,;:!\s\[\]()]|\$"
)
"""Commands that change no number; \\attnroom is an empty field of a worksheet."""
COMMENT_SIGN = regex(r"(?<!\\)((?:\\\\)*)%[ \t]*$", re.MULTILINE)
"""The sign of a comment at the end of a line; \\% is percent."""
AFTER_MATRIX = (
    r"\\end\s*\{[^{}]*\}|\\right\s*(?:\\[}|]|[\])|.])|\\[bB]igg?r?\s*[\])|]"
    r"|\\tag\s*\{[^{}]*\}|\\[\])]|[\s$.,;]"
)
ROW_END = r"\\\\\*?(?:\s{0,9}\[[^\]\[&\\]{0,20}\])?"
EATEN_ROW_END = r"\\(?=\s)"
"""The end of a row of which Markdown took one backslash away."""
BEFORE, POWER = r"((?<![\d.])[\d.]++(?<=\d)|[/^]\s*+)?", r"(?=(\s*\^)?)"
"""The number or the sign before a fraction, and the sign of a power behind it."""
WORK_OUT = "write the matrix itself, worked out"
PLAIN_SIGNS = (
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


def matrix_rows(text: str) -> list[Words]:
    """Return the cells of a matrix of LaTeX; refuse several, and more beside it than a name."""
    text = COMMENT_SIGN.sub(_without_comment_sign, text)
    begins = re.findall(BEGIN, text)
    if len(begins) > 1:
        raise NumberError("the text holds several matrices; write each under its own key")
    start = text.index(begins[0]) if begins else 0
    if begins:
        before = re.sub(r"\\left\s*(\\[{|]|[\[(|.])\s*\Z|[$\s]|\\[\[(]", "", text[:start])
        after = re.sub(AFTER_MATRIX, "", text[text.rfind(r"\end") :]) if r"\end" in text else ""
        if before and not re.fullmatch(r"(\\?\w|[\^{}])+:?=", before):
            raise NumberError(f"{before[:20]} is written before the matrix; {WORK_OUT}")
        if after:
            raise NumberError(f"{after[:20]} is written after the matrix; {WORK_OUT}")
    end = re.search(r"(?<=\})(?:[\s$.,;]|\\[\])])+\Z", text)
    rows = cells_of(text[start : end.start() if end else None], start)
    return [row for row in rows if len(row) > 1 or row[0][1]]


def cells_of(text: str, start: int = 0) -> list[Words]:
    r"""Return the cells of a text of LaTeX whose rows end with `\\`, separated by `&`.

    >>> cells_of(r"1 & \frac{1}{2} \\ & 3")
    [[(0, '1'), (4, '1/2')], [(19, ''), (21, '3')]]
    """
    text = re.sub(r"[\r\n]", " ", text)
    end = ROW_END if "\\\\" in text else EATEN_ROW_END
    rows = [row for row in pieces_of(text, end, start) if row[1].strip()]
    lines = (pieces_of(row, r"(?<!\\)&", at) for at, row in rows)
    return [[trimmed(at, without_tex(cell)) for at, cell in cells] for cells in lines]


def without_tex(text: str) -> str:
    r"""Return a text of the same length, with numbers in LaTeX rewritten for the parser.

    >>> without_tex(r"\frac{1}{2} & -\infty").split()
    ['1/2', '&', '-inf']
    >>> without_tex(r"\mathrm{0.5} & x")
    '        0.5  & x'
    """
    if "\\" not in text and "{" not in text and "$" not in text:
        return text
    text = re.sub(LAYOUT, lambda m: " " * len(m[0]), text)
    for sign, plain in PLAIN_SIGNS:
        text = re.sub(sign, partial(_instead, plain), text)
    words = r"\\(?:text\w*|math\w+|operatorname)\s*\{([^{}]*)\}"
    text = re.sub(words, lambda m: m[1].rjust(len(m[0]) - 1).ljust(len(m[0])), text)
    text = re.sub(rf"{BEFORE}\\[dt]?frac\s*(\d)\s*(\d)(?!\s*[\d.]){POWER}", _fraction, text)
    text = re.sub(r"\\sqrt\s*(\d)(?![\d.])", lambda m: f"√{m[1]}".ljust(len(m[0])), text)
    text = re.sub(r"(?<=\d)\{,\}(\d+)", r",\1  ", text)
    for _ in range(MAX_DEPTH if "{" in text else 0):  # from the inside out
        before = text
        braces = r"\s*\{([^{}]*)\}\s*\{([^{}]*)\}"
        text = re.sub(rf"{BEFORE}\\[dtc]?frac{braces}{POWER}", _fraction, text)
        text = re.sub(r"\\sqrt\s*\{([^{}]*)\}", lambda m: f"√({m[1]})".ljust(len(m[0])), text)
        text = re.sub(r"([\^_])\{([^{}\\]*)\}", r"\1(\2)", text)
        if text == before:
            break
    return text.replace("{", "(").replace("}", ")")


def _without_comment_sign(match: re.Match[str]) -> str:
    if match.string[: match.start()][-1:].isdigit() and not match[1]:
        raise NumberError(r"in LaTeX % begins a comment; write \% for percent")
    return match[1].ljust(len(match[0]))


def _instead(plain: str, match: re.Match[str]) -> str:
    return plain.ljust(len(match[0]))


def _fraction(match: re.Match[str]) -> str:
    before, above, below, power = match[1] or "", match[2].strip(), match[3].strip(), match[4]
    if before[:1].isdigit():
        mixed = rf"{before}\frac may be a mixed number or a product"
        raise NumberError(f"{mixed}; write {above}/{below}")
    is_operand = power or before
    are_plain = all(re.fullmatch(PLAIN_DECIMAL, part) for part in (above, below))
    plain = f"{above}/{below}" if are_plain and not is_operand else f"(({above})/({below}))"
    return before + plain.ljust(len(match[0]) - len(before))


FACTORS = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)"
FILLED = regex(
    rf"\s*+(?:(?P<factor>{FACTORS})\s*\*\s*)?(?P<module>(?:np|numpy|torch|jnp)\.)?"
    r"(?:(?P<half>tri[lu])\(\s*(?:\w+\.)?)?(?:(?P<unit>eye|identity|diag)|(?P<zero>zeros)|ones)"
    r"\(\s*+(?:[(\[]\s*+)?(?P<first>\d{1,3})(?:\s*+,\s*+(?P<second>\d{1,3}))?[\s,]*+"
    rf"(?:[)\]]\s*+)?\)(?(half)\s*\))(?:\s*\*\s*(?P<times>{FACTORS}))?[\s;]*+"
)
"""A call for a matrix of zeros, of ones, or with ones on its diagonal, its sizes and a factor."""
R_CALL = regex(r"\s*(matrix|[rc]bind|c)\s*\((.*)\)[\s;]*", re.DOTALL)
R_VECTOR = regex(r"\bc\s*\(((?:[^()]|\([^()]*\))*+)\)")
R_SIZES = ("nrow", "ncol", "byrow")
"""The arguments of matrix(c(1, 2, 3, 4), nrow = 2, byrow = TRUE), in their order."""


def rows_of_call(text: str) -> list[Words] | None:
    """Return the rows of the matrix that a call makes; None for a text that is no such call."""
    if call := R_CALL.fullmatch(text):
        return _of_r(call)
    filled = FILLED.fullmatch(text)
    return _filled(filled) if filled and any(filled.group("module", "unit", "second")) else None


def _of_r(call: re.Match[str]) -> list[Words]:
    """Return the rows of a call of matrix (by columns, unless byrow), rbind, cbind or c."""
    name, inside, start = call[1], call[2], call.start(2)
    if name == "c":
        return [cells_in((start, inside), ",")]
    vectors = [cells_in((start + one.start(1), one[1]), ",") for one in R_VECTOR.finditer(inside)]
    rest = [*filter(None, re.sub(r"\s", "", R_VECTOR.sub("", inside)).split(","))]
    if name != "matrix":
        if rest or len({*map(len, vectors)}) != 1:
            raise NumberError(f"{name} is read of vectors such as c(1, 0) alone, of one length")
        return vectors if name == "rbind" else [[*row] for row in zip(*vectors, strict=True)]
    pairs = (one.rpartition("=") for one in rest[: len(R_SIZES)])
    sizes = {key or other: value for (key, _, value), other in zip(pairs, R_SIZES, strict=False)}
    by_row = {"TRUE": True, "T": True, "FALSE": False, "F": False}.get(sizes.pop("byrow", "F"))
    are_known = by_row is not None and all(
        key in R_SIZES and re.fullmatch(r"[1-9]\d{0,5}", n) for key, n in sizes.items()
    )
    if len(vectors) != 1 or len(rest) > len(R_SIZES) or not are_known:
        raise NumberError("matrix is read as matrix(c(1, 0, 0, 1), nrow = 2, byrow = TRUE)")
    numbers, count = vectors[0], len(vectors[0])
    rows = int(sizes.get("nrow", 0)) or count // max(int(sizes.get("ncol", 1)), 1)
    columns = int(sizes.get("ncol", 0)) or count // max(rows, 1)
    if rows * columns != count:
        raise NumberError(f"{count} numbers do not fill {rows} rows and {columns} columns")
    if by_row:
        return [numbers[at : at + columns] for at in range(0, count, columns)]
    return [numbers[row::rows] for row in range(rows)]


def _filled(call: re.Match[str]) -> list[Words]:
    """Return the rows of a call such as `eye(2)` or `zeros((2, 3))`; of `np.zeros(3)` one row."""
    height, width = int(call["first"]), int(call["second"] or call["first"])
    if not (call["unit"] or call["second"]):
        height = 1
    number = "0" if call["zero"] else call["factor"] or call["times"] or "1"
    at = call.start("first")

    def is_there(row: int, column: int) -> bool:
        is_in_half = {"tril": column <= row, "triu": row <= column}.get(call["half"], True)
        return is_in_half and (row == column or not call["unit"])

    return [
        [(at, number if is_there(row, column) else "0") for column in range(width)]
        for row in range(height)
    ]


KEYBOARD_SIGNS = str.maketrans("⎡⎢⎣⎛⎜⎝⎤⎥⎦⎞⎟⎠│┃║─━═┌┬┐├┼┤└┴┘", "[[[[[[]]]]]]|||---+++++++++")
"""ASCII characters for the pieces of tall brackets, and for the lines of boxes."""


LONG_BRACKETS = "⎡⎢⎣⎛⎜⎝"


MAKER = r"(?:\w+\.)*+(?i:(?:as_?|nd)?array|\w*tensor|mat(?:rix)?|constant|parameter)\("
"""The start of a call that makes a matrix of its numbers as they are."""


PRINTED = (
    r"\s*+(?:Parameter containing:\s*+)?"
    rf"(?:{MAKER}\s*+)*+"
    r"(\[.*\])(?:\s*+,\s*+\w++=(?:[\w.':<>]++|\([\d, ]*+\))|[\s,]*+\))*+[\s;,.>]*+"
)
"""A matrix in brackets, as it is or as a program prints it; no call that changes its numbers."""


WHOLE_TYPE = r"(?i)(?:u?int|long|short|bool|byte)(?:tensor\(|\d*\b)"
"""A type of whole numbers, to which a program cuts others, in such a call."""


NOT_WHOLE = r"(?<![^\s,\[\]])(?=[^\s,\[\]]*(?:\.\d*[1-9]|[eE]-|/))[^\s,\[\]]++"


CODE = (
    (
        r"(?:\.m?T|\.t\(\)|\.transpose\([^()]*\)|(?<=[\])])['’ᵀ])\Z",
        "{} makes columns of rows; write the matrix with its rows and columns exchanged",
    ),
    (
        r"\A\s*+(?:(?:np|numpy|torch|jnp)\.)?(?:eye|identity|zeros|ones)(?=\([\s(,\d]*\d{4})",
        "{} is read with sizes of at most 999; name a file that holds the numbers",
    ),
    (
        r"\A\s*+(?!(?:sqrt|exp|abs)\()[A-Za-z_][\w.]*(?=(?:\((?s:.*)\)|\[(?s:.*)\])\Z)",
        "{} is a function, which is not called here; paste the numbers that it returns",
    ),
)
"""Code beside or in the place of a matrix, each pattern with what to write instead."""


IN_ROUND_BRACKETS = rf"\s*+\(?\s*+(?:\(\s*+{SEVERAL}\s*+\)[\s,;]*+)++\)?\s*+"


MAX_LISTS = 8
"""Maximum number of lists inside each other; those of a matrix of too many axes are counted."""


SEVERAL_MATRICES = "the text holds several matrices; write each under its own key"


TYPST = regex(r"\s*mat\(([^()\[\]]*;[^()\[\]]*)\)[\s;,.$]*")
"""A matrix of Typst: mat(1, 2; 3, 4)."""


AT_SEMICOLONS = regex(r"\s*+\(?\s*+(?:\([^();]*+;[^()]*+\)[\s,]*+){2,}\)?\s*+")


WITH_BARS = regex(r"\(\s*+[-+−√\d.,/%]++(?:\s*+\|\s*+[-+−√\d.,/%]++)++\s*+\)")
"""A vector as schools write it: (2,5 | 1)."""


def with_commas(text: str) -> str:
    """Return a text with commas in place of bars in vectors, or semicolons beside other commas."""
    if "|" not in text or "(" not in text:
        return text
    sign = ";" if "," in "".join(WITH_BARS.findall(text)) else ","
    return WITH_BARS.sub(lambda vector: vector[0].replace("|", sign), text)


def rows_at_semicolons(text: str) -> list[Words] | None:
    """Return rows in round brackets if semicolons separate their numbers: (0,5; 0,5), (1; 0)."""
    if ";" not in text or not AT_SEMICOLONS.fullmatch(text):
        return None
    rows = [(one.start(1), one[1]) for one in re.finditer(r"\(([^()]+)\)", text)]
    return [[(at, whole_number(cell)) for at, cell in cells_in(row, ";")] for row in rows]


def without_brackets(text: str) -> tuple[str | list[Words], tuple[int, ...]]:
    """Return rows in brackets, such as [1 0; 0 1], as lines; lists with commas as their cells.

    The second result is `LabelledGrid.lead`.
    """
    if re.fullmatch(IN_ROUND_BRACKETS, text):
        text = text.translate(str.maketrans("()", "[]"))
    if "{" in text and text.lstrip().startswith("{{"):  # of Mathematica
        text = text.translate(str.maketrans("{}", "[]"))
    is_drawn = not text.isascii() and any(sign in text for sign in LONG_BRACKETS)
    text = text if text.isascii() else text.translate(KEYBOARD_SIGNS)
    if is_drawn:
        if any(line.count("[") > 1 for line in text.splitlines()):
            raise NumberError(SEVERAL_MATRICES)
        # A label before a bracket over several lines is like one before a colon.
        text = re.sub(r"(?m)^([ \t]*[^\s\[\]][^\[\]\n]*?)\s\[", r"\1: ", text)
        return text.replace("[", " ").replace("]", " "), ()
    if typst := TYPST.fullmatch(text):
        return " " * typst.start(1) + typst[1], ()
    whole = re.fullmatch(PRINTED, text, re.DOTALL) if "[" in text else None
    if whole is None or whole[1].count("[") != whole[1].count("]"):
        _refuse_code(text.rstrip("; \t\r\n"))
        return text, ()
    inner = whole[1]
    _refuse_cut(whole)
    _refuse_commas(inner, whole.start(1))
    between = re.sub(r"\[[^\[\]]*\]", "", inner)
    if not re.fullmatch(r"[\[\s,;\]]*", between):
        return text, ()
    lead = _lead(inner)
    lists = [(one.start(1), one[1]) for one in re.finditer(r"\[([^\[\]]*)\]", inner)]
    is_one_row = len(lists) == 1
    are_lists = "," in between or (is_one_row and ", " in inner and not set("\r\n;") & {*inner})
    if are_lists and all("," in row for _, row in lists):
        at = whole.start(1)
        return [cells_in((at + start, row.rstrip(", \t\r\n")), ",") for start, row in lists], lead
    inner = inner.replace(";", "\n") if is_one_row else re.sub(r"[\r\n;]", " ", inner)
    is_on_a_line = is_one_row or not re.search(r"[\r\n]", whole[1])
    is_dense = is_on_a_line and not any(re.search(r"[\s;]", row.strip()) for _, row in lists)
    if is_dense or "," in between:  # in lists a comma separates numbers, as YAML reads it too
        inner = inner.replace(",", " ")
    return " " * whole.start(1) + inner.replace("[", " ").replace("]", "\n"), lead


def _lead(lists: str) -> tuple[int, ...]:
    """Return how many lists each list outside of the matrices holds; () for one matrix.

    >>> _lead("[[[1], [2]], [[3], [4]], [[5], [6]]]"), _lead("[[1, 2], [3, 4]]")
    ((3,), ())
    """
    counts, sizes = [0], list[set[int]]()  # of lists in each open list; by depth
    for bracket in re.findall(r"[\[\]]", lists):
        if bracket == "[":
            counts[-1] += 1
            counts.append(0)
            sizes += [set()] * (len(sizes) < len(counts) - 1)
            continue
        count = counts.pop()
        if not counts:
            raise NumberError("a ] has no [ before it")
        sizes[len(counts) - 1] = sizes[len(counts) - 1] | {count}
    if len(sizes) > MAX_LISTS:
        raise NumberError(f"more than {MAX_LISTS} lists are inside each other")
    if len(sizes) < 3:
        return ()
    if any(len(size) > 1 for size in sizes):
        raise NumberError("the lists inside each other are not equally long")
    return tuple(size.pop() for size in sizes[:-2])


def _refuse_commas(lists: str, at: int) -> None:
    if pair := decimal_comma(lists):
        raise ambiguous(pair[1], ("decimal", "separated"), at + pair[0])
    if empty := re.search(r"[\[,]\s*(,)", lists):
        raise NumberError("a cell is empty", at=at + empty.start(1))


def _refuse_cut(printed: re.Match[str]) -> None:
    around = printed.string[: printed.start(1)] + printed.string[printed.end(1) :]
    whole = re.search(WHOLE_TYPE, around)
    if whole and (number := re.search(NOT_WHOLE, printed[1])):
        message = f"{visible(number[0])} is cut to a whole number by {whole[0].rstrip('(')}"
        at = printed.start(1) + number.start()
        raise NumberError(f"{message}; leave the type out", at=at)


def _refuse_code(text: str) -> None:
    for pattern, sentence in CODE:
        if code := re.search(pattern, text):
            word = code[0].lstrip()
            raise NumberError(sentence.format(visible(word[:40])), at=code.end() - len(word))

"""Sheets of workbooks: blocks of cells that touch each other, which are read as the rows of CSV."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from operator import itemgetter

from attncli.core.errors import fail
from attncli.core.numbers.forms import ArrayForm
from attncli.core.numbers.grid import edges, is_word, undecorated
from attncli.core.problem.key_values import key_of
from attncli.core.problem.keys import KEYS
from attncli.core.problem.kinds import REPLACES
from attncli.core.records import Record, replace
from attncli.core.tape.cell_names import ALIASES, LETTERS, may_mean_step
from attncli.core.text.strings import OF_LAYER, regex
from attncli.reading.csv_blocks import RESULTS, CsvDocument
from attncli.reading.document import KEYS_BESIDE_STEPS, PROBLEM, TITLE, KnownClass, Options
from attncli.reading.workbooks import (
    Position,
    Rows,
    Sheet,
    WorkbookTable,
    cell_name,
    rectangle,
    refuse_large,
    without_end,
)

SIGN = regex(r"[^\w\s.,;:?~'\"#%&@∞-]{1,3}")
"""A sign between the matrices of a calculation, if it is alone in its cell."""
CALCULATED = regex(r"=\s*\S|\(given\)")
"""The part of a title such as scores = Q Kᵀ that tells that the matrix is a result."""
SHORT = frozenset(word for words in ALIASES.values() for word in words if len(word) < 3)
"""Names of steps of one or two letters, in lower case."""

MAX_BLOCKS = 2000
"""Maximum number of blocks in a sheet. Chosen."""


class Matrix(Record):
    """The rows of a matrix, and the name that was written near it, or ""."""

    name: str
    at: Position
    rows: Rows
    is_result: bool = False


class Block(Record, eq=False):
    """Cells that touch each other, in their rows; all of them are words, or else not."""

    rows: Rows
    are_words: bool

    @property
    def start(self) -> Position:
        return self.rows[0][0]


def name_in(text: str) -> str:
    """Return the name of a step, or of a matrix of a problem, at the start of a text; or "".

    >>> name_in("2. scores[head 1] = Q Kᵀ"), name_in("Homework")
    ('scores[head 1]', '')
    """
    name = undecorated(undecorated(text.partition("=")[0])).strip("[(&> ")
    word, key = _word(name), re.sub(r"\A(d|new)_", "", _key(name))
    is_key = key in KEYS and word not in KEYS_BESIDE_STEPS
    is_short = word in LETTERS or word.casefold() in SHORT
    return name if is_key or (is_short if len(word) < 3 else may_mean_step(word, ())) else ""


def _word(name: str) -> str:
    return re.split(r"(?<!\s)\s*+\[|(?<!\s)\s++head\b", name)[0]


def _key(name: str) -> str:
    return key_of(OF_LAYER.sub("", _word(name)).partition(".")[0])


class Page:
    """The matrices of a sheet, as far as they are wanted, its settings and its other words."""

    def __init__(self, sheet: Sheet, options: Options, are_answers: bool) -> None:
        self.name, cells = sheet
        self.settings: Rows = []
        self.words: dict[Position, str] = {}
        self._options = options
        keys = {at[0]: at[1] for at in cells if cells[at] in options}
        signs = {
            (row, column): text
            for (row, column), text in cells.items()
            if SIGN.fullmatch(text) and column < keys.get(row, column + 1)
        }
        for row, column in [*signs]:  # a sign has nothing, or signs, above and below
            if not {(row - 1, column), (row + 1, column)} & cells.keys() <= signs.keys():
                del signs[row, column]
        by_block = {block: self._matrices(block) for block in _blocks(cells, signs)}
        before = _calculations(by_block, signs)
        operands = {one for line in before.values() for one in line}
        results = [some for block, some in by_block.items() if some and block not in operands]
        of_sheet = name_in(self.name) if list(map(len, results)) == [1] else ""
        matrices: list[Matrix] = []
        for block, some in by_block.items():
            if some and block not in operands:
                line = before.get(block, [])
                titles = [some[0].name, self._above(block, name_in(some[0].name))]
                for first in line[:1]:
                    heading = [one.name for one in by_block[first]] or [
                        self.words.get(first.start, "")
                    ]
                    titles += [one for one in heading[:1] if first.are_words or "=" in one]
                    titles.append(self._above(first))
                title = next(filter(None, titles), "")
                name = name_in(title) or of_sheet or title
                formulas = [one for one in titles[:2] if CALCULATED.search(one)]
                if are_answers:  # above a result may be what it is made of
                    formulas = [one for one in formulas if _word(name_in(one)) == _word(name)]
                    formulas = [one for one in formulas if "(given)" not in one]
                is_result = bool(formulas) or not all(one.are_words for one in line)
                matrices.append(replace(some[0], name=name, is_result=is_result))
                matrices += some[1:]
        is_copy = any(row[0] not in options for _, row in self.settings)
        self.words = {} if is_copy else self.words  # which are not the student's
        self.matrices = _answers(matrices, is_copy) if are_answers else _inputs(matrices)

    def _matrices(self, block: Block) -> list[Matrix]:
        """Return the matrices of a block; note the settings and the other words in it."""
        matrices: list[Matrix] = []
        heading, rows = ((0, 0), ""), Rows()
        for (number, left), cells in block.rows:
            first, *others = (n for n, cell in enumerate(cells) if cell)
            text, start = cells[first], (number, left + first)
            if not rows and self._is_setting(cells[first:]):
                self.settings.append((start, cells[first:]))
            elif block.are_words:
                self.words |= {(number, left + n): cells[n] for n in (first, *others)}
            elif not others and is_word(text) and (name_in(text) or not rows):
                if not rows and heading[1]:
                    is_other = name_in(text) == "" != name_in(heading[1])
                    self.words |= dict([(start, text) if is_other else heading])
                    heading = heading if is_other else (start, text)
                    continue
                matrices += _named(heading, rows)
                heading, rows = (start, text), []
            elif not others and is_word(text) and not is_word(rows[-1][1][first] or "_"):
                self.words[start] = text  # a note below numbers
            else:
                rows.append(((number, left), cells))
        return matrices + _named(heading, rows)

    def _is_setting(self, cells: Sequence[str]) -> bool:
        key, values = _key(cells[0]), list(filter(None, cells[1:]))
        is_key = key in KEYS and not isinstance(KEYS[key].form, ArrayForm)
        may_be_list = "." in cells[0] or self._options.get(cells[0], False)
        return (is_key or cells[0] in self._options) and (
            len(values) == 1 or (may_be_list and len(values) > 1)
        )

    def _above(self, block: Block, name: str = "") -> str:
        """Return the words with a name, or with this name, in the lines above a block; or "".

        One row between is empty.
        """
        (row, left), cells = block.rows[0]
        lines: list[str] = []
        for above in range(row - 2, 0, -1):
            texts = (self.words.get((above, left + n), "") for n in range(len(cells)))
            if not (text := next(filter(name_in, texts), "")):
                break
            lines.append(text)
        same = [text for text in lines if _word(name_in(text)) == _word(name)]
        return [*same, *lines, ""][0]


def _blocks(cells: Mapping[Position, str], signs: Mapping[Position, str]) -> list[Block]:
    """Return the blocks of the cells that are no signs, by their first rows and columns."""
    left, blocks = cells.keys() - signs.keys(), list[Block]()
    while left:
        stack, group = [left.pop()], list[Position]()
        while stack:
            row, column = at = stack.pop()
            group.append(at)
            for near in product((row - 1, row, row + 1), (column - 1, column, column + 1)):
                if near in left:
                    left.remove(near)
                    stack.append(near)
        if not (rows := rectangle(cells, group)):
            first = cell_name(min(group))
            raise fail(f"the cells from {first} on are no table", hint="write each matrix alone")
        refuse_large("separate blocks of cells", len(blocks), MAX_BLOCKS)
        blocks.append(Block(rows, all(is_word(cells[at]) for at in group)))
    return sorted(blocks, key=lambda block: block.start)


def _calculations(
    blocks: Iterable[Block], signs: Mapping[Position, str]
) -> dict[Block, list[Block]]:
    """Return the blocks before each other block of a calculation: of Q × K = scores, Q, and Q, K.

    Those before another one are operands, so that only what follows the last = is a result.
    """
    by_row = defaultdict[int, list[tuple[int, str | Block]]](list)
    for (row, column), text in signs.items():
        by_row[row].append((column, text))
    refuse_large("rows with signs", len(by_row), MAX_BLOCKS)
    before: dict[Block, list[Block]] = {}
    for row, items in by_row.items():
        tops = [
            one.start[0] for one in blocks if one.start[0] <= row < one.start[0] + len(one.rows)
        ]
        first = max(tops, default=row) - 1  # beside a block with labels, others begin a row later
        for block in blocks:
            top, column = block.start
            if first <= top <= first + 2 or top <= row < top + len(block.rows):
                items.append((column, block))
        line, between = list[Block](), set[str]()
        for _, item in sorted(items, key=itemgetter(0)):
            if isinstance(item, str):
                between.add(item)
                continue
            line = line if between else []
            if line:
                before[item] = [*line]
            line, between = [*line, item], set()
    return before


def _named(heading: tuple[Position, str], rows: Rows) -> list[Matrix]:
    """Return the matrices in rows below a heading; without one, their names are in the rows."""
    while rows and not any(cells[0] for _, cells in rows):
        rows = [((row, column + 1), cells[1:]) for (row, column), cells in rows]
    at, name = heading
    if name or not rows:
        return [Matrix(name, at, rows)] if rows else []
    start, cells = rows[0]
    corner = edges([without_end(cells) for _, cells in rows], is_csv=True).corner
    if name_in(corner):
        return [Matrix(corner, start, [(start, ["", *cells[1:]]), *rows[1:]])]
    firsts = [cells[0] for _, cells in rows]
    have_names = cells[0] and all(not first or is_word(first) for first in firsts)
    if not have_names or (all(firsts) and not (len(rows) == 1 and name_in(cells[0]))):
        return [Matrix("", start, rows)]
    matrices: list[Matrix] = []
    for (row, column), (word, *others) in rows:
        if word:
            matrices.append(Matrix(word, (row, column), []))
        matrices[-1].rows.append(((row, column + 1), others))
    return matrices


def _answers(matrices: Sequence[Matrix], is_copy: bool) -> list[Matrix]:
    """Return the matrices without the inputs, which in a copy of a problem may be named A or b."""
    results = {one.name for one in matrices if one.is_result}
    inputs = KEYS.keys() - REPLACES.keys() - ALIASES.keys() - LETTERS.keys()

    def is_answer(one: Matrix) -> bool:
        is_part = "." in OF_LAYER.sub("", one.name)  # such as score.W
        is_input = _key(one.name) in (KEYS if is_part or is_copy else inputs)
        return not is_input and one.name not in results and (not is_copy or name_in(one.name) != "")

    return [one for one in matrices if one.is_result or is_answer(one)]


def _inputs(matrices: Sequence[Matrix]) -> list[Matrix]:
    """Return the matrices without the steps, below the first of which Q is a step, too."""
    inputs: list[Matrix] = []
    are_steps = False
    for one in matrices:
        is_step = one.is_result or (_key(one.name) not in KEYS and name_in(one.name) != "")
        are_steps |= is_step
        if not is_step and (not are_steps or _key(one.name) in KEYS.keys() - REPLACES.keys()):
            inputs.append(one)
    return inputs


def documents_of(
    sheets: Sequence[Sheet], name: str, options: Options, of_class: KnownClass | None
) -> list[CsvDocument]:
    """Return the problems, or for a class the answers, of a workbook.

    Sheets with the same names, or with names of problems, are read one by one; others together.
    """
    pages = [Page(sheet, options, of_class is not None) for sheet in sheets]
    pages = [page for page in pages if page.matrices or page.settings]
    which = of_class.which if of_class else None
    are_problems = which is not None and all(which(page.name) is not None for page in pages)
    names = [name for page in pages for name in {one.name for one in page.matrices}]
    if are_problems or len({*names}) < len(names):
        key = TITLE if of_class is None else PROBLEM if are_problems else ""
        return [_document([page], name, options, of_class, key) for page in pages]
    return [_document(pages, name, options, of_class)] if pages else []


def _document(
    pages: Sequence[Page], name: str, options: Options, of_class: KnownClass | None, key: str = ""
) -> CsvDocument:
    """Return what some sheets hold together; the name of one is the value of a key without one."""
    table = WorkbookTable(name)
    settings = [
        (page, row) for page in pages for row in page.settings if row[1][0].split(".")[0] in options
    ]
    if key and all(row[1][0] != key for _, row in settings):
        table.add(pages[0].name, [((1, 1), [key, pages[0].name])])
    for page, row in settings:
        table.add(page.name, [row])
    matrices = [(page, one) for page in pages for one in page.matrices]
    is_named = any(one.name for _, one in matrices)
    if of_class and (len(matrices) > 1 or is_named):
        table.add(pages[0].name, [((1, 1), [RESULTS])])  # names with points are those of steps
    for page, one in matrices:
        if one.name or len(matrices) > 1:
            table.add(page.name, [(one.at, [one.name or f"cell {cell_name(one.at)}"])])
            if not (one.name or (of_class and is_named)):
                hint = "write the name of the matrix, such as X or weights, above its first number"
                raise table.error(table.rows[-1].line, "these numbers belong to no matrix", hint)
        table.add(page.name, one.rows)
    document = CsvDocument(table, table.rows, options)
    words = [text for page in pages for text in page.words.values() if not name_in(text)]
    document.remarks = {f"words {n}": text for n, text in enumerate(words)}
    return document

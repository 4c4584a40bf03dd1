"""Sheets of workbooks: cells that touch each other are a matrix under its name, or settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import groupby, product
from operator import itemgetter

from attncli.core.errors import fail
from attncli.core.numbers.forms import ArrayForm
from attncli.core.numbers.grid import edges, is_word, undecorated
from attncli.core.problem.key_values import key_of, with_key
from attncli.core.problem.keys import KEYS, REPLACES
from attncli.core.records import Record
from attncli.core.tape.step_words import ALIASES, LETTERS, may_mean_step
from attncli.core.text.strings import OF_LAYER, regex
from attncli.reading import document
from attncli.reading.cells import CellRow, NamedBlock, NamedBlocks, Table, cell_name, trimmed
from attncli.reading.document import STUDENT_KEYS, KnownClass, Options
from attncli.reading.workbook import Position, Sheet, rectangle, refuse_large

SIGN = regex(r"[^\w\s.,;:?~'\"#%&@∞-]{1,3}")
"""A sign between the matrices of a calculation, if it is alone in its cell."""
CALCULATED = regex(r"=\s*\S|\(given\)")
"""The part of a title such as scores = Q Kᵀ that tells that the matrix is a result."""

MAX_BLOCKS = 2000
"""Maximum number of blocks in a sheet. Chosen."""


class Block(Record, eq=False):
    """Cells that touch each other, in their rows; all of them are words, or else not."""

    rows: list[CellRow]
    are_words: bool

    @property
    def start(self) -> Position:
        return self.rows[0].line, self.rows[0].column

    @property
    def lines(self) -> range:
        return range(self.rows[0].line, self.rows[-1].line + 1)


def name_in(text: str) -> str:
    """Return the name of a step, or of a matrix of a problem, at the start of a text; or "".

    >>> name_in("2. scores[head 1] = Q Kᵀ"), name_in("Homework")
    ('scores[head 1]', '')
    """
    name = undecorated(undecorated(text.partition("=")[0])).strip("[(&> ")
    word, key = _word(name), re.sub(r"\A(d|new)_", "", _key(name))
    is_key = key in KEYS and word not in document.KEYS_BESIDE_STEPS
    is_short = word in LETTERS or any(word.casefold() in words for words in ALIASES.values())
    return name if is_key or (is_short if len(word) < 3 else may_mean_step(word, ())) else ""


def _word(name: str) -> str:
    return re.split(r"(?<!\s)\s*+\[|(?<!\s)\s++head\b", name)[0]


def _without_layer(name: str) -> str:
    return OF_LAYER.sub("", _word(name)).partition(".")[0]


def _key(name: str) -> str:
    return key_of(_without_layer(name))


class Page:
    """The matrices of a sheet, as far as they are wanted, its settings and its other words."""

    def __init__(self, sheet: Sheet, options: Options, are_answers: bool) -> None:
        self.name, cells = sheet
        self.settings: list[CellRow] = []
        self.words: dict[Position, str] = {}
        self._options = options
        signs = _signs(cells, options)
        by_block = {block: self._matrices(block) for block in _blocks(sheet, signs)}
        before = _calculations(by_block, signs)
        operands = {one for line in before.values() for one in line}
        results = [one for one, some in by_block.items() if some and one not in operands]
        of_sheet = name_in(self.name) if [len(by_block[one]) for one in results] == [1] else ""
        matrices: list[NamedBlock] = []
        for block in results:
            own, *others = by_block[block]
            line = before.get(block, [])
            titles = [own.name, self._above(block, name_in(own.name))]
            for first in line[:1]:
                named = [one.name for one in by_block[first]] or [self.words.get(first.start, "")]
                titles += [named[0]] if first.are_words or "=" in named[0] else []
                titles.append(self._above(first))
            title = next(filter(None, titles), "")
            name = name_in(title) or of_sheet or title
            formulas = [one for one in titles[:2] if CALCULATED.search(one)]
            if are_answers:  # above a result may be what it is made of
                formulas = [one for one in formulas if _word(name_in(one)) == _word(name)]
                formulas = [one for one in formulas if "(given)" not in one]
            is_result = bool(formulas) or not all(one.are_words for one in line)
            header = own.header._replace(cells=[name])
            matrices += [NamedBlock(header, own.rows, is_result), *others]
        is_copy = any(row.cells[0] not in options for row in self.settings)
        self.words = {} if is_copy else self.words  # which are not the student's
        self.matrices = _answers(matrices, is_copy) if are_answers else _inputs(matrices)

    def _matrices(self, block: Block) -> list[NamedBlock]:
        """Return the matrices of a block; note the settings and the other words in it."""
        matrices, rows, heading = list[NamedBlock](), list[CellRow](), CellRow([""], 0)
        for row in block.rows:
            first, *others = (n for n, cell in enumerate(row.cells) if cell)
            start = row.after(first)
            text = start.cells[0]
            if (key := text.rstrip(": ").casefold()) in STUDENT_KEYS and key in self._options:
                start = start._replace(cells=[key, *start.cells[1:]])
            is_alone = not others and is_word(text)
            if not rows and self._is_setting(start.cells):
                self.settings += trimmed([start])
            elif block.are_words:
                self._note_words(row)
            elif is_alone and not rows and heading.cells[0]:
                is_other = name_in(text) == "" != name_in(heading.cells[0])
                self._note_words(start if is_other else heading)
                heading = heading if is_other else start
            elif is_alone and (name_in(text) or not rows):
                matrices += _named(heading, rows)
                heading, rows = start, []
            elif is_alone and not is_word(rows[-1].cells[first] or "_"):
                self._note_words(start)  # a note below numbers
            else:
                rows.append(row)
        return matrices + _named(heading, rows)

    def _note_words(self, row: CellRow) -> None:
        cells = enumerate(row.cells, row.column)
        self.words |= {(row.line, column): text for column, text in cells if text}

    def _is_setting(self, cells: Sequence[str]) -> bool:
        key, values = _key(cells[0]), list(filter(None, cells[1:]))
        is_key = key in KEYS and not isinstance(KEYS[key].form, ArrayForm)
        may_be_list = "." in cells[0] or self._options.get(cells[0], False)
        has_value = len(values) == 1 or (may_be_list and len(values) > 1)
        return has_value and (is_key or cells[0] in self._options)

    def _above(self, block: Block, name: str = "") -> str:
        """Return the words with a name, or with this name, in the lines above a block; or "".

        One row between is empty.
        """
        row, left = block.start
        columns = range(left, left + len(block.rows[0].cells))
        lines: list[str] = []
        for above in range(row - 2, 0, -1):
            texts = (self.words.get((above, column), "") for column in columns)
            if not (text := next(filter(name_in, texts), "")):
                break
            lines.append(text)
        same = [text for text in lines if _word(name_in(text)) == _word(name)]
        return [*same, *lines, ""][0]


def _signs(cells: Mapping[Position, str], options: Options) -> set[Position]:
    """Return the cells with signs, which have nothing, or signs, above and below."""
    keys = {row: column for (row, column), text in cells.items() if text in options}
    texts = (at for at, text in cells.items() if SIGN.fullmatch(text))
    signs = {at for at in texts if at[1] < keys.get(at[0], at[1] + 1)}
    for row, column in sorted(signs):
        if not {(row - 1, column), (row + 1, column)} & cells.keys() <= signs:
            signs.remove((row, column))
    return signs


def _blocks(sheet: Sheet, signs: Set[Position]) -> list[Block]:
    """Return the blocks of the cells that are no signs, by their first rows and columns."""
    cells = sheet[1]
    left, blocks = cells.keys() - signs, list[Block]()
    while left:
        stack, group = [left.pop()], list[Position]()
        while stack:
            row, column = at = stack.pop()
            group.append(at)
            for near in product((row - 1, row, row + 1), (column - 1, column, column + 1)):
                if near in left:
                    left.remove(near)
                    stack.append(near)
        if not (rows := rectangle(sheet, group)):
            first = cell_name(*min(group))
            raise fail(f"the cells from {first} on are no table", hint="write each matrix alone")
        refuse_large("separate blocks of cells", len(blocks), MAX_BLOCKS)
        blocks.append(Block(rows, all(is_word(cells[at]) for at in group)))
    return sorted(blocks, key=lambda block: block.start)


def _calculations(blocks: Iterable[Block], signs: Set[Position]) -> dict[Block, list[Block]]:
    """Return the blocks with operands before them: of Q × K = scores, K and scores."""
    refuse_large("rows with signs", len({row for row, _ in signs}), MAX_BLOCKS)
    chains: list[list[Block]] = []
    for row, cells in groupby(sorted(signs), itemgetter(0)):
        tops = [block.start[0] for block in blocks if row in block.lines]
        first = max(tops, default=row) - 1  # beside a block with labels, others begin a row later
        near = range(first, first + 3)
        beside = [block for block in blocks if row in block.lines or block.start[0] in near]
        items: list[tuple[int, Block | None]] = [(column, None) for _, column in cells]
        items += [(block.start[1], block) for block in beside]
        chains.append([])
        is_joined = True
        for _, block in sorted(items, key=itemgetter(0)):
            if block is not None:
                chains += [] if is_joined else [[]]
                chains[-1].append(block)
            is_joined = block is None
    return {block: chain[:n] for chain in chains for n, block in enumerate(chain) if n}


def _named(heading: CellRow, rows: list[CellRow]) -> list[NamedBlock]:
    """Return the matrices in rows below a heading; without one, their names are in the rows."""
    while rows and not any(row.cells[0] for row in rows):
        rows = [row.after(1) for row in rows]
    if not rows:
        return []
    if heading.cells[0]:
        return [NamedBlock(heading, rows)]
    start, firsts = rows[0], [row.cells[0] for row in rows]
    if name_in(edges([row.cells for row in trimmed(rows)], is_csv=True).corner):
        return [NamedBlock(start, [start._replace(cells=["", *start.cells[1:]]), *rows[1:]])]
    have_names = firsts[0] and all(not one or is_word(one) for one in firsts)
    if not have_names or (all(firsts) and not (len(rows) == 1 and name_in(firsts[0]))):
        return [NamedBlock(start._replace(cells=[""]), rows)]
    matrices: list[NamedBlock] = []
    for row in rows:
        if row.cells[0]:
            matrices.append(NamedBlock(row, []))
        matrices[-1].rows.append(row.after(1))
    return matrices


def _answers(matrices: Sequence[NamedBlock], is_copy: bool) -> list[NamedBlock]:
    """Return the matrices without the inputs, which in a copy of a problem may be named A or b."""
    results = {one.name for one in matrices if one.is_result}
    inputs = KEYS.keys() - REPLACES.keys() - ALIASES.keys() - LETTERS.keys()

    def is_answer(one: NamedBlock) -> bool:
        is_part = "." in OF_LAYER.sub("", one.name)  # such as score.W
        name = _without_layer(one.name)
        is_input = key_of(name) in KEYS if is_part or is_copy else with_key(name) in inputs
        return not is_input and one.name not in results and (not is_copy or name_in(one.name) != "")

    return [one for one in matrices if one.is_result or is_answer(one)]


def _inputs(matrices: Sequence[NamedBlock]) -> list[NamedBlock]:
    """Return the matrices without the steps, below the first of which Q is a step, too."""
    inputs: list[NamedBlock] = []
    are_steps = False
    for one in matrices:
        is_step = one.is_result or (_key(one.name) not in KEYS and name_in(one.name) != "")
        are_steps |= is_step
        if not is_step and (not are_steps or _key(one.name) in KEYS.keys() - REPLACES.keys()):
            inputs.append(one)
    return inputs


def documents_of(
    sheets: Sequence[Sheet], name: str, options: Options, of_class: KnownClass | None
) -> list[NamedBlocks]:
    """Return the problems, or for a class the answers, of a workbook.

    Sheets with the same names, or with names of problems, are read one by one; others together.
    """
    pages = [Page(sheet, options, of_class is not None) for sheet in sheets]
    pages = [page for page in pages if page.matrices or page.settings]
    which = of_class.which if of_class else None
    are_problems = which is not None and all(which(page.name) is not None for page in pages)
    names = [name for page in pages for name in {one.name for one in page.matrices}]
    if are_problems or len({*names}) < len(names):
        key = document.TITLE if of_class is None else document.PROBLEM if are_problems else ""
        return [_document([page], name, options, of_class, key) for page in pages]
    return [_document(pages, name, options, of_class)] if pages else []


def _document(
    pages: Sequence[Page], name: str, options: Options, of_class: KnownClass | None, key: str = ""
) -> NamedBlocks:
    """Return what some sheets hold together; the name of one is the value of a key without one."""
    sheet, table = pages[0].name, Table(name, [])
    rows = (row for page in pages for row in page.settings)
    settings = [row for row in rows if row.cells[0].split(".")[0] in options]
    if key and all(row.cells[0] != key for row in settings):
        settings.insert(0, CellRow([key, sheet], 1, 1, sheet))
    matrices = [one for page in pages for one in page.matrices]
    is_named = any(one.name for one in matrices)
    has_results = of_class is not None and (len(matrices) > 1 or is_named)
    named_rows = [] if has_results else [one.header for one in matrices]
    named = NamedBlocks(table, [*settings, *named_rows, CellRow([], 1, 1, sheet)][0], options)
    for row in settings:
        named.set_option(row)
    if has_results:
        named.begin_results()  # names with points are those of steps
    for one in matrices:
        header = one.header
        if not one.name and len(matrices) > 1:
            if not (of_class and is_named):
                hint = "write the name of the matrix, such as X or weights, above its first number"
                raise table.place(header).error("these numbers belong to no matrix", hint)
            header = header._replace(cells=[f"cell {cell_name(header.line, header.column)}"])
        named.add_block(NamedBlock(header, trimmed(one.rows)))
    named.fill()
    words = [text for page in pages for text in page.words.values() if not name_in(text)]
    named.remarks = {f"words {n}": text for n, text in enumerate(words)}
    return named

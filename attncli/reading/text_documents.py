"""A text as a document: its matrices by their names, and the lines that set other keys."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from os.path import commonprefix

from attncli.core.errors import InputError, KeyPath, Place
from attncli.core.numbers.matrices import to_array
from attncli.core.numbers.parser import NumberError
from attncli.core.numbers.pasted import grid_of
from attncli.core.problem.key_values import hint_for, key_of
from attncli.core.problem.keys import KEYS, REPLACES
from attncli.core.problem.rows import COLUMN, row_name
from attncli.core.records import replace
from attncli.core.tape.step_words import LETTERS
from attncli.core.text.languages import words_for
from attncli.core.text.strings import plain_name, regex
from attncli.reading import text_names, texts
from attncli.reading.chunks import Chunk, blanked
from attncli.reading.document import KEYS_BESIDE_STEPS, YAML_SUFFIXES, Raw, note_unread, twice
from attncli.reading.text_names import BEFORE_NAME, is_key, is_step
from attncli.reading.text_rows import with_rows
from attncli.reading.text_tables import FILLED, Table, cleaned, line_at
from attncli.reading.texts import CODE_LINE, SETTING, Block, blocks_in, value_in

VARIABLES = regex(
    r"^[ \t]*([^\W\d]\w*(?:, *[^\W\d]\w*)*)[ \t]*=[ \t]*(\d+(?:, *\d+)*)[ \t;]*$", re.MULTILINE
)
"""A line of a program that sets whole numbers: n, d = 3, 2."""
SIZE = regex(r"(?<=[(,\s])[^\W\d]\w*(?=[\s,)])")
CODE = regex(rf"[ \t]*(?:(?:{CODE_LINE})$|#|%|//|\\(?!\w+ [\d-])|\w+ *= *[\[({{]?$)")
"""The beginning of a line without numbers that is passed over in silence."""
CALCULATED = regex(
    r"\w+\.(?:astype|copy|clone|float|double|numpy|detach)\([^()]*\)"
    r"|[\w.]*(?:softmax|exp|matmul|sqrt)\(.*\)[^\[]*|\w+ *@ *[\w.]+|\w+ */ *[\w.]+(?:\([^()]*\))?"
)
"""What a program calculates from matrices, or a copy of one."""
CELL_NAME = regex(r"_?[({](\d+), ?(\d+)[)}]\Z")
"""The places of a cell as courses write them: a_{1,2} and weights(1, 2)."""
MAY_BE_ANSWER = regex(
    r"(?<![\d.])\d*\.\d+(?![\d.]).*[\s,(\[]\d*\.\d|\s=[ \t]*[-\d(\[]|[\[(]\s*[-\d.]+\s*,\s*[-\d]"
)
"""Numbers that a student may have meant as an answer, in a line that is not read."""
FILLED_CALL = regex(rf"(?:[\d.]+\s*\*\s*)?{FILLED}")
TASKS = regex(rf"(?i)\b(?:task|exercise|points|(?<=\| )marks|{'|'.join(words_for('TASK'))})\b")
"""Words over the columns of a list of tasks and their points, which is no answer."""
OPTION_WORDS = {
    **dict.fromkeys(("mask", "masked", "masking", "causal", *words_for("mask")), "mask: causal"),
    **dict.fromkeys(("heads", *words_for("heads")), "heads: 2"),
    **dict.fromkeys(("scaling", *words_for("scale")), "scale: 1/sqrt(d_k)"),
    "temperature": "normalize: {temperature: 2}",
}
"""Words in a line that is not read, with the option that may be meant."""


class TextDocument:
    """What a text sets: its `values`, and for each the `offsets` of its name and of itself.

    `rest` is the text with blanks in place of all that is no line of YAML with a key. `unread` has
    the lines that are neither, by their numbers, without what was read, and `options` how options
    are written that they may mean.
    """

    def __init__(self, chunk: Chunk, are_answers: bool) -> None:
        self.chunk, self.are_answers = chunk, are_answers
        self.text = cleaned(chunk.text)
        self.values: dict[str, Raw] = {}
        self.offsets: dict[str, tuple[int, int]] = {}
        self.kept = list[tuple[int, int]]()  # parts that are YAML
        self.read = list[tuple[int, int]]()  # parts that are matrices with their names
        self.sizes = dict[str, str]()
        self.words = Counter(re.findall(r"\w+", self.text))
        for line in VARIABLES.finditer(self.text):
            names, numbers = (re.split(", *", part) for part in line.groups())
            if len(names) == len(numbers):
                self.sizes.update(zip(names, numbers, strict=True))
                self.read += [line.span()] * any(map(self._is_used, names))
        masked = self._without_settings()
        self.known = is_step if are_answers else is_key
        self.blocks = [one for one in blocks_in(masked, self.known) if self._may_be_matrix(one)]
        if are_answers:
            self.blocks = [*with_rows(self.blocks, self.text)]
        named = [one for one in self.blocks if self.known(one.name)]
        above = self.text[: self.blocks[0].table.start] if len(self.blocks) == 1 else "above"
        is_bare = not above.strip("\r\n \t[($\\")
        is_set = any(line["sign"] and is_key(line["key"]) for line in SETTING.finditer(masked))
        others = self.blocks if are_answers else self.values or is_set
        self.has_content = bool(named or is_bare or others)
        self.masked = masked

    def _may_be_matrix(self, block: Block) -> bool:
        """Return False for a size, and for a list of tasks and their points."""
        if self.known(block.name):
            return True
        if block.table.is_flat:
            return self.are_answers and not hint_for(block.name).startswith("leave it out")
        heads = line_at(self.text, block.table.start)
        return not (TASKS.fullmatch(block.name) or TASKS.search(heads))

    def _without_settings(self) -> str:
        """Return the text with blanks in place of lines that set keys which are no matrices."""
        settings = list[tuple[int, int]]()
        for line in SETTING.finditer(self.text):
            key = line["key"]
            if self.are_answers:
                value, word = line["value"], key.casefold()
                is_word = texts.QUOTED.match(value) if line["sign"] else value.strip()
                if is_word and word in KEYS_BESIDE_STEPS and (word != "from" or "@" in value):
                    self.values.setdefault(word, value_in(value))
                    self.offsets.setdefault(word, (line.start("key"), line.start("value")))
                    settings.append(line.span())
                continue
            head = key_of(key.partition(".")[0])
            if head in KEYS and (not text_names.is_array(head) or self._is_mapping(line)):
                settings += [self._set(one, at) for one, at in texts.each_setting(line)]
        return blanked(self.text, settings)

    def _is_mapping(self, line: re.Match[str]) -> bool:
        """Return True if a mapping is written behind a key, or in the lines below it."""
        inner = re.compile(r"\{(?!\{)|\s*\n[ \t]+[A-Za-z_]\w*:\s")
        return not line["sign"] and inner.match(self.text, line.start("value")) is not None

    def _set(self, line: re.Match[str], at: int = 0) -> tuple[int, int]:
        """Take what sets a key, and what is indented below it, in a text that begins at an offset.

        Return where they are.
        """
        start, end = line.span()
        if line["sign"]:
            offsets = at + line.start("key"), at + line.start("value")
            self._put(plain_name(line["key"]), value_in(line["value"]), offsets)
            return at + start, at + end
        column = len(line[0]) - len(line[0].lstrip())
        below = re.compile(rf"(?:\n(?:[ \t]{{{column + 1},}}[^\n]*|[ \t\r]*(?=\n)|- [^\n]*))*")
        if found := below.match(self.text, end):
            end = found.end()
        self.kept.append((start, end))
        return start, end

    def take_all(self) -> None:
        for block in self.blocks:
            self._take(block)
        if not self.are_answers:
            for line in SETTING.finditer(blanked(self.masked, self.read)):
                self._take_setting(line)
            self._take_beside()
            self._leave_out_results()
        self.kept.sort()
        ends = [0, *(end for part in self.kept for end in part), len(self.text)]
        others = zip(ends[::2], ends[1::2], strict=True)
        self.rest = blanked(self.chunk.text, others)
        self.unread = dict(self._unread_lines())
        words = re.findall(r"\w+", "\n".join(self.unread.values()).casefold())
        options = (OPTION_WORDS[word] for word in words if word in OPTION_WORDS)
        self.options = () if self.are_answers else tuple(dict.fromkeys(options))

    def _take(self, block: Block) -> None:
        for name in (block.names if not self.are_answers else ()) or (block.name,):
            plain = CELL_NAME.sub(r"[\1, \2]", plain_name(name))
            is_vector = row_name(plain.removesuffix("^T")) or plain in ("q^T", "k^T", "v^T", "x^T")
            self._take_as(plain.removesuffix("^T") if is_vector else plain, block)

    def _take_as(self, name: str, block: Block) -> None:
        table = block.table
        value = value_in(self.text[table.start : table.end])
        if FILLED_CALL.match(value):
            value = SIZE.sub(lambda word: self.sizes.get(word[0], word[0]), value)
        if table.fault:
            raise self._error(name, table)
        heads = [cell.strip(" *`$") for cell in value.partition("\n")[0].split("|")]
        heads = [one for one in heads if COLUMN.fullmatch(one) or (one[2:] and self.known(one))]
        if len(heads) > 1:
            message = f"the columns {' and '.join(heads)} are matrices of their own"
            hint = "write each under its name"
            raise self.chunk.place_at(table.start).error(message, hint)
        name = name if self.known(name) else self._other_name(name, block)
        if not name:
            return
        if name == "X" and not block.name and self._take_rows(value, table.start):
            self.read.append((table.start, table.end))
            return
        self._put(name, value, (block.at, table.start))
        line_end = block.at + len(line_at(self.text, block.at))
        self.read += [(block.at, min(line_end, table.end)), (table.start, table.end)]

    def _put(self, name: str, value: Raw, offsets: tuple[int, int]) -> None:
        before = self.values.setdefault(name, value)
        if before != value and not _hold_same_numbers(before, value):
            first = self.chunk.place_at(self.offsets[name][0]).line
            raise self.chunk.place_at(offsets[0]).error(twice(name, first), "keep one of them")
        self.offsets.setdefault(name, offsets)

    def _take_rows(self, value: str, start: int) -> bool:
        """Take the rows of a table whose labels are q, k1, v1, …; return False for another one."""
        with suppress(NumberError):
            grid = grid_of(value)
            labels = grid.labels[0] or []
            if all(map(is_key, labels)) and len({label[:1] for label in labels}) > 1:
                for label, row in zip(labels, grid.rows, strict=True):
                    at = start + row[0][0]
                    self._put(label, " ".join(word for _, word in row), (at, at))
                return True
        return False

    def _other_name(self, name: str, block: Block) -> str:
        """Return the key of a matrix whose name is not known; "" for a result in a problem."""
        at = self.chunk.place_at(block.table.start)
        if self.are_answers:
            return name if name and "[" not in name else f"line {at.line}, column {at.column}"
        if len(self.blocks) == 1 and not name:
            return "X"
        if text_names.may_be_result(name):
            return ""
        if not re.search(r"=[^\n=]*\Z|<-", self.text[block.at : block.table.start]):
            hint = "write the key of the matrix, such as X, before them"
            raise at.error("these numbers belong to no matrix", hint)
        return name

    def _error(self, name: str, table: Table) -> InputError:
        """Return why a matrix cannot be read, with what is known of the code behind it."""
        try:
            grid_of(self.text[table.start : table.end] + line_at(self.text, table.end))
        except NumberError as error:
            if error.at is not None:
                return self.chunk.place_at(table.start + error.at).error(f"{name}: {error}")
        if table.fault_at is None:
            return self.chunk.place_at(table.start).error(table.fault)
        hint = "write it like the rows beside it, or leave an empty line between"
        return self.chunk.place_at(table.fault_at).error(table.fault, hint)

    def _take_setting(self, line: re.Match[str], at: int = 0) -> None:
        """Take what sets a key without a matrix: an option, a file, or an error."""
        key, value = plain_name(line["key"]), line["value"].strip()
        head = key_of(key.partition(".")[0])
        if is_key(key):
            is_taken = not self._is_result(key, value) and not row_name(key)
        else:
            is_taken = head in KEYS or self._may_be_meant(key, value, bool(line["sign"]))
        if is_taken:
            self.read.append(self._set(line, at))

    def _is_result(self, key: str, value: str) -> bool:
        """Return True for what is calculated, as in Q = X W_q: without numbers of its own."""
        if key in self.values or (key in LETTERS and "kind" not in self.values):
            return CALCULATED.fullmatch(value) is not None
        return key_of(key) in REPLACES and re.fullmatch(r"[^\d'\"\[]*", value) is not None

    def _take_beside(self) -> None:
        """Take the options that are written on the lines of matrices."""
        text = blanked(self.masked, self.read)
        starts = [*(block.at for block in self.blocks[1:]), len(text)]
        for block, after in zip(self.blocks, starts, strict=False):  # there may be no block
            start = block.table.end
            beside = line_at(text, start - 1)[1:][: max(after - start, 0)]
            for one in texts.BESIDE.finditer(beside):
                self._take_setting(one, start)

    def _may_be_meant(self, key: str, value: str, is_set: bool) -> bool:
        """Return True for the key of another program, or a misspelt one, with a plain value."""
        if not key.islower() or not re.fullmatch(r"[\w.+-]+;?", value):
            return False
        hint = hint_for(key)
        is_size = re.fullmatch(r"\d+;?", value) is not None
        return not hint.startswith("known") and not (is_set and is_size and self._is_used(key))

    def _is_used(self, name: str) -> bool:
        """Return True if a name that is no key occurs twice, as that of a variable does."""
        return not is_key(name) and self.words[name] > 1

    def _leave_out_results(self) -> None:
        """Leave out what follows from other matrices of the text, as programs print it."""
        keys = {key_of(name): name for name in self.values}
        inputs = {"A": ("W_q", "W_k", "Q", "K"), "scores": ("X", "Q")}
        inputs |= {key: (f"W_{key.lower()}",) for key in "QKV"}
        for key, others in inputs.items():
            if key in keys and not keys.keys().isdisjoint(others):
                del self.values[keys[key]]
                at, _ = self.offsets[keys[key]]
                self.read = [part for part in self.read if part[0] != at]

    def _unread_lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines of which words, or what is set, are not read: number and rest of each."""
        lines, rest = (one.split("\n") for one in (self.masked, blanked(self.masked, self.read)))
        for number, (line, left) in enumerate(zip(lines, rest, strict=True), self.chunk.before + 1):
            is_unread = re.search(r"\w", left) is not None
            if left != line:  # beside a matrix, words before it are prose
                behind = commonprefix([left[::-1], line[::-1]])[::-1]  # noqa: RUF071 - of texts
                behind = re.sub(r"\([^()\d=]*\)", "", behind)  # a remark
                words = re.findall(r"(?<![\\\w])[^\W\d_]{3,}", behind)
                is_set = re.search(r"=[ \t]?[\w\"'(-]", left) is not None
                is_unread = is_set or any(
                    word.casefold() not in BEFORE_NAME and not self.known(word) for word in words
                )
            if self.are_answers:
                is_unread = is_unread and MAY_BE_ANSWER.search(left) is not None
            if is_unread and not CODE.match(line):
                yield number, left

    def locate(self, path: KeyPath) -> Place:
        """Return the place of a name, or of a cell of its matrix."""
        name, rest = [*path, ""][0], [part for part in path if isinstance(part, int)]
        at, start = self.offsets.get(str(name), (0, 0))
        try:
            grid = grid_of(self.values[str(name)])
            at = start + grid.offset(rest) if rest else at
        except NumberError as error:
            at = at if error.at is None else start + error.at
        except (TypeError, LookupError):  # words, or a cell that is not there
            pass
        return self.chunk.place_at(at)


def text_document(chunk: Chunk, are_answers: bool) -> TextDocument | None:
    """Return what a text sets; None for one without a matrix under a known name, or by itself.

    Lines that are not read are noted.

    Raises:
        InputError: for a matrix that cannot be read, or belongs to no name; for a name that is set
            twice, and not to the same numbers, which a console shows.
    """
    plain = re.sub(r"\r(?!\n)", "\n", chunk.text)
    plain = plain if are_answers else texts.OPTION.sub(texts.plain_option, plain)
    if plain != chunk.text:
        chunk = replace(chunk, text=plain, original=chunk.original or chunk.text)
    has_prose = are_answers and not chunk.name.lower().endswith(YAML_SUFFIXES)
    if not texts.may_be_text(chunk.text, has_prose):
        return None
    document = TextDocument(chunk, are_answers)
    if not document.has_content:
        return None
    document.take_all()
    if document.unread:
        note_unread(chunk.name, [*document.unread], document.options)
    return document


def _hold_same_numbers(first: Raw, second: Raw) -> bool:
    with suppress(InputError):
        first, second = (to_array(text, (), infinite=True) for text in (first, second))
        return bool(first.tolist() == second.tolist())
    return False

"""Files cut into portions that other processes read, of about the same size."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import tee
from select import select
from typing import BinaryIO, NamedTuple

from attncli.core.errors import InputError
from attncli.core.text.strings import regex
from attncli.reading import read, yaml_documents
from attncli.reading.chunks import Chunk, line_ends
from attncli.reading.document import Document, Options
from attncli.reading.file_forms import decoded

LIST_CHARACTERS = 2**16
"""Number of characters that are sent together: of most problems, a few hundred. Chosen."""

PROBLEM_CHARACTERS = 2**8
"""Number of characters for which a problem in a part of a file counts beside its own. Chosen."""

FILE_CHARACTERS = 2**14
"""Number of characters for which a file counts that is read when it is needed. Chosen."""

LIST = regex(r"(?:\s|---\s|#.*\n)*+(?:\[|-\s|\Z)")
"""How a part begins that may hold several problems, or all of a part without any."""


class Portion(NamedTuple):  # as it is made and sent in a tenth of the time of a record
    """A part of a file that can be read by itself, or all of it.

    Attributes:
        content: a part of YAML, or lines of JSON; all bytes of standard input; why the file cannot
            be read further; None for a file that is read when it is needed.
        lines: the number of lines above it in the file.
        number: the number of problems above it in the file, as far as a look at them tells.
        before: the same in all files.
    """

    source: str
    content: str | bytes | InputError | None = None
    lines: int = 0
    number: int = 0
    before: int = 0

    def read(
        self, stdin: BinaryIO | None, options: Options, only_shapes: bool = False
    ) -> Iterator[Document]:
        """Yield the documents in it, with pauses and large tables as arrays; see `read.read`."""
        if isinstance(self.content, InputError):
            raise self.content
        if isinstance(self.content, str):
            name = read.STDIN if self.source == "-" else self.source
            chunk = Chunk(name, self.content, self.lines)
            return yaml_documents.documents(chunk)
        stdin = stdin if self.content is None else io.BytesIO(self.content)
        return read.read(
            self.source, stdin, options, as_arrays=True, pauses=True, only_shapes=only_shapes
        )

    def each(self) -> Iterator[Portion]:
        """Yield a portion for each line of JSON; itself if it holds none."""
        text = self.content if isinstance(self.content, str) else ""
        lines = yaml_documents.json_lines(text)
        above = self.lines
        for at, line in enumerate(lines):
            yield Portion(self.source, line, above, self.number + at, self.before + at)
            above += line_ends(line)
        if not lines:
            yield self


def lists_of(sources: Iterable[str], stdin: BinaryIO | None) -> Iterator[list[Portion] | None]:
    """Yield the portions of files in lists; None where the next may take a while."""
    some, size, before = list[Portion](), 0, 0
    for source in sources:
        lines = number = 0
        for part in _parts(source, stdin):
            if part != "":
                some.append(Portion(source, part, lines, number, before))
                count = 1
                if isinstance(part, str):
                    count = _count(part)
                    size += len(part) + PROBLEM_CHARACTERS * count
                    lines += line_ends(part)
                else:
                    size += FILE_CHARACTERS
                number, before = number + count, before + count
            if some and (part == "" or size >= LIST_CHARACTERS):
                yield some
                some, size = [], 0
            if part == "":
                yield None
    if some:
        yield some


def _count(part: str) -> int:
    """Return the number of problems in a part of a file, as far as a look at it tells."""
    if LIST.match(part):
        return sum(1 for _ in yaml_documents.documents(Chunk("", part)))
    return yaml_documents.count_json_lines(part) or 1


def _parts(source: str, stdin: BinaryIO | None) -> Iterator[str | bytes | InputError | None]:
    """Yield what the portions of a file hold, parts one by one.

    Where the next one may take a while there is an empty one.
    """
    try:
        with read.opened(source, stdin) as begun:
            data, copy = tee(begun.data)
            texts = decoded(data, begun.name) if read.is_plain_text(begun) else iter(())
            parts, is_cut = read.cut_text(texts, begun.suffix)
            if is_cut:
                del copy  # which would keep what was read
                yield from (part for part in parts if part or not _is_ready(begun.file))
            else:
                yield b"".join(copy) if source == "-" else None
    except InputError as error:
        yield error


def _is_ready(file: BinaryIO) -> bool:
    """Return whether more of a file, or its end, is there; False if that is not known."""
    try:
        return bool(select([file], [], [], 0)[0])
    except (OSError, ValueError):  # a stream in memory; a pipe of Windows
        return file.seekable()

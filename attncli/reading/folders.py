"""The files in a folder: which hold problems, and which answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias
from warnings import catch_warnings

from attncli.core.errors import InputError, Place
from attncli.reading.file_forms import BY_SUFFIX, PAGE_SUFFIXES, decoded, unsupported, whole
from attncli.reading.files import Entry, entries_in, is_file, is_hidden, open_file
from attncli.reading.read import MARKS, WORKSHEET_SUFFIXES

PROBLEM_SUFFIXES = (".yaml", ".yml", ".json", ".jsonl", ".csv", ".tsv", ".npz", ".xlsx", ".xlsm")
"""Suffixes of the files in a folder that are read as problems."""

SOLUTIONS = "keys"
"""The folder in which `attn vary` writes the solutions, beside the variants."""

ANSWER_SUFFIXES = (*PROBLEM_SUFFIXES, ".txt", ".ipynb", ".safetensors", *PAGE_SUFFIXES)

READ_IF_ANSWERED = (*WORKSHEET_SUFFIXES, ".py", ".m", ".r")
"""Suffixes of files that may also hold a text, or a program: they are read if they hold answers."""

FileKind: TypeAlias = Literal["answers", "unreadable", "folder", "other", "hidden"]
"""Answers; a file of another program, such as a PDF; a folder; any other file; one that operating
systems make, and not people."""


def files_in(folder: str) -> Iterator[tuple[Entry, FileKind]]:
    """Yield what is in a folder and below: of each folder its files, then the folders in it.

    A link that leads out of the folder, and what is no regular file, are other files.
    """
    for one in entries_in(folder):
        yield one, "folder" if one.is_folder else _kind(one.path, folder)


def _kind(path: str, folder: str) -> FileKind:
    file = Path(path)
    suffix = file.suffix.lower()
    if is_hidden(file.name):
        return "hidden"
    if not is_file(path, within=folder):
        return "other"
    if suffix in ANSWER_SUFFIXES or (suffix in READ_IF_ANSWERED and _has_answers(file)):
        return "answers"
    return "unreadable" if suffix in BY_SUFFIX else "other"


def _has_answers(worksheet: Path) -> bool:
    """Return True if a file, in any encoding, has marked answers or matrices under names.

    A file that is no text may have answers, too: its reader says why it cannot be read.
    """
    from attncli.reading.texts import names_steps  # it is slow to import

    try:
        with open_file(worksheet) as file, catch_warnings(action="ignore"):
            data = file.read()
            text = whole(decoded(iter([data]), worksheet.name))
    except InputError:
        return True
    has_mark = any(mark.decode() in text for mark in MARKS)
    return has_mark or unsupported(data, "") is not None or names_steps(text)


def problem_files(folder: str, allow_outside: bool = False) -> dict[str, tuple[str, ...]]:
    """Return the problem files in a folder and below, each with the folders around it.

    The solutions that `attn vary` writes are left out.

    Raises:
        InputError: if there are none, or one is a link to a file elsewhere, or no regular file.
    """
    folders = {
        path: parts[:-1]
        for path, parts, is_inner_folder in entries_in(folder)
        if not is_inner_folder
        and Path(path).suffix.lower() in PROBLEM_SUFFIXES
        and SOLUTIONS not in parts[:-1]
        and not is_hidden(Path(path).name)
    }
    if not folders:
        hint = f"name a file, or put problems into it as {', '.join(PROBLEM_SUFFIXES)}"
        raise Place(folder).error("there are no problems in this folder", hint)
    for path in folders:
        if not is_file(path, within="" if allow_outside else folder):
            message = "this leads outside the folder by a link, or is no regular file"
            raise Place(path).error(message, "name the file itself, or put a copy there")
    return folders

"""Console sessions as text: what somebody types, and what the program answers.

A file of `tests/data/sessions` holds several, each under the sentence that it proves:

    === Only the steps that are asked for are printed
    $ cat > hw.yaml <<END
    scores: [[0, 0]]
    V: [[2], [4]]
    END
    $ attn compute hw.yaml --only output -f csv
    output
    3
    $ attn compute nothing.yaml
    ! nothing.yaml: ...
    [2]

`!` begins a line of standard error, and `[2]` is an exit status other than 0. `...` stands for any
text, also for any number of lines where it stands alone. Each session has an empty folder to
itself, with `sample_inputs` and `errors` (those of `tests/data`) in it, and, where a command names
it, a copy of `course`, which is the small course of `tests/data`. All runs in this process: a
command is `attn`, with variables before it, `< file`, `> file` and pipes between several; `cat` or
`ls` of files; `zip -qr file.zip` of files and folders; or `cat > file <<END`.

`python -m tests.support.console` writes anew what the commands of every file print now, where no
`...` stands in it; read the difference.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

from tests.conftest import DATA, SAMPLES, Result, in_process

FOLDER = DATA / "sessions"
OPERATORS = ("|", "<", ">")


class Typed(NamedTuple):
    """A command, the lines that are typed after it, and what is printed."""

    command: str
    document: str
    printed: str


class Session(NamedTuple):
    """The sentence that a session proves, and its commands."""

    promise: str
    typed: list[Typed]


def sessions_in(path: Path) -> list[Session]:
    """Return the sessions of a file."""
    _, *parts = re.split(r"^=== (.*)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [
        Session(promise, _typed(body))
        for promise, body in zip(parts[::2], parts[1::2], strict=True)
    ]


def _typed(body: str) -> list[Typed]:
    found = []
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, rest = part.partition("\n")
        document = ""
        if here := re.search(r"<<(\w+)$", command):
            document, end, rest = rest.partition(f"{here[1]}\n")
            assert end, f"no line {here[1]} ends what is typed after: {command}"
        found.append(Typed(command, document, rest.rstrip("\n")))
    return found


def played(session: Session, folder: Path) -> list[str]:
    """Return what each command of a session prints, in a folder of its own."""
    for name, there in (("sample_inputs", SAMPLES), ("errors", DATA / "errors")):
        (folder / name).symlink_to(there)
    if any("course/" in typed.command for typed in session.typed):
        shutil.copytree(DATA / "course", folder / "course")
    return [_answer(typed, folder) for typed in session.typed]


def is_as_written(printed: str, written: str) -> bool:
    """Return whether a text is what was written down, where `...` is any text."""
    pieces = (re.escape(piece) for piece in re.split(r"(?<!\.)\.\.\.(?!\.)", written))
    return re.fullmatch(".*?".join(pieces), printed, re.DOTALL) is not None


def _answer(typed: Typed, folder: Path) -> str:
    if here := re.fullmatch(r"cat > (\S+|'[^']*') <<\w+", typed.command):
        path = folder / here[1].strip("'")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(typed.document, encoding="utf-8")
        return ""
    result = _piped(typed.command, folder)
    lines = [
        *result.out.splitlines(),
        *(f"! {line}" for line in result.err.splitlines()),
        *([f"[{result.status}]"] if result.status else []),
    ]
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def _piped(command: str, folder: Path) -> Result:
    """Run the commands of a pipe one after the other; the last one's exit status counts."""
    reader = shlex.shlex(command, posix=True, punctuation_chars="|<>")
    reader.whitespace_split, reader.commenters = True, ""
    words = list(reader)
    said, result = "", Result(0, "", "")
    while words:
        end = words.index("|") if "|" in words else len(words)
        result = _run(words[:end], result.out, folder)
        said += result.err
        words = words[end + 1 :]
    return Result(result.status, result.out, said)


def _run(words: list[str], stdin: str, folder: Path) -> Result:
    variables = {}
    while match := re.fullmatch(r"([A-Z_]+)=(.*)", words[0]):
        variables[match[1]] = match[2]
        words = words[1:]
    given, out = stdin.encode(), None
    while len(words) > 2 and words[-2] in OPERATORS:
        *words, operator, name = words
        if operator == "<":
            given = (folder / name).read_bytes()
        else:
            out = folder / name
    match words:
        case ["attn", *arguments]:
            result = in_process(*arguments, stdin=given, cwd=folder, env=variables)
        case ["cat", *names]:
            text = "".join((folder / name).read_text(encoding="utf-8") for name in names)
            result = Result(0, text, "")
        case ["ls", *names]:
            paths = (path for name in names or ["."] for path in (folder / name).iterdir())
            own = sorted(path.name for path in paths if not path.is_symlink())
            result = Result(0, "".join(f"{name}\n" for name in own), "")
        case ["zip", "-qr", archive, *names]:
            (folder / archive).parent.mkdir(parents=True, exist_ok=True)
            with ZipFile(folder / archive, "w", ZIP_DEFLATED) as file:
                for path in (one for name in names for one in below(folder / name)):
                    file.write(path, path.relative_to(folder))
            result = Result(0, "", "")
        case _:
            raise ValueError(f"a session runs attn, cat, ls and zip, not: {shlex.join(words)}")
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(result.out, encoding="utf-8", newline="")
        result = Result(result.status, "", result.err)
    return result


def below(path: Path) -> list[Path]:
    """Return a file, or the files of a folder and of those in it."""
    return [path] if path.is_file() else sorted(filter(Path.is_file, path.rglob("*")))


def written_anew(path: Path) -> str:
    """Return the text of a file with what its commands print now."""
    text = ""
    for session in sessions_in(path):
        with tempfile.TemporaryDirectory() as folder:
            printed = played(session, Path(folder))
        text += f"=== {session.promise}\n"
        for typed, now in zip(session.typed, printed, strict=True):
            kept = typed.printed if is_as_written(now, typed.printed) else now
            text += f"$ {typed.command}\n{typed.document}"
            if "<<" in typed.command:
                text += f"{typed.command.rpartition('<<')[2]}\n"
            text += f"{kept}\n" if kept else ""
        text += "\n"
    return text.rstrip("\n") + "\n"


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:]) if sys.argv[1:] else sorted(FOLDER.glob("*.txt")):
        file.write_text(written_anew(file), encoding="utf-8")

"""Give the readers bytes that coverage-guided fuzzing makes up, with atheris.

Run `python benchmarks/coverage_fuzzing.py READER [MINUTES] [FOLDER]` where attncli and its extra
`fuzz` are installed; READER is one of those below. What makes a reader raise anything but an
`InputError`, calculate for more than two seconds or take more than 500 MB is written to FOLDER, and
belongs, made small, into `tests/data/corpus/`.
"""

from __future__ import annotations

import io
import pkgutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import numpy as np

try:
    import atheris
except ImportError:
    sys.exit("atheris is not installed: pip install 'attncli[fuzz]'")

with atheris.instrument_imports(include=["attncli", "yaml"]):
    import attncli

    # Also what the program imports only when it needs it.
    for module in pkgutil.walk_packages(attncli.__path__, "attncli."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    from attncli.checking.check import AnswerKey
    from attncli.classroom.submissions import load_each_submission
    from attncli.core.errors import InputError
    from attncli.core.mechanisms.compute import compute
    from attncli.core.numbers.parser import NumberError
    from attncli.core.numbers.pasted import grid_of
    from attncli.core.numbers.written import value_of
    from attncli.core.problem.keys import KEYS
    from attncli.core.problem.problem import Problem
    from attncli.printing.formats import render
    from attncli.reading.document import Document
    from attncli.reading.load import load_each
    from attncli.reading.read import read_bytes

ROOT = Path(__file__).parent.parent
SEEDS = [
    ROOT / "sample_inputs",
    ROOT / "tests" / "data" / "errors",
    ROOT / "tests" / "data" / "corpus",
]
EMPTY = Path(tempfile.mkdtemp())
SECONDS, HANG = 2.0, 120
"""Of calculating, which a busy machine does not make longer; and of waiting, whatever for."""
SMALL = 400
"""Of so many bytes at most, a problem that is read is also calculated and written."""


def _values(suffix: str) -> Callable[[bytes], None]:
    """Return a target that reads a file of that suffix, and finds the place of each key."""

    def target(data: bytes) -> None:
        for document in read_bytes(data, f"fuzz{suffix}", EMPTY, suffix):
            _locate(document)

    return target


def _npz(data: bytes) -> None:
    """Read a file of NumPy, and one with a matrix of these bytes, whose checksum is right."""
    with suppress(InputError):
        _values(".npz")(data)
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("X.npy", data)
    _values(".npz")(whole.getvalue())


def _write_seeds(folder: Path) -> None:
    """Write small files of NumPy, which the samples have none of."""
    x = np.array([[1.0, 0.0], [0.0, 1.0]])
    np.savez(folder / "stored.npz", X=x, W_q=x)
    np.savez_compressed(folder / "packed.npz", X=x, options='{"options": {"heads": 2}}')
    for kind in ("f8", "f2", ">f4", "i4", "?", "U3", "c16"):
        np.save(folder / f"{kind[-2:]}.npy", x.astype(kind))
    np.save(folder / "turned.npy", np.asfortranarray(x))


def _locate(document: Document) -> None:
    if document.error:
        str(document.error)
        return
    for key, raw in document.values.items():
        path = (key, 0, 0) if isinstance(raw, list) else (key,)
        document.locate(path).excerpt()


def _problems(data: bytes) -> None:
    for found in load_each("-", stdin=io.BytesIO(data)):
        if isinstance(found, InputError):
            str(found)
        elif len(data) <= SMALL:
            trace = compute(found)
            for form in ("table", "json", "csv", "markdown", "latex"):
                render(trace, form)


def _answers(data: bytes) -> None:
    for _, sheet in load_each_submission("-", stdin=io.BytesIO(data)):
        if isinstance(sheet, InputError):
            str(sheet)
        elif len(data) <= SMALL:
            str(KEY.check(sheet).verdict)


def _number(data: bytes) -> None:
    try:
        value_of(data.decode(errors="replace"))
    except NumberError as error:
        str(error)


def _block(data: bytes) -> None:
    try:
        grid_of(data.decode(errors="replace"))
    except NumberError as error:
        str(error)


KEY = AnswerKey(Problem(X=[[1, 3, 2], [1, 1, 3]], score="dot", tokens=["I", "am"]))

READERS: dict[str, Callable[[bytes], None]] = {
    "yaml": _values(".yaml"),
    "json": _values(".json"),
    "csv": _values(".csv"),
    "npz": _npz,
    "npy": _values(".npy"),
    "any": _values(""),
    "problems": _problems,
    "answers": _answers,
    "number": _number,
    "block": _block,
}


WORDS = (
    *("tokens: ", "mask: {causal: true}", "[[1, 0], [0, 1]]", "---\n", "sqrt(", "!!", "&a", "*a"),
    *("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }", "~", "1/3", "√2", *KEYS),
)
"""What a file is made of, which is put together in other ways."""


def main() -> None:
    """Fuzz one reader for some minutes."""
    defaults = ("", "1", "fuzzing")
    reader, minutes, folder = (*sys.argv[1:4], *defaults[len(sys.argv) - 1 :])
    if reader not in READERS:
        sys.exit(f"READER is one of {', '.join(READERS)}")
    found = Path(folder) / reader
    corpus = found / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    _write_seeds(corpus)
    words = found / "words.txt"
    escaped = ("".join(f"\\x{byte:02x}" for byte in word.encode()) for word in WORDS)
    words.write_text("".join(f'"{word}"\n' for word in escaped))
    target = READERS[reader]

    def one(data: bytes) -> None:
        start = time.process_time()
        try:
            target(data)
        except InputError as error:
            str(error)
        if (seconds := time.process_time() - start) > SECONDS:
            raise TimeoutError(f"{seconds:.1f} seconds of calculating")

    flags = [
        *(f"-max_total_time={int(float(minutes) * 60)}", f"-timeout={HANG}", "-rss_limit_mb=500"),
        *(f"-dict={words}", f"-artifact_prefix={found}/", "-max_len=4096", "-print_final_stats=1"),
        *map(str, [corpus, *(seed for seed in SEEDS if seed.is_dir())]),
    ]
    atheris.Setup([sys.argv[0], *flags], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

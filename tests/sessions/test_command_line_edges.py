"""The edges of the contract of the command: streams that fail, links, widths, odd files."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len

import attncli
from attncli.core.mechanisms.trace import with_named_steps
from attncli.core.problem.keys import KEYS
from attncli.core.tape.cell_names import may_mean_step, words_of
from attncli.core.tape.tape import Tape
from attncli.core.text.strings import SIGNS
from tests.conftest import (
    PROGRAM,
    ROOT,
    SAMPLE_FILES,
    SAMPLES,
    TYPICAL_SAMPLES,
    Attn,
    Result,
    environment,
    in_terminal,
)

GOOD = SAMPLES / "i_am_good.yaml"
HEADS = SAMPLES / "heads_cut.yaml"
ONE_STEP = ("compute", GOOD, "--only", "Q", "-f", "csv")
ONE_STEP_TEXT = "1,3,2\n1,1,3\n1,2,1\n"

CODES = re.compile(r"\x1b\[[0-9;]*m")
ISOLATES = re.compile("[\u2068\u2069]")
ROW = re.compile(r"[⎡⎢⎣]([^⎤⎥⎦]*)[⎤⎥⎦]")
NUMBER = re.compile(r"-?(?:∞|\d+(?:\.\d+)?(?:e[+-]\d+)?)")


def run_into(stdout: Any, *arguments: str | Path) -> Result:
    """Run the program with a file or descriptor as its output."""
    done = subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=environment(),
        check=False,
    )
    return Result(done.returncode, "", done.stderr.decode())


def numbers_of(text: str) -> set[str]:
    """Return the numbers between the brackets of matrices."""
    return {n for row in ROW.findall(text) for n in NUMBER.findall(row)}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A problem whose weights are far more than a pipe holds."""
    path = tmp_path_factory.mktemp("large") / "large.npz"
    np.savez(path, X=np.random.default_rng(1).normal(size=(250, 4)))
    return path


# --- streams that fail -----------------------------------------------------------------------


def test_interrupted_while_it_starts_shows_no_traceback() -> None:
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "attncli", "compute", str(GOOD)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment(),
        cwd=ROOT,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if b"typer" in line:
            break
    process.send_signal(signal.SIGINT)
    rest = process.stderr.read()
    process.stderr.close()
    assert process.wait() in (130, -signal.SIGINT)  # a shell shows 130 for both
    assert b"Traceback" not in rest


def printed_by(code: str, *flags: str) -> list[str]:
    """Return the words that a new Python prints, which finds the package."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"
    command = [sys.executable, *flags, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout.split()


def test_an_interrupt_is_seen_to_before_anything_else_is_imported() -> None:
    """What is imported before that may show a traceback. Without `site`, nothing is known yet."""
    code = """
import _signal
class Asked:
    def find_spec(self, name, *_):
        if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
            print(name)
sys.meta_path.insert(0, Asked())
try:
    import attncli.__main__
except ImportError:
    print(_signal.getsignal(_signal.SIGINT) == _signal.SIG_DFL)
"""
    before = [
        "attncli",
        "__future__",
        "attncli.core",
        "attncli.core.text",
        "attncli.core.text.notebook",
        "attncli.__main__",
    ]
    assert printed_by(code, "-I", "-S") == [*before, "True"]


def test_who_imports_the_package_keeps_the_handlers_of_signals() -> None:
    code = """
import signal
known = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
before = [*map(signal.getsignal, known)]
import attncli
attncli.load("sample_inputs/i_am_good.yaml")
print([*map(signal.getsignal, known)] == before)
"""
    assert printed_by(code) == ["True"]


@pytest.mark.parametrize("form", ["table", "json"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_reader_that_goes_away_is_141(form: str, unbuffered: str, large: Path) -> None:
    """`attn … | head -1`, also with PYTHONUNBUFFERED, as containers set it."""
    process = subprocess.Popen(
        [*PROGRAM, "compute", str(large), "--only", "weights", "--full", "-f", form],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(PYTHONUNBUFFERED=unbuffered),
        cwd=ROOT,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), err) == (141, b"")


@pytest.mark.parametrize(
    "arguments",
    [["compute", GOOD], ["schema"], ["--help"]],
    ids=lambda a: "_".join(map(str, a))[:12],
)
def test_no_reader_at_all_is_141(arguments: list[str | Path]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    result = run_into(writing, *arguments)
    os.close(writing)
    assert (result.status, result.err) == (141, "")


@pytest.mark.parametrize("arguments", [["compute", GOOD], ["--help"]], ids=["compute", "help"])
def test_full_disk_is_told(arguments: list[str | Path]) -> None:
    with Path("/dev/full").open("wb") as full:
        result = run_into(full, *arguments)
    assert result.status == 2
    assert "Traceback" not in result.err
    assert "no space left on device" in result.err.lower()


@pytest.mark.parametrize(("bias", "status"), [("-inf", 0), ("?", 2)], ids=["warning", "error"])
def test_a_message_that_cannot_be_written_loses_nothing_else(
    bias: str, status: int, tmp_path: Path
) -> None:
    (tmp_path / "p.yaml").write_text(f"X: [[1]]\nbias: [[{bias}]]\n")
    command = [*PROGRAM, "compute", "p.yaml", "-f", "csv", "--only", "output", "-o", "w.csv"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stderr=full, cwd=tmp_path, env=environment(), check=False)
    assert done.returncode == status
    assert (tmp_path / "w.csv").exists() == (status == 0)


@pytest.mark.parametrize("closed", [0, 1, 2], ids=["stdin", "stdout", "stderr"])
def test_closed_descriptors_show_no_traceback(closed: int) -> None:
    """As `<&-`, `>&-` and `2>&-` make them."""
    sign = f"{closed}{'<' if closed == 0 else '>'}"
    done = subprocess.run(
        ["sh", "-c", f'"$0" "$@" {sign}&-', *PROGRAM, "compute", str(GOOD) if closed else "-"],
        capture_output=True,
        env=environment(),
        cwd=ROOT,
        check=False,
    )
    assert b"Traceback" not in done.stderr
    assert done.returncode == (0 if closed == 2 else 2)


# --- -o --------------------------------------------------------------------------------------


def test_table_file_obeys_full_and_quiet(attn: Attn, tmp_path: Path) -> None:
    np.savez(tmp_path / "wide.npz", X=np.arange(1.0, 27).reshape(13, 2) / 8)
    for flags in ([], ["--full"], ["-q"]):
        run = ("compute", tmp_path / "wide.npz", "--title", "T", *flags)
        attn(*run, "-o", tmp_path / "a.txt", "--color", "always")
        assert (tmp_path / "a.txt").read_text() == attn(*run).out, flags


def test_old_file_stays_when_the_disk_is_full(tmp_path: Path) -> None:
    """A limit on the size of files stands for a full disk."""
    old = tmp_path / "a.json"
    old.write_text("old")
    done = subprocess.run(
        [*PROGRAM, "compute", str(GOOD), "-o", str(old)],
        capture_output=True,
        # Modules that are compiled here would be cut off, and stay so in the cache of all tests.
        env=environment(PYTHONDONTWRITEBYTECODE="1"),
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    )
    assert done.returncode == 2
    assert b"cannot be written: file too large" in done.stderr
    assert old.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_permissions_are_kept(attn: Attn, tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text("old")
    old.chmod(0o640)
    attn("compute", GOOD, "-o", old)
    assert old.stat().st_mode & 0o777 == 0o640
    attn("compute", GOOD, "-o", new)
    (tmp_path / "plain").touch()
    assert new.stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("exists", [True, False])
def test_link_stays_and_its_target_is_written(exists: bool, attn: Attn, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "target.json", tmp_path / "link.json"
    if exists:
        target.write_text("old")
    link.symlink_to(Path("elsewhere") / "target.json")
    assert attn("compute", GOOD, "-o", link).status == 0
    assert link.is_symlink()
    assert json.loads(target.read_text())["title"] == "I am good"


def test_link_to_standard_output(attn_process: Attn, tmp_path: Path) -> None:
    """`-o /dev/stdout`, by a link of our own: as root, a mistake would replace the real one."""
    link = tmp_path / "stdout"
    link.symlink_to("/proc/self/fd/1")
    assert attn_process(*ONE_STEP, "-o", link).out == ONE_STEP_TEXT
    with (tmp_path / "out.csv").open("wb") as file:
        assert run_into(file, *ONE_STEP, "-o", link).status == 0
    assert link.is_symlink()
    assert (tmp_path / "out.csv").read_text() == ONE_STEP_TEXT


# --- widths and labels -----------------------------------------------------------------------


NARROW_SAMPLES = [path for path in TYPICAL_SAMPLES if path.name != "transformer_training.yaml"]
"""All but the one with a sum whose products fit in 160 columns, and not in those of a pipe."""


@pytest.fixture(scope="module")
def piped(attn: Attn) -> str:
    return attn("compute", *NARROW_SAMPLES).out


@pytest.fixture(scope="module")
def forward(attn: Attn) -> str:
    """Return what is piped of the samples without a backward pass."""
    return attn("compute", *(file for file in NARROW_SAMPLES if "gradient" not in str(file))).out


@pytest.mark.parametrize("columns", [60, 80, 160])
def test_samples_in_a_terminal(columns: int, piped: str, forward: str) -> None:
    """Every number is whole, and no line is wider than the terminal."""
    result = in_terminal("compute", *NARROW_SAMPLES, columns=columns)
    assert result.status == 0
    shown = CODES.sub("", result.out)
    assert len(numbers_of(piped)) > 100
    # A narrow terminal leaves out operands put together on the way, such as [h_1; x_2; c_1], and
    # in 80 columns the products of a sum such as d_Q W_qᵀ + d_K W_kᵀ + d_V W_vᵀ.
    assert numbers_of(shown) <= numbers_of(piped)
    if columns >= 80:
        assert numbers_of(shown) >= numbers_of(forward)
    if columns >= 160:
        assert numbers_of(shown) == numbers_of(piped)
    lines = [ISOLATES.sub("", line) for line in shown.splitlines()]
    assert len(lines) > 300
    assert [line for line in lines if cell_len(line) > columns] == []


def test_columns_of_a_matrix_that_is_parted_are_named() -> None:
    shown = in_terminal("compute", HEADS, "--only", "weights", "-d", "17", columns=50).out
    shown = CODES.sub("", shown)
    assert re.search(r"^ *(weights, )?columns? 1", shown, re.MULTILINE)
    assert not re.search(r"^ *,", shown, re.MULTILINE)


LABELS = ["[mask]", ":smile:", "\x1b[31mred", "中文", "العربية", "[/]", "e\u0301", "a\nb"]
SHOWN = ["[mask]", ":smile:", r"\x1b[31mred", "中文", "العربية", "[/]", "e\u0301", r"a\nb"]


def labelled() -> bytes:
    size = len(LABELS)
    X = [[round(i / 7, 3), round(size - i / 3, 3)] for i in range(size)]
    return json.dumps({"title": "\x1b[2J[bold]", "tokens": LABELS, "X": X}).encode()


def test_labels_are_shown_as_written_and_aligned(attn: Attn) -> None:
    """Labels stand over the ends of their columns, and brackets below each other."""
    result = attn("compute", "--only", "weights", stdin=labelled())
    lines = [ISOLATES.sub("", line) for line in result.out.splitlines()]
    first = next(i for i, line in enumerate(lines) if "⎡" in line)
    rows = lines[first : first + len(LABELS)]
    assert [re.split("[⎡⎢⎣]", row)[0].strip() for row in rows] == SHOWN
    ends = []
    for row in rows:
        opening = re.search("[⎡⎢⎣]", row)
        assert opening is not None
        cells = [m.end() for m in re.finditer(r"[\d.]+(?=[\s⎤⎥⎦])", row)][-len(LABELS) :]
        ends.append([cell_len(row[:p]) for p in (opening.start(), *cells)])
        assert cell_len(row) == cell_len(rows[0])
    assert all(e == ends[0] for e in ends)
    at = 0
    for word, end in zip(SHOWN, ends[0][1:], strict=True):
        at = lines[first - 1].index(word, at) + len(word)
        assert cell_len(lines[first - 1][:at]) == end


def test_messages_escape_what_they_quote(attn: Attn) -> None:
    bad = "\x1b[31mbad"
    for arguments in (
        ["compute", bad],
        ["compute", GOOD, "--only", bad],
        ["compute", GOOD, "-o", bad],
        ["compute", GOOD, "-m", f"{bad}={SAMPLES / 'i_am_good.csv'}"],
        ["compute", GOOD, f"--{bad}"],
        ["compute", GOOD, "--score", bad],
        [bad],
    ):
        result = attn(*arguments)
        assert result.status == 2
        assert "\x1b" not in result.err
        assert r"\x1b[31mbad" in result.err


# --- help ------------------------------------------------------------------------------------


# --- odd files -------------------------------------------------------------------------------


def archive(**members: bytes) -> bytes:
    """Return a ZIP file of these members."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, data in members.items():
            file.writestr(name, data)
    return buffer.getvalue()


def npz(**arrays: Any) -> bytes:
    buffer = BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "part"),
    [
        ("text.npz", b"hello", "damaged"),
        ("half.npz", npz(X=np.eye(9))[:300], "damaged"),
        ("pickle.npz", npz(X=np.array([{}], dtype=object)), "Python objects"),
        ("member.npz", archive(**{"readme.txt": b"hello"}), "damaged, or no NumPy file"),
        ("fake.npz", archive(**{"X.npy": b"hello"}), "damaged, or no NumPy file"),
    ],
    ids=lambda x: x if isinstance(x, str) and "." in x else "",
)
def test_npz_that_is_refused(name: str, data: bytes, part: str, attn: Attn, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    result = attn("compute", tmp_path / name)
    assert (result.status, result.out) == (2, "")
    assert name in result.err
    assert part in result.err


def test_name_too_long_is_told(attn: Attn) -> None:
    result = attn("compute", "a" * 5000)
    assert result.status == 2
    assert "too long" in result.err


def test_signs_of_tables_take_one_column() -> None:
    """The widths that are known without rich are those that rich gives."""
    assert {chr(sign): cell_len(chr(sign)) for sign in SIGNS} == dict.fromkeys(map(chr, SIGNS), 1)


# --- names and files -------------------------------------------------------------------------


def test_a_quiet_command_has_no_note_on_windows_1252(attn: Attn, tmp_path: Path) -> None:
    file = tmp_path / "hw.yaml"
    file.write_bytes("title: café\nX: [[1, 0], [0, 1]]\n".encode("cp1252"))
    for words in (("compute", file), ("worksheet", file, "-f", "yaml")):
        assert "note: " in attn(*words).err
        assert attn(*words, "-q").err == ""


@pytest.mark.parametrize(("name", "hint"), [("weigths", "did you mean weights?"), ("foo", "known")])
def test_only_refuses_an_unknown_name_before_the_calculation(
    name: str, hint: str, attn: Attn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tape, "record", pytest.fail)
    result = attn("compute", GOOD, "--only", name)
    assert result.status == 2
    assert f"there is no step {name} in any calculation\n  {hint}" in result.err


def test_every_step_may_be_asked_for() -> None:
    for path in SAMPLE_FILES:
        for step in with_named_steps(attncli.compute(attncli.load(path))):
            for word in (step.name, step.symbol, *words_of(step.name)):
                assert may_mean_step(word, KEYS), (path, word)


def test_only_shows_a_step_that_equals_one_which_large_problems_do_not_keep(
    attn: Attn, tmp_path: Path
) -> None:
    np.save(tmp_path / "X.npy", np.random.default_rng(1).normal(size=(600, 2)))
    flags = ("-m", f"X={tmp_path / 'X.npy'}", "--normalize", "none", "-f", "csv")
    weights = attn("compute", *flags, "--only", "weights")
    assert (weights.status, weights.err) == (0, "")
    assert weights.out == attn("compute", *flags, "--only", "scaled").out


@pytest.mark.usefixtures("small_pool")
def test_a_flag_that_is_repeated_adds_to_the_first(attn: Attn) -> None:
    for pairs in (
        ["compute", HEADS, "--only", "weights", "--only", "Q,V"],
        ["compute", HEADS, "--only", "weights", "--head", "1", "--head", "2"],
        ["compute", HEADS, "--rows", "1", "--rows", "3", "--rows", "2"],
        ["worksheet", GOOD, "-f", "yaml", "--blank", "weights", "--blank", "output"],
        ["worksheet", GOOD, "-f", "html", "--give", "weights", "--give", "output"],
        ["vary", GOOD, "-n", "1", "--ask", "weights", "--ask", "output"],
        ["check", GOOD, "-m", "Q=sample_inputs/i_am_good.csv", "--ask", "Q", "--ask", "V"],
    ):
        flag = next(word for word in reversed(pairs[:-1]) if str(word).startswith("--"))
        first = pairs.index(flag)
        together = [*pairs[:first], flag, ",".join(map(str, pairs[first + 1 :: 2]))]
        repeated, joined = attn(*pairs), attn(*together)
        assert repeated == joined
        assert repeated != attn(*pairs[:-2])
        assert repeated.status < 2


def test_bytes_that_are_no_text_are_refused(attn: Attn) -> None:
    for call in (["new", "--tokens", "\udcff"], ["compute", GOOD, "--title", "a\udcffb"]):
        result = attn(*call)
        assert (result.status, result.out) == (2, "")
        assert "is no text in UTF-8" in result.err

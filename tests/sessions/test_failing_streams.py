"""Streams that fail and signals that end the program: what only a process has."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import PROGRAM, ROOT, SAMPLES, environment, run_command

pytestmark = pytest.mark.whole

GOOD = SAMPLES / "i_am_good.yaml"


def start(*arguments: str | Path, **options: Any) -> Any:
    """Start the program; what it says on standard error can be read."""
    command = [*PROGRAM, *map(str, arguments)]
    usual: dict[str, Any] = {"env": environment(), "cwd": ROOT, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, **usual | options)


def ended(process: Any) -> tuple[int, str]:
    """Return the exit status of a process, and what it said."""
    _, err = process.communicate(timeout=60)
    return process.returncode, (err or b"").decode()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A problem that takes seconds to write."""
    path = tmp_path_factory.mktemp("large") / "large.npz"
    np.savez(path, X=np.random.default_rng(1).normal(size=(1500, 4)))
    return path


# --- streams ---------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["table", "json"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_reader_that_goes_away_is_141(form: str, unbuffered: str) -> None:
    """`attn … | head -1`, also with PYTHONUNBUFFERED, as containers set it."""
    far_more_than_a_pipe_holds = [GOOD] * 200
    command = ["compute", *map(str, far_more_than_a_pipe_holds), "-f", form]
    process = start(*command, stdout=subprocess.PIPE, env=environment(PYTHONUNBUFFERED=unbuffered))
    process.stdout.read(10)
    process.stdout.close()
    process.stdout = None
    assert ended(process) == (141, "")


@pytest.mark.parametrize("arguments", [["compute", GOOD], ["schema"], ["--help"]])
def test_no_reader_at_all_is_141(arguments: list[str | Path]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = start(*arguments, stdout=writing)
    os.close(writing)
    assert ended(process) == (141, "")


@pytest.mark.parametrize("form", ["table", "json", "csv", "yaml", "markdown", "latex"])
def test_an_endless_stream_ends_with_its_reader(form: str) -> None:
    line = '{"X": [[1, 0], [0, 1]], "score": "dot"}'
    script = 'yes "$0" | "$@" | head -n 2; echo ${PIPESTATUS[1]}'
    command = ("bash", "-c", script, line, *PROGRAM, "compute", "-", "-f", form)
    result = run_command(*command, timeout=60)
    *shown, status = result.out.splitlines()
    assert len(shown) == 2
    assert (status, result.err) == ("141", "")


def test_each_problem_is_written_as_soon_as_it_is_there() -> None:
    command = ("compute", "-", "--only", "output", "-f", "csv")
    process = start(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for text, lines in (
        ('{"X": [[2]]}\n', [b"2\n"]),
        ("X: [[3]]\n---\n", [b"\n", b"3\n"]),
        ("X: [[4]]\n---\n", [b"\n", b"4\n"]),
        ('{"X": [[5]]}\n{"X": [[6]]}\n{"X": [[', [b"\n", b"5\n", b"\n", b"6\n"]),
        ("7]]}\n", [b"\n", b"7\n"]),
    ):
        process.stdin.write(text.encode())
        process.stdin.flush()
        assert [process.stdout.readline() for _ in lines] == lines
    assert ended(process) == (0, "")


@pytest.mark.parametrize("arguments", [["compute", GOOD], ["--help"]], ids=["compute", "help"])
def test_full_disk_is_told(arguments: list[str | Path]) -> None:
    with Path("/dev/full").open("wb") as full:
        status, err = ended(start(*arguments, stdout=full))
    assert status == 2
    assert "Traceback" not in err
    assert "no space left on device" in err.lower()


@pytest.mark.parametrize(("bias", "status"), [("-inf", 0), ("?", 2)], ids=["warning", "error"])
def test_a_message_that_cannot_be_written_loses_nothing_else(
    bias: str, status: int, tmp_path: Path
) -> None:
    (tmp_path / "p.yaml").write_text(f"X: [[1]]\nbias: [[{bias}]]\n")
    command = ("compute", "p.yaml", "-f", "csv", "--only", "output", "-o", "w.csv")
    with Path("/dev/full").open("wb") as full:
        assert ended(start(*command, stderr=full, cwd=tmp_path))[0] == status
    assert (tmp_path / "w.csv").exists() == (status == 0)


@pytest.mark.parametrize("closed", [0, 1, 2], ids=["stdin", "stdout", "stderr"])
def test_closed_descriptors_show_no_traceback(closed: int) -> None:
    """As `<&-`, `>&-` and `2>&-` make them."""
    sign = f"{closed}{'<' if closed == 0 else '>'}"
    command = (*PROGRAM, "compute", GOOD if closed else "-")
    result = run_command("sh", "-c", f'"$0" "$@" {sign}&-', *command)
    assert "Traceback" not in result.err
    assert result.status == (0 if closed == 2 else 2)


# --- signals ---------------------------------------------------------------------------------


def printed_by(code: str, *flags: str) -> list[str]:
    """Return the words that a new Python prints, which finds the package."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"
    result = run_command(sys.executable, *flags, "-c", code)
    assert result.status == 0, result.err
    return result.out.split()


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
    before = ["attncli", "__future__", "attncli.__main__"]
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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_leaves_the_old_file_and_nothing_else(
    number: signal.Signals, large: Path, tmp_path: Path
) -> None:
    old = tmp_path / "a.json"
    old.write_text("old")
    process = start("compute", large, "-o", old)
    for _ in range(1000):
        if any(tmp_path.glob(".a.json.*")):
            break
        time.sleep(0.01)
    else:
        pytest.fail("no temporary file was written")
    time.sleep(0.1)
    process.send_signal(number)
    # Ended by the signal: a shell shows 130, 143, 129, 137.
    assert ended(process) == (-number, "")
    assert old.read_text() == "old"
    if number != signal.SIGKILL:
        assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("tenths", [0, 1, 4])
@pytest.mark.parametrize("reads", [True, False], ids=["while it reads", "while it calculates"])
def test_a_signal_at_any_moment_shows_nothing(
    number: signal.Signals, tenths: int, reads: bool, large: Path
) -> None:
    """Ended by the signal itself: a shell ends a loop, too, that the program stands in."""
    command = ("compute", "-" if reads else large, "-f", "json", "--only", "weights")
    tells_imports = environment(PYTHONPROFILEIMPORTTIME="1")
    process = start(*command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=tells_imports)
    # Python itself, which starts first, is not ours.
    assert any(b"typer" in line for line in process.stderr)
    time.sleep(tenths / 10)
    process.send_signal(number)
    if reads:
        process.wait(30)
    status, err = ended(process)
    assert {line[:12] for line in err.splitlines()} <= {"import time:"}
    assert status == -number or (status == 0 and not reads)


def test_a_signal_that_is_ignored_stays_so(tmp_path: Path) -> None:
    out = tmp_path / "a.json"
    script = f'trap "" INT; "$0" "$@" -o {out} & sleep 0.1; kill -INT $!; wait $!; echo $?'
    assert run_command("sh", "-c", script, *PROGRAM, "compute", GOOD).out == "0\n"
    assert json.loads(out.read_text())["title"] == "I am good"

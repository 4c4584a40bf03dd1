"""Work that other processes share gives what one process gives, also where one of them ends."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from socket import socket
from subprocess import DEVNULL, PIPE
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.classroom import variant_search
from attncli.classroom.variants import vary_all
from attncli.cli import shared
from attncli.core.calculation.trace import Trace
from attncli.core.jobs import Pool, Processes, in_order
from attncli.formats import FORMATS
from attncli.reading import files, portions
from tests.conftest import ROOT, SAMPLES, Result, in_process, run_command
from tests.support.page_blocks import blocks, session

ATTN = [sys.executable, "-P", "-m", "attncli"]


def problem(number: int) -> str:
    return f'{{"title": "number {number}", "Q": [[{number}]], "K": [[1], [2]], "V": [[0], [1]]}}'


def read_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a file be read, and sent to other processes, a few lines at a time."""
    monkeypatch.setattr(files, "BYTES_AT_ONCE", 500)
    monkeypatch.setattr(portions, "LIST_CHARACTERS", 1500)


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file of problems; two of them are wrong, one line is a list of two."""
    read_little(monkeypatch)
    lines = [problem(number) for number in range(60)]
    lines[11] = f"[{problem(11)}, {problem(12)}]"
    lines[23] = '{"Q": [[1]], "K": [[1, 2]], "V": [[1]]}'
    lines[40] = "null\n---"
    lines[41] = '{"title": "unread", "Q": [[1], "K": 1}'
    file = tmp_path / "many.jsonl"
    file.write_text("\n".join(lines) + "\n")
    return file


def same_with_two(*words: str | Path, folder: Path | None = None, files: str = "") -> Result:
    """Assert that two processes print, and write to a folder, what one does; return that."""
    into = {jobs: [] if folder is None else [folder / jobs / files] for jobs in ("one", "two")}
    one = in_process(*words, *into["one"])
    two = in_process(*words, *into["two"], "--jobs", "2")
    assert repr(two).replace("/two", "/one") == repr(one)
    if folder is not None:
        made, again = (
            {path.name: path.read_bytes() for path in (folder / jobs).iterdir()} for jobs in into
        )
        assert len(made) > 50
        assert made == again
    return one


@pytest.mark.parametrize(
    "flags",
    [
        "-f json --keep-going",
        "-f json",
        "--keep-going",
        "-f tidy --keep-going",
        "-f csv --only weights --keep-going",
        "-f numpy --keep-going --verbose",
        "-f html --keep-going",
        "-f latex --standalone --keep-going --only scores",
    ],
)
def test_several_processes_compute_what_one_does(many: Path, flags: str) -> None:
    assert same_with_two("compute", many, *flags.split()).status == 2


SOME = [problem(number) for number in range(40)]
WRONG = '{"Q": [[1]], "K": [[1, 2]], "V": [[1]]}'
LONG = problem(1).replace("number 1", "long " * 1000)


@pytest.mark.parametrize(
    ("texts", "end", "errors"),
    [
        ([*SOME, WRONG, *SOME, '{"Q": [[1]}', *SOME], "\n", [41, 82]),
        ([*SOME, "", WRONG, "", "", '{"Q": [[1]}', "", *SOME], "\r\n", [42, 45]),
        (["# a comment", *SOME, LONG, WRONG, *SOME, WRONG], "\n", [43, 84]),
        ([*SOME, f"{SOME[0]} {WRONG} {SOME[1]}", '{"a": "\u2028"}', *SOME], "\n\n", [81, 83]),
        ([*SOME, f"[{SOME[0]}, {WRONG}]", "null", *SOME, '{"Q": 1} # {"Q": 2}'], "\n", [41, 83]),
    ],
)
def test_lines_of_json_are_those_of_the_file(
    texts: list[str], end: str, errors: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_little(monkeypatch)
    file = tmp_path / "lines.jsonl"
    file.write_bytes(end.join(texts).encode("utf-8-sig"))
    result = same_with_two("compute", file, "-f", "json", "--keep-going")
    found = dict.fromkeys(re.findall(r"lines.jsonl:(\d+)", result.err))
    assert ([*map(int, found)], result.status) == (errors, 2)
    first = same_with_two("compute", file, "-f", "json")
    number = len(first.out.splitlines()) + 1
    assert first.err.endswith(f"\n  in problem {number}\n")


def test_files_of_each_problem(many: Path, tmp_path: Path) -> None:
    words = ("compute", many, "-f", "html", "--keep-going", "-o")
    same_with_two(*words, folder=tmp_path, files="{number}-{title}.html")


def test_file_stays_as_it_was_if_a_problem_is_wrong(many: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    out.write_text("before")
    assert in_process("compute", many, "-o", out, "--jobs", "2").status == 2
    assert out.read_text() == "before"


def test_one_problem_has_no_number(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text(problem(1))
    assert '"problem"' not in same_with_two("compute", file, "-f", "json").out


def write_class(folder: Path) -> tuple[Path, Path]:
    """Write a problem, and answers of which some are wrong, misshapen or cannot be read."""
    key, answers = folder / "hw.json", folder / "answers"
    key.write_text(problem(1))
    answers.mkdir()
    texts = ["weights: [[0.27, 0.73]]", "weights: [[0.3, 0.7]]", "weights: [[1]]", "weights: [["]
    for number in range(50):
        (answers / f"student {number:02}.yaml").write_text(texts[number % 4])
    return key, answers


@pytest.mark.parametrize(
    "flags", ["-f csv", "-f json", "-f markdown", "--quiet", "-f csv --points weights:2 --totals"]
)
def test_several_processes_judge_a_class(tmp_path: Path, flags: str) -> None:
    assert same_with_two("check", *write_class(tmp_path), *flags.split()).status == 2


def test_pages_of_a_class(tmp_path: Path) -> None:
    same_with_two("check", *write_class(tmp_path), "-f", "csv", "--feedback", folder=tmp_path)


@pytest.mark.usefixtures("small_pool")
def test_several_processes_draw_the_variants_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among so few numbers, searches meet those of variants before theirs."""
    monkeypatch.setattr(variant_search, "VARIANT_BUDGET", 30)
    file = tmp_path / "tiny.json"
    file.write_text(f"{problem(1)}\n{problem(2)}\n")
    words = ("vary", file, "-n", "5", "--values", "0,1", "--seed", "3")
    assert same_with_two(*words).out.count("variant:") == 10


def test_problem_that_ends_its_process_is_named(
    many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent, part_of = os.getpid(), shared.part_of

    def ending(*arguments: Any) -> shared.Part:
        some = arguments[5]
        if os.getpid() != parent and any("number 30" in str(one.content) for one in some):
            os._exit(9)
        return part_of(*arguments)

    words = ("compute", many, "-f", "json", "--keep-going")
    lines = in_process(*words).out.splitlines()
    monkeypatch.setattr(shared, "part_of", ending)
    result = in_process(*words, "--jobs", "2")
    assert result.status == 2
    assert result.out.splitlines() == [line for line in lines if "number 30" not in line]
    said = "many.jsonl:31: the process that worked on this problem ended, and so did another\n"
    assert said + "  in problem 32\n" in result.err


def test_process_that_is_killed_loses_nothing() -> None:
    def work(numbers: list[int]) -> list[int]:
        if 13 in numbers and len(numbers) > 1:
            os._exit(9)
        return [number**2 for number in numbers]

    lists = [list(range(start, start + 5)) for start in range(0, 100, 5)]
    results = in_order(work, lists, Processes(2), lambda _: [])
    assert [number for _, some in results for number in some] == [n**2 for n in range(100)]


def test_lists_on_their_way_are_few_and_read_as_they_are_needed() -> None:
    read: list[int] = []
    most = 0

    def lists() -> Iterator[list[int]]:
        for number in range(1000):
            read.append(number)
            yield [number]

    def work(numbers: list[int]) -> int:
        time.sleep(0.001)
        return numbers[0] ** 2

    with ThreadPoolExecutor(2) as executor:
        for done, ((number,), squared) in enumerate(in_order(work, lists(), Pool(executor), int)):
            assert squared == number**2
            most = max(most, len(read) - done)
    assert len(read) == 1000
    assert most <= 10


def last(trace: Trace) -> float:
    return float(trace.output[0, 0])


def test_from_python_with_processes() -> None:
    problems = [attncli.Problem(Q=[[n]], K=[[1], [2]], V=[[0], [1]]) for n in range(250)]
    answers: Any = [{"output": [["0.73"]]}, {"output": [["0.5"]]}, {"weights": [[1]]}] * 60
    with ProcessPoolExecutor(2) as executor:
        traces = [*attncli.compute_many(problems, executor)]
        numbers = [*attncli.compute_many(problems, executor, last)]
        reports = [*attncli.check_many(problems[1], answers, executor)]
    for trace, number, own in zip(traces, numbers, problems, strict=True):
        expected = attncli.compute(own)
        assert number == last(expected)
        assert all(np.array_equal(trace[step.name].value, step.value) for step in expected)
    assert [one.verdict for one in reports] == ["correct", "wrong", "wrong"] * 60


def test_error_from_python_tells_its_place(tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    file.write_text(f'{problem(1)}\n{{"Q": [[0]], "K": [[1]], "V": [[1]], "score": "cosine"}}\n')
    with ProcessPoolExecutor(1) as executor:
        traces = attncli.compute_many(attncli.load_all(file), executor)
        assert next(traces).output.shape == (1, 1)
        with pytest.raises(attncli.InputError, match=r"many.jsonl:2"):
            next(traces)


def piped(*words: str | Path) -> Any:
    """Start the program with a pipe for each of its streams."""
    return subprocess.Popen([*ATTN, *map(str, words)], stdin=PIPE, stdout=PIPE, stderr=PIPE)


@pytest.mark.skipif(sys.platform != "linux", reason="it looks for processes in /proc")
def test_processes_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    file.write_text("\n".join(map(problem, range(20_000))))
    with piped("compute", file, "--jobs", "2") as process:
        process.stdout.read(1)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(children) == 2
        process.kill()
        process.stdout.close()
    for _ in range(100):
        states = [Path(f"/proc/{child}/stat") for child in children]
        if not any(state.exists() and ") Z " not in state.read_text() for state in states):
            return
        time.sleep(0.1)
    pytest.fail("a process goes on")


def test_slow_pipe_gets_each_answer_at_once() -> None:
    with piped("compute", "-", "-f", "json", "--jobs", "2") as process:
        for number in range(3):
            process.stdin.write(f"{problem(number)}\n".encode())
            process.stdin.flush()
            assert f'"number {number}"'.encode() in process.stdout.readline()
        process.stdin.close()
    assert process.returncode == 0


def free_port() -> str:
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def test_page_on_many_machines(tmp_path: Path) -> None:
    """Its commands are run in one shell, as workers go on from block to block."""
    page = blocks((ROOT / "docs" / "many-machines.md").read_text())
    port = free_port()
    script, shown = ["trap 'kill $(jobs -p)' EXIT"], list[str]()
    for language, body in page:
        text = body.replace("8786", port)
        if language == "console":
            for command, output in session(text):
                script.append(command)
                shown.append(output)
        elif language == "python":
            (tmp_path / "page.py").write_text(text)
            script.append("python page.py")
        else:
            shown.append(body)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    bash = ("bash", "-c", "\n".join(script))
    result = run_command(*bash, cwd=tmp_path, env={"PATH": path}, timeout=150)
    assert result.out == "".join(shown), result.err


def test_a_cluster_that_does_not_answer_is_named() -> None:
    """It is, even if so few problems need no other process."""
    result = in_process("compute", SAMPLES / "i_am_good.yaml", "--cluster", "here")
    assert result.status == 2
    assert result.err.startswith("no scheduler of dask.distributed answers at here")


@contextmanager
def started(*words: str, folder: Path = ROOT) -> Iterator[subprocess.Popen[bytes]]:
    """Start a part of a cluster whose modules are those of a folder; end it."""
    env = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-m", "dask", *words, "--no-dashboard"]
    with subprocess.Popen(command, cwd=folder, env=env, stdout=DEVNULL, stderr=DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()


def test_a_cluster_that_cannot_go_on_is_a_sentence(tmp_path: Path) -> None:
    """Workers have another version; then the scheduler ends while rows are written."""
    key, answers = write_class(tmp_path)
    for number in range(450):  # their rows are more than a pipe holds
        (answers / f"{'a' * 200} {number}.yaml").write_text("weights: [[0.27, 0.73]]")
    (tmp_path / "attncli").mkdir()
    (tmp_path / "attncli" / "__init__.py").write_text("raise ImportError('this is another attn')")
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    worker = ["worker", address, "--nthreads", "1"]
    words = ("check", key, answers, "-f", "csv", "--cluster", address)
    with started("scheduler", "--host", "127.0.0.1", "--port", port) as scheduler:
        with started(*worker, folder=tmp_path):
            result = run_command(*ATTN, *words, timeout=60)
        message = f"the cluster of {address} failed: ImportError: this is another attn;"
        assert result.err.startswith(message)
        assert (result.status, "; done: 0 of 500\n" in result.err) == (2, True)
        with started(*worker), piped(*words) as process:
            process.stdout.readline()
            process.stdout.readline()
            scheduler.kill()
            rows = process.stdout.read().count(b"\n") + 1
            error = process.stderr.read().decode()
    assert (process.returncode, rows < 500) == (2, True)
    message = f"the cluster of {address} failed: its scheduler does not answer any more"
    assert error.startswith(f"{message}; done: {rows} of 500\n")


def test_workers_of_another_version_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = ({"packages": {"attncli": version}} for version in ("1.0", "0.9"))
    workers = {"tcp://10.0.0.2:1": one, "tcp://10.0.0.3:1": other}
    client = SimpleNamespace(
        wait_for_workers=lambda *_: None,
        get_versions=lambda packages: {"client": one, "workers": workers},
    )
    import distributed  # not before: it changes how errors of other processes are read

    monkeypatch.setattr(distributed, "Client", lambda *_, **__: client)
    result = in_process("compute", "-", "--cluster", "tcp://a:1")
    assert result.status == 2
    message = "the cluster of tcp://a:1 failed: tcp://10.0.0.3:1 has attn 0.9, not 1.0; done: 0\n"
    assert result.err.startswith(message)


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("os.fork", BlockingIOError(11, "Try again"), "no process can be started: try again\n"),
        ("threading.Thread.start", RuntimeError("can't start new thread"), "the calculation does"),
    ],
)
def test_processes_that_cannot_start_are_a_sentence(
    name: str, error: Exception, message: str, many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(name, fails)
    result = in_process("compute", many, "-f", "json", "--jobs", "2")
    assert result.status == 2
    assert result.err.startswith(message)


def test_writers_can_be_sent_to_other_processes() -> None:
    """As they are where processes are no copies of this one."""
    for row in FORMATS.values():
        assert pickle.loads(pickle.dumps(row.traces))


@pytest.mark.usefixtures("small_pool")
def test_any_executor_draws_variants() -> None:
    original = attncli.Problem(X=[[1, 0], [0, 2]], W_q=[[1, 2], [0, 1]], score="dot")
    with ProcessPoolExecutor(1) as executor:
        drawn = [one.problem.written for (one,) in vary_all([original], 1, pool=Pool(executor))]
    assert drawn == [one.problem.written for one in attncli.vary(original, 1)]

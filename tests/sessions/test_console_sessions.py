"""What the command line promises, as sessions that anybody can read: `tests/data/sessions`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.console import FOLDER, Session, is_as_written, played, sessions_in

SESSIONS = [
    pytest.param(session, id=f"{path.stem}: {session.promise}")
    for path in sorted(FOLDER.glob("*.txt"))
    for session in sessions_in(path)
]


@pytest.mark.parametrize("session", SESSIONS)
def test_the_program_answers_as_written(session: Session, tmp_path: Path) -> None:
    for typed, printed in zip(session.typed, played(session, tmp_path), strict=True):
        assert is_as_written(printed, typed.printed), f"$ {typed.command}\n{printed}"


def test_other_answers_are_told_from_those_that_are_written() -> None:
    assert is_as_written("a\nb\nc", "a\n...\nc")
    assert is_as_written("it is 4.5 s", "it is ... s")
    assert not is_as_written("a\nb\nd", "a\n...\nc")
    assert not is_as_written("a", "a.")

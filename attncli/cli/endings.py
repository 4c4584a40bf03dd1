"""What a signal that ends the program must not leave behind.

Ctrl-C and `kill` end the program at once and silently, as they end any other: nothing is raised,
so there is no traceback, whatever is being imported or calculated. What has to be put right first
says so here.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def undone(undo: Callable[[], None]) -> Iterator[None]:
    """Call `undo` before a signal, or an exception, ends what is done inside."""

    def end(number: int, frame: FrameType | None) -> None:
        undo()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    known = (getattr(signal, name) for name in ENDING if hasattr(signal, name))
    # Those that somebody handles, or has had ignored, such as `nohup`, stay theirs.
    taken = [number for number in known if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, end)
    try:
        yield
    except BaseException:
        undo()
        raise
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)

"""The command line: reads flags, prints, colours and exits. Nothing else in the package does."""

# No postponed annotations here: typer would evaluate each of them at every start.

import signal
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from attncli.cli.commands import SETTINGS, Group
from attncli.cli.shared import complain
from attncli.cli.terminal import READER_WENT_AWAY, ReaderWentAwayError, leave
from attncli.errors import InputError, fail

app = typer.Typer(
    name="attn",
    cls=Group,
    help="Show every number of an attention calculation, the way a careful hand would write it.",
    epilog="Start with: attn new hw.yaml, then attn compute hw.yaml",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=SETTINGS,
)


def _version(value: bool) -> None:
    if value:
        from attncli import __version__

        typer.echo(f"attn {__version__}")
        raise typer.Exit


@app.callback()
def attn(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Show every number of an attention calculation, the way a careful hand would write it."""


def main() -> None:
    """Run the command line and end the process with its exit status."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    leave(run())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit status. Every error ends in one message.

    Without `arguments`, which stand after `attn`, it is what the process was called with.
    """
    stdout = sys.stdout
    try:
        status = app(arguments, prog_name="attn")
    except SystemExit as end:
        # typer puts another stream in its place when the reader of its help went away.
        status = end.code if sys.stdout is stdout else READER_WENT_AWAY
    except ReaderWentAwayError:
        return READER_WENT_AWAY
    except OSError as error:
        return complain(fail(f"standard output cannot be written: {error.strerror}"))
    except InputError as error:
        return complain(error)
    except MemoryError:
        return complain(fail("the calculation does not fit into memory"))
    return status if isinstance(status, int) else 0

"""The command line: reads flags, prints, colours and exits. Nothing else in the package does."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from attncli.cli.commands import HELP_OPTIONS, Group
from attncli.cli.output import READER_WENT_AWAY, ReaderWentAwayError, complain, leave
from attncli.core.arithmetic.memory import keep_within_memory
from attncli.core.errors import InputError, fail

app = typer.Typer(
    name="attn",
    cls=Group,
    epilog="Start with: attn new hw.yaml, then attn compute hw.yaml",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=HELP_OPTIONS,
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
    """Show every number of an attention calculation, the way a careful person would write it."""


def main() -> None:
    """Run the command line and end the process with its exit status."""
    keep_within_memory()
    leave(run())


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit status. Every error ends in one message."""
    stdout = sys.stdout
    try:
        status = app(arguments, prog_name="attn")
    except SystemExit as end:
        # typer replaces the stream if the reader of its help went away.
        status = end.code if sys.stdout is stdout else READER_WENT_AWAY
    except ReaderWentAwayError:
        return READER_WENT_AWAY
    except OSError as error:
        return complain(fail(f"standard output cannot be written: {error.strerror}"))
    except InputError as error:
        return complain(error)
    except MemoryError:
        hint = "--only output keeps no step of n × n numbers"
        return complain(fail("the calculation does not fit into memory", hint=hint))
    except ImportError as error:
        # NumPy's error is a page of advice; its cause says what happened.
        while isinstance(error.__cause__, ImportError):
            error = error.__cause__
        message = f"a library cannot be loaded: {str(error).strip().splitlines()[0]}"
        return complain(fail(message, hint="is there enough memory? if there is, install it again"))
    return status if isinstance(status, int) else 0

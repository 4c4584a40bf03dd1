"""`attn count`: the operations, the parameters and the cache of a calculation, step by step."""

from functools import partial
from typing import Annotated

import typer

from attncli.cli import options, targets
from attncli.cli.output import BAD_INPUT
from attncli.cli.run import Run
from attncli.cli.terminal import DisplayFlags, terminal_width, write_lines
from attncli.core.records import replace

COUNTED_HELP = """YAML, JSON, CSV, XLSX or NPZ files, or the config.json of a model; - is standard
input."""
COUNT_FORMATS = "table, json, csv or markdown."
BYTES_HELP = """The size of a number in the cache; by default that of the file's floats, 8 in YAML,
and 2 of shapes."""
FULL_HELP = "Count all operations, and show each step of each layer."
LENGTH_HELP = "The number of tokens that the model of a config.json works on; by default 1."
MAX_MODEL_TOKENS = 131_072


def count(
    inputs: Annotated[list[str], typer.Argument(metavar="INPUT...", help=COUNTED_HELP)],
    *,
    only: options.Only = None,
    full: Annotated[bool, options.content("--full", help=FULL_HELP)] = False,
    length: Annotated[
        int | None,
        options.content("--length", metavar="N", min=1, max=MAX_MODEL_TOKENS, help=LENGTH_HELP),
    ] = None,
    number_bytes: Annotated[
        int | None, options.content("--bytes", metavar="N", min=1, help=BYTES_HELP)
    ] = None,
    format_: Annotated[str | None, options.format_(help=COUNT_FORMATS)] = None,
    out: options.Out = None,
    keep_going: options.KeepGoing = False,
    settings: options.SettingFlags,
    quiet: Annotated[bool, options.quiet(help="Only the table and the cache.")] = False,
    display: DisplayFlags,
) -> None:
    options.prepare(inputs, out)
    from attncli.core.calculation.counts import count as work_of
    from attncli.printing.counts import page
    from attncli.printing.prose import pages
    from attncli.printing.selection import Selection

    format_ = targets.format_name("counts", format_, out)
    selection = Selection(only=options.step_names(only), full=full, quiet=quiet)
    overrides = replace(settings.overrides(), only_shapes=True, length=length)
    run = Run(inputs, overrides, keep_going, quiet)
    run.is_one_file = out is not None and not targets.is_many(out)
    every = run.each(partial(work_of, only=selection.only, number_bytes=number_bytes))
    if format_ == "table" and out is None:
        write_lines(pages(page, every, selection, terminal_width()), display)
    else:
        targets.write_format("counts", format_, every, selection, out)
    raise typer.Exit(BAD_INPUT if run.failed else 0)

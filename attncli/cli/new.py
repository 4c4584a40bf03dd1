"""`attn new`: a problem file to start from."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from attncli.cli import options
from attncli.cli.output import write_bytes
from attncli.cli.run import prepare
from attncli.core.errors import Place, fail, located
from attncli.core.records import EMPTY
from attncli.core.text.escapes import visible

SUFFIXES_OF_NEW = (".yaml", ".yml", "")
QUESTION_MARKS_HELP = "Write ? in place of each number."
WIDTH_OPTIONS = ("d_model", "d_k", "d_v")


@options.key_flags("kind", "tokens", "memory_tokens", "heads", "kv_heads", "score")
def new(
    ctx: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="A new YAML file; without it, print.")
    ] = None,
    keys: Mapping[str, str] = EMPTY,
    d_model: Annotated[str | None, Option(metavar="N", help="How wide X is.")] = None,
    d_k: Annotated[str | None, Option(metavar="N", help="How wide a head's keys are.")] = None,
    d_v: Annotated[str | None, Option(metavar="N", help="How wide a head's values are.")] = None,
    mask: Annotated[str | None, Option(help="causal, window, …, or {window: [2, 0]}.")] = None,
    blank: Annotated[bool, options.blanks("--blank", help=QUESTION_MARKS_HELP)] = False,
) -> None:
    file = None if str(file) == "-" else file
    if file is not None and file.suffix.lower() not in SUFFIXES_OF_NEW:
        message = f"a new problem is written in YAML, and {visible(str(file))} has another suffix"
        raise fail(message, hint=f"name it {visible(str(file.with_suffix('.yaml')))}")
    prepare([])
    from attncli.classroom.start import start
    from attncli.printing.problem_file import problem_file
    from attncli.reading.load import flag_value

    flags = {name: f"--{name.replace('_', '-')}" for name in ctx.params}
    given = {**keys} | ({} if mask is None else {"mask": mask})
    widths = {key: ctx.params[key] for key in WIDTH_OPTIONS if ctx.params[key] is not None}
    with located(lambda path: Place(flags.get(str((*path, "")[0]), ""))):
        values = {key: flag_value(key, text, flags[key]) for key, text in given.items()}
        problem = start(values, widths)
    write_bytes([problem_file(problem, blank).encode()], file, overwrite=False)
    if file is not None:
        fill = "write a number in the place of each ?, then run" if blank else "next"
        name = shlex.quote(visible(str(file)))
        typer.echo(f"{name} is written; {fill}: attn compute {name}", err=True)

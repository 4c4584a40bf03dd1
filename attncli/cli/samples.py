"""`attn samples`: problems to look at and to start from."""

# No postponed annotations here: typer would evaluate each of them at every start.

from typing import Annotated

from typer import Argument

from attncli.cli.output import write_bytes


def samples(
    name: Annotated[
        str | None, Argument(metavar="[NAME]", help="Print this one; without it, list all.")
    ] = None,
) -> None:
    """List the samples, or print one."""
    from attncli.files.sample_files import sample, sample_files, title

    if name is not None:
        write_bytes([sample(name)], None)
        return
    files = sample_files()
    width = max(map(len, files))
    lines = (f"{name:{width}}  {title(path)}".rstrip() for name, path in files.items())
    write_bytes([f"{line}\n".encode() for line in lines], None)

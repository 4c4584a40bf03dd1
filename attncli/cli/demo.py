"""`attn demo`: the live page of a sample, opened in the browser."""

import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from attncli.cli import options
from attncli.cli.output import print_lines, tell, write_bytes

DEFAULT_SAMPLE = "mask_causal"

OPEN_HELP = "Open the page in the browser, or only print where it is."


def demo(
    sample: Annotated[
        str, typer.Argument(metavar="[SAMPLE]", help="The name of a sample, as attn samples lists.")
    ] = DEFAULT_SAMPLE,
    opens: Annotated[bool, options.output("--open/--no-open", help=OPEN_HELP)] = True,
) -> None:
    from attncli.core.mechanisms.compute import compute
    from attncli.pages.html import traces
    from attncli.printing.selection import Selection
    from attncli.reading.files import sample_path
    from attncli.reading.load import load_all

    source = sample_path(sample)
    page = traces([compute(problem) for problem in load_all(source)], Selection(live=True))
    path = Path(tempfile.mkdtemp(prefix="attn-")) / f"{source.stem}.html"
    write_bytes(page, path)
    if not opens:
        print_lines([str(path)])
    elif not webbrowser.open(path.as_uri()):
        tell(f"no browser could be opened; the page is {path}")

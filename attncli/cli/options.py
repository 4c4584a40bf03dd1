"""The options that several commands share, each declared once, and the groups of all options."""

# No postponed annotations here: typer would evaluate each of them at every start.

from enum import StrEnum
from functools import partial
from typing import Annotated, TypeAlias

from typer import Option


class Color(StrEnum):
    """When to colour."""

    auto = "auto"
    always = "always"
    never = "never"


class Theme(StrEnum):
    """The background for which colours are chosen."""

    auto = "auto"
    dark = "dark"
    light = "light"


# Each of these makes options of one group of a help page.
marking = partial(Option, rich_help_panel="Marking")
variants = partial(Option, rich_help_panel="Variants")
blanks = partial(Option, rich_help_panel="Blanks")
content = partial(Option, rich_help_panel="Content")
output = partial(Option, rich_help_panel="Output")

# These options have a help of their own in each command.
decimals = partial(content, "--decimals", "-d", metavar="N", min=0, max=17)
quiet = partial(content, "--quiet", "-q")
format_ = partial(output, "--format", "-f", metavar="FORMAT")
out = partial(output, "--out", "-o", metavar="FILE")
matrix = partial(Option, "--matrix", "-m", metavar="NAME=FILE")

Words: TypeAlias = list[str] | None
"""The value of an option that may be repeated; each time adds to it."""

OUT_HELP = """Write to a file; its suffix tells the format; missing folders are made. FOLDER/, or a
pattern as in pages/{}: a file for each {}."""

Out = Annotated[str | None, out(help=OUT_HELP.format("{number}-{title}.html", "problem"))]
KeepGoing = Annotated[
    bool, output("--keep-going", help="Go on where a problem is wrong; exit status 2.")
]
Standalone = Annotated[bool, output("--standalone", help="A complete LaTeX document.")]
ColorOption = Annotated[Color, output("--color", help="When to colour.")]
ThemeOption = Annotated[Theme, output("--theme", help="The terminal's background.")]
NoPager = Annotated[bool, output("--no-pager", help="Print long output at once.")]
Decimals = Annotated[int | None, decimals(help="Digits after the point.")]
Full = Annotated[bool, content("--full", help="Show large matrices whole.")]
Why = Annotated[bool, content("--why", help="Say in a sentence why each step is done.")]
AllowOutside = Annotated[
    bool, Option("--allow-outside", help="Files may name matrix files outside their own folder.")
]

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


# Each of these declares an option of one group of a help page, in the order of the page.
marking = partial(Option, rich_help_panel="What is asked")
drawing = partial(Option, rich_help_panel="What is drawn")
opening = partial(Option, rich_help_panel="What is open")
showing = partial(Option, rich_help_panel="What is shown")
writing = partial(Option, rich_help_panel="Where it goes")

Words: TypeAlias = list[str] | None
"""The value of an option that may be repeated; each time adds to it."""

STEP_NAMES = "STEP[,STEP]"

OUT_HELP = """Write to a file; its suffix tells the format; missing folders are made. FOLDER/, or a
pattern as in pages/{}: a file for each {}."""

Out = Annotated[
    str | None,
    writing(
        "--out", "-o", metavar="FILE", help=OUT_HELP.format("{number}-{title}.html", "problem")
    ),
]
OutOfStudents = Annotated[
    str | None,
    writing("--out", "-o", metavar="FILE", help=OUT_HELP.format("{student}.html", "student")),
]
KeepGoing = Annotated[
    bool, writing("--keep-going", help="Go on where a problem is wrong; exit status 2.")
]
Standalone = Annotated[bool, writing("--standalone", help="A complete LaTeX document.")]
ColorOption = Annotated[Color, writing("--color", help="When to colour.")]
ThemeOption = Annotated[Theme, writing("--theme", help="The terminal's background.")]
NoPager = Annotated[bool, writing("--no-pager", help="Print long output at once.")]
Decimals = Annotated[
    int | None, showing("--decimals", "-d", min=0, max=17, help="Digits after the point.")
]
Full = Annotated[bool, showing("--full", help="Show large matrices whole.")]
Why = Annotated[bool, showing("--why", help="Say in a sentence why each step is done.")]
AllowOutside = Annotated[
    bool, Option("--allow-outside", help="Files may name matrix files outside their own folder.")
]

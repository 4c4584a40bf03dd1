"""The options that several commands share, each declared once, and the groups of all options.

Modules of commands have no postponed annotations: typer would evaluate each of them at every start.
"""

import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Annotated, Any, Literal, TypeAlias

from typer import Option

Color: TypeAlias = Literal["auto", "always", "never"]
Theme: TypeAlias = Literal["auto", "dark", "light"]


def _named(out: str | None) -> str | None:
    return None if out == "-" else out


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
out = partial(output, "--out", "-o", metavar="FILE", callback=_named)
matrix = partial(Option, "--matrix", "-m", metavar="NAME=FILE")

WordList: TypeAlias = list[str] | None
"""The value of an option that may be repeated; each time adds to it."""

INPUTS_HELP = "YAML, JSON, CSV or NPZ files; - is standard input."
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


def key_flags(*only: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that replaces the parameter `keys` of a command by flags.

    There is one flag for each of `only`, or of all keys that have flags. The command gets a mapping
    of keys to the texts of their flags.
    """
    from attncli.core.problem.keys import KEYS

    flags = []
    for key in only or KEYS:
        if names := KEYS[key].flags_of(key):
            kind = Annotated[str | None, Option(*names, help=KEYS[key].help)]
            place = inspect.Parameter.POSITIONAL_OR_KEYWORD
            flags.append(inspect.Parameter(key, place, default=None, annotation=kind))

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_flags(**given: Any) -> None:
            texts = {flag.name: given.pop(flag.name) for flag in flags}
            keys = {key: text for key, text in texts.items() if text is not None}
            command(**given, keys=keys)

        own = inspect.signature(command)
        of_each = (flags if name == "keys" else [one] for name, one in own.parameters.items())
        parameters = [parameter for some in of_each for parameter in some]
        with_flags.__dict__["__signature__"] = own.replace(parameters=parameters)
        return with_flags

    return decorated

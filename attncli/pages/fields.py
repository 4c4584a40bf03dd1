"""The fields of a practice page, and what is above and beside them, as markup."""

from __future__ import annotations

from attncli.pages.markup import Script, text

BOX = (
    '<p id="spoken" class="unseen" role="status"></p>'
    '<aside id="why" class="help" aria-label="Help with a number" hidden="hidden">'
    '<button type="button"></button><div class="about"><b></b> <span></span></div>'
    '<div class="hints" aria-live="polite"></div></aside>\n'
)

SCRIPT = Script(
    ("shapes.js", "tables.js", "numbers.js", "judging.js", "practice.js"),
    ("style.css", "practice.css"),
    BOX,
)

PRACTICE_HINT = (
    "A number that you type is judged by its digits: it is right if it is the right number, "
    "rounded to them. Fractions, roots and percentages are read, too: 1/3, sqrt(2), e^2, 14%; in "
    "a blocked cell, write -inf. "
    "Enter and the arrow keys go to another number, Alt+H asks for a hint. "
    "Each step is judged by itself; when your answers are checked, a number that follows from an "
    "earlier one of yours counts as right, even if that is wrong."
)
"""Instructions above the first step."""


def tools(student: str) -> str:
    """Return the line for the student's name; the script shows the buttons beside it."""
    return (
        '<p class="tools"><label>Name <input type="text" class="student" autocomplete="off" '
        f'aria-label="Your name" value="{text(student)}"/></label> '
        '<button type="button" class="save" hidden="hidden">Save answers</button> '
        '<button type="button" class="again" hidden="hidden">Start again</button> '
        '<span class="total" role="status"></span> <span class="kept"></span></p>\n'
    )


def field(number: int | None, name: str) -> str:
    """Return the field for a number: which one of the page, and the name of the cell."""
    return (
        f'<input type="text" class="n" data-n="{number}" aria-label="{text(name)}" '
        'autocomplete="off" autocapitalize="none" spellcheck="false"/>'
    )

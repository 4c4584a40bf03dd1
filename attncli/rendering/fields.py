"""The fields of a practice page, and what is above and beside them, as markup."""

from __future__ import annotations

from attncli.rendering.markup import Script, text

BOX = (
    '<aside id="why" class="help" aria-label="Help with a number" hidden="hidden">'
    '<div class="about"><b></b> <span></span></div>'
    '<div class="hints" aria-live="polite"></div>'
    '<div><button type="button"></button></div></aside>\n'
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
    "Whether a number follows from an earlier one of yours that is wrong, or was rounded on the "
    "way, this page cannot tell: save your answers, and give the file to attn check. "
    "What is not saved is gone when the page is closed."
)
"""Instructions above the first step."""


def tools(title: str, student: str) -> str:
    """Return the line with the student's name; the script shows the button beside it."""
    label = f"Your name, {title}" if title else "Your name"
    return (
        '<p class="tools"><label>Name '
        f'<input type="text" class="student" value="{text(student)}" autocomplete="off" '
        f'aria-label="{text(label)}"/>'
        '</label> <button type="button" class="save" hidden="hidden">Save answers</button> '
        '<span class="total" role="status"></span></p>\n'
    )


def field(number: int | None, name: str) -> str:
    """Return the field for a number: which one of the page, and the name of the cell."""
    return (
        f'<input type="text" class="n" data-n="{number}" aria-label="{text(name)}" '
        'autocomplete="off" autocapitalize="none" spellcheck="false"/>'
    )

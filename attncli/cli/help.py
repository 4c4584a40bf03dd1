"""Help pages: options in groups, and examples at the end, which a test runs."""

# No postponed annotations here: typer would evaluate each of them at every start.

from typing import Any

from typer.core import TyperCommand

GROUPS = (
    "Arguments",
    "Marking",
    "Variants",
    "Blanks",
    "Content",
    "Output",
    "Calculation",
    "Options",
)
"""The groups of a help page. Options without one are keys of a problem, and matrices."""

PROBLEM = """\
tokens: [I, am, good]
X: [[1, 3, 2],
    [1, 1, 3],
    [1, 2, 1]]
W_k: [[1, 0, 0],
      [0, 1, 0],
      [0, 0, 2]]
score: dot
"""
"""A whole problem file, hw.yaml in the examples."""

EXAMPLES = {
    "new": (
        "attn new my.yaml --tokens 'I love AI' --heads 2",
        "attn new --kind pooling --score additive --blank > sheet.yaml",
    ),
    "compute": ("attn compute hw.yaml", "attn compute hw.yaml --mask causal --only weights -d 2"),
    "explain": (
        "attn explain hw.yaml 'scores[am, I]'",
        "attn explain hw.yaml 'weights[am, I]' --deep",
    ),
    "check": ("attn check hw.yaml answers.yaml", "attn check hw.yaml answers.yaml -f json"),
    "worksheet": (
        "attn worksheet hw.yaml -f html -o practice.html",
        "attn worksheet hw.yaml --give scores -f latex --standalone -o sheet.tex",
    ),
    "vary": (
        "attn vary hw.yaml -n 3 --seed 7 --ask weights,output -o variants/ --key",
        "attn vary hw.yaml -n 2 --values -2..3 > two.yaml",
    ),
    "scores": ("attn scores", "attn compute hw.yaml --score '{name: distance, width: 2}'"),
    "schema": ("attn schema", "attn schema > attn.schema.json"),
    "samples": ("attn samples", "attn samples mask_causal > causal.yaml"),
    "completion": ('eval "$(attn completion bash)"', "attn completion fish | source"),
    "manual": ("attn manual > attn.1", "attn manual | man -l -"),
}
"""Examples of each command; answers.yaml holds answers to hw.yaml."""

NOTES = {
    "new": "The same call writes the same numbers. A file that is there is not overwritten.",
    "compute": "Matrices: -m W_q=wq.csv. Options: --score '{name: distance, width: 2}'.",
    "explain": "With several heads: 'weights[head 2][am, I]'.",
    "check": "Exit status: 0 right, 1 wrong, incomplete or empty, 2 something could not be read.",
    "worksheet": "A filled-in sheet, or one saved from the page, is a submission for attn check.",
    "vary": "Exit status: 0 all are fair, 1 some hide mistakes that others show, 2 there are none.",
    "completion": "To have it always: in ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish.",
}
"""What a help page says between its options and its examples."""


class Command(TyperCommand):
    """A command whose help page lists its options in groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then each group of options."""
        for name, rows in groups_of(self, ctx).items():
            with formatter.section(name):
                formatter.write_dl(rows)


def groups_of(command: Any, ctx: Any) -> dict[str, list[tuple[str, str]]]:
    """Return the arguments, then each group of options: how each is written, and its help."""
    groups: dict[str, list[tuple[str, str]]] = {name: [] for name in GROUPS}
    for param in command.get_params(ctx):
        row = param.get_help_record(ctx)
        if row is not None:
            groups[_group_of(param)].append(row)
    return {name: rows for name, rows in groups.items() if rows}


def _group_of(param: Any) -> str:
    if param.param_type_name == "argument":
        return "Arguments"
    return "Options" if param.name == "help" else param.rich_help_panel or "Calculation"


def epilog(command: str) -> str:
    r"""Return what a help page ends with; `\b` keeps the lines of a paragraph as they are."""
    paragraphs = [NOTES[command]] if command in NOTES else []
    if command == "compute":
        paragraphs.append("\b\nA problem file, such as hw.yaml:\n" + _indented(PROBLEM))
    return "\n\n".join([*paragraphs, "\b\nExamples:\n" + _indented("\n".join(EXAMPLES[command]))])


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines())

"""`attn scores`: the score functions, masks and normalisers."""

# No postponed annotations here: typer would evaluate each of them at every start.

from attncli.cli import options
from attncli.cli.terminal import Display, write_lines


def scores(
    color: options.ColorOption = options.Color.auto,
    theme: options.ThemeOption = options.Theme.auto,
    no_pager: options.NoPager = False,
) -> None:
    """List score functions, masks and normalisers."""
    from attncli.rendering.score_tables import score_tables

    write_lines([score_tables()], Display(color, theme, not no_pager))

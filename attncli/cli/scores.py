"""`attn scores`: the score functions, masks and normalisers."""

# No postponed annotations here: typer would evaluate each of them at every start.

from attncli.cli import shared
from attncli.cli.terminal import Color, Display, Theme, write_lines


def scores(
    color: shared.Colour = Color.auto,
    theme: shared.Background = Theme.auto,
    no_pager: shared.NoPager = False,
) -> None:
    """List score functions, masks and normalisers."""
    from attncli.rendering.score_tables import score_tables

    write_lines([score_tables()], Display(color, theme, not no_pager))

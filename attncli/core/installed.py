"""What installed packages add: mechanisms, score functions, masks and normalisers.

A package names each in the group `attn` of its entry points. It is imported only for a name that
no table here knows, so that a start takes no longer, and a file can name nothing but what somebody
has installed.
"""

from __future__ import annotations

GROUP = "attn"


def import_named(name: str | None = None) -> bool:
    """Import what packages offer under a name, or all that they offer; return whether there is any.

    Importing it adds its rows to the tables.
    """
    from importlib.metadata import entry_points  # few commands meet an unknown name

    offered = entry_points(group=GROUP, name=name) if name else entry_points(group=GROUP)
    for one in offered:
        one.load()
    return bool(offered)

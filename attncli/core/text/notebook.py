"""How Python and notebooks show traces and reports: as a table, or a page in a frame."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` takes longer to import than what `import attncli` needs
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar


class Shown:
    """A value that has a page, which is written by the function that the package sets."""

    page: ClassVar[Callable[[Any, str], str]]

    def __str__(self) -> str:
        return Shown.page(self, "table").rstrip("\n")

    def _repr_html_(self) -> str:
        from html import escape  # its table of names takes a millisecond that no command needs

        srcdoc = escape(Shown.page(self, "html"))
        return f'<iframe srcdoc="{srcdoc}" style="border:0;width:100%;height:40em"></iframe>'

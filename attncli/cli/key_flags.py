"""Flags that set the keys of a problem, made of the rows of `KEYS`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

from typer import Option

from attncli.problem.keys import KEYS


def key_flags(*only: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command flags in the place of its argument `keys`.

    The command gets a mapping of the keys whose flags were given, to the texts after them.

    Args:
        only: the keys that have flags; by default all whose rows have some.
    """
    rows = {key: KEYS[key] for key in only or KEYS}
    flags = [
        inspect.Parameter(
            key,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=None,
            annotation=Annotated[str | None, Option(*names, help=row.help)],
        )
        for key, row in rows.items()
        if (names := row.flags_of(key))
    ]

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command)

        @wraps(command)
        def with_flags(**given: Any) -> None:
            texts = {flag.name: given.pop(flag.name) for flag in flags}
            keys = {key: text for key, text in texts.items() if text is not None}
            command(**given, keys=keys)

        parameters = [
            parameter
            for one in own.parameters.values()
            for parameter in (flags if one.name == "keys" else [one])
        ]
        with_flags.__dict__["__signature__"] = own.replace(parameters=parameters)
        return with_flags

    return decorated

"""Frozen records: what `dataclasses` gives, without generating code at every start.

`attn compute` defines about a hundred. As frozen dataclasses they would take more than 100 ms at
every start, as much as all the rest; as records they take 1 ms. A `Record` reads its fields from
the annotations, as a dataclass does, and type checkers treat it as one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar, dataclass_transform

R = TypeVar("R", bound="Record")

EMPTY: Mapping[Any, Any] = {}
"""The default of fields and parameters that are mappings."""


@dataclass_transform(frozen_default=True)
class Record:
    """A value with named fields that do not change; records of one class compare by value.

    Classes with fields that `==` cannot compare, such as arrays, are defined with `eq=False`: their
    instances, and those of their subclasses, compare by identity.

    >>> class Point(Record):
    ...     x: int
    ...     y: int = 0
    >>> Point(1).y, replace(Point(1), y=5)
    (0, Point(x=1, y=5))
    """

    fields: ClassVar[tuple[str, ...]] = ()
    defaults: ClassVar[dict[str, Any]] = {}
    annotated: ClassVar[dict[str, str]] = {}

    def __init_subclass__(cls, eq: bool = True) -> None:
        if not eq:
            for name in ("__eq__", "__ne__", "__hash__"):
                setattr(cls, name, getattr(object, name))
        written: dict[str, Any] = vars(cls).get("__annotations__", {})
        kinds = {name: str(kind) for name, kind in written.items()}
        names = [name for name, kind in kinds.items() if not kind.startswith("ClassVar")]
        cls.fields = tuple(dict.fromkeys((*cls.fields, *names)))
        cls.annotated = cls.annotated | {name: kinds[name] for name in names}
        cls.defaults = cls.defaults | {n: vars(cls)[n] for n in names if n in vars(cls)}

    def __init__(self, *values: Any, **named: Any) -> None:
        if not named and len(values) == len(self.fields):
            # `strict` would take a third of the time; the lengths were compared above.
            self.__dict__.update(zip(self.fields, values))  # noqa: B905
            return
        # Defaults are put into the instance: a function in the class would become a method.
        held, fields = self.__dict__, self.fields
        held.update(self.defaults)
        held.update(named)
        held.update(zip(fields, values))  # noqa: B905 - the lengths are compared below
        is_twice = bool(values and named) and not named.keys().isdisjoint(fields[: len(values)])
        if len(held) != len(fields) or len(values) > len(fields) or is_twice:
            raise TypeError(f"{type(self).__name__} takes the fields {', '.join(fields)}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} does not change; use replace")

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in self.fields}  # copies keep no results

    def __eq__(self, other: object) -> bool:
        is_like = isinstance(other, Record) and type(self) is type(other)
        return is_like and all(getattr(self, f) == getattr(other, f) for f in self.fields)

    def __hash__(self) -> int:
        return hash((type(self), *[getattr(self, name) for name in self.fields]))

    def __repr__(self) -> str:
        parts = (f"{name}={getattr(self, name)!r}" for name in self.fields)
        return f"{type(self).__name__}({', '.join(parts)})"


def replace(record: R, **changes: Any) -> R:
    """Return a copy of a record with some fields changed."""
    held = record.__dict__  # the fields, and cached properties
    named = {name: held[name] for name in record.fields} | changes
    return type(record)(*named.values())

"""How the keys of a problem and its mechanisms are declared.

A mechanism is a folder of `attncli/mechanisms`. Its `__init__` declares what it is, its `steps`
has the lines of its textbook, its `mistakes` what is made wrong in them. A declaration imports no
NumPy, as flags, schemas and help come from it. A shape is written in letters, in row convention; a
letter is one size, and 1 is itself. `heads*d_v` is the size of one head times the heads; in a stack
of one matrix per head it is d_v.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property, lru_cache
from importlib import import_module
from os import scandir
from typing import Any, ClassVar, TypeAlias

from attncli.core.numbers.forms import ArrayForm, Choice, Form, choice
from attncli.core.numbers.other_words import OTHER_WORDS
from attncli.core.records import EMPTY, Record, replace

Letters: TypeAlias = tuple[str, ...]
Shapes: TypeAlias = dict[str, Letters]
"""The letters of each axis of a matrix, by its key, or by that of a part such as `past.K`."""

KeyTests: TypeAlias = Iterator[tuple[bool, str, str, str]]
"""Whether a key is wrong, the key, the message and the hint."""


class Key(Record, eq=False):
    """A key of problem files: how it is written, what it means, and what it goes together with."""

    form: Form  # how it is written: reads a value, and has its part of the schema
    meaning: str  # one line
    default: object = None  # its value where it is left out
    shape: str = ""  # the letters of its axes, such as "n, d_model"
    parts: Mapping[str, str] = EMPTY  # in a mapping, the letters of the parts that are matrices
    follows: bool = False  # whether it has a value where it is left out, by those of others
    labels: Mapping[str, str] = EMPTY  # letters that count its words, by the part, or by ""
    required: bool = False
    start: bool = False  # whether a new problem has it
    numbers: tuple[float, ...] = (1.0,)  # of a new problem, beside zeros
    zeros: float | None = 0.5  # their share, to which up to 0.4 is added; None for no zeros
    drawn: Mapping[str, Mapping[str, str]] = EMPTY  # by a word, the shapes of the parts drawn
    needs: tuple[str, ...] = ()  # keys without each of which it has no use
    replaces: tuple[str, ...] = ()  # keys that have no use beside it
    not_beside: tuple[str, ...] = ()  # keys beside which it has none; `halves`: that cut each head
    only: tuple[str, ...] = ()  # values of the mechanism's `variant` with which alone it has a use
    is_late: bool = False  # whether it is the one at fault where queries, keys or values do not fit
    is_of_tokens: bool = False  # whether its numbers are those of tokens
    fixed: tuple[str, ...] = ()  # the parts, or the key itself, that are not learned
    at_top: bool = False  # whether it is of a whole problem, and never of one layer
    as_written: bool = False  # whether a matrix is never transposed by `tokens_as: columns`
    aliases: tuple[str, ...] = ()  # other names of this key; weights and biases have more
    instead: Mapping[str, str] = EMPTY  # what to write instead of which keys of other tools
    flags: tuple[str, ...] | None = None  # its flags, by default --key, and none for arrays
    example: str = ""  # values, for the help of its flag
    kind: str = ""  # the mechanism that declares it, if one does, which says so itself
    suggests: tuple[Any, ...] = ()  # values for a new problem, of which the first that fits is said

    def flags_of(self, key: str) -> tuple[str, ...]:
        if self.flags is not None:
            return self.flags
        return () if isinstance(self.form, ArrayForm) else (f"--{key.replace('_', '-')}",)

    @property
    def about(self) -> str:
        """Its meaning, behind the kind that alone has it."""
        return f"{self.kind}: {self.meaning}" if self.kind else self.meaning

    def shapes(self, key: str) -> Shapes:
        """Return the letters of its matrix, or of each of its parts."""
        parts = {f"{key}.{part}": shape for part, shape in self.parts.items()}
        written = parts | ({key: self.shape} if self.shape else {})
        return {name: letters(shape) for name, shape in written.items()}

    @property
    def help(self) -> str:
        """The help of its flags."""
        text = f"{self.about}: {self.example}" if self.example else self.about
        text = text if self.kind else f"{text[0].upper()}{text[1:]}"  # a kind is written as it is
        return text if text.endswith("…") else f"{text}."


key = Key
"""The name by which a class declares a key."""


def letters(shape: str) -> Letters:
    """Return the letters of each axis.

    >>> letters("n, d_q + d_k")
    ('n', 'd_q + d_k')
    """
    return tuple(shape.split(", "))


class Implied(Record):
    """A letter that equals another one, unless the problem has a key that sets it."""

    letter: str
    origin: str
    unless: tuple[str, ...] = ()
    or_one: bool = False  # whether the other one may be 1 instead


class Declared:
    """What a folder declares: its keys as attributes, and what belongs to them.

    `shapes_with`, `defaults` and `tests` of a mechanism are called in problems of this kind, those
    of others in every problem.
    """

    name: ClassVar[str] = ""  # by default that of the folder
    is_last: ClassVar[bool] = False  # whether its keys come after those of all others
    step_names: ClassVar[str] = ""  # its steps, with blanks between them
    step_words: ClassVar[Mapping[str, str]] = EMPTY  # those that people call otherwise, and how
    other_names: ClassVar[Mapping[str, str]] = EMPTY  # words that are chosen elsewhere: see there
    hints: ClassVar[Mapping[str, str]] = EMPTY  # what to write instead of keys of other programs

    def __init_subclass__(cls, is_base: bool = False) -> None:
        cls.name = vars(cls).get("name") or cls.__module__.rpartition(".")[2]
        if not is_base:
            one = DECLARED[cls.name] = cls()
            for row in one.own.values() if isinstance(one, Mechanism) else ():
                row.__dict__["kind"] = cls.name
            OTHER_WORDS.update(cls.other_names)
            for add in WHEN_ADDED:
                add(one)

    @cached_property
    def own(self) -> dict[str, Key]:
        """The keys that it declares."""
        return {name: row for name, row in vars(type(self)).items() if isinstance(row, Key)}

    def shapes_with(self, kind: Mechanism, values: Mapping[str, Any], shapes: Shapes) -> Shapes:
        """Return the shapes that depend on values, given those that do not."""
        return {}

    def defaults(self, given: Collection[str], values: dict[str, Any]) -> None:
        """Change the defaults of keys that depend on others."""

    def tests(self, kind: Mechanism, given: Collection[str], values: Mapping[str, Any]) -> KeyTests:
        """Yield tests of the keys that were given."""
        return iter(())

    def steps(self) -> Any:
        """Return the module with its steps, which is imported when it is needed."""
        return import_module(f"{type(self).__module__}.steps")

    def mistakes(self) -> dict[str, Any]:
        """Return the names in the module of its mistakes, if there is one."""
        from importlib.util import find_spec  # which few commands need

        name = f"{type(self).__module__}.mistakes"
        is_there = hasattr(sys.modules[type(self).__module__], "__path__") and find_spec(name)
        return vars(import_module(name)) if is_there else {}


DECLARED: dict[str, Declared] = {}
"""What every folder declares, by name, filled as the folders are imported: see `declared`."""

WHEN_ADDED: list[Callable[[Declared], None]] = []
"""What takes a mechanism of an installed package into the tables that were made without it."""


class Mechanism(Declared, is_base=True):
    """A kind of problems. Its module `steps` has a function `steps` of a tape and a problem."""

    meaning: ClassVar[str]  # what is done, in one line

    takes: ClassVar[tuple[str, ...]] = ()  # keys of other folders that it has, before its own
    also_takes: ClassVar[tuple[str, ...]] = ()  # those after its own, in lists
    shapes_here: ClassVar[Mapping[str, str]] = EMPTY  # of those that have another shape here
    starts_with: ClassVar[tuple[str, ...]] = ()  # those that a new problem has
    requires: ClassVar[tuple[str, ...]] = ()  # those that a problem needs
    variant: ClassVar[str] = ""  # the key whose value tells which others have a use
    variants: ClassVar[tuple[str, ...]] = ()  # its values, the usual one first
    implied: ClassVar[tuple[Implied, ...]] = ()  # letters that follow from others, in this order
    tokens: ClassVar[str] = "n"  # the letter that counts the tokens
    score: ClassVar[str] = "scaled_dot"  # the default score function
    state: ClassVar[tuple[str, ...]] = ()  # the letters of a state per token, in place of scores
    source: ClassVar[str] = ""  # the input from which keys and values are projected, if they are
    single: ClassVar[tuple[str, str] | None] = None  # a letter that is 1, and its only row's key
    axes: ClassVar[tuple[str, ...]] = ("keys",)  # along which the weights may be normalised
    by_position: ClassVar[bool] = True  # whether each query has a position among the keys
    masks: ClassVar[tuple[str, ...]] = ()  # the forms of masks that it takes, if not all
    result: ClassVar[str] = ""  # the shape of its last step, if it has a single one
    adjusts: ClassVar[str] = "scores"  # the step that is scaled, capped, biased and masked
    results: ClassVar[tuple[str, ...]] = ("output",)  # the steps that are looked at in the end
    last: ClassVar[str] = ""  # the last step of attention, which the values of the heads may be
    loss_of: ClassVar[str] = ""  # the key of the labels that its own loss compares with
    makes: ClassVar[tuple[str, ...]] = ()  # inputs that it may make itself
    has_layers: ClassVar[bool] = False
    config_key: ClassVar[str] = ""  # the key by which its module `model_config` knows a model

    def problem_of(self, config: Mapping[str, Any], tokens: int) -> dict[str, Any]:
        """Return the keys of a problem of shapes, which a model's config gives for some tokens."""
        module = import_module(f"{type(self).__module__}.model_config")
        problem: dict[str, Any] = module.problem_of(config, tokens)
        return problem

    @cached_property
    def rows(self) -> dict[str, Key]:
        """Its keys, without those of every kind, and their declarations."""
        every = declared().values()
        known = {key: row for one in every for key, row in one.own.items()} | self.own
        keys = dict.fromkeys((*self.takes, *self.own, *self.also_takes))
        options = [x for x in every if isinstance(x, Option) and x.fits(self, keys)]
        return {key: known[key] for key in (*keys, *(key for one in options for key in one.own))}

    @cached_property
    def shapes(self) -> Shapes:
        """The shapes of its matrices and of parts such as `embedding.table`."""
        shapes = Shapes()
        for key, row in self.rows.items():
            shapes |= row.shapes(key)
        return shapes | {key: letters(shape) for key, shape in self.shapes_here.items()}

    @property
    def options(self) -> tuple[str, ...]:
        """Its keys that are no matrices."""
        return tuple(key for key, row in self.rows.items() if not isinstance(row.form, ArrayForm))

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """All of its keys, with those of every kind."""
        first, last = (DECLARED[name].own for name in EVERY_KIND)
        return (*first, *self.rows, *last)

    @property
    def layer_keys(self) -> tuple[str, ...]:
        """The keys of a layer; one at the top is that of every layer which has none."""
        return tuple(key for key, row in self.rows.items() if not row.at_top)

    @property
    def needs(self) -> tuple[str, ...]:
        return (*self.requires, *(key for key, row in self.own.items() if row.required))

    @property
    def start(self) -> tuple[str, ...]:
        """The keys of a new problem's matrices."""
        return (*self.starts_with, *(key for key, row in self.own.items() if row.start))

    def takes_mask(self, form: str, by_position: bool) -> bool:
        """Return True if a form of masks, perhaps one that asks for positions, has a use."""
        return form in self.masks if self.masks else self.by_position or not by_position

    def variant_of(self, values: Mapping[str, Any]) -> dict[str, str]:
        """Return its variant; by default the first with which all given keys have a use."""
        if not self.variant:
            return {}
        given = [row.only for key, row in self.own.items() if values.get(key) is not None]
        fitting = [one for one in self.variants if all(one in only for only in given if only)]
        return {self.variant: values[self.variant] or [*fitting, *self.variants][0]}

    def result_of(self, values: Mapping[str, Any]) -> str:
        """Return the shape of the last step, which a loss begins with."""
        return self.result

    def has_loss(self, given: Collection[str]) -> bool:
        """Return whether a problem with these keys calculates the loss of its own."""
        return False

    @property
    def source_groups(self) -> tuple[tuple[str, ...], ...]:
        """Groups of keys of which a problem needs one: a matrix, its source, or its product."""
        if "Q" not in self.shapes:
            return ()
        return ("Q", "X", "scores"), ("K", self.source, "scores"), ("V", self.source)


class Option(Declared, is_base=True):
    """A change of several mechanisms' steps; the key that asks for it has its name."""

    halves: ClassVar[int] = 1  # number of parts of each head's queries and keys
    hides_weights: ClassVar[bool] = False  # whether there is no step of all weights
    is_around: ClassVar[bool] = False  # whether its `steps` take those of the mechanism

    def fits(self, kind: Mechanism, keys: Collection[str]) -> bool:
        """Return whether a mechanism with these keys takes it."""
        return False


EVERY_KIND = ("every kind", "every kind, last")
"""The names under which the keys of every kind are declared."""

COMMON, FOLDERS = "attncli.core.problem.keys", "attncli.mechanisms"
"""The module that declares the keys of every kind, and the package of all folders."""


def declared() -> dict[str, Declared]:
    """Return what is declared, by name: for every kind, and in the order of the folders."""
    _import_folders()
    return _in_order(len(DECLARED))


@lru_cache(1)
def _in_order(count: int) -> dict[str, Declared]:
    """Return so many that are declared: a package may add one."""
    every = sorted(DECLARED.values(), key=lambda one: (one.is_last, type(one).__module__))
    return {one.name: one for one in every}


@lru_cache(1)
def _import_folders() -> None:
    import_module(COMMON)
    (path,) = import_module(FOLDERS).__path__
    for folder in sorted(one.name for one in scandir(path) if one.is_dir()):
        if folder.isidentifier() and folder != "__pycache__":
            import_module(f"{FOLDERS}.{folder}")


def every_key() -> dict[str, Key]:
    """Return every key; one that several folders declare is a single one, of all their words."""
    rows: dict[str, Key] = {}
    for one in declared().values():
        for name, row in one.own.items():
            rows[name] = _merged(rows[name], row) if name in rows else row
    return rows


def _merged(one: Key, other: Key) -> Key:
    """Return the row of a key that two folders declare: it takes the words of both."""
    form = one.form
    if isinstance(form, Choice) and isinstance(other.form, Choice):
        words = one.form.words, other.form.words
        form = choice(lambda: [*dict.fromkeys((*words[0](), *words[1]()))])
    is_same = one.meaning == other.meaning
    return replace(
        one,
        form=form,
        meaning=one.meaning if is_same else f"{one.about}; {other.about}",
        kind=f"{one.kind}, {other.kind}" if is_same else "",
        example=", ".join(filter(None, (one.example, other.example))),
        instead={**one.instead, **other.instead},
    )

"""The reader of names of cells: which cells `scores[am, I]`, `weights[:, I]` or z_am mean."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import chain
from typing import TypeAlias

from attncli.core.errors import Fault, InputError, NotThere, fail
from attncli.core.numbers.written import decimal_of
from attncli.core.records import EMPTY, Record, replace
from attncli.core.tape import cell_names, step_words
from attncli.core.tape.cell_names import Cells, size_along, span_of
from attncli.core.tape.operations import Scale, mixes_values
from attncli.core.tape.step import Step, row_letter
from attncli.core.tape.step_words import meant
from attncli.core.text.strings import near_words, regex, those_like, visible

Steps: TypeAlias = Mapping[str, Step]

HEAD = regex(r"(?P<name>.*?)(?<![\s_])[\s_]*+(?:head[\s_]*+)?(?P<head>\d{1,4})", re.IGNORECASE)
"""A step with the number of a head behind it: `Q_2`, `weights head 2`."""

OF_TIME = regex(r".+_\d+")
"""The name of a step at a time, `scores_2`."""

ROW_NAME = regex(r"([a-zA-Z])(\d{1,4})")
"""The letter of a row and its number: `q1` for q_1."""

TRANSPOSED = regex(r"(?P<name>.+?)(?<!\s)\s*+(?:ᵀ|\^\{?(?:T|ᵀ|\\top|⊤)\}?|\.T|(?<=[A-Z])_?T)")
"""A step or an input transposed: Kᵀ, K^T, K_T."""


DIVISOR = regex(
    r"/[\s({]*(?P<root>√|sqrt)?[\s({]*(?P<number>\d+(?:\.\d+)?|(?<=[√({])d)(?![\w.^*/])[\s)}]*"
)
"""A number, or its root, by which scores are divided: /2, /√4, /sqrt(d)."""


def find_cells(
    name: str, steps: Steps, inputs: Steps = EMPTY, added: Collection[str] = ()
) -> Cells:
    """Return the cells that a name means.

    A name is that of a step, or another word for it (`scores`, `S`, `QK^T`), alone or with places
    in brackets behind it: of a cell (`scores[am, I]`, `weights[head 2][am, I]`), a row
    (`scores[am]`), a column (`scores[:, I]`), a range (`scores[1:2, I:am]`, both ends in it) or a
    head (`weights[head 2]`); or that of a row as formulas have it (`q_am`, `z_am`). Without a head
    it means the cells of every head. A place is a label, or a number from 1; `scores(am, I)` and
    `scores of am` are read, too. `added` holds the names of those steps that change nothing.

    Raises:
        InputError: for a step or a cell that does not exist, with a hint at those that do.
    """
    reader = _Reader(steps, inputs, added)
    try:
        return reader.read(name)
    except InputError as error:
        for other in _in_brackets(name.strip()):
            with suppress(InputError):
                return reader.read(other)
        if (step := step_words.step_under(name, steps.values())) is not None:
            return _cells(step, (), name)
        for other, reason in _likely_names(name, reader):
            if reader.accepts(other):
                hint = f"write {visible(other)}{reason}"
                faults = (Fault(x.message, x.path, hint, needs=x.needs) for x in error.faults)
                raise InputError(*faults) from None
        raise


def _in_brackets(name: str) -> Iterator[str]:
    """Yield a name in other words as one with brackets: scores(am, I), scores of am, q_1 · k_2."""
    before, bracket, inside = name.rpartition("(")
    if bracket and inside.endswith(")"):
        yield f"{before}[{inside[:-1]}]"
    if row := step_words.ROW_IN_WORDS.fullmatch(name):
        yield f"{row['step']}[{row['row']}]"
    if product := step_words.PRODUCT.fullmatch(name):
        yield f"scores[{product['query']}, {product['key']}]"


class _Reader(Record):
    """Reads the names of cells of one calculation."""

    steps: Steps
    inputs: Steps
    added: Collection[str]

    def accepts(self, name: str) -> bool:
        try:
            self.read(name)
        except InputError:
            return False
        return True

    def read(self, name: str) -> Cells:
        name = self.with_symbol(name)
        base, bracket, rest = (part.strip() for part in name.partition("["))
        groups = _groups(f"[{rest}", name) if bracket else []
        step, no_row, is_transposed = self.exact(base), None, False
        if step is None and not bracket:
            try:
                row = self.of_row(base)
            except InputError as error:  # it may be another word for a step, as scaled_scores
                row, no_row = None, error
            if row is not None:
                return row
        step = step or self.called(base)
        if step is None and (match := TRANSPOSED.fullmatch(base)):
            step = self.exact(match["name"]) or self.called(match["name"])
            is_transposed = not groups or groups[-1].startswith(step.leading if step else ())
            if not is_transposed and len(words := _parts(groups[-1])) < 3:  # `1, am` for [am, 1]
                groups[-1] = ", ".join([*words[1:], ":"][:1] + words[:1])
        if step is None and (match := HEAD.fullmatch(base)):
            whole = self.exact(match["name"]) or self.called(match["name"])
            if whole is not None and "head" in whole.leading:
                step, groups = whole, [f"head {match['head']}", *groups]
        if step is None and (letter := ROW_NAME.fullmatch(name)) and letter[1].islower():
            with suppress(InputError):
                return self.read(f"{letter[1]}_{letter[2]}")
        if step is None:
            raise no_row or self.unknown(base, name)
        return replace(_cells(step, groups, name), is_transposed=is_transposed)

    def with_symbol(self, name: str) -> str:
        """Return a name with √d_k for a number: QK^T/2, if scores are divided by 2.

        Raises:
            InputError: if they are divided by another number.
        """
        base, bracket, rest = name.partition("[")
        if (match := DIVISOR.search(base)) is None:
            return name
        symbol = f"{base[: match.start()]}/√d_k{base[match.end() :]}"
        scaled = (step.operation for step in self.steps.values() if step.stem == "scaled")
        divisor = next((one.over / one.times for one in scaled if isinstance(one, Scale)), 1.0)
        value, unit = decimal_of(match["number"]) or (divisor, 0.0)  # d is d_k
        right = divisor**2 if match["root"] and match["number"] != "d" else divisor
        if abs(value - right) <= (unit / 2 if unit < 1 else 1e-9):
            return f"{symbol}{bracket}{rest}"
        if meant(symbol, self.steps, self.added):
            message = f"there is no step {visible(base)} in this calculation"
            hint = f"scores are divided by {divisor:.4g} here, which makes scaled"
            raise InputError(NotThere(message, hint=hint, nearest="scaled"))
        return name

    def exact(self, base: str) -> Step | None:
        """Return the step or input of a name, or of a course's name, also of the only layer.

        A word and a number may be that of a step at a time: s_2.
        """
        names = (base, base.removeprefix("layers.1."))
        known_steps = (known.get(name) for name in names for known in (self.steps, self.inputs))
        of_course = (step for step in self.steps.values() if base and step.called == base)
        if step := next(filter(None, chain(known_steps, of_course)), None):
            return step
        timed = [one for one in meant(base, self.steps, self.added) if OF_TIME.fullmatch(one)]
        return self.steps[timed[0]] if len(timed) == 1 else None

    def called(self, word: str) -> Step | None:
        """Return the step that a letter or another word means, None if none does.

        A word that people use for several of the steps is an InputError.
        """
        step = self.of_letter(word)
        step = step or self.likeliest(one for one in self.steps.values() if one.symbol == word)
        names = [] if step else meant(word, self.steps, self.added)
        if len(names) > 1:
            raise several_meant(word, names)
        return self.steps[names[0]] if names else step

    def likeliest(self, steps: Iterable[Step]) -> Step | None:
        """Return the step that is probably meant, of several with the same symbol: the last one.

        A step that changes something is preferred; then one that mixes values, as the rows that
        have this letter on pages do.
        """
        likely = list(steps)
        likely = [one for one in likely if one.name not in self.added] or likely
        likely = [one for one in likely if mixes_values(one)] or likely
        return likely[-1] if likely else None

    def of_letter(self, letter: str) -> Step | None:
        """Return the step whose rows have a letter: q for Q, z for the symbol Z.

        v is a row of the values that weights mix, even if they are an input, X or memory.
        """
        for one in (*self.steps.values(), *self.inputs.values()):
            if row_letter(one) == letter:
                return one
        symbols = ((s, s.symbol[0].lower() + s.symbol[1:]) for s in self.steps.values())
        if (step := self.likeliest(s for s, symbol in symbols if symbol == letter)) is not None:
            return step
        return self.inputs.get("memory", self.inputs.get("X")) if letter == "v" else None

    def of_row(self, base: str) -> Cells | None:
        """Return the cells of a row, in every head, by its name in formulas: q_am."""
        pieces = base.split("_")
        for count in range(len(pieces) - 1, 0, -1):
            letter, word = "_".join(pieces[:count]), "_".join(pieces[count:])
            step = self.of_letter(letter) or (self.called(letter) if word.isdecimal() else None)
            # weights_2 is the second head if there are heads; q_2 is the second row of each head.
            is_head = word.isdecimal() and (len(letter) > 1 or letter.isupper())
            if step is not None and not (is_head and "head" in step.leading):
                leads = map(range, step.value.shape[: len(step.leading)])
                return Cells(step, (*leads, *_along(step, [word], base)))
        return None

    def unknown(self, base: str, name: str) -> InputError:
        """Return the error for a name that means no step, with the nearest that does."""
        known = [*self.steps, *(word for step in self.steps for word in step_words.words_of(step))]
        rest = name.strip()[len(base) :]
        words = near_words(base, known)
        near = [step for word in words for step in meant(word, self.steps, self.added)]
        near += near_words(base, self.inputs)
        nearest = next(iter(near), "")
        hint = f"there are {those_like(base, [*self.steps], 'attn explain INPUT')}"
        if nearest:
            places = visible(rest) if self.accepts(nearest + rest) else ""
            hint = f"did you mean {nearest}{places}?"
        message = f"there is no step {visible(base)} in this calculation"
        return InputError(NotThere(message, hint=hint, nearest=nearest))


def find_steps(word: str, steps: Steps, inputs: Steps, added: Collection[str]) -> list[Step]:
    """Return the steps that a word, a symbol or a pattern such as `d_*` means, which may be none.

    A name, or a heading, is one that `find_cells` reads, with the same arguments, and may be that
    of an input.

    Raises:
        InputError: for a word that people use for several of the steps.
    """
    if "*" in word:
        return [step for name, step in steps.items() if fnmatchcase(name, word)]
    for name in (word, word.removeprefix("layers.1.")):
        if name in steps:
            return [steps[name]]
    if of_layers := [one for one in steps.values() if word in (one.plain, one.called)]:
        return of_layers
    try:
        cells = find_cells(word, steps, inputs, added)
    except InputError as error:
        if isinstance(error.faults[0], NotThere):
            return []
        raise
    step = cells.step if cells.is_whole else step_words.step_under(word, steps.values())
    return [] if step is None else [step]


def several_meant(word: str, names: Sequence[str]) -> InputError:
    """Return the error for a word that people use for several of the steps."""
    message = f"{visible(word)} may mean {', '.join(names[:-1])} or {names[-1]} here"
    return fail(message, hint="write the name of the step")


def _cells(step: Step, groups: Sequence[str], name: str) -> Cells:
    """Return the cells that places in brackets mean, such as `head 2` and `am, I`."""
    axes = "|".join(step.leading) or "(?!)"  # which matches nothing
    named = [re.fullmatch(rf"({axes})\s*(.+)", group) for group in groups]
    heads_alone = step.leading and len(groups) == 1 and groups[0].isdecimal()
    words = None if not groups or named[-1] or heads_alone else _parts(groups[-1])
    places: dict[str, int | range] = {}
    for number, group in enumerate(groups if words is None else groups[:-1]):
        match = named[number]
        # A single number is of the innermost: of the heads, where there are batches too.
        at = -1 if heads_alone else number
        axis = match[1] if match else step.leading[at] if number < len(step.leading) else ""
        if axis not in step.leading or axis in places:
            raise _wrong_lead(step, name)
        places[axis] = span_of(step, axis, match[2] if match else group, name)
    if words is not None and 0 < len(places) < len(step.leading):
        raise _wrong_lead(step, name)
    leads = (places.get(axis, range(size_along(step, axis))) for axis in step.leading)
    return Cells(step, (*leads, *_along(step, words or [], name)))


def _wrong_lead(step: Step, name: str) -> InputError:
    has = " and ".join(f"an axis {axis}" for axis in step.leading) or "only one matrix"
    return fail(f"{visible(name)}: {step.name} has {has}", hint=f"such as {_first_cell(step)}")


def _first_cell(step: Step) -> str:
    return cell_names.cell_name(step, (0,) * step.value.ndim)


def _along(step: Step, words: Sequence[str], name: str) -> tuple[int | range, ...]:
    """Return the places along rows and columns that words name; all where no word is."""
    axes = step.trailing
    on_paper = step.swapped(tuple(range(len(axes))))
    named = [at for at in on_paper if axes[at] != "sum"]
    if len(words) < len(named):  # a row is a token's, also where tokens are columns
        named = sorted(named)[: len(words)]
    elif len(words) == len(axes):
        named = list(on_paper)
    if len(words) > len(named):
        axes = step.swapped(axes)
        places = f"of the places of {step.name}, which are {', '.join(axes)}"
        hint = f"such as {_first_cell(step)}"
        raise fail(f"{visible(name)} gives {len(words)} {places}", hint=hint)
    pairs = zip(named, words, strict=True)
    spans = {at: span_of(step, axes[at], word, name) for at, word in pairs}
    return tuple(spans.get(at, range(size_along(step, axes[at]))) for at in on_paper)


def _groups(rest: str, name: str) -> list[str]:
    groups = re.findall(r'\[((?:"[^"]*"|[^\[\]"])*)\]', rest)
    if not groups or re.sub(r"\]\s+\[", "][", rest) != "".join(f"[{g}]" for g in groups):
        hint = "write it as scores[am, I] or scores[2, 1]"
        raise fail(f"{visible(name)} is not the name of a cell", hint=hint)
    return [group.strip() for group in groups]


def _parts(group: str) -> list[str]:
    """Return the words between commas; a text in double quotes is one word."""
    plain = re.sub('"[^"]*"', "q", group)
    if plain.strip() and not all(map(str.strip, plain.split(","))):
        raise fail(f"[{visible(group)}] leaves a place empty", hint="write : for all places")
    return [part.strip() for part in re.findall(r'((?:"[^"]*"|[^,"])+)', group)]


def _likely_names(name: str, reader: _Reader) -> Iterator[tuple[str, str]]:
    """Yield the names that may have been meant, the likeliest first, with a reason for the hint.

    NumPy counts from 0, and has a bracket for each axis or one for all: scores[1][0] is
    scores[2, 1] here, and weights[1, 0, 2] is weights[head 2][1, 3].
    """
    base, bracket, rest = (part.strip() for part in name.partition("["))
    if row := ROW_NAME.fullmatch(name):
        yield f"{row[1].lower()}_{row[2]}", " for a row"
    if not bracket or not reader.accepts(base):
        return
    step = reader.read(base).step
    if not rest.endswith("]"):
        yield f"{name.strip()}]", ""
        return
    groups = re.findall(r"\[([^\[\]]*)\]", f"[{rest}")
    chained = len(groups) > 1 and not any("," in group for group in groups)
    words = [word for group in groups for word in _parts(group)]
    shifted = [str(int(w) + 1) if re.fullmatch(r"\d{1,9}", w) else w for w in words]
    from_one = ", as places count from 1"
    if (chained or "0" in words) and shifted != words:
        yield _name(step, base, shifted), from_one
    yield _name(step, base, words), from_one if chained and shifted != words else ""
    yield _name(step, base, [*("1" for _ in step.leading), *words]), ""


def _name(step: Step, base: str, words: Sequence[str]) -> str:
    count = len(step.leading)
    leads = zip(step.leading, words, strict=False)
    lead = "".join(f"[{axis} {word.removeprefix(axis).strip()}]" for axis, word in leads)
    return f"{base}{lead}[{', '.join(words[count:])}]"

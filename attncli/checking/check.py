"""Reports on submissions: the first wrong number, its cause, and points."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np

from attncli.checking.answers.answers import read_submission
from attncli.checking.answers.program_arrays import dtype_of, read_arrays, type_of_printed
from attncli.checking.answers.step_names import (
    At,
    mask_of,
    named_steps,
    refuse_many_unknown,
    with_step_names,
)
from attncli.checking.answers.written_cells import Matrices, ShapeMismatch
from attncli.checking.judging import judged_steps
from attncli.checking.judging.agreement import agrees
from attncli.checking.judging.judged_steps import Finding, Judged, behind
from attncli.checking.judging.operands import Reference
from attncli.checking.judging.readings import Way, judged_as_read, likeliest_way
from attncli.checking.naming.diagnosis import carried_forward, with_another_problem
from attncli.core.arithmetic.elements import Array
from attncli.core.arithmetic.machine import one_blas_thread
from attncli.core.calculation.trace import Shown, Trace, equal_steps, with_named_steps
from attncli.core.errors import InputError, located
from attncli.core.problem.marking import Marking, as_points
from attncli.core.problem.problem import Problem
from attncli.core.records import EMPTY, Record, replace
from attncli.core.text.strings import all_of
from attncli.reading.document import Submission, Unread, submission_of

MAX_KEPT_REPORTS = 64
"""Maximum number of reports that are kept for submissions with the same numbers. In a class of
which a quarter hands in copies, this saves a quarter of the time. Chosen."""


class Report(Record, Shown, eq=False):
    """What was found in one student's answers.

    Attributes:
        trace: the right calculation.
        findings: the mistake in a wrong step, by the step's name, where one is known.
        strict: whether a number that is off in its last digit, or rounded early, is wrong.
        said: a sentence on each correct way of working that is not the problem's, and one on steps
            that earn nothing.
        comment: the remarks beside the matrices, of the student or of the person who typed them.
        answers: for each wanted name, the step whose numbers count: the step of that name, or one
            that equals it.
        cells: which cells of that step count, as an index of its value; () for all.
        skipped: the keys of the answers that mean no step, each with a hint; "" for one that is
            clearly no answer.
        dtype: the type of the floats of arrays from a program; "" for handwork.
        convention: what was done otherwise in the whole of such a calculation.
        unearned: the rows that follow from invented numbers without work, and earn 0, by step.
        apart: how many numbers of a step were not compared, as their query sees no key.
        no_cause: why the cause of the first array that differs is unknown; "" if none is found.
    """

    name: str
    trace: Trace
    steps: Mapping[str, Judged]
    findings: Mapping[str, Finding]
    strict: bool = False
    said: tuple[str, ...] = ()
    comment: str = ""
    marking: Marking = Marking()
    answers: Mapping[str, str] = EMPTY
    title: str = ""
    cells: Mapping[str, At] = EMPTY
    skipped: tuple[tuple[str, str], ...] = ()
    dtype: str = ""
    convention: Finding | None = None
    unearned: Mapping[str, Array] = EMPTY
    apart: Mapping[str, int] = EMPTY
    no_cause: str = ""

    @property
    def tells_place(self) -> bool:
        """True if it tells the place of a matrix in a file, which has a wrong shape."""
        return any(isinstance(judged, judged_steps.Misshapen) for judged in self.steps.values())

    def __repr__(self) -> str:
        first = f", first at {self.first_wrong_step}" if self.first_wrong_step else ""
        counts = ", ".join(f"{count} {status}" for status, count in self.counts.items() if count)
        return f"<Report {self.verdict}{first}: {counts or 'no numbers'}>"

    def is_wrong(self, judged: Judged) -> bool:
        return judged.status == "wrong" or any(map(judged.has, self.codes_of_wrong))

    def is_from_slip(self, judged: Judged) -> bool:
        """Return True if a step relies on a wrong one, and not only on one that was rounded."""
        return any(self.is_wrong(self.steps[x]) for x in behind([judged.step.name], self.steps))

    @property
    def codes_of_wrong(self) -> tuple[int, ...]:
        """The statuses that count as wrong."""
        also = (judged_steps.LAST_DIGIT, judged_steps.ROUNDED_EARLY) if self.strict else ()
        return judged_steps.WRONG, *also

    def codes(self, name: str) -> Array:
        return self.steps[self.answers[name]].on_paper[self.cells[name]]

    def status(self, name: str) -> str:
        codes = self.codes(name)
        worst = (code for code in judged_steps.WORST_FIRST if code in codes)
        return next((judged_steps.STATUSES[code] for code in worst), "missing")

    @cached_property
    def counting(self) -> dict[str, Array]:
        """The status of the cells that count, by step; of written steps if none are asked for."""
        written = {n: one.on_paper for n, one in self.steps.items() if one.status != "missing"}
        return self._codes_by_step(self.marking.ask) or written

    @property
    def wanted(self) -> dict[str, Array]:
        """The status of the cells that have a wanted name, by step; of shown steps without one."""
        return self._codes_by_step(self.marking.expected) or self.counting

    def _codes_by_step(self, names: Collection[str]) -> dict[str, Array]:
        """Return the status of each cell that one of the names means, by the step that answers."""
        cells: dict[str, list[At]] = {}
        for name in names:
            cells.setdefault(self.answers[name], []).append(self.cells[name])
        steps = self.steps
        return {s: steps[s].on_paper[mask_of(self.trace[s], at)] for s, at in cells.items()}

    @property
    def left_out(self) -> dict[str, tuple[int, int]]:
        """The numbers of missing cells and of all cells, by wanted name with missing ones."""
        every = {name: self.codes(name) for name in self.marking.expected}
        missing = ((n, int((codes == judged_steps.MISSING).sum())) for n, codes in every.items())
        return {name: (count, every[name].size) for name, count in missing if count}

    @property
    def not_given(self) -> list[str]:
        """The wanted names of which the student gave no number."""
        return [name for name, (missing, size) in self.left_out.items() if missing == size]

    @cached_property
    def wrong_steps(self) -> list[str]:
        """The names of wrong steps that count, or that carry an error into cells that count."""
        wrong = [name for name, judged in self.steps.items() if self.is_wrong(judged)]
        if not self.marking.ask:
            return wrong
        cells = self.counting.items()
        counting = {name for name, codes in cells if np.isin(codes, self.codes_of_wrong).any()}
        following = [name for name, codes in cells if judged_steps.FOLLOWS in codes]
        counting.update(behind(following, self.steps))
        return [name for name in wrong if name in counting]

    @property
    def first_wrong_step(self) -> str | None:
        return next(iter(self.wrong_steps), None)

    @cached_property
    def verdict(self) -> str:
        """`correct`, `incomplete`, `wrong`, or `empty` where nothing was given."""
        if self.wrong_steps:
            return "wrong"
        is_passed_over = any(hint for _, hint in self.skipped)
        is_empty = all((codes == judged_steps.MISSING).all() for codes in self.counting.values())
        if is_empty and not is_passed_over:
            return "empty"
        given = (one for one in self.steps.values() if isinstance(one, judged_steps.Given))
        is_blank = any((one.written.texts == "").all() for one in given)  # a name without numbers
        is_left_out = self.left_out if self.marking.expected else is_blank
        return "incomplete" if is_left_out or is_passed_over else "correct"

    @property
    def points(self) -> dict[str, float]:
        """The points that each name earns: its own, times the share of its cells that are right.

        A cell that follows from a slip, and not only from rounding, counts `marking.follow`; one
        with too few digits, and right to those, `marking.few_digits`; one that is both, their
        product.
        """
        points = self.marking.points.items()
        return {name: as_points(worth * self.share(name)) for name, worth in points}

    @property
    def total(self) -> float:
        return as_points(sum(self.points.values()))

    def share(self, name: str) -> float:
        """Return the share of its points that a name earns."""
        judged = self.steps[self.answers[name]]
        near = 0.0 if self.strict else 1.0
        follow = self.marking.follow if self.is_from_slip(judged) else 1.0
        # In the order of STATUSES: correct, last digit, rounded early, follows, wrong, missing.
        earned = np.array([1.0, near, near, follow, 0.0, 0.0])[judged.codes]
        if isinstance(judged, judged_steps.Compared) and judged.short is not None:
            written = judged.written
            is_right = agrees(written.values, written.unit, judged.step.array)
            few = self.marking.few_digits * np.where(is_right, 1.0, follow)
            earned = np.where(judged.short, few, earned)
        if (trivial := self.unearned.get(judged.step.name)) is not None:
            earned = np.where(trivial, 0.0, earned)
        earned = judged.step.on_paper(earned)[self.cells[name]]
        return float(earned.mean()) if earned.size else 0.0

    @property
    def counts(self) -> dict[str, int]:
        counts = [judged.counts for judged in self.steps.values()]
        return {status: sum(count[status] for count in counts) for status in judged_steps.STATUSES}


Graded: TypeAlias = Report | Unread
"""The report on a submission, or why there is none."""


class AnswerKey:
    """The correct numbers of a problem, calculated once for any number of submissions.

    Raises:
        InputError: if the problem cannot be calculated, or its marking names no step of it.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._reference = Reference.of(problem)
        self._names = self._reference.trace
        self._reports: dict[str, Report] = {}
        self._same = equal_steps(self._names)
        self.marking, self._meant = with_step_names(self._names)

    @property
    def trace(self) -> Trace:
        return self._reference.whole.trace

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_reports": {}}  # copies keep none

    def check(self, answers: Mapping[str, object] | Submission, strict: bool = False) -> Report:
        """Judge one student's answers: a submission that was read, or matrices by step name.

        If strict, a number that is off in its last digit, or was rounded early, is wrong.

        Raises:
            InputError: for answers that cannot be read.
        """
        if not isinstance(answers, Submission):
            answers = submission_of(answers, "answers")
        contents = answers.contents if self._reference.is_small else ""
        report = self._reports.pop(contents, None)
        if report is None:
            with located(answers.locate):
                refuse_many_unknown(answers.answers, self._names)
            report, said, skipped = judged_as_read(answers, self._names, self._judged)
            report = replace(report, said=said + report.said, skipped=report.skipped + skipped)
        if contents and not report.tells_place:
            self._reports[contents] = report  # as the last one, which is dropped last
            if len(self._reports) > MAX_KEPT_REPORTS:
                self._reports.pop(next(iter([*self._reports])), None)  # a thread may have done so
        return replace(report, name=answers.name, strict=strict, comment=answers.comment)

    def misfits(self, submission: Submission) -> tuple[int, int]:
        """Return how many matrices have the shape of no step of this name, and how many no name."""
        try:
            matrices, skipped = read_submission(submission, self._names)
        except InputError:
            matrices = {}
        if not matrices:
            return len(submission.matrices), 0
        wrong = sum(isinstance(one, ShapeMismatch) for one in matrices.values())
        return wrong, len(skipped)

    def _of_arrays(
        self, submission: Submission, reference: Reference, arrays: Matrices, dtype: str
    ) -> Report:
        from attncli.checking.explained_arrays import explained
        from attncli.checking.mistakes.conventions import CONVENTIONS

        with one_blas_thread():  # as hundreds of small products are compared
            asked = {self._same.get(step.name, step.name) for step, _ in self._meant.values()}
            best, said, findings, why = explained(reference, arrays, self.marking, dtype, asked)
        report = self._report(submission, best.trace, best.steps, findings, arrays, said)
        first = findings.get(best.wrong[0]) if best.wrong else None
        convention = first if first and first.id in CONVENTIONS else None
        about = {"convention": convention, "apart": best.apart, "no_cause": why}
        return replace(report, dtype=best.dtype, **about)

    def _report(
        self,
        submission: Submission,
        trace: Trace,
        steps: Mapping[str, Judged],
        findings: Mapping[str, Finding],
        shown: Container[str],
        said: tuple[str, ...],
        renamed: Mapping[str, str] = EMPTY,
    ) -> Report:
        meant = self._meant.items()
        answers = {n: self._answered_by(step.name, shown, renamed) for n, (step, _) in meant}
        unearned = dict(judged_steps.without_work(steps, findings))
        asked = {answers[name] for name in self.marking.expected}
        if names := [name for name in unearned if name in asked]:
            why = "where no work was left: no mistake explains the earlier numbers."
            said = (*said, f"No points for {all_of(names)} {why}")
        return Report(
            submission.name,
            trace,
            steps,
            findings,
            said=said,
            comment=submission.comment,
            marking=self.marking,
            answers=answers,
            title=self.problem.title,
            cells={name: at for name, (_, at) in meant},
            unearned=unearned,
        )

    def _answered_by(self, name: str, shown: Container[str], renamed: Mapping[str, str]) -> str:
        """Return the step whose numbers count for a wanted one: itself, or one that equals it."""
        base = self._same.get(name, name)
        group = [name, base, *(other for other, known in self._same.items() if known == base)]
        return next((one for one in (*group, renamed.get(base, base)) if one in shown), base)

    def _judged(self, submission: Submission) -> Report:
        reference, names = self._reference, named_steps(submission.answers, self._names)
        if names:
            change = partial(reference.changed, partial(with_named_steps, names=names))
            reference = reference.kept(("named", names), change)
        # A student may write 1e308 or −∞ anywhere; what comes of that, an infinity or no number at
        # all, fits no right number and so needs no warning.
        with np.errstate(all="ignore"):
            trace = reference.trace
            with located(submission.locate):
                if dtype := dtype_of(submission.answers, trace, self.marking):
                    matrices, skipped = read_arrays(submission, trace)
                else:
                    reference = reference.whole
                    matrices, skipped = read_submission(submission, reference.trace)
                    dtype = type_of_printed(matrices)
            if dtype:
                report = self._of_arrays(submission, reference, matrices, dtype)
                return replace(report, skipped=skipped)
            way = likeliest_way(Way(reference, matrices, submission))
            steps, findings = carried_forward(way.judge)
            findings = with_another_problem(way, steps, findings)
        trace, shown = way.reference.trace, way.matrices
        report = self._report(submission, trace, steps, findings, shown, way.said, way.renamed)
        return replace(report, skipped=skipped)


def check(
    problem: Problem,
    answers: Mapping[str, object] | Submission | None = None,
    strict: bool = False,
    marking: Marking | Mapping[str, object] | None = None,
) -> Report:
    """Check hand-worked matrices against the right ones.

    Args:
        problem: what was worked.
        answers: matrices by step name (lists, text, arrays; written numbers keep their digits), or
            a submission that was read from a file; by default the problem's own key `answers`.
        strict: whether a number that is off in its last digit, or rounded early, is wrong.
        marking: what is asked, such as {"ask": ["weights"]}; it overrides the problem's own key.

    Raises:
        InputError: for answers that cannot be read, such as an unknown step; for a marking of
            steps that are not there.

    >>> from attncli import Problem
    >>> problem = Problem(X=[[1, 3, 2], [1, 1, 3], [1, 2, 1]], score="dot")
    >>> report = check(problem, {"scores": [[14, 10, 9], [10, 11, 6], [9, 6, 7]]})
    >>> report.verdict, report.first_wrong_step, report.findings["scores"].message
    ('wrong', 'scores', 'scores[3, 3] is wrong: perhaps 1·1 was counted twice.')
    """
    if marking is not None and isinstance(problem, Problem):  # else the key refuses it
        problem = problem.marked(marking)
    key = AnswerKey(problem)
    return key.check(Submission.inside(problem) if answers is None else answers, strict)

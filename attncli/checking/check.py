"""Hand-worked answers against the right ones: the first wrong number, and what went wrong."""

from __future__ import annotations

from collections.abc import Mapping

from attncli.checking.answers import Submission, read_submission, submission_of
from attncli.checking.diagnosis import diagnose
from attncli.checking.judged import LAST_DIGIT, ROUNDED_EARLY, STATUSES, Finding, Judged, Misshapen
from attncli.checking.names import named_steps
from attncli.checking.ways import Way, likeliest
from attncli.errors import Fault, fail, located
from attncli.mechanisms.compute import compute
from attncli.mechanisms.named import with_named_steps
from attncli.mechanisms.trace import Trace
from attncli.problem.problem import Problem
from attncli.records import Record
from attncli.text.notebook import Shown


class Report(Record, Shown):
    """What was found in one student's answers.

    Attributes:
        name: the student, or the file.
        trace: the right calculation.
        steps: each step of it, judged.
        findings: the mistake in a wrong step, by the step's name, where one is known.
        strict: whether a number that is off in its last digit, or rounded early, is wrong.
        said: a sentence for each thing that was done otherwise than the problem has it, and right.
    """

    name: str
    trace: Trace
    steps: Mapping[str, Judged]
    findings: Mapping[str, Finding]
    strict: bool = False
    said: tuple[str, ...] = ()

    def is_wrong(self, judged: Judged) -> bool:
        """Whether a step has a wrong cell."""
        is_near = judged.has(LAST_DIGIT) or judged.has(ROUNDED_EARLY)
        return judged.status == "wrong" or (self.strict and is_near)

    @property
    def wrong_steps(self) -> list[str]:
        """The names of the steps with a wrong cell, in the order of computation."""
        return [name for name, judged in self.steps.items() if self.is_wrong(judged)]

    @property
    def first_wrong_step(self) -> str | None:
        """Where it went wrong; None where it did not."""
        return next(iter(self.wrong_steps), None)

    @property
    def verdict(self) -> str:
        """`correct` or `wrong`; `empty` where nothing was given."""
        if self.wrong_steps:
            return "wrong"
        return "empty" if all(one.status == "missing" for one in self.steps.values()) else "correct"

    @property
    def mismatches(self) -> list[Fault]:
        """What is wrong with matrices whose shape is not the step's."""
        steps = self.steps.values()
        return [judged.mismatch.fault for judged in steps if isinstance(judged, Misshapen)]

    @property
    def counts(self) -> dict[str, int]:
        """How many cells of all steps have each status."""
        counts = [judged.counts for judged in self.steps.values()]
        return {status: sum(count[status] for count in counts) for status in STATUSES}


class AnswerKey:
    """The right numbers of a problem, calculated once for any number of answers.

    Raises:
        InputError: if the problem cannot be calculated.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.trace = compute(problem)
        # Whoever keeps every digit is right, too, where the problem asks for rounded steps.
        self.others = (compute(problem, rounded=False),) if problem.round else ()

    def check(self, sheet: Submission, strict: bool = False) -> Report:
        """Judge one student's answers; strictly, a number that is off in its last digit is wrong.

        Raises:
            InputError: for answers that cannot be read.
        """
        names = named_steps(sheet.matrices, self.trace)
        traces = tuple(with_named_steps(one, names) for one in (self.trace, *self.others))
        with located(sheet.locate):
            given = read_submission(sheet, traces[0])
        way, judge = likeliest(Way(traces, given), sheet)
        found = {judged.step.name: diagnose(judge, judged) for judged in judge.judged.values()}
        findings = {name: finding for name, finding in found.items() if finding}
        return Report(sheet.name, judge.trace, judge.judged, findings, strict, way.said)


def check(
    problem: Problem, answers: Mapping[str, object] | Submission | None = None, strict: bool = False
) -> Report:
    """Check hand-worked matrices against the right ones.

    Args:
        problem: what was worked.
        answers: matrices by step name (lists, text, arrays; written numbers keep their digits), or
            a sheet that was read from a file; by default the problem's own key `answers`.
        strict: whether a number that is off in its last digit is wrong.

    Raises:
        InputError: for answers that cannot be read: an unknown step, a cell that is no number.

    >>> from attncli import Problem
    >>> problem = Problem(X=[[1, 3, 2], [1, 1, 3], [1, 2, 1]], score="dot")
    >>> report = check(problem, {"scores": [[14, 10, 9], [10, 11, 6], [9, 6, 7]]})
    >>> report.verdict, report.first_wrong_step, report.findings["scores"].message
    ('wrong', 'scores', 'scores[3, 3] is wrong: perhaps 1·1 was counted twice.')
    """
    if not isinstance(answers, Submission):
        answers = own_submission(problem) if answers is None else submission_of(answers, "answers")
    return AnswerKey(problem).check(answers, strict)


def own_submission(problem: Problem) -> Submission:
    """Return the answers that stand in the problem itself.

    Raises:
        InputError: if there are none.
    """
    if problem.answers is None:
        hint = "name a file of answers, or put the matrices under the key answers"
        with located(problem.source):
            raise fail("the problem has no answers to check", hint=hint)
    return submission_of({"answers": problem.answers}, problem.title or "answers", problem.source)

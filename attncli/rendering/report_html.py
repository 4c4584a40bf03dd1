"""Reports in HTML: the page of the problem, with a student's answers below each step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attncli.files.grading import Graded, Unread
from attncli.mechanisms.trace import Trace
from attncli.rendering.html import Answers, traces
from attncli.rendering.markup import Script, matrix_table, page_parts, text
from attncli.rendering.report import Remark, ReportPage, report_page
from attncli.rendering.selection import ReportSelection, Selection
from attncli.rendering.tally import Tally
from attncli.rendering.verdicts import reason

REMARK_STYLES = {"✗": "wrong", "≈": "near"}
"""The style of a remark by its sign; that of the others is `right`."""


def reports(
    graded: Iterable[Graded], selection: ReportSelection, ids: bool = True
) -> Iterator[bytes]:
    """Yield the page of the problem with a student's answers, for each student in turn."""
    every = list(graded)
    between = [_section(paragraphs(Tally(every).lines())) if len(every) > 1 else ""]
    shown, answers = list[Trace](), list[Answers]()
    for one in every:
        if isinstance(one, Unread):
            between[-1] += _section(verdict_line(f"? {one.name}: {reason(one)}"))
        else:
            shown.append(one.trace)
            answers.append(_answers(report_page(one, selection, ids=ids)))
            between.append("")
    if shown:
        own = Selection(selection.decimals, selection.full, selection.only, selection.quiet)
        yield from traces(shown, own, answers, between)
    else:
        yield "".join(page_parts("Answers", between, Script())).encode()


def _section(markup: str) -> str:
    return f"<section>\n{markup}</section>\n"


def _answers(page: ReportPage) -> Answers:
    verdict = verdict_line(f"{page.sign} {page.name}: {page.verdict}")
    above = f"{verdict}{paragraphs(page.summary)}{comment(page)}"
    return Answers(page.name, above, {name: remark(one) for name, one in page.remarks.items()})


def verdict_line(words: str) -> str:
    return f'<p class="verdict" dir="auto">{text(words)}</p>\n'


def paragraphs(lines: Iterable[str]) -> str:
    return "".join(f"<p>{text(line)}</p>\n" for line in lines)


def comment(page: ReportPage) -> str:
    return "".join(f'<p class="notes" dir="auto">“{text(x)}”</p>\n' for x in page.comment)


def remark(shown: Remark) -> str:
    parts = [f'<div class="remark {REMARK_STYLES.get(shown.sign, "right")}">']
    parts += [f"<p>({shown.aside})</p>"] if shown.aside else []
    parts += [f"<p>{shown.outcome}</p>"] if shown.outcome else []
    for comparison in shown.comparisons:
        caption = ", ".join(filter(None, ("yours", comparison.words)))
        table = matrix_table(comparison.yours, text(caption), caption)
        parts.append(f'<div class="figure"><div class="part">{table}</div></div>')
    for sign, sentence, advice in shown.sentences:
        said = f"<b>{text(sentence)}</b> {text(advice)}" if advice else text(sentence)
        parts.append(f"<p>{sign} {said}</p>" if sign else f"<p>{said}</p>")
    return "".join([*parts, "</div>\n"])

"""Markdown, LaTeX and HTML: well-formed, whole, with the right numbers, and text shown as text."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt

from attncli.core.text.strings import visible
from tests.conftest import SAMPLE_FILES, SAMPLES, TYPICAL_SAMPLES, Attn
from tests.oracles.hostile import HOSTILE, PROBLEM
from tests.support.snapshots import assert_same
from tests.support.told_in_pages import told_in

SHOWN = [visible(text) for text in HOSTILE]

PDFLATEX = shutil.which("pdflatex")
XELATEX = shutil.which("xelatex")
needs_pdflatex = pytest.mark.needs("pdflatex")
needs_xelatex = pytest.mark.needs("xelatex")


def element_of(page: str) -> ElementTree.Element:
    """Return a page read as strict XML, which is all that stands after the doctype."""
    assert page.startswith("<!DOCTYPE html>\n")
    return ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n"))


def text_of(element: ElementTree.Element) -> str:
    return "".join(element.itertext())


class Strict(HTMLParser):
    """Reads a page as a browser's tokenizer does and keeps what is open."""

    VOID = ("meta", "br", "mspace")

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep it as open."""
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Only some elements may close themselves."""
        assert tag in self.VOID, f"<{tag}/> does not close itself in HTML"
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Only what was opened last may end."""
        assert self.open.pop() == tag


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda p: p.name)
def test_page_is_well_formed_and_asks_for_nothing(path: Path, attn: Attn) -> None:
    page = attn("compute", path, "-f", "html").out
    element_of(page)
    parser = Strict()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    for tag, attributes in parser.tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form")
        assert not {"src", "srcset", "action", "xlink:href"} & set(attributes)
        if tag == "th" and "scope" not in attributes:
            assert attributes == {}, "only the dots of what is left out are no header of anything"
    assert not re.search(r"https?:|@import|url\(|fetch\(|XMLHttpRequest|import\(", page)
    assert len([tag for tag, _ in parser.tags if tag == "td"]) > 2
    places = [attributes["id"] for _, attributes in parser.tags if "id" in attributes]
    assert len(places) == len(set(places))
    assert not any(" " in str(place) for place in places)
    links = [attributes["href"] for _, attributes in parser.tags if "href" in attributes]
    assert links
    assert {str(link) for link in links} <= {f"#{place}" for place in places}


def values(step: dict[str, Any]) -> list[str]:
    """Return the numbers of a step's JSON in reading order, as text with up to 4 decimals."""

    def flat(value: Any) -> list[Any]:
        return [x for part in value for x in flat(part)] if isinstance(value, list) else [value]

    return [f"{float(x):.4f}" for x in flat(step["value"])]


def cells(element: ElementTree.Element) -> list[str]:
    """Return the numbers of a table."""
    texts = [text_of(cell).replace("−", "-").replace("∞", "inf") for cell in element.iter("td")]
    return [f"{float(text):.4f}" for text in texts if text]


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda p: p.name)
def test_page_has_the_numbers_of_the_calculation(path: Path, attn: Attn) -> None:
    """A step's section has its numbers, or that of the step before it, with which it stands."""
    page = element_of(attn("compute", path, "-f", "html").out)
    sections = {s.get("id"): s for s in page.iter("section") if s.get("class") == "step"}
    lines = attn("compute", path, "-f", "json").out.splitlines()
    compared = 0
    for index, line in enumerate(lines):
        steps = json.loads(line)["steps"]
        assert len(steps) > 2
        section = ElementTree.Element("section")
        for name, step in steps.items():
            section = sections.get(f"{name}-{index + 1}" if index else name, section)
            shown = [cells(table) for table in section.iter("table")]
            if name == "h_0" and not shown:
                continue  # the zeros that it is by default stand in its formula
            if name.startswith("d_") and step["formula"].rpartition(" = ")[2] in {"0", *steps}:
                continue  # what vanishes, or is another step, is only said
            wanted = values(step)
            if name == "weights" and "weights_1" in steps:  # states still to come are blank
                wanted = [number for number in wanted if number != "0.0000"]
            compared += len(wanted)
            if len(step["axes"]) == 2:
                assert wanted in shown, name
            else:
                rest = [number for table in shown for number in table]
                assert wanted
                assert all(number in rest for number in wanted), name
    assert compared >= 4, "a page without numbers shows nothing"


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda p: p.name)
def test_every_explanation_of_a_page_ends_in_the_number_of_its_cell(path: Path, attn: Attn) -> None:
    page = attn("compute", path, "-f", "html").out
    shown: dict[str, set[str]] = {}
    for cell in element_of(page).iter("td"):
        if number := cell.get("data-c"):
            shown.setdefault(number, set()).add(same(text_of(cell)))
    made = told_in(page)
    assert set(made) <= set(shown)
    assert any(about.links for about in made.values())
    for number, about in made.items():
        last = [line for line in about.lines if not line.startswith("as ")][-1]
        assert {same(re.split("[=≈]", last.removesuffix(" (given)"))[-1])} == shown[number]
        assert about.lit <= set(shown)


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda p: p.name)
def test_every_number_of_an_explanation_leads_to_the_cell_that_shows_it(
    path: Path, attn: Attn
) -> None:
    page = attn("compute", path, "-f", "html").out
    shown = {cell.get("data-c"): same(text_of(cell)) for cell in element_of(page).iter("td")}
    links = [link for about in told_in(page).values() for link in about.links]
    assert len(links) > 5
    for text, number in links:
        # Of a number in a formula there may be more digits, so that the formula gives its result.
        assert (
            same(text) == shown[number]
            or abs(float(text.replace("−", "-")) - float(shown[number])) < 1e-4
        )


def same(text: str) -> str:
    """Return a number as a page shows it with up to 4 decimals."""
    return f"{float(text.replace('−', '-').replace('∞', 'inf')):.4f}" if text.strip() else ""


def test_sources_are_the_row_and_the_column_that_a_product_is_made_of(attn: Attn) -> None:
    """scores[am, I] = q_am · k_I, so its sources are the row of Q and the column of Kᵀ."""
    written = attn("compute", SAMPLES / "i_am_good.yaml", "-f", "html").out
    (section,) = [s for s in element_of(written).iter("section") if s.get("id") == "scores"]
    q, k, scores = ([list(r.iter("td")) for r in t.iter("tr")] for t in section.iter("table"))
    about = told_in(written)[scores[2][0].get("data-c") or ""]
    assert about.name == "scores[am, I]"
    assert about.lines == ["scores[am, I] =qam·kI", "=1·1 +1·3 +3·2", "=10"]
    row = [c.get("data-c") for c in q[1]]
    column = [line[0].get("data-c") for line in k[1:]]
    assert about.lit == {*row, *column}
    leads = [cell for pair in zip(row, column, strict=True) for cell in pair]
    assert about.links == list(zip("111332", leads, strict=True))


def test_formulas_of_one_shape_are_kept_once(attn: Attn, tmp_path: Path) -> None:
    """So that a page of many numbers, of any sign, stays small."""
    numbers = [[(7 * i + 3 * j) % 11 - 5.25 for j in range(12)] for i in range(12)]
    path = tmp_path / "large.json"
    path.write_text(json.dumps({"X": numbers, "score": "dot"}))
    page = attn("compute", path, "-f", "html").out
    made = told_in(page)
    assert len(made) > 500
    (data,) = re.findall(r'"shapes":(\[.*?\]),"cells"', page)
    assert len(json.loads(data)) <= 8
    assert len(page) < 300 * len(made)


def test_weights_are_shaded_by_size(attn: Attn) -> None:
    page = element_of(attn("compute", SAMPLES / "i_am_good.yaml", "-f", "html").out)
    (section,) = [s for s in page.iter("section") if s.get("id") == "weights"]
    shades = [cell.get("style") for cell in section.iter("td") if cell.get("data-c")]
    assert shades[:3] == ["--w:.98", "--w:.02", "--w:.01"]


def test_a_right_to_left_word_is_kept_apart_by_an_element(attn: Attn, tmp_path: Path) -> None:
    """In the weighted sums of HTML, where isolates as escapes would be letters."""
    path = tmp_path / "right.json"
    problem = {"tokens": ["مرحبا", "b"], "X": [[1, 0], [0, 1]], "score": "dot"}
    path.write_text(json.dumps(problem))
    text = attn("compute", path, "-f", "html").out
    (sums,) = [e for e in element_of(text).iter("ul") if e.get("class") == "mixture"]
    assert [text_of(e) for e in sums.iter("bdi")] == ["مرحبا"] * 3
    assert text_of(sums).startswith("zمرحبا = 0.7311·vمرحبا + 0.2689·vb")
    assert "\\u2068" not in text


def hostile(tmp_path: Path) -> Path:
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps(PROBLEM))
    return path


def test_page_shows_text_as_it_is_written(attn: Attn, tmp_path: Path) -> None:
    page = element_of(attn("compute", hostile(tmp_path), "-f", "html", "--full").out)
    heads = [text_of(e) for e in page.iter("th") if e.get("scope") == "row"]
    assert heads[: len(SHOWN)] == SHOWN
    assert [text_of(e) for e in page.iter("h1")] == [" / ".join(SHOWN)]
    assert [text_of(e) for e in page.iter("title")] == [" / ".join(SHOWN)]
    assert [text_of(e) for e in page.iter("p") if e.get("class") == "notes"] == SHOWN
    assert len(list(page.iter("script"))) == 2, "the data and the script, and none of a label"


def rendered(text: str) -> str:
    """Return Markdown as HTML, by a reader that this project did not write."""
    return str(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text))


def test_markdown_shows_text_as_it_is_written(attn: Attn, tmp_path: Path) -> None:
    text = attn("compute", hostile(tmp_path), "-f", "markdown", "--full").out
    page = re.sub(r"</?span>", "", rendered(text)).replace("<br>", "<br />")
    (title,) = re.findall(r"<h1>(.*?)</h1>", page)
    assert html.unescape(title) == " / ".join(SHOWN)
    labels = re.findall(r'<tr>\n<td style="text-align:left">(.*?)</td>', page)
    isolated = [html.unescape(label).strip("\u2068\u2069") for label in labels]
    assert isolated[: len(SHOWN)] == SHOWN
    notes = html.unescape(re.findall(r"<p>(.*?)</p>", page, re.DOTALL)[0])
    assert notes.split("<br />\n") == SHOWN
    assert not re.search(r"<(script|em|strong|code|s|a|ol|li)\b", page.split("<h2>")[0])
    # Between two dollars a forge would read mathematics.
    before = text.split("```math")[0]
    assert re.sub(r"<span>\$</span>|\$`.*?`\$", "", before).count("$") == 0


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda p: p.name)
def test_markdown_is_balanced(path: Path, attn: Attn) -> None:
    text = attn("compute", path, "-f", "markdown").out
    fences = re.findall(r"^```\w*$", text, re.MULTILINE)
    assert fences == ["```math", "```"] * (len(fences) // 2)
    assert len(fences) >= 6
    assert text.count("$`") == text.count("`$")
    tables = re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
    assert tables or path.name in ("heads_multi_query.yaml", "mask_padding.yaml"), "has labels"
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1
    blocks = re.findall(r"```math\n(.*?)\n```", text, re.DOTALL)
    for block in blocks:
        assert block.count(r"\begin{") == block.count(r"\end{")
        assert block.count(r"\left") == block.count(r"\right")
    assert rendered(text).count("<table>") == len(re.findall(r"^\| :?--", text, re.MULTILINE))


SAMPLE = "sample: "
"""Stands in a log before the name of the sample that comes next."""


def compiled(engine: str, text: str, folder: Path) -> str:
    """Return the log of a document, in which there is no error."""
    (folder / "document.tex").write_text(text)
    done = subprocess.run(
        [engine, "-interaction=nonstopmode", "-halt-on-error", "document.tex"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    log = (folder / "document.log").read_text(errors="replace")
    told = [*re.findall(rf"^{SAMPLE}.*", log, re.MULTILINE)[-1:]]
    told += re.findall(r"^!.*\n.*", log, re.MULTILINE)
    assert done.returncode == 0, "\n".join(told)
    return log


SHARES = 6
"""So many documents hold all samples; each start of TeX takes longer than a sample."""


@needs_pdflatex
@pytest.mark.parametrize("share", range(SHARES))
def test_latex_compiles_and_fits_the_page(share: int, attn: Attn, tmp_path: Path) -> None:
    """Samples with the same preamble share a document, on pages of their own."""
    together: dict[str, list[str]] = {}
    for path in SAMPLE_FILES[share::SHARES]:
        text = attn("compute", path, "-f", "latex", "--standalone").out
        preamble, begin, rest = text.partition("\\begin{document}\n")
        body, end, _ = rest.partition("\\end{document}")
        assert begin
        assert end
        marked = rf"\typeout{{{SAMPLE}{path.name}}}{body}\clearpage"
        together.setdefault(preamble + begin, []).append(marked)
    found = []
    for start, bodies in together.items():
        log = compiled("pdflatex", "\n".join([start, *bodies, r"\end{document}"]), tmp_path)
        for piece in f"{SAMPLE}the preamble\n{log}".split(SAMPLE)[1:]:
            name, _, said = piece.partition("\n")
            assert "Overfull" not in said, name
            assert "undefined" not in said, name
            found.append(name)
    compared = [name for name in found if name != "the preamble"]
    assert sorted(compared) == [path.name for path in SAMPLE_FILES[share::SHARES]]


@needs_pdflatex
def test_mathematics_of_markdown_is_tex(attn: Attn, tmp_path: Path) -> None:
    """Every block of every sample, in one document of LaTeX."""
    lines = [r"\documentclass{article}\usepackage{amsmath}\begin{document}"]
    for path in SAMPLE_FILES:
        text = attn("compute", path, "-f", "markdown").out
        lines += [rf"\[{b}\]" for b in re.findall(r"```math\n(.*?)\n```", text, re.DOTALL)]
        lines += [rf"\({b}\)" for b in re.findall(r"\$`(.*?)`\$", text)]
    assert len(lines) > 200
    compiled("pdflatex", "\n".join([*lines, r"\end{document}"]), tmp_path)


@needs_pdflatex
def test_a_fragment_compiles_in_a_document_with_the_packages_that_it_names(
    attn: Attn, tmp_path: Path
) -> None:
    """Two of them, as their macros are defined once."""
    first = attn("compute", SAMPLES / "i_am_good.yaml", "-f", "latex").out
    second = attn("compute", hostile(tmp_path), "-f", "latex").out
    (packages,) = set(
        re.findall(r"^% Needs (\\usepackage\{[\w,]+\})", first + second, re.MULTILINE)
    )
    text = (
        rf"\documentclass{{article}}\usepackage[T1]{{fontenc}}{packages}"
        f"\n\\begin{{document}}\n{first}\n{second}\n\\end{{document}}\n"
    )
    compiled("pdflatex", text, tmp_path)


@needs_pdflatex
@pytest.mark.needs("pdftotext")
def test_no_heading_of_latex_stands_last_on_a_page(attn: Attn, tmp_path: Path) -> None:
    """On pages of several heights, so that every heading has come to the foot of one."""
    text = attn("compute", SAMPLES / "recurrent.yaml", "-f", "latex", "--standalone").out
    marked = re.sub(r"^(\\attnhead\{.*)\}$", r"\1\\qquad\\text{HEADING}}", text, flags=re.MULTILINE)
    assert marked.count("HEADING") > 15
    pages = 0
    for height in range(16, 28, 2):
        settings = rf"\geometry{{paperheight={height}cm}}\pagestyle{{empty}}\begin{{document}}"
        compiled("pdflatex", marked.replace(r"\begin{document}", settings), tmp_path)
        for page in shown_in(tmp_path / "document.pdf").split("\f"):
            # A fraction has its denominator on a line of its own.
            lines = [line for line in page.splitlines() if line.strip()]
            assert not any("HEADING" in line for line in lines[-2:]), lines[-3:]
            pages += 1
    assert pages > 15


@pytest.mark.parametrize(
    "engine",
    [pytest.param("pdflatex", marks=needs_pdflatex), pytest.param("xelatex", marks=needs_xelatex)],
)
def test_latex_shades_weights_by_size_and_moves_nothing(
    engine: str, attn: Attn, tmp_path: Path
) -> None:
    text = attn("compute", SAMPLES / "i_am_good.yaml", "-f", "latex", "--standalone").out
    assert r"\attnshade{98}{0.9756} & \attnshade{2}{0.0179} & \attnshade{1}{0.0066}" in text
    assert r"\attnshade{27}{0.2676} & \attnshade{73}{0.7275} & 0.0049" in text, "less than 0.5 %"
    assert text.count(r"\attnshade{") == 2 * 8, "the weights, as a step and as an operand"
    sizes = []
    for body in (text, re.sub(r"\\attnshade\{\d+\}\{(.*?)\}", r"\1", text)):
        size = r"\typeout{SIZE \the\wd\attnbox\space\the\ht\attnbox\space\the\dp\attnbox}%"
        measured = body.replace("\n  \\ifdim\\wd", f"\n  {size}\n  \\ifdim\\wd")
        assert size in measured
        log = compiled(engine, measured, tmp_path)
        assert "Overfull" not in log
        sizes.append(re.findall(r"^SIZE .*", log, re.MULTILINE))
    assert len(sizes[0]) > 10
    assert sizes[0] == sizes[1]


def shown_in(pdf: Path) -> str:
    done = subprocess.run(["pdftotext", "-layout", pdf, "-"], capture_output=True, check=True)
    return done.stdout.decode()


@needs_pdflatex
@pytest.mark.needs("pdftotext")
def test_latex_shows_text_as_it_is_written(attn: Attn, tmp_path: Path) -> None:
    """And with pdflatex, which has no letters for some of it, code points in their place."""
    text = attn("compute", hostile(tmp_path), "-f", "latex", "--standalone", "--full").out
    assert text.splitlines()[0].startswith("% Some text is in another script")
    compiled("pdflatex", text, tmp_path)
    lines = [line.strip() for line in shown_in(tmp_path / "document.pdf").splitlines()]
    for label in SHOWN:
        if all(c.isascii() or c in "éß" for c in label):
            assert label in lines
    assert any("U+1F600" in line for line in lines)
    assert any("U+4F60 U+597D" in line for line in lines)


@needs_xelatex
@pytest.mark.needs("pdftotext")
def test_xelatex_has_letters_for_other_scripts(attn: Attn, tmp_path: Path) -> None:
    text = attn("compute", hostile(tmp_path), "-f", "latex", "--standalone").out
    log = compiled("xelatex", text, tmp_path)
    shown = shown_in(tmp_path / "document.pdf")
    assert "U+4F60" not in shown
    assert "Missing character: There is no 你" in log or "你好" in shown, "as fonts allow"


@pytest.mark.parametrize("form", ["table", "json", "csv", "yaml", "npz", "markdown", "html"])
def test_standalone_is_for_latex(form: str, attn: Attn) -> None:
    result = attn("compute", SAMPLES / "i_am_good.yaml", "-f", form, "--standalone")
    assert result.status == 2
    assert result.err == (
        f"--standalone is for the format latex, not {form}\n  use it with -f latex\n"
    )


@pytest.mark.parametrize("form", ["table", "json", "csv", "yaml", "npz", "markdown", "latex"])
def test_reveal_is_for_html(form: str, attn: Attn) -> None:
    result = attn("compute", SAMPLES / "i_am_good.yaml", "-f", form, "--reveal")
    assert (result.status, result.out) == (2, "")
    assert result.err == f"--reveal is for the format html, not {form}\n  use it with -f html\n"


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda p: p.name)
def test_reveal_folds_every_step_under_its_formula(path: Path, attn: Attn) -> None:
    page = element_of(attn("compute", path, "-f", "html", "--reveal").out)
    plain = element_of(attn("compute", path, "-f", "html").out)
    assert not list(plain.iter("details"))
    sections = [s for s in page.iter("section") if s.get("class") == "step"]
    assert len(sections) > 2
    for section in sections:
        (fold,) = section
        assert fold.tag == "details"
        assert fold.get("open") is None
        (heading,) = fold[0]
        assert fold[0].tag == "summary"
        assert heading.get("class") == "formula"
    numbers = [text_of(cell) for cell in plain.iter("td")]
    assert [text_of(cell) for cell in page.iter("td")] == numbers


@pytest.mark.parametrize(
    ("suffix", "start"), [(".md", "# I am good"), (".tex", "% Needs"), (".html", "<!DOCTYPE html>")]
)
def test_the_suffix_tells_the_format(suffix: str, start: str, attn: Attn, tmp_path: Path) -> None:
    out = tmp_path / f"page{suffix}"
    assert attn("compute", SAMPLES / "i_am_good.yaml", "-o", out).status == 0
    assert out.read_text().startswith(start)


@pytest.mark.parametrize("form", ["markdown", "latex", "html"])
def test_large_matrices_are_short_unless_full(form: str, attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    path.write_text("".join(",".join(str(i + j) for j in range(15)) + "\n" for i in range(15)))
    short = attn("compute", path, "-f", form).out
    whole = attn("compute", path, "-f", form, "--full").out
    assert "are left out" in short
    assert "are left out" not in whole
    assert len(whole) > 3 * len(short)
    assert "28" in short, "the last corner is shown"


@pytest.mark.parametrize("form", ["markdown", "latex", "html"])
def test_quiet_and_only(form: str, attn: Attn) -> None:
    sample = SAMPLES / "mask_padding.yaml"
    title = sample.read_text().splitlines()[0].removeprefix("title: ")
    whole = attn("compute", sample, "-f", form)
    assert title in whole.out
    assert title not in attn("compute", sample, "-f", form, "--quiet").out.replace(
        f"<title>{title}", ""
    )
    only = attn("compute", sample, "-f", form, "--only", "weights").out
    assert "weights" in only
    assert title not in only


@pytest.mark.parametrize("form", ["markdown", "latex", "html"])
def test_warnings_stand_at_the_end(form: str, attn: Attn) -> None:
    result = attn(
        "compute", SAMPLES / "queries_keys_values.csv", "-f", form, "--normalize", "hardmax"
    )
    warning = "several scores of a row are largest: hardmax took the first"
    assert result.err == f"warning: {warning}\n"
    assert result.out.index(warning) > result.out.index("output")


@pytest.mark.parametrize("form", ["markdown", "latex", "html"])
def test_rounded_steps_are_shown_whole_with_the_closing_line(form: str, attn: Attn) -> None:
    """0.67531 rounded to five decimals is shown with five, as the next step used it."""
    arguments = (SAMPLES / "i_am_good.yaml", "--round", "{decimals: 5}", "-f", form)
    out = attn("compute", *arguments).out
    assert "rounded steps: the output is off by at most" in out
    assert "0.97556" in out


@pytest.mark.parametrize("name", ["i_am_good.yaml", "heads_cut.yaml", "recurrent.yaml"])
@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_documents_are_as_read(name: str, form: str, attn: Attn) -> None:
    out = attn("compute", SAMPLES / name, "-f", form).out
    assert_same(out, f"documents/{name}.{form}")


@pytest.mark.parametrize("form", ["table", "markdown", "latex", "html"])
def test_inputs_of_steps_that_vanish_are_not_shown(form: str, attn: Attn, tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("{X: [[0, 0]], W_q: [[7, 8], [9, 5]], score: dot, gradient: sum}")
    out = attn("compute", path, "--only", "d_W_q", "-f", form).out
    assert "W" in out
    assert not any(shown in out for shown in ("X   (1", "X = ", 'aria-label="X"'))

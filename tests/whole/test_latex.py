"""LaTeX compiles, fits the page, and shows text as it is written."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import attncli
from attncli.core.text.strings import visible
from tests.conftest import SAMPLE_FILES, SAMPLES
from tests.oracles.hostile import HOSTILE, PROBLEM

needs_pdflatex = pytest.mark.needs("pdflatex")
needs_xelatex = pytest.mark.needs("xelatex")

SAMPLE = "sample: "
"""Stands in a log before the name of the sample that comes next."""


def latex(problem: attncli.Problem, standalone: bool = True, full: bool = False) -> str:
    return attncli.render(attncli.compute(problem), "latex", standalone=standalone, full=full)


def compiled(text: str, folder: Path, engine: str = "pdflatex") -> str:
    """Return the log of a document, in which there is no error."""
    (folder / "document.tex").write_text(text)
    command = [engine, "-interaction=nonstopmode", "-halt-on-error", "document.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    log = (folder / "document.log").read_text(errors="replace")
    told = re.findall(rf"^{SAMPLE}.*", log, re.MULTILINE)[-1:]
    told += re.findall(r"^!.*\n.*", log, re.MULTILINE)
    assert done.returncode == 0, "\n".join(told)
    return log


def shown_in(folder: Path) -> str:
    """Return the text of the document that was compiled last."""
    command = ["pdftotext", "-layout", str(folder / "document.pdf"), "-"]
    return subprocess.run(command, capture_output=True, check=True).stdout.decode()


@needs_pdflatex
def test_every_sample_compiles_and_fits_the_page(tmp_path: Path) -> None:
    """Those with the same preamble share a document, as each start of TeX takes longer."""
    together: dict[str, list[str]] = {}
    for path in SAMPLE_FILES:
        preamble, _, rest = latex(attncli.load(path)).partition("\\begin{document}\n")
        body, end, _ = rest.partition("\\end{document}")
        assert end
        marked = rf"\typeout{{{SAMPLE}{path.name}}}{body}\clearpage"
        together.setdefault(preamble, []).append(marked)
    compared = []
    for preamble, bodies in together.items():
        log = compiled(
            "\n".join([preamble, r"\begin{document}", *bodies, r"\end{document}"]), tmp_path
        )
        assert "Overfull" not in log.partition(SAMPLE)[0]
        for piece in log.split(SAMPLE)[1:]:
            name, _, said = piece.partition("\n")
            assert "Overfull" not in said, name
            assert "undefined" not in said, name
            compared.append(name)
    assert sorted(compared) == [path.name for path in SAMPLE_FILES]


@needs_pdflatex
def test_mathematics_of_markdown_is_tex(tmp_path: Path) -> None:
    """Every block of every sample, in one document of LaTeX."""
    lines = [r"\documentclass{article}\usepackage{amsmath}\begin{document}"]
    for path in SAMPLE_FILES:
        text = attncli.render(attncli.compute(attncli.load(path)), "markdown")
        lines += [rf"\[{b}\]" for b in re.findall(r"```math\n(.*?)\n```", text, re.DOTALL)]
        lines += [rf"\({b}\)" for b in re.findall(r"\$`(.*?)`\$", text)]
    assert len(lines) > 200
    compiled("\n".join([*lines, r"\end{document}"]), tmp_path)


@needs_pdflatex
def test_fragments_compile_in_a_document_with_the_packages_that_they_name(tmp_path: Path) -> None:
    """Two of them, as their macros are defined once."""
    problems = attncli.load(SAMPLES / "i_am_good.yaml"), attncli.Problem(**PROBLEM)
    fragments = "\n".join(latex(problem, standalone=False) for problem in problems)
    (packages,) = set(re.findall(r"^% Needs (\\usepackage\{[\w,]+\})", fragments, re.MULTILINE))
    start = rf"\documentclass{{article}}\usepackage[T1]{{fontenc}}{packages}\begin{{document}}"
    compiled("\n".join([start, fragments, r"\end{document}"]), tmp_path)


@needs_pdflatex
@pytest.mark.needs("pdftotext")
def test_no_heading_stands_last_on_a_page(tmp_path: Path) -> None:
    """On pages of several heights, so that every heading has come to the foot of one."""
    text = latex(attncli.load(SAMPLES / "recurrent.yaml"))
    marked = re.sub(r"^(\\attnhead\{.*)\}$", r"\1\\qquad\\text{HEADING}}", text, flags=re.MULTILINE)
    assert marked.count("HEADING") > 15
    pages = 0
    for height in range(16, 28, 2):
        settings = rf"\geometry{{paperheight={height}cm}}\pagestyle{{empty}}\begin{{document}}"
        compiled(marked.replace(r"\begin{document}", settings), tmp_path)
        for page in shown_in(tmp_path).split("\f"):
            # A fraction has its denominator on a line of its own.
            lines = [line for line in page.splitlines() if line.strip()]
            assert not any("HEADING" in line for line in lines[-2:]), lines[-3:]
            pages += 1
    assert pages > 15


@pytest.mark.parametrize(
    "engine",
    [pytest.param("pdflatex", marks=needs_pdflatex), pytest.param("xelatex", marks=needs_xelatex)],
)
def test_shades_of_weights_move_nothing(engine: str, tmp_path: Path) -> None:
    text = latex(attncli.load(SAMPLES / "i_am_good.yaml"))
    assert r"\attnshade{27}{0.2676} & \attnshade{73}{0.7275} & 0.0049" in text, "less than 0.5 %"
    sizes = []
    for body in (text, re.sub(r"\\attnshade\{\d+\}\{(.*?)\}", r"\1", text)):
        size = r"\typeout{SIZE \the\wd\attnbox\space\the\ht\attnbox\space\the\dp\attnbox}%"
        measured = body.replace("\n  \\ifdim\\wd", f"\n  {size}\n  \\ifdim\\wd")
        assert size in measured
        log = compiled(measured, tmp_path, engine)
        assert "Overfull" not in log
        sizes.append(re.findall(r"^SIZE .*", log, re.MULTILINE))
    assert len(sizes[0]) > 10
    assert sizes[0] == sizes[1]


@needs_pdflatex
@pytest.mark.needs("pdftotext")
def test_text_is_shown_as_it_is_written(tmp_path: Path) -> None:
    """And with pdflatex, which has no letters for some of it, code points in their place."""
    text = latex(attncli.Problem(**PROBLEM), full=True)
    assert text.splitlines()[0].startswith("% Some text is in another script")
    compiled(text, tmp_path)
    lines = [line.strip() for line in shown_in(tmp_path).splitlines()]
    labels = [visible(label) for label in HOSTILE]
    assert {label for label in labels if re.fullmatch(r"[\x00-\x7féß]*", label)} <= {*lines}
    assert any("U+1F600" in line for line in lines)
    assert any("U+4F60 U+597D" in line for line in lines)


@needs_xelatex
@pytest.mark.needs("pdftotext")
def test_xelatex_has_letters_for_other_scripts(tmp_path: Path) -> None:
    log = compiled(latex(attncli.Problem(**PROBLEM)), tmp_path, "xelatex")
    shown = shown_in(tmp_path)
    assert "U+4F60" not in shown
    assert "Missing character: There is no 你" in log or "你好" in shown, "as fonts allow"

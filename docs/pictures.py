"""Make the pictures of the documents from what the program writes: `python docs/pictures.py`.

Needs Chromium, whose name or path may be given in the variable CHROMIUM, and for the printed sheet
pdflatex and pdftoppm.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
BROWSER = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--allow-file-access-from-files",
)
"""No window, and no request to anywhere; the tests start the browser with these, too."""

DARK = ("--blink-settings=preferredColorScheme=0",)

CELL = ".part:last-child td[data-c]"

CAUSAL = "#weights tr:last-child td[data-c]"
FIELD = "#weights input.n"

# Name, command and sample, width and height, the cell that is pointed at, dark or not.
PICTURES = (
    ("page", "compute i_am_good.yaml", (1200, 960), f"#scores {CELL}", ()),
    ("page-dark", "compute mask_causal.yaml", (960, 640), CAUSAL, DARK),
    ("block", "compute transformer_block.yaml", (1200, 760), f"#normed_1 {CELL}", ()),
    ("page-phone", "compute pooling_words.yaml", (400, 640), f"#scores {CELL}", ()),
    ("practice", "worksheet integers_scaled.yaml", (1200, 640), FIELD, ()),
    ("practice-phone", "worksheet integers_scaled.yaml", (400, 640), FIELD, DARK),
)

TYPED = ("0.136", "0.44", "1/2", "0.0009")
"""What is typed into the first fields of a step of a practice page; of the last a hint is asked."""


def main() -> None:
    """Write docs/*.png."""
    if BROWSER is None:
        sys.exit("Chromium is not installed; name it in the variable CHROMIUM")
    for name, page_of, size, selector, flags in PICTURES:
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.html"
            word, sample = page_of.split()
            source = ROOT / "sample_inputs" / sample
            attn(word, str(source), "-o", str(page))
            picture(BROWSER, page, ROOT / "docs" / f"{name}.png", size, selector, flags)
    with tempfile.TemporaryDirectory() as folder:
        of_class(BROWSER, Path(folder))
        of_sheet(Path(folder))


def attn(*arguments: str, statuses: tuple[int, ...] = (0,)) -> None:
    """Run the program, which ends with one of these statuses."""
    command = [sys.executable, "-m", "attncli", *arguments]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if done.returncode not in statuses:
        sys.exit(done.stderr)


def of_class(browser: str, folder: Path) -> None:
    """Take a picture of the page of the class of docs/teaching.md, some of whom are wrong."""
    course = Path("docs", "teaching")  # below the root, where the program runs
    given = str(course / "variants"), str(course / "sheets")
    attn("check", *given, "--feedback", str(folder / "class"), "-q", statuses=(1, 2))
    page = folder / "class" / "index.html"
    picture(browser, page, ROOT / "docs" / "class.png", (1000, 720), "", ())


def of_sheet(folder: Path) -> None:
    """Make a picture of the printed sheet of the first variant of docs/teaching.md."""
    variant = ROOT / "docs" / "teaching" / "variants" / "01.yaml"
    attn("worksheet", str(variant), "--standalone", "-o", str(folder / "sheet.tex"))
    out = ROOT / "docs" / "sheet"
    for command in (
        ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "sheet.tex"],
        ["pdftoppm", "-png", "-singlefile", "-r", "80", "sheet.pdf", str(out)],
    ):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)


def picture(
    browser: str,
    page: Path,
    out: Path,
    size: tuple[int, int],
    selector: str,
    flags: tuple[str, ...],
) -> None:
    """Take a picture of a page, with a cell in focus if a selector of it is given.

    A window has a least width, so the page stands in a frame of the width that is asked for, and
    the picture is as wide as the frame.
    """
    width, height = size
    focus = (
        f"<script>var cells = document.querySelectorAll({selector!r}), cell = cells[0];"
        f"if (cell.value === '') {json.dumps(TYPED)}.forEach(function (text, i) {{"
        "cell = cells[i]; cell.focus(); cell.value = text;"
        "cell.dispatchEvent(new Event('change', {bubbles: true})); });"
        "cell.scrollIntoView({block: 'center'}); cell.focus({preventScroll: true});"
        "if (cell.value) document.querySelector('#why button').click()</script>"
    )
    if selector:  # the page itself forbids other scripts
        text = re.sub("<meta http-equiv.*?>", "", page.read_text())
        page.write_text(text.replace("</body>", f"{focus}</body>"))
    frame = page.with_name("frame.html")
    frame.write_text(
        f'<body style="margin:0"><iframe src="{page.name}" '
        f'style="border:0;width:{width}px;height:{height}px"></iframe></body>'
    )
    with tempfile.TemporaryDirectory() as profile:
        command = [browser, *FLAGS, *flags, f"--user-data-dir={profile}"]
        command += [f"--window-size={width},{height}", f"--screenshot={out}", frame.as_uri()]
        subprocess.run(command, check=True, capture_output=True)


if __name__ == "__main__":
    main()

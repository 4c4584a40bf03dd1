"""Make the pictures of the README from what the program writes: `python docs/pictures.py`.

Needs Chromium; its name or path may be given in the variable CHROMIUM.
"""

from __future__ import annotations

import json
import os
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
    (
        "page-dark",
        "compute mask_causal.yaml",
        (960, 640),
        "#weights tr:last-child td[data-c]",
        DARK,
    ),
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
            command = [sys.executable, "-m", "attncli", word, str(source), "-o", str(page)]
            subprocess.run(command, cwd=ROOT, check=True)
            picture(BROWSER, page, ROOT / "docs" / f"{name}.png", size, selector, flags)


def picture(
    browser: str,
    page: Path,
    out: Path,
    size: tuple[int, int],
    selector: str,
    flags: tuple[str, ...],
) -> None:
    """Take a picture of a page with a cell in focus.

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
    page.write_text(page.read_text().replace("</body>", f"{focus}</body>"))
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

"""Make the pictures of the documents, and docs/demo.html, from what the program writes.

`python docs/pictures.py` makes all, `python docs/pictures.py demo` only the page that recalculates.

Needs Chromium, whose name or path may be given in the variable CHROMIUM, and for the printed sheet
pdflatex and pdftoppm.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.uint8]]

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


STAGE = """<script>(function play() {{
  if (!document.querySelector(".controls")) return setTimeout(play, 20);  // it unpacks itself first
  function press(key) {{
    document.body.dispatchEvent(new KeyboardEvent("keydown", {{key: key, bubbles: true}}));
  }}
  press("f");
  for (var step = 1; step < {step}; step += 1) press(" ");
  {change}
}})()</script>"""

CHANGE = """
  var cell = document.querySelectorAll(".inputs td.given")[13];
  cell.click();
  var field = cell.querySelector("input");
  field.value = "4";
  field.dispatchEvent(new Event("input"));
  field.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter"}));
"""

FRAMES = (*((stop, "", 4000) for stop in range(1, 9)), (8, CHANGE, 4000))
"""Frames of the moving picture: stop of the tour, what is changed, and milliseconds to wait."""

FRAME_SECONDS = 4
STAGE_SIZE = 1400, 760


def main() -> None:
    """Write docs/*.png and docs/demo.html."""
    attn("compute", "sample_inputs/sentence.yaml", "--live", "-o", str(ROOT / "docs" / "demo.html"))
    if sys.argv[1:] == ["demo"]:
        return
    if BROWSER is None:
        sys.exit("Chromium is not installed; name it in the variable CHROMIUM")
    for name, page_of, size, selector, flags in PICTURES:
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.html"
            word, sample = page_of.split()
            source = ROOT / "sample_inputs" / sample
            attn(word, str(source), "-o", str(page))
            script, wait = focus_on(selector), "--virtual-time-budget=2000"
            picture(BROWSER, page, ROOT / "docs" / f"{name}.png", size, script, (*flags, wait))
    with tempfile.TemporaryDirectory() as folder:
        of_stage(BROWSER, Path(folder))
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


def of_stage(browser: str, folder: Path) -> None:
    """Make a moving picture of the stage of docs/demo.html."""
    frames = []
    for number, (step, change, wait) in enumerate(FRAMES):
        page, out = folder / "page.html", folder / f"{number}.png"
        page.write_text((ROOT / "docs" / "demo.html").read_text())
        script = STAGE.format(step=step, change=change)
        picture(browser, page, out, STAGE_SIZE, script, (f"--virtual-time-budget={wait}",))
        frames.append(pixels(out.read_bytes()))
    (ROOT / "docs" / "stage.png").write_bytes(animated(frames))


def chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the kind and the data of each chunk of a PNG file."""
    at = 8
    while at < len(png):
        (size,) = struct.unpack_from(">I", png, at)
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        at += size + 12


def pixels(png: bytes) -> Array:
    """Return the pixels of a PNG file of 8 bits per colour, not interlaced: (height, width, 3)."""
    data = b"".join(part for kind, part in chunks(png) if kind == b"IDAT")
    width, height, _, colour = struct.unpack_from(">IIBB", png, 16)
    depth = {2: 3, 6: 4}[colour]
    lines = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, -1)
    image = np.zeros((height + 1, width + 1, depth), np.uint8)
    for y, (rule, *_), line in zip(range(1, height + 1), lines, lines[:, 1:], strict=True):
        row = line.reshape(width, depth)
        if rule in (0, 2):
            image[y, 1:] = row + image[y - 1, 1:] * (rule == 2)
            continue
        if rule == 1:
            image[y, 1:] = row.cumsum(axis=0, dtype=np.uint8)
            continue
        for x in range(1, width + 1):
            left, up, corner = (
                image[y - i, x - j].astype(int) for i, j in ((0, 1), (1, 0), (1, 1))
            )
            near = np.abs(np.stack([left, up, corner]) - (left + up - corner))
            of_paeth = np.choose(near.argmin(axis=0), [left, up, corner])
            guess = (left + up) // 2 if rule == 3 else of_paeth
            image[y, x] = (row[x - 1] + guess) % 256
    return image[1:, 1:, :3]


def in_few_colours(frames: Sequence[Array]) -> tuple[Array, Array]:
    """Return the 256 most frequent colours, and for each pixel the place of the nearest."""
    pixels = np.stack(frames)
    codes, places, counts = np.unique(
        pixels @ np.array((65536, 256, 1)), return_inverse=True, return_counts=True
    )
    colours = np.stack([codes >> 16, codes >> 8 & 255, codes & 255], axis=1)
    often = colours[np.argsort(-counts)[:256]]
    nearest = np.abs(colours[:, None] - often).sum(axis=2).argmin(axis=1).astype(np.uint8)
    return often.astype(np.uint8), nearest[places].reshape(pixels.shape[:-1])


def animated(frames: Sequence[Array]) -> bytes:
    """Return frames as a moving PNG, of which each holds only what differs from the one before."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        end = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + end

    colours, images = in_few_colours(frames)
    number, (_, height, width) = count(), images.shape
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    out = [b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", head), chunk(b"PLTE", colours.tobytes())]
    out.append(chunk(b"acTL", struct.pack(">II", len(images), 0)))
    before = np.full((height, width), -1)
    for image in images:
        differs = image != before
        differs[0, 0] |= not differs.any()  # a frame holds something
        rows, columns = (np.flatnonzero(differs.any(axis=axis)) for axis in (1, 0))
        (top, bottom), (left, right) = ((one[0], one[-1] + 1) for one in (rows, columns))
        size = int(right - left), int(bottom - top)
        place = int(left), int(top)
        about = struct.pack(">IIIIIHHBB", next(number), *size, *place, FRAME_SECONDS, 1, 0, 0)
        out.append(chunk(b"fcTL", about))
        lines = b"".join(b"\0" + line.tobytes() for line in image[top:bottom, left:right])
        data = zlib.compress(lines, 9)
        is_first = len(out) == 5
        later = b"" if is_first else struct.pack(">I", next(number))
        out.append(chunk(b"IDAT" if is_first else b"fdAT", later + data))
        before = image
    return b"".join([*out, chunk(b"IEND", b"")])


def focus_on(selector: str) -> str:
    """Return a script that puts the focus on a cell, and types into the fields of a worksheet."""
    return (
        "<script>setTimeout(function () {"  # after the page has unpacked its data
        f"var cells = document.querySelectorAll({selector!r}), cell = cells[0];"
        f"if (cell.value === '') {json.dumps(TYPED)}.forEach(function (text, i) {{"
        "cell = cells[i]; cell.focus(); cell.value = text;"
        "cell.dispatchEvent(new Event('change', {bubbles: true})); });"
        "cell.scrollIntoView({block: 'center'}); cell.focus({preventScroll: true});"
        "if (cell.value) document.querySelector('#why button').click()}, 500)</script>"
    )


def picture(
    browser: str, page: Path, out: Path, size: tuple[int, int], script: str, flags: tuple[str, ...]
) -> None:
    """Take a picture of a page after a script, if there is one.

    A window has a least width, so the page stands in a frame of the width that is asked for, and
    the picture is as wide as the frame.
    """
    width, height = size
    if script:  # the page itself forbids other scripts
        text = re.sub("<meta http-equiv.*?>", "", page.read_text())
        page.write_text(text.replace("</body>", f"{script}</body>"))
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

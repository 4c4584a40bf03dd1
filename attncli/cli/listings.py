"""The commands that show what there is: `attn scores`, `schema`, `samples`, `demo`, `manual`."""

import json
import tempfile
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import isfunction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attncli.cli import options
from attncli.cli.main import KEY_GROUP, START_WITH, SUMMARIES, TAGLINE, build, groups_of
from attncli.cli.output import (
    BAD_INPUT,
    READER_WENT_AWAY,
    WRONG_ANSWER,
    print_lines,
    tell,
    write_bytes,
)
from attncli.cli.terminal import DisplayFlags, write_lines

if TYPE_CHECKING:
    from attncli.core.attention.parameters import Parameter
    from attncli.printing.layout import Line

EXIT_STATUSES = {
    0: "Nothing went wrong.",
    WRONG_ANSWER: "attn check found a wrong number, or a submission with nothing to compare.",
    BAD_INPUT: "Bad usage, or something that cannot be read, calculated or written.",
    130: "Interrupted, as Ctrl-C ends --watch.",
    READER_WENT_AWAY: "The reader of the pipe went away.",
    143: "Ended by another program, as by kill.",
}
"""The exit statuses."""

VARIABLES = {
    "NO_COLOR": "Where it is set and not empty, --color auto colours nothing.",
    "FORCE_COLOR": "Where it is set and not empty, and NO_COLOR is not, --color auto colours files "
    "and pipes, too.",
    "TERM": "With dumb, --color auto colours nothing, and nothing is paged.",
    "COLORTERM": "With truecolor or 24bit, shades are of 24 bits, else of 256 colours.",
    "COLORFGBG": "Such as 15;0: the second number tells whether the terminal is light or dark; "
    "without it, it is dark.",
    "PAGER": "The command that shows long output on a terminal, less by default; none if it is "
    "empty or cat.",
    "LESS, LV": "The options of these pagers; FRX and -c where they are not set.",
}
"""The environment variables that the program reads."""


def scores(*, display: DisplayFlags) -> None:
    options.prepare_numpy()
    write_lines([score_tables()], display)


MAX_WIDTH = 80
"""Maximum number of characters of a line of these tables."""


def score_tables() -> Iterator["Line"]:
    """Yield a table for each key whose value is a row of one, and how they are written."""
    from attncli.core.attention.masks import MASKS
    from attncli.core.attention.normalizers import NORMALIZERS
    from attncli.core.attention.norms_and_activations import ACTIVATIONS, LAYER_NORMS, NORMS
    from attncli.core.attention.positions import POSITIONS
    from attncli.core.attention.scores import SCORES
    from attncli.core.numbers.other_words import import_named
    from attncli.core.problem.keys import KINDS
    from attncli.printing.layout import wrapped

    import_named()
    yield [("kind: the mechanism", "title")]
    width = max(map(len, KINDS))
    for name, kind in KINDS.items():
        words = f"  {name:<{width}}  {kind.meaning}{_origin(kind)}"
        yield from wrapped([(words, "")], MAX_WIDTH, hanging=" " * (width + 4))
    yield []
    tables: list[tuple[str, Mapping[str, Any], str]] = [
        ("score: how alike a query q and a key k are", SCORES, "source"),
        ("positions: how tokens know their places; t = start + i − 1", POSITIONS, "source"),
        ("qk_norm: the norm of each query and key x", NORMS, ""),
        ("mask: which keys j a query i may attend to; p = i + offset", MASKS, "summary"),
        ("normalize: how scores s become weights", NORMALIZERS, "summary"),
        ("norm: of the features x of a token, in a layer of a transformer", LAYER_NORMS, "source"),
        ("activation: of a number x, in a layer of a transformer", ACTIVATIONS, "source"),
    ]
    for title, rows, about in tables:
        yield [(title, "title")]
        cells = [
            (name, row.formula, getattr(row, about, "") + _origin(row))
            for name, row in rows.items()
        ]
        for line, row in zip(_columns(cells), rows.values(), strict=True):
            yield line
            if parameters := getattr(row, "parameters", ()):
                words = f"      with {', '.join(map(_parameter, parameters))}"
                yield from wrapped([(words, "faint")], MAX_WIDTH, hanging=" " * 11)
        yield []
    yield [("In a file:  score: {name: distance, width: 2}", "faint")]
    yield [("            positions: [sinusoidal, {name: rope, pairs: halves}]", "faint")]
    yield [("            mask: {causal: true, align: bottom-right, window: [2, 0]}", "faint")]
    yield [("            normalize: {name: softmax, temperature: 2, base: 3, axis: keys}", "faint")]


def _origin(row: Any) -> str:
    """Return where a row comes from, if that is an installed package."""
    functions = (value for value in vars(row).values() if isfunction(value))
    package, *_ = next((one.__module__ for one in functions), type(row).__module__).split(".")
    return "" if package == "attncli" else f" (of {package})"


def _parameter(parameter: "Parameter") -> str:
    shape = f" ({', '.join(parameter.shape)})" if parameter.shape else ""
    value = parameter.default
    default = "" if value is None else f" = {value if isinstance(value, str) else f'{value:g}'}"
    optional = "" if parameter.required or default else "optional "
    return f"{optional}{parameter.name}{shape}{default}"


def _columns(rows: Sequence[Sequence[str]]) -> Iterator["Line"]:
    from attncli.core.text.strings import cell_width

    widths = [max(cell_width(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        line = [("  ", "")]
        for index, (text, width) in enumerate(zip(row, widths, strict=True)):
            style = "label" if index == 0 else "faint" if index == len(row) - 1 else ""
            line += [(text, style), (" " * (width - cell_width(text) + 2), "")]
        yield line


def schema() -> None:
    options.prepare_numpy()
    from attncli.core.problem.misfits import schema as problem_schema

    print_lines([_indented(problem_schema())])


MAX_JSON_LINE = 100
"""Maximum length of a line of JSON that people read, in characters."""


def _indented(value: object, indent: str = "", name: str = "") -> str:
    """Return JSON in which lists and mappings that fit into a line are on one.

    `indent` are the blanks before its line, `name` is its key with the colon.
    """
    line = f"{indent}{name}{json.dumps(value, ensure_ascii=False)}"
    if len(line) < MAX_JSON_LINE or not isinstance(value, list | dict):  # one is for a comma
        return line
    deeper = f"{indent}  "
    if isinstance(value, list):
        opening, closing = "[]"
        parts = [_indented(part, deeper) for part in value]
    else:
        opening, closing = "{}"
        names = (f"{json.dumps(key, ensure_ascii=False)}: " for key in value)
        parts = [_indented(part, deeper, n) for n, part in zip(names, value.values(), strict=True)]
    return "\n".join([f"{indent}{name}{opening}", ",\n".join(parts), f"{indent}{closing}"])


def samples(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Print this one; without it, list all.")
    ] = None,
) -> None:
    from attncli.reading.files import sample_files, sample_path, title

    if name is not None:
        write_bytes([sample_path(name).read_bytes()], None)
        return
    files = sample_files()
    width = max(map(len, files))
    print_lines(f"{name:{width}}  {title(path)}".rstrip() for name, path in files.items())


def manual(ctx: typer.Context) -> None:
    print_lines(_page(ctx.find_root()))


def _page(root: Any) -> Iterator[str]:
    """Yield the lines of the manual page, in the macros of man(7)."""
    from attncli import __version__
    from attncli.core.problem.keys import KEYS
    from attncli.formats import FORMATS

    yield f'.TH ATTN 1 "" "attn {__version__}"'
    yield from (".SH NAME", "attn \\-", *_text(TAGLINE[0].lower() + TAGLINE[1:].rstrip(".")))
    yield from (".SH SYNOPSIS", ".B attn", "COMMAND [OPTIONS] [ARGUMENTS]")
    yield from (".SH DESCRIPTION", *_text(TAGLINE), ".PP", *_text(START_WITH))
    yield ".SH COMMANDS"
    for name in SUMMARIES:
        yield from _of_command(build(name), root)
    yield from (".SH PROBLEM FILE", "A mapping in YAML, JSON, CSV, XLSX or NPZ, with these keys:")
    yield from _rows((key, f"{row.about}.") for key, row in KEYS.items())
    yield ".SH FORMATS"
    yield from _rows((n, f"{r.meaning} ({', '.join(r.suffixes)}).") for n, r in FORMATS.items())
    yield ".SH ENVIRONMENT"
    yield from _rows(VARIABLES.items())
    yield ".SH EXIT STATUS"
    yield from _rows((str(status), meaning) for status, meaning in EXIT_STATUSES.items())


def _of_command(command: Any, root: Any) -> Iterator[str]:
    ctx = typer.Context(command, info_name=command.name, parent=root)
    usage = " ".join(["attn", command.name, *command.collect_usage_pieces(ctx)])
    yield from (f".SS {_roff(usage)}", *_text(command.help))
    for name, rows in groups_of(command, ctx).items():
        if name == KEY_GROUP and command.name != "compute":
            yield from (".PP", f"{name}: as those of attn compute.")
            continue
        yield from (".PP", f"{name}:", ".RS", *_rows(rows), ".RE")
    for paragraph in command.epilog.split("\n\n"):
        lines = paragraph.strip("\n").splitlines()
        if lines[0] == "\b":  # click's sign for lines that are not wrapped
            yield from (".PP", _roff(lines[1]), ".PP", ".nf", *map(_roff, lines[2:]), ".fi")
        else:
            yield from (".PP", *_text(paragraph))


def _rows(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    for term, meaning in rows:
        yield from (".TP", rf"\fB{_roff(term)}\fR", *_text(meaning))


def _text(text: str) -> list[str]:
    return [_roff(line) for line in textwrap.wrap(text, 60)]


def _roff(text: str) -> str:
    """Return text as roff, in ASCII: other characters, and those with a meaning, are escaped."""
    signs = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"}
    plain = "".join(signs.get(c) or (c if c.isascii() else rf"\[u{ord(c):04X}]") for c in text)
    return rf"\&{plain}" if plain.startswith(".") else plain


DEFAULT_SAMPLE = "sentence"

LONGEST_WAIT = 60
"""Seconds in which a browser has asked for the page, or it is not shown. Chosen."""

OPEN_HELP = "Open the page in the browser, or only write it and print where it is."


def demo(
    sample: Annotated[
        str, typer.Argument(metavar="[SAMPLE]", help="The name of a sample, as attn samples lists.")
    ] = DEFAULT_SAMPLE,
    opens: Annotated[bool, options.output("--open/--no-open", help=OPEN_HELP)] = True,
) -> None:
    options.prepare_numpy()
    from attncli.core.calculation.compute import compute
    from attncli.pages.html import traces
    from attncli.printing.selection import Selection
    from attncli.reading.files import sample_path
    from attncli.reading.load import load_all

    source = sample_path(sample)
    problems = [compute(problem) for problem in load_all(source)]
    page = b"".join(traces(problems, Selection(live=True)))
    if opens and _is_read_by_browser(page, source.stem):
        return
    path = Path(tempfile.mkdtemp(prefix="attn-")) / f"{source.stem}.html"
    write_bytes([page], path)
    if not opens:
        print_lines([str(path)])
    else:
        tell(f"no browser could be opened; the page is {path}")


def _is_read_by_browser(page: bytes, name: str) -> bool:
    """Open a page in the browser, to which it is handed once; return whether it was read.

    So no file is left behind, and a browser that may not read the temporary folder shows it, too.
    """
    import webbrowser
    from http.server import BaseHTTPRequestHandler
    from secrets import token_urlsafe
    from socketserver import ThreadingTCPServer
    from threading import Thread
    from time import monotonic

    address = f"/{token_urlsafe()}/{name}.html"  # which nobody else on the machine can guess
    is_opened, is_read = True, False

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            nonlocal is_read
            if self.path != address:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)
            is_read = True

        def log_message(self, *parts: object) -> None:
            """Print nothing."""

    with ThreadingTCPServer(("127.0.0.1", 0), Page) as server:
        server.daemon_threads = True  # browsers also open connections on which they ask for nothing
        server.timeout, end = 0.1, monotonic() + LONGEST_WAIT

        def open_browser() -> None:
            nonlocal is_opened
            is_opened = webbrowser.open(f"http://127.0.0.1:{server.server_address[1]}{address}")

        browser = Thread(target=open_browser)  # one in the terminal runs until it is left
        browser.start()
        while is_opened and not is_read and monotonic() < end:
            server.handle_request()
    browser.join()
    return is_read

"""A start from nothing: the samples, a new problem file, blank cells, and help with examples."""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from itertools import product
from pathlib import Path

import pytest

import attncli
from attncli.core.attention.masks import MASKS
from attncli.core.attention.scores import SCORES
from attncli.core.problem.keys import KEYS, KINDS
from attncli.core.text.strings import cell_width
from tests.conftest import SAMPLE_FILES, TYPICAL_SAMPLES, Attn, table


def test_samples_are_listed_with_their_titles(attn: Attn) -> None:
    lines = attn("samples").out.splitlines()
    titles = {p.name.removesuffix(".yaml"): attncli.load_all(p)[0].title for p in SAMPLE_FILES}
    width = max(map(len, titles)) + 2
    listed = (f"{name:{width}}{title}".rstrip() for name, title in titles.items())
    assert sorted(lines) == sorted(listed)
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("path", TYPICAL_SAMPLES, ids=lambda p: p.name)
def test_a_sample_is_printed_as_it_is(path: Path, attn: Attn) -> None:
    assert attn("samples", path.name).out.encode() == path.read_bytes()
    assert attn("samples", path.name.removesuffix(".yaml")).out.encode() == path.read_bytes()


LAYOUTS: list[dict[str, str]] = [{}, {"heads": "2"}, {"heads": "4", "kv_heads": "2"}]
MASK_FORMS: list[str | None] = [None, *MASKS, "{causal: true, window: [2, 0]}", "{lengths: 1}"]


def fits(kind: str, mask: str | None, layout: dict[str, str]) -> bool:
    """Return whether a kind has a use for these options, as its row of the table tells."""
    row = KINDS[kind]
    forms = [name for name in MASKS if mask is not None and name in mask]
    has_use = all(row.takes_mask(name, MASKS[name].by_position) for name in forms)
    return {*layout} <= {*row.options} and not (mask and "mask" not in row.keys) and has_use


SCORING_KINDS = [kind for kind, row in KINDS.items() if "score" in row.keys]


PAIRS = [
    pytest.param(kind, score, marks=() if i == j % len(SCORING_KINDS) else pytest.mark.whole)
    for i, kind in enumerate(SCORING_KINDS)
    for j, score in enumerate(SCORES)
]
"""Every kind with every score; by default each score with one kind, and the kinds in turn."""


@pytest.mark.parametrize(("kind", "score"), PAIRS)
def test_a_new_problem_computes_and_shows_something(
    kind: str, score: str, attn: Attn, tmp_path: Path
) -> None:
    """Every pair of a kind and a score, and of a kind and a mask, with layouts of heads in turn.

    Rows of weights differ, and none is saturated.
    """
    turn = list(SCORES).index(score)
    masks = [form for form in MASK_FORMS if fits(kind, form, {})]
    layouts = [one for one in LAYOUTS if fits(kind, None, one)]
    mask, layout = masks[turn % len(masks)], layouts[(turn + len(kind)) % len(layouts)]
    result = attn("new", *flags_of(kind, mask, layout), "--score", score)
    assert (result.status, result.err) == (0, "")
    (tmp_path / "hw.yaml").write_text(result.out)
    trace = attncli.compute(attncli.load(tmp_path / "hw.yaml"))
    # A word that is padding attends to nothing itself where two sentences are matched; where a
    # mask is written out, nothing is added that says how queries and keys are aligned.
    is_padded = kind == "co_attention" and "lengths" in str(mask)
    assert not trace.warnings or is_padded or (kind == "cross" and "{causal" in str(mask))
    if layout != LAYOUTS[2]:  # so many rows of two keys can hardly all be told apart
        assert saturated(trace) == []
    made = [trace[name].value.tolist() for name in ("Q", "K", "V") if name in trace]
    assert all(made.count(one) == 1 for one in made)


@pytest.mark.parametrize("kind", KINDS)
def test_options_that_a_kind_has_no_use_for_are_refused(kind: str, attn: Attn) -> None:
    for mask, layout in product(MASK_FORMS, LAYOUTS):
        if not fits(kind, mask, layout):
            result = attn("new", *flags_of(kind, mask, layout))
            assert (result.status, result.out) == (2, ""), (mask, layout)
            assert re.match(r"--[\w-]+:? (?:.* )?has no use in kind \w+\n", result.err), result.err


def flags_of(kind: str, mask: str | None, layout: dict[str, str]) -> list[str]:
    options = {"kind": kind, **layout} | ({"mask": mask} if mask else {})
    return [part for k, v in options.items() for part in (f"--{k.replace('_', '-')}", v)]


def saturated(trace: attncli.Trace) -> list[list[float]]:
    """Return the rows of weights in which one key has nearly all, or all have the same."""
    steps = [step for step in trace if step.name.startswith("weights")]
    rows = [row[row > 0] for step in steps for row in step.array.reshape(-1, step.array.shape[-1])]
    return [r.tolist() for r in rows if len(r) > 1 and (r.max() > 0.95 or r.max() == r.min())]


WITH_SLOW_ONES = [
    pytest.param(kind, marks=pytest.mark.whole if kind in ("encoder_decoder", "latent") else ())
    for kind in KINDS
]
"""The kinds, of which two have many matrices to draw."""


WITH_PROBLEMS = ("new", "compute", "explain", "count", "worksheet", "check", "vary", "assign")


def test_each_command_with_a_problem_has_the_flag_of_every_key(attn: Attn) -> None:
    keys = {flag for name, row in KEYS.items() for flag in row.flags_of(name)}
    for name in WITH_PROBLEMS:
        assert keys <= {*re.findall(r"--[\w-]+", attn(name, "--help-all").out)}, name


def test_the_help_of_the_program_fits_a_small_screen(attn: Attn) -> None:
    page, whole = attn("--help").out, attn("--help-all").out
    assert len(page.splitlines()) < 24
    assert max(map(cell_width, whole.splitlines())) <= 80
    listed = [set(re.findall(r"^  (\w+)  ", text, re.MULTILINE)) for text in (page, whole)]
    assert listed[1] - listed[0] == {"schema", "manual", "completion"}


@pytest.mark.parametrize("kind", WITH_SLOW_ONES)
def test_each_option_that_may_follow_computes(kind: str, attn: Attn) -> None:
    text = attn("new", "--kind", kind).out
    options = re.findall(r"^# (\w+: \S.*?)  +# ", text, re.MULTILINE)
    assert len(options) >= 3
    assert ("gradient: sum" in options) == ("gradient" in KINDS[kind].keys)
    has_rope = kind == "latent"  # for its rotary part
    fits_positions = "positions" in KINDS[kind].keys and not has_rope
    assert ("positions: sinusoidal" in options) == fits_positions
    for option in options:
        result = attn("compute", "-", stdin=f"{text}{option}\n".encode())
        assert result.status == 0, option
        assert not result.err or "lengths" in option


@pytest.mark.parametrize(
    "tokens", ["2.5 yes null", "['a: b', '#c', \"it's\"]", "שלום 中文 é", "['a\\tb', '', ' x ']"]
)
def test_tokens_are_read_back_as_they_were(tokens: str, attn: Attn) -> None:
    text = attn("new", "--tokens", tokens).out
    options = json.loads(attn("compute", "-", "-f", "json", stdin=text.encode()).out)["options"]
    again = attn("compute", "-", "-f", "json", "--tokens", tokens, stdin=text.encode())
    assert options == json.loads(again.out)["options"]


@pytest.mark.parametrize(
    ("kind", "score"),
    [
        ("self", "additive"),
        *((one, "dot") for one in SCORING_KINDS if one != "encoder_decoder"),
        pytest.param("encoder_decoder", "additive", marks=pytest.mark.whole),
    ],
)
def test_a_blank_problem_says_which_cells_are_open(
    kind: str, score: str, attn: Attn, tmp_path: Path
) -> None:
    flags = ["--kind", kind, "--score", score]
    first = attn("new", "hw.yaml", "--blank", *flags, cwd=tmp_path)
    assert "write a number in the place of each ?" in first.err
    text = (tmp_path / "hw.yaml").read_text()
    line = text.splitlines().index("X: |") + 2
    result = attn("compute", "hw.yaml", cwd=tmp_path)
    assert (result.status, result.out) == (2, "")
    count = len(re.findall(r"\?(?=[ \n])", text))
    assert result.err.startswith(f"hw.yaml:{line}:3: {count} cells are open: 12 of X, ")
    assert result.err.count("\n") == 4
    filled = re.sub(r"\?(?=[ \n])", "1", text)
    assert attn("compute", "-", stdin=filled.encode()).status == 0


def commands(attn: Attn) -> list[str]:
    """Return the commands that the help of the program lists."""
    return re.findall(r"^  (\w+)  ", attn("-h").out.partition("\nCalculate:")[2], re.MULTILINE)


@pytest.mark.whole
def test_every_help_page_fits_a_screen_and_ends_with_examples_that_run(
    attn: Attn, tmp_path: Path
) -> None:
    whole = attn("compute", "-h").out
    problem = whole.partition("hw.yaml:\n")[2].partition("\n\n")[0]
    assert len(commands(attn)) >= 7
    for command in commands(attn):
        page, whole = (attn(command, flag).out for flag in ("-h", "--help-all"))
        assert max(map(cell_width, whole.splitlines())) <= 80, command
        assert len(page.splitlines()) <= 50, command
        assert {*page.splitlines()} <= {*whole.splitlines()}, command
        examples = page.partition("\n  Examples:\n")[2].splitlines()
        assert len(examples) >= 2, command
        assert all(re.search(rf"attn ({command}|compute)\b", line) for line in examples), command
        folder = tmp_path / command
        folder.mkdir()
        (folder / "hw.yaml").write_text(textwrap.dedent(problem))
        (folder / "roster.csv").write_text("Name\nAda\n")
        (folder / "config.json").write_text(json.dumps(table("model_configs", "small")[0]))
        attn("compute", "hw.yaml", "--only", "weights", "-o", "answers.yaml", cwd=folder)
        for line in examples:
            words, _, out = map(str.strip, line.partition(" > "))
            (call,) = re.findall(r"attn ([^|)]*)", words)
            result = attn(*shlex.split(call), cwd=folder)
            assert result.status == 0, result.err
            if out:
                (folder / out).write_text(result.out)


def test_options_that_few_need_are_on_the_whole_page_only(attn: Attn) -> None:
    page, whole = (attn("compute", flag).out for flag in ("--help", "--help-all"))
    assert "\nKeys of the problem:\n" not in page
    assert "\nMore:\n" not in page
    for flag in ("--softcap", "--title", "--jobs", "--color"):
        assert (f" {flag} " in page, f" {flag} " in whole) == (False, True)


def test_options_are_grouped(attn: Attn) -> None:
    page = attn("compute", "-h").out
    groups = re.findall(r"^([A-Z][\w ]+):$", page, re.MULTILINE)
    assert groups == ["Arguments", "Content", "Output", "Calculation", "Options"]
    for command in commands(attn):
        page = attn(command, "-h").out
        options = re.findall(r"^  (?:-\w, )?(--[\w-]+)", page, re.MULTILINE)
        assert len(options) == len(set(options)), command
        assert "--help" in options

"""Every reader takes linear time, also for what no reader can read; long numbers are refused."""

from __future__ import annotations

import gc
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import attncli
from attncli.checking.answers import step_names
from attncli.classroom import name_index
from attncli.core.errors import InputError
from attncli.core.numbers.last_place import number_of
from attncli.core.numbers.parser import NumberError
from attncli.core.numbers.pasted import grid_of
from attncli.core.numbers.written import value_of
from attncli.reading import files
from attncli.reading.read import read_bytes
from tests.conftest import Attn

DOUBLINGS = 3
MAX_RATIO = 2.6**DOUBLINGS
"""Of the times for an input and one 8 times as long; what is quadratic takes 64 times as long."""
SHORTEST = 0.003
"""Time in seconds below which times are not compared: a clock and a collector disturb them."""
COUNT = 500
"""How often a text is repeated for the shorter of two inputs."""


def problems(text: str, suffix: str, folder: Path) -> object:
    path = folder / f"problem{suffix}"
    path.write_text(text)
    return attncli.load_all(path)


def answers(text: str, suffix: str, folder: Path) -> object:
    path = folder / f"answers{suffix}"
    path.write_text(text)
    return attncli.load_answers(path)


def documents(text: str, suffix: str, folder: Path) -> object:
    return [*read_bytes(text.encode(), "f", folder, suffix)]


READERS: dict[str, Callable[[str, Path], object]] = {
    "expression": lambda text, _: value_of(text),
    "answer": lambda text, _: number_of(text),
    "pasted": lambda text, _: grid_of(text),
    "yaml": lambda text, folder: documents(text, ".yaml", folder),
    "unknown": lambda text, folder: documents(text, "", folder),
    "json": lambda text, folder: documents(text, ".json", folder),
    "csv": lambda text, folder: documents(text, ".csv", folder),
    "problem": lambda text, folder: problems(text, ".yaml", folder),
    "csv problem": lambda text, folder: problems(text, ".csv", folder),
    "json problem": lambda text, folder: problems(text, ".json", folder),
    "csv answers": lambda text, folder: answers(text, ".csv", folder),
    "yaml answers": lambda text, folder: answers(text, ".yaml", folder),
    "worksheet": lambda text, folder: answers(text, ".md", folder),
    "text answers": lambda text, folder: answers(text, ".txt", folder),
    "tex answers": lambda text, folder: answers(text, ".tex", folder),
}
NESTED = ("abs(", "(", r"\frac{", r"\sqrt{", "[", "{a: ", "- ", '{"a":')
"""What opens a level; only some of these are closed again."""

# A reader, what is before, what is repeated (# is its number), what is after.
TEXTS = [
    *((reader, "", "abs(", "") for reader in ("expression", "answer", "pasted")),
    *((reader, "", "-", "1") for reader in ("expression", "answer", "pasted")),
    *((reader, "1", " ", "x") for reader in ("expression", "answer", "pasted", "csv")),
    *((reader, "", "1.", "") for reader in ("expression", "answer", "pasted")),
    *((reader, "", "% ", "") for reader in ("expression", "answer", "pasted")),
    *((reader, "", "≈ ", "") for reader in ("expression", "answer", "pasted")),
    ("expression", "", "1+", "1"),
    ("expression", "", "2020-1-1T", ""),
    ("expression", "", "1_1", ""),
    ("answer", "=", "abs(", ""),
    ("answer", "1", ",111", "x"),
    ("answer", "", "about ", ""),
    *(("pasted", "", text, "") for text in ("(1) ", "(1 0) ", "1 0\n", "1,0 0,5\n", "am: 1 0\n")),
    *(("pasted", "", text, "") for text in ("[1 0] ", "[", "| 1 ", "1\t", "1 0; ", "1 % ", ". ")),
    *(
        ("pasted", "", text, "")
        for text in (
            "|",
            "np.a(",
            "{{1} ",
            "1.0e+03 *\n",
            "\\.T",
            "' ",
            " ",
            "⎡1 0⎤\n",
            "1\u2009",
            ": ",
            "[#,] 1 0\n",
        )
    ),
    *(("pasted", "[1]", text, "x") for text in (" ", "]", ", ", ", a=b", ";", ")")),
    *(("pasted", text, " ", "x") for text in ("", "(", "( (", "a", "a:", "tensor(", "|")),
    ("pasted", "", "a", "= 1"),
    ("pasted", "|", "-", "x"),
    ("pasted", "| 1 |\n", "|--", "x"),
    ("pasted", "(", "1 0 ", ""),
    ("pasted", "array([", "[1, 0], ", "])"),
    *(("pasted", "", rf"{text}", "& 1") for text in (r"1 & 2 \\ ", r"\frac{1}{2} & ", "^{", "\\")),
    *(("pasted", "", text, "& 1") for text in (r"\frac{", r"\frac{1} ", r"\frac12 ", "1^{2}")),
    *(("pasted", "", text, "& 1") for text in (r"\sqrt{", r"\text{", r"\left ", "1{,}", "/ ")),
    *(("pasted", text, " ", "& 1") for text in (r"\frac", r"\begin", r"1 & 2 %", "1 & 2}", "/")),
    ("pasted", "\\text", "a", "& 1"),
    ("pasted", r"\begin{array}{", "c ", "& 1"),
    ("pasted", r"\begin{bmatrix} 1 & 2 \end{bmatrix}", ". ", "x"),
    ("pasted", "", "^", r"!\begin{bmatrix} 1 & 2 \end{bmatrix}"),
    ("pasted", "matrix(c(", "1, ", "1), nrow = 1)"),
    *(("pasted", "rbind(", text, "") for text in ("c(1, 0), ", "c(", "c((", "(")),
    *(
        ("unknown", "X = [", text, "];\n")
        for text in ("1 0; ", "[", "1, ", "; ... ", "1 # ", "1,0, ")
    ),
    *(("unknown", text, "a ", "= [1 0]") for text in ("", "## ", "> ", "X <- ", "print", "\\[")),
    *(
        ("unknown", "", text, "")
        for text in ("> X: [[1]]\n", ">", "```\n", "~~~\nX: 1\n", "X = 1\n")
    ),
    *(("unknown", "X = [1 0]\n", text, "") for text in ("a# = 1\n", "% ", "# a", "X:", "import ")),
    ("unknown", "X", "[1]", "= [1 0]"),
    *(("unknown", "X: [", text, "") for text in (" ", "[ ", "1 ", "1", "1 0]\n[")),
    ("unknown", "tokens = ['a", "' '", "a]\nX = 1"),
    *(("text answers", "", text, "") for text in ("[1; ", "matrix(", "[,1]\n", "[,1]\n[1,] 1\n")),
    ("text answers", "Ada ", "Lovelace ", "\nweights = [1]"),
    *(("yaml", "X:\n", text, "") for text in ("  - [1, 0]\n", "1 0\n", "- ", "\n", "# c\n")),
    *(
        ("yaml", "X: ", text, "")
        for text in ("[", "{a: ", "- ", "? ", "[0,5, 1,2", "\t", "a:", "''")
    ),
    *(
        ("yaml", "X: [", text, "1]\n")
        for text in ("[1, 0],\n ", "?, ", ", ", "&a# 1, ", "[0,5, 1,2], ")
    ),
    ("yaml", "X: [, ", "? ", "]\n"),
    ("yaml", "X: |\n", " 1 0\n", ""),
    ("yaml", "X: &a [1]\nY: [", "*a, ", "1]\n"),
    ("yaml", "x: [0,5, 1,25, 3]\n", "k#: {a: [1,2, 3]}\n", ""),
    ("yaml", "", "X: 1 0\n", "y\n"),
    ("yaml", "", "X: [[1]]\n---\n", ""),
    ("yaml", "", "k#: 1\n", ""),
    *(("unknown", "", text, " 1\n") for text in ("[b]", " #\n", '"', "a[", "\n", "a ")),
    *(("json", "", text, "") for text in ('{"X": [[1]]}', '{"X": [[1]]}\n', "[", '{"a":')),
    *(("json", "", text, "") for text in ('{"X": [0,5, 1,2]}', '{"X": "\\u0041"}')),
    ("json", '{"X": "', '\\"', '"'),
    ("json", '{"X":\n', '"\\', '\n"'),
    ("json", '{"a": 1}', " ", "x"),
    ("json", '{"a": "', "\\ud83d\\ude00", '"}'),
    *(("csv", "", text, "") for text in ("1,0\n", '"', '"a""b",', "a ", "1", "am,1,0\n", ",,,\n")),
    *(("csv", "", text, "") for text in ("1,0\n---\n", "k#\n1,0\n", "X[#]\n1,0\n", "1,5;2,5\n")),
    *(("csv", "", text, "\nX\n1,0\n") for text in ("# a b\n", "k#,1\n", "score.k#,1\n", "a.")),
    ("csv", "a b", "1", " ("),
    ("problem", "X: [[1]]\n", "key#: 1\n", ""),
    ("problem", "X: [[1]]\n", "key#:\n", ""),
    ("problem", "X: [[1]]\nmask: {", "key#: 1, ", "}"),
    ("problem", "X: [[1]]\nmask: {", "key#, ", "}"),
    ("problem", "X: [[1]]\nmarking: {points: {", "key#: 1, ", "}}"),
    ("problem", "X: [[1]]\n", "k.", ": 1\n"),
    ("problem", "X: [[", "~, ", "1]]"),
    ("problem", "X: [[", "a, ", "1]]"),
    *(
        ("problem", f'X: [[1]]\n{key}: "', "abs(", '"')
        for key in ("bias", "scale", "mask", "heads")
    ),
    *(("problem", f'X: [[1]]\n{key}: "', "-_ ", '"') for key in ("score", "gradient", "tokens")),
    ("problem", 'X: [[1]]\nmarking: {ask: "', "a[", '"}'),
    ("json problem", '{"X": [[1]]', ', "key#": 1', "}"),
    ("csv problem", "X\n1,0\n", "key#\n1,0\n", ""),
    ("csv answers", "output\n1,0\n", "key#\n1,0\n", ""),
    ("yaml answers", "output: [[1]]\n", "key#: 1\n", ""),
    *(("worksheet", "", text, "") for text in ("## k#\n1 0\n", "| 1 | 0 |\n", "#", "## a ")),
    *(("text answers", "", text, "\n1 0\n") for text in ("a", "a ", "1 ", "a.")),
    *(("tex answers", "", text, "") for text in ("\\begin{bmatrix} 1 & 0 \\end{bmatrix}\n", "$")),
]


def text_of(before: str, repeated: str, after: str, count: int) -> str:
    many = (repeated.replace("#", str(n)) for n in range(1, count + 1))
    return before + "".join(many if "#" in repeated else [repeated * count]) + after


def seconds(reader: Callable[[str, Path], object], text: str, folder: Path) -> float:
    """Return the processor time that a reader takes for a text."""
    start = time.thread_time()
    with suppress(InputError, NumberError):
        reader(text, folder)
    return time.thread_time() - start


def assert_linear(reader: Callable[[str, Path], object], texts: list[str], folder: Path) -> None:
    """Compare the times for two texts; a time that something disturbed is taken again."""
    short, long = texts
    gc.disable()  # its work is that of all objects of the process
    try:
        most = MAX_RATIO * max(seconds(reader, short, folder), SHORTEST)
        assert any(seconds(reader, long, folder) <= most for _ in range(3))
    finally:
        gc.enable()


@pytest.mark.parametrize(("reader", "before", "repeated", "after"), TEXTS)
def test_a_reader_takes_linear_time(
    reader: str, before: str, repeated: str, after: str, tmp_path: Path
) -> None:
    texts = [text_of(before, repeated, after, count) for count in (COUNT, COUNT * 2**DOUBLINGS)]
    assert_linear(READERS[reader], texts, tmp_path)


@pytest.mark.parametrize("reader", ["expression", "answer", "pasted", "yaml", "json", "csv"])
@pytest.mark.parametrize("opening", NESTED)
def test_a_reader_takes_linear_time_for_what_is_nested(
    reader: str, opening: str, tmp_path: Path
) -> None:
    closing = {"(": ")", "{": "}", "[": "]"}.get(opening.strip()[-1], "")
    closing = closing or ("}" if "{" in opening else "")
    counts = (COUNT, COUNT * 2**DOUBLINGS)
    texts = [opening * count + "1" + closing * count for count in counts]
    assert_linear(READERS[reader], texts, tmp_path)
    assert_linear(READERS[reader], [f"{text} & 1" for text in texts], tmp_path)


def test_the_list_of_a_zip_file_takes_linear_time(tmp_path: Path) -> None:
    paths = []
    for count in (COUNT // 2, COUNT * 4):
        paths.append(str(tmp_path / f"{count}.zip"))
        with zipfile.ZipFile(paths[-1], "w") as file:
            for number in range(count):
                file.writestr(f"{number}/hw.yaml", "")

    def listed(path: str, _: Path) -> object:
        files._opened.cache_clear()
        return [*files.walk(path)]

    assert_linear(listed, paths, tmp_path)


WORDS = "kind: transformer\ntokens: [w1]\nlayers: [{}]\nembedding: {table: [[1]], vocabulary: [w"
LONG_FORM = "student,step,row,column,value\n"
MANY = 12_000
"""How often the longer text of a class repeats something."""


@pytest.mark.parametrize(
    ("arguments", "before", "repeated", "after"),
    [
        (("compute",), WORDS, ", w#", "]}\n"),
        (("check", "hw.yaml"), LONG_FORM, "Ada Lovelace,weights,1,1,0.5\n", ""),
        (("check", "hw.yaml"), 'Name,"weights[1,1]"', ",[x", "\ns,1\n"),
        (("check", "hw.yaml"), 'Name,"weights[1,1]"', ',"weights[#,1]"', "\ns,1\n"),
        (("check", "hw.yaml"), "student: Ada", " Ann#", "\nweights: [[1]]\n"),
        (("check", "hw.yaml", "hw.yaml", "--for"), "Name\nAda", " Ann#", "\n"),
        (("check", "hw.yaml", "--manifest"), "student,problem,file,rule\n", "s,,no#.yaml,\n", ""),
    ],
)
def test_a_class_takes_linear_time(
    arguments: tuple[str, ...], before: str, repeated: str, after: str, attn: Attn, tmp_path: Path
) -> None:
    (tmp_path / "hw.yaml").write_text("X: [[1]]\n")
    (tmp_path / "class.txt").write_text("Ada Lovelace\nBo Kim\n")
    known = () if "--for" in arguments or "compute" in arguments else ("--for", "class.txt")

    def command(text: str, folder: Path) -> object:
        path = folder / ("given.csv" if "," in before[:20] else "given.yaml")
        path.write_text(text)
        return attn(*arguments, path, *known, cwd=folder)

    counts = (MANY // 2**DOUBLINGS, MANY)
    assert_linear(command, [text_of(before, repeated, after, n) for n in counts], tmp_path)


def test_a_hint_is_looked_up_for_some_unknown_students(
    attn: Attn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(name_index, "MAX_COMPARED", 20 * 10)
    (tmp_path / "hw.yaml").write_text("X: [[1]]\n")
    (tmp_path / "class.csv").write_text("Name\n" + text_of("", "Ann# Lee\n", "", 20))
    (tmp_path / "a.csv").write_text(text_of('Name,"weights[1,1]"\n', "Anx# Lea,1\n", "", 20))
    found = attn("check", "hw.yaml", "a.csv", "--for", "class.csv", "-f", "jsonl", cwd=tmp_path)
    assert "a.csv:11: this does not tell whose answers it has, perhaps Ann10 Lee" in found.out
    assert "a.csv:12: this does not tell whose answers it has\\n" in found.out


def test_files_that_may_be_of_many_students_take_linear_time(attn: Attn, tmp_path: Path) -> None:
    """Each is explained once, with ten of the students at most."""
    (tmp_path / "hw.yaml").write_text("X: [[1]]\n")

    def command(text: str, folder: Path) -> object:
        count = len(text)
        rows = (f"Same Name,{number}\n" for number in range(count))
        (folder / f"{count}.csv").write_text("".join(["Name,ID\n", *rows]))
        (folder / f"{count}/Same Name").mkdir(parents=True, exist_ok=True)
        for number in range(count):
            (folder / f"{count}/Same Name/hw{number}.yaml").write_text("weights: [[1]]\n")
        flags = ("--for", f"{count}.csv", "-f", "csv")
        said = attn("check", "hw.yaml", f"{count}", *flags, cwd=folder).out
        assert "perhaps Same Name (0) or Same Name (1)" in said
        assert "Same Name (9) or another one" in said
        return said

    assert_linear(command, ["x" * 20, "x" * 160], tmp_path)


@pytest.mark.parametrize("text", ["abs(" * 10_000, "abs(" * 10_000 + "1" + ")" * 10_000])
def test_a_long_expression_is_refused_at_once(text: str, attn: Attn, tmp_path: Path) -> None:
    hw = tmp_path / "hw.yaml"
    for form in ('bias: "{}"', 'bias: [["{}", 0], [0, 0]]', 'scale: "{}"', 'X: "{}"'):
        hw.write_text(f"Q: [[1, 0], [0, 1]]\n{form.format(text)}\n")
        result = attn("compute", hw)
        assert result.status == 2
        assert f"a number of {len(text)} characters is too long" in result.err
    hw.write_text("X: [[1, 0], [0, 1]]\n")
    for name, content in (
        ("a.yaml", f'output: [["{text}", 0], [0, 1]]\n'),
        ("a.csv", f"output\n{text},0\n0,1\n"),
    ):
        (tmp_path / name).write_text(content)
        result = attn("check", hw, tmp_path / name)
        assert result.status == 1
        assert f"output[1, 1]: a number of {len(text)} characters is too long" in result.out


XS = "X: [[1, 0], [0, 1]]\n"
SUM = "sqrt(2)+" * 60 + "1"

# A reader, what is before, what is repeated, what is after, how often it is too much, what is said.
BOUNDED = [
    ("problem", XS, "k#: 1\n", "", 10_001, "a mapping has more than 10,000 keys"),
    ("json problem", '{"X": [[1]]', ', "k#": 1', "}", 10_001, "a mapping has more than 10,000"),
    ("yaml answers", "", "weights[1,#]: 1\n", "", 10_001, "a mapping has more than 10,000"),
    ("problem", f"kind: transformer\n{XS}layers: [{{}}", ", {}", "]", 1_001, "1,000 is the most"),
    ("problem", f"X: [[{SUM}]", f", [{SUM}]", "]", 420, "200,000 is the most"),
    ("problem", f"{XS}tokens: [a", ", a", "]", 10_000, "labels, but X has 2 rows"),
    ("problem", f"{XS}k", "k", ": 1", 200_000, "no key, or no colon"),
]


@pytest.mark.parametrize(("reader", "before", "repeated", "after", "count", "said"), BOUNDED)
def test_much_of_anything_is_bounded_or_linear(
    reader: str, before: str, repeated: str, after: str, count: int, said: str, tmp_path: Path
) -> None:
    """The error names the bound; twice as much takes at most 2.6 times the time and memory."""
    short, long = (text_of(before, repeated, after, number) for number in (count, 2 * count))
    least = max(seconds(READERS[reader], short, tmp_path), 0.02)
    assert any(seconds(READERS[reader], long, tmp_path) <= 2.6 * least for _ in range(3))
    peaks = []
    for text in (short, long):
        tracemalloc.start()
        with pytest.raises(InputError, match=said):
            READERS[reader](text, tmp_path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] <= 2.6 * max(peaks[0], 100_000)
    assert peaks[0] <= 200 * max(len(short), 20_000)


def test_keys_that_mean_no_step_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_names, "MAX_UNKNOWN", 20)
    problem, answers = attncli.Problem(X=[[1, 0]]), {f"key{n}": 1 for n in range(21)}
    with pytest.raises(InputError, match="more than 20 keys mean no step"):
        attncli.check(problem, answers)
    report = attncli.check(problem, {f"weights[1,{n}]": 1 for n in range(1, 21)})
    assert "7 more that may be steps" in attncli.render(report, "table")

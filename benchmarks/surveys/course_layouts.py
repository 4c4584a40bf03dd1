r"""The submissions of a course, as learning platforms and students name them.

The names were made by a person who had not read the rules by which `attn check` tells whose a file
is. Each is fair: a teacher could tell it, or it is marked with `is_unclear=True`. The formats:

- Moodle, mod/assign/locallib.php, `download_submissions`: the full name with `_` as a blank, `_`,
  the participant's number, `_assignsubmission_file_`, made a file name by `clean_filename`, which
  drops `& < > " ' : | / \` and the backtick. A folder since 3.1, before that the start of each
  file's name. Text typed online is in a folder of its own, `…_assignsubmission_onlinetext_`.
- Canvas, lib/content_zipper.rb: the sortable name in small letters, `LATE`, and the user's number,
  joined by `_`, without all that is no letter, mark, digit or `_`; then the attachment's number and
  the name of the file, which `Attachment.make_unique_filename` ends in -1, -2, … if it was there.
- Gradescope, "Export submissions": `assignment_N_export/submission_metadata.yml` has `:submitters:`
  (`:name`, `:sid`, `:email`) under the name of each folder; a group has several submitters.
- Google Forms: Timestamp, Email Address, the questions. Microsoft Forms: ID, Start time, Completion
  time, Email, Name, the questions; a form without sign-in has `anonymous` as Email, and no Name.
"""

from __future__ import annotations

import json
import random
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from benchmarks.surveys.course_students import DATA, Answer, Course, Person, table, worked


class Upload(NamedTuple):
    """A file as a student hands it in; `counts` is false where a manifest need not have it."""

    text: str
    problems: tuple[int, ...] = ()
    name: str = ""
    counts: bool = True


@dataclass
class Layout:
    """A folder of submissions: its files, and whose its pieces are.

    A piece is a file of a student, or of a group; in a table, a row as `file:line`.
    """

    course: Course
    rng: random.Random
    roster: str = "moodle.csv"
    files: dict[str, str] = field(default_factory=dict)
    pieces: list[dict[str, Any]] = field(default_factory=list)

    def add(self, path: str, upload: Upload, *owners: Person, is_unclear: bool = False) -> None:
        assert path not in self.files
        self.files[path] = upload.text
        if owners:
            self.own(path, upload, *owners, is_unclear=is_unclear)

    def own(self, path: str, upload: Upload, *owners: Person, is_unclear: bool = False) -> None:
        """Note whose a piece is."""
        names = [owner.name for owner in owners]
        piece = {"path": path, "owners": names, "problems": upload.problems}
        self.pieces.append(piece | {"counts": upload.counts, "open": is_unclear})


# ---- what students write


def written(answer: Answer, keys: dict[str, Any], rng: random.Random, suffix: str = "yaml") -> str:
    if suffix == "csv":
        return "\n".join(f"{step}\n{table(rows)}" for step, rows in answer.steps.items())
    if suffix == "json":
        return json.dumps(keys | answer.steps, ensure_ascii=False, indent=1)
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in keys.items()]
    for step, rows in answer.steps.items():
        block = "".join(f"\n  {' '.join(row)}" for row in rows)
        flow = ", ".join(f"[{', '.join(row)}]" for row in rows)
        lines.append(f"{step}: |{block}" if rng.random() < 0.3 else f"{step}: [{flow}]")
    return "\n".join(lines) + "\n"


def uploads(out: Layout, person: Person, nested: bool) -> list[Upload]:
    """Return a person's files: one for each problem, one for all, or one for each matrix."""
    rng, answers = out.rng, out.course.answers[person]
    kind, titles = rng.random(), [problem["title"] for problem in out.course.problems]
    keys = {n: rng.choice(({"problem": n}, {"title": titles[n - 1]}, {})) for n in answers}
    found = []
    if kind < 0.15:
        way = rng.choice(["p{n}_{step}", "{step} problem {n}", *["p{n}/{step}"] * 3 * nested])
        for n, answer in answers.items():
            for step, rows in answer.steps.items():
                found.append(Upload(table(rows), (n,), way.format(n=n, step=step) + ".csv"))
    elif kind < 0.35:
        text = "---\n".join(written(answer, keys[n], rng) for n, answer in answers.items())
        found.append(Upload(text, tuple(answers), f"{rng.choice(DATA['whole'])}.yaml"))
    else:
        style = rng.choice(DATA["messy" if rng.random() < 0.25 else "tidy"])
        suffixes = ["yaml"] * 6 + ["yml", "YAML", "json", "csv"]
        usual = rng.choice(suffixes)
        for n, answer in answers.items():
            suffix = usual if rng.random() < 0.9 else rng.choice(suffixes)
            text = written(answer, keys[n] if rng.random() < 0.2 else {}, rng, suffix.lower())
            word, title = ("first", "second", "third")[n - 1], titles[n - 1].lower()
            more = {"k": 7 - 2 * n, "roman": "I" * n, "word": word, "title": title}
            name = style.format(n=n, first=person.first, **more)
            found.append(Upload(text, (n,), f"{name}.{suffix}"))
    if rng.random() < 0.1:  # uploaded twice
        name = re.sub(r"(\.\w+)$", r" (2)\1", found[0].name)
        found.append(found[0]._replace(name=name, counts=False))
    if rng.random() < 0.15:
        name = rng.choice([*DATA["stray"]] if nested else ["scan.pdf", "notes.docx"])
        found.append(Upload(DATA["stray"][name], name=name, counts=False))
    if nested and rng.random() < 0.2:
        found = [upload._replace(name=f"HW 2/{upload.name}") for upload in found]
    return found


def older(out: Layout, upload: Upload) -> Upload:
    """Return what was handed in before, with other numbers."""
    n, *_ = upload.problems
    text = written(worked(out.course.problems[n - 1], out.rng, "slip"), {}, out.rng)
    return upload._replace(text=text, counts=False)


# ---- the layouts


def clean(out: Layout) -> None:
    for person, answers in out.course.answers.items():
        for n, answer in answers.items():
            upload = Upload(written(answer, {}, out.rng), (n,))
            out.add(f"{person.name}/{n}.yaml", upload, person)


def moodle(out: Layout, between: str = "/") -> None:
    for person in out.course.present():
        name = re.sub(r"""[&<>"`|':\\/]""", "", f"{person.name}_{person.moodle_id}")
        for upload in uploads(out, person, nested=between == "/"):
            out.add(f"{name}_assignsubmission_file_{between}{upload.name}", upload, person)
        if out.rng.random() < 0.2:
            path = f"{name}_assignsubmission_onlinetext_{between}onlinetext.html"
            out.add(path, Upload("<p>Sorry, number 3 is missing :(</p>"))


def moodle_flat(out: Layout) -> None:
    moodle(out, between="")


def canvas(out: Layout) -> None:
    out.roster, files = "canvas.csv", 99826
    for person in out.course.present():
        late = "_LATE" if out.rng.random() < 0.2 else ""
        user = f"{person.sortable.lower()}{late}_{person.canvas_id}"
        user = "".join(c for c in user if c == "_" or unicodedata.category(c)[0] in "LMN")
        for upload in uploads(out, person, nested=False):
            start, dot, suffix = upload.name.rpartition(".")
            versions = [upload]
            if upload.counts and suffix == "yaml" and out.rng.random() < 0.2:
                before = [older(out, upload) for _ in range(out.rng.randint(1, 2))]
                versions = [*before, upload]
            for times, version in enumerate(versions):
                end = f"-{times}" if times else ""
                out.add(f"{user}_{files}_{start}{end}{dot}{suffix}", version, person)
                files += out.rng.randint(1, 40)


def gradescope(out: Layout) -> None:
    root, known = "assignment_8046601_export", []
    one, other = out.course.pair
    for person in out.course.present():
        if person is other:
            continue
        owners = (one, other) if person is one else (person,)
        folder = f"submission_{out.rng.randint(10**7, 10**8)}"
        for upload in uploads(out, person, nested=True):
            out.add(f"{root}/{folder}/{upload.name}", upload, *owners)
        known.append(f"{folder}:\n  :submitters:\n")
        for owner in owners:  # students choose their names there, and some have no number
            name = owner.spelled(out.rng) if out.rng.random() < 0.15 else owner.name
            sid = owner.sid if out.rng.random() < 0.9 else ""
            known.append(f"  - :name: {name}\n    :sid: '{sid}'\n    :email: {owner.email}\n")
        known.append("  :created_at: 2026-11-22 23:51:07.123456000 Z\n  :score: 0.0\n")
    out.add(f"{root}/submission_metadata.yml", Upload("".join(known)))


def folders(out: Layout) -> None:
    jans = ["Jan (2)", "Jan"]
    for person in out.course.present():
        name = person.spelled(out.rng) if out.rng.random() < 0.5 else person.name
        name += out.rng.choice(["", "", "", "", "_hw2", " - HW2", " (1)"])
        if out.rng.random() < 0.2:
            name = unicodedata.normalize("NFD", name)
        name = f"{name}/{name}" if out.rng.random() < 0.1 else name  # unpacked twice
        is_jan = person.first == "Jan"  # there are two, and not even a person could tell which
        name = jans.pop() if is_jan else name
        for upload in uploads(out, person, nested=True):
            out.add(f"{name}/{upload.name}", upload, person, is_unclear=is_jan)
    for path, text in DATA["stray"].items():
        out.add(path, Upload(text))
    out.add("__MACOSX/._hw2", Upload("\0\5\26\7"))


def files(out: Layout) -> None:
    """Write all into one folder: names in all orders, or inside the file; for one, a folder."""
    rng, inside, whole = out.rng, 0, ["Sofia hw2 FINAL.yaml", "sofia_hw2.yaml"]
    for place, person in enumerate(out.course.present()):
        who, kind, answers = person.spelled(rng), rng.random(), out.course.answers[person]
        if person.first in ("Sofia", "Sofía") or place == 5:  # not even a person could tell
            text = "---\n".join(written(answer, {}, rng) for answer in answers.values())
            name = "hw2.yaml" if place == 5 else whole.pop()
            out.add(name, Upload(text, tuple(answers)), person, is_unclear=True)
        elif kind < 0.15:
            key = {"student": rng.choice([person.name, who, person.email])}
            for n, answer in answers.items():
                inside += 1
                text = written(answer, key | {"problem": n}, rng)
                out.add(f"answers ({inside}).yaml", Upload(text, (n,)), person)
        else:
            ways = ["{who}_{name}"] * 2 + ["{who} - {name}", "{name}_{who}", "{name} {who}"]
            way = f"{person.name}/{{name}}" if place == 3 else rng.choice(ways)
            for upload in uploads(out, person, nested=False):
                start, dot, suffix = upload.name.rpartition(".")
                out.add(way.format(who=who, name=start) + dot + suffix, upload, person)
                if upload.counts and suffix == "yaml" and rng.random() < 0.05:
                    name = way.format(who=who, name=f"OLD {start}") + dot + suffix
                    out.add(name, older(out, upload), person)
    out.add("HW2 instructions.txt", Upload("Hand in p1, p2 and p3 until Sunday, 23:59.\n"))
    out.add("template.yaml", Upload("scores: [[?, ?], [?, ?]]\nweights: [[?, ?], [?, ?]]\n"))


def cells(out: Layout, answers: dict[int, Answer], form: str) -> Iterator[tuple[str, str]]:
    """Yield the headings and numbers of a row; a spreadsheet drops the zeros at the end."""
    for n, problem in enumerate(out.course.problems, 1):
        for step, rows in worked(problem, random.Random(0), "").steps.items():
            own = answers[n].steps[step] if n in answers else [[""] * len(row) for row in rows]
            for i, row in enumerate(own, 1):
                for j, number in enumerate(row, 1):
                    yield form.format(n=n, step=step, i=i, j=j), re.sub(r"\.?0+$", "", number)


def google(out: Layout) -> None:
    path, form = "HW 2 (Responses) - Form Responses 1.csv", "{n}: {step}[{i},{j}]"
    heads = [head for head, _ in cells(out, {}, form)]
    rows = [["Timestamp", "Email Address", "Your name", *heads]]
    rows += [["11/20/2026 9:00:01", "teacher@uni.example", "test", *["0" for _ in heads]]]
    people = out.course.present()
    twice = out.rng.sample(people, 2)
    for place, person in enumerate([*twice, *people]):
        numbers = [number for _, number in cells(out, out.course.answers[person], form)]
        email, typed = person.email, person.spelled(out.rng)
        counts = place >= len(twice)
        if not counts:  # sent again later, with other numbers
            numbers = [number and "1" for number in numbers]
        elif person not in twice:
            email = out.rng.choice([*[email] * 6, email.upper(), "sunny99@mail.example"])
        upload = Upload("", tuple(out.course.answers[person]), counts=counts)
        out.own(f"{path}:{len(rows) + 1}", upload, person)
        rows.append([f"11/22/2026 {12 + place // 6}:0{place % 6}:07", email, typed, *numbers])
    out.add(path, Upload(table(rows)))


def microsoft(out: Layout) -> None:
    path, form = "Übung 2(1-28).csv", "Problem {n}: {step}[{i},{j}]"
    start = ["ID", "Start time", "Completion time", "Email", "Name"]
    asked = "Wer bist du? (so wie auf dem Studierendenausweis)"
    rows = [[*start, asked, *(head for head, _ in cells(out, {}, form))]]
    for place, person in enumerate(out.course.present(), 1):
        typed, answers = person.spelled(out.rng), out.course.answers[person]
        times = [f"22.11.26 {12 + place // 6}:0{place % 6}:{x}" for x in ("07", "51")]
        numbers = [number.replace(".", ",") for _, number in cells(out, answers, form)]
        out.own(f"{path}:{len(rows) + 1}", Upload("", tuple(answers)), person)
        rows.append([str(place), *times, "anonymous", "", typed, *numbers])
    out.add(path, Upload("\ufeff" + table(rows, ";")))


WRITERS: dict[str, Callable[[Layout], None]] = {
    **{"clean": clean, "moodle": moodle, "moodle_flat": moodle_flat, "canvas": canvas},
    **{"gradescope": gradescope, "folders": folders, "files": files},
    **{"google": google, "microsoft": microsoft},
}

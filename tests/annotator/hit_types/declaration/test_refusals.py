"""What is wrong with a file is said all at once, each with its place, its line and what was expected."""

from __future__ import annotations

import json
import re

import pytest

from annotator.hit_types.declaration.document import DEEPEST, MOST_BYTES, document_read
from annotator.hit_types.declaration.problems import DeclarationRefused
from annotator.hit_types.declaration.reading import hit_type_read
from annotator.hit_types.declaration.shape import schema
from annotator.hit_types.registry import hit_types
from tests.annotator.hit_types.declaration.files import GALLERY_FILES, KINDS_FILE, TWIN_FILE

TEXT = KINDS_FILE.read_text(encoding="utf-8")


def refused(source: str | bytes) -> list[str]:
    with pytest.raises(DeclarationRefused) as error:
        hit_type_read(source)
    return [str(problem) for problem in error.value.problems]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("", "the file is empty; expected an object with the keys of a HIT type"),
        ("just text", 'the file is "just text"; expected an object of names and values'),
        ("a: &x 1\nb: *x\n", "line 1: a has an anchor, &x; remove it"),
        ("a: 1\nb: *x\n", "line 2: b refers to *x; write the value here"),
        ("a: !!python/name:os.system x\n", "line 1: a has a tag, tag:yaml.org,2002:python/name:os.system; remove it"),
        ("a: 1\nb: 2\na: 3\n", "line 3: a is given twice; use each name once"),
        ("base: {a: 1}\nb:\n  <<: {c: 2}\n", "line 3: b merges another object with <<; write its keys here"),
        ("a: 1\n---\nb: 2\n", "line 2: the file has a second document after ---; expected one"),
        ("a:\n\t- b\n", "line 2: the file can't be read as YAML or JSON"),
        ("[" * (DEEPEST + 2) + "]" * (DEEPEST + 2), f"is nested more than {DEEPEST} levels deep"),
        (b"a: 1\nb: \xff\n", "line 2: the file isn't UTF-8 text; save it as UTF-8"),
        ("a: 1\nb: \x00\n", "line 2: the file contains the control character U+0000; remove it"),
        ("a: 1\nb: Y\u202eseY\n", "line 2: the file contains the control character U+202E; remove it"),
        ('a: 1\nb: {c: ["x", "\\0"]}\n', "line 2: b.c[2] contains the control character U+0000; remove it"),
        ('{"a": "\\u202e"}', "line 1: a contains the control character U+202E; remove it"),
        ('a: 1\n"b\\x1b": 2\n', "line 2: the file contains the control character U+001B; remove it"),
        ("a" * (MOST_BYTES + 1), f"expected at most {MOST_BYTES:,}"),
    ],
)  # fmt: skip
def test_files_that_are_no_safe_yaml(source: str | bytes, said: str) -> None:
    assert any(said in one for one in refused(source)), refused(source)


def test_words_of_yaml_are_text() -> None:
    found = document_read("yes: no\non: 2020-01-01\nbig: 1e5\ntrue: true\n1: 1\n").value
    assert found == {"yes": "no", "on": "2020-01-01", "big": "1e5", "true": True, "1": 1}


def test_json_is_read_with_its_lines() -> None:
    document = document_read('{\n\t"a": "\\ud83d\\ude00",\n\t"b": {"c": 1.5}\n}')
    assert document.value == {"a": "\U0001f600", "b": {"c": 1.5}}
    assert document.lines["b", "c"] == 3
    whole = document_read(TEXT).value
    assert hit_type_read(json.dumps(whole)).version == hit_type_read(TEXT).version


#: (what is replaced, with what, the place, what is said) in the file with every kind.
FAULTS = [
    ("foretell_hit_type: 1", "foretell_hit_type: 2", "foretell_hit_type", "is 2; expected 1"),
    ("title: Every kind of question", "titel: x", "titel", "Did you mean title?"),
    ("kind: code,", "kind: cod,", "columns.program.kind", "Did you mean code?"),
    ("help: A program", "help: 5", "columns.program.help", 'put it in quotes if it is meant as text: "5"'),
    ("is: instance", "is: output", "columns", "need exactly one with `is: instance`; 0 have it"),
    ("question: {kind: text, help", "order: {kind: text, help", "columns.order", "is a name that Foretell uses itself"),
    ("  verdict: {kind: text", "  verdicts: {kind: text", "stages.after.show.verdict", "is no column; expected one of: question"),
    ("      program: Program\n", "", "columns.program", "is shown in no stage"),
    ("show: {verdict: What happened}", "show: {verdict: V, first: F}", "stages.after.show.first", "is shown since stage before"),
    ("show: {verdict: What happened}", "show: {truth: V}", "stages.after.show.truth", "is hidden from raters"),
    ("about: [question, options]", "about: [question, verdict]", "stages.before.questions.which.about[2]", "isn't shown at this stage"),
    ("options_of: options", "options_of: topic", "stages.before.questions.which.options_of", "a column of kind label"),
    ("when: {clear: no}", "when: {clear: maybe}", "stages.before.questions.unclear.when.clear", "expected one of: yes, no"),
    ("when: {clear: no}", "when: {effort: 1}", "stages.before.questions.unclear.when.effort", "is no question before this one"),
    ("when: {clear: no}", "when: 'clear == no'", "stages.before.questions.unclear.when", "expected an object of names and values"),
    ("for_each: points", "for_each: topic", "stages.before.questions.present.for_each", "expected one of kind units or turns"),
    ("for_each: points", "for_each: talk", "stages.before.questions.present.for_each", "which isn't required"),
    ("anchors: {1: easy, 5: hard}", "anchors: {1: easy}", "stages.before.questions.effort.anchors.5", "is missing"),
    ("from: 1, to: 5", "from: 1, to: 50", "stages.before.questions.effort.to", "expected at most 20"),
    ("least: 0, most: 90.5", "least: 99, most: 90.5", "stages.after.questions.minutes.least", "more than most"),
    ("between: [first, second]", "between: [first]", "stages.before.questions.better.between", "has 1 entries; expected at least 2"),
    ("headline: clear", "headline: clarity", "headline", "no variable; expected one of"),
    ("exam_questions: 1", "exam_questions: 4", "defaults.exam_questions", "is 4; the exam has 1"),
    ("      weight: 0.5", "      weight: light", "examples[1].item.weight", "is not a number"),
    ("      effort: 2", "      effort: 7", "examples[1].answers.effort", "choose one of: 1, 2, 3, 4, 5"),
    ("rank: [facts, tone, length]\n", "rank: [facts, tone]\n", "examples[1].answers.rank", "the best first"),
    ("minutes: 2.5\n", "minutes: 95\n", "examples[1].answers.minutes", "expected a number from 0 to 90.5, in min, got '95'"),
    ("tags: [odd]", "tags: [odd, none]", "examples[1].answers.tags", "alone, or the others without it"),
    ("present: [yes, no]", "present: [yes]", "examples[1].answers.present", "expected a list of 2 answers"),
    ("answers: {clear: yes, effort: 1}", "answers: {clean: yes}", "exam[1].answers.clean", "is not a question"),
    ("headline: clear\n", 'headline: clear\nprompt: "no headings"\n', "prompt", "needs at least one '## user' heading"),
    ("headline: clear\n", 'headline: clear\nprompt: "## user\\n$nobody"\n', "prompt", "uses $nobody, which has no value"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "place", "said"), FAULTS, ids=[f"{n}-{one[2]}" for n, one in enumerate(FAULTS)]
)
def test_a_fault_is_said_at_its_place(old: str, new: str, place: str, said: str) -> None:
    assert old in TEXT
    broken = TEXT.replace(old, new, 1)
    found = refused(broken)
    at = [one for one in found if re.sub(r"^line \d+: ", "", one).startswith(f"{place} ")]
    assert any(said in one for one in at), found
    assert all(re.match(r"line \d+: ", one) for one in found)


def test_all_problems_are_said_at_once_with_their_lines() -> None:
    broken = TEXT.replace("kind: code,", "kind: cod,").replace("headline: clear", "headline: clarity")
    broken = broken.replace("when: {clear: no}", "when: {clear: maybe}")
    lines = broken.split("\n")
    found = refused(broken)
    for said, of in (("cod", "kind: cod,"), ("maybe", "clear: maybe")):
        number = next(n for n, line in enumerate(lines, 1) if of in line)
        assert any(one.startswith(f"line {number}: ") and said in one for one in found), found


def test_the_versions_follow_the_content() -> None:
    version = hit_type_read(TEXT).version
    assert hit_type_read(f"# A comment.\n{TEXT}").version == version
    assert hit_type_read(TEXT.replace("ask: Why?", "ask: Why not?")).version != version


def test_signs_of_templates_are_text_in_a_prompt_that_is_written_from_the_file() -> None:
    kind = hit_type_read(TEXT.replace("task: Answer everything", 'task: "Win $5 or ${name}"'))
    assert "Win $5 or ${name}" in kind.prompt(kind.exam[0].payload)[0].content


def test_files_fit_the_published_schema() -> None:
    from jsonschema import Draft202012Validator

    Draft202012Validator.check_schema(dict(schema()))
    for file in (*GALLERY_FILES, KINDS_FILE, TWIN_FILE):
        Draft202012Validator(dict(schema())).validate(document_read(file.read_bytes()).value)


def test_the_schema_names_the_measures_of_types_in_python() -> None:
    known = set().union(*(kind.measures for kind in hit_types().values()))
    assert set(schema()["properties"]["measures"]["items"]["enum"]) == known

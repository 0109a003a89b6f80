"""The commands in the documents, on a fresh installation: one with the demo's accounts and its scripted endpoint."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command, get_commands, load_command_class

from annotator.models import Study, User
from annotator.services.demo import RESEARCHER, demo_accounts
from annotator.services.workspace import workspace_personal
from evaluation.models import Endpoint, Pipeline, Run
from evaluation.services.demo import ENDPOINT, demo_results_load
from foretell import env
from tests.evaluation.pipelines.conftest import small  # noqa: F401
from tests.evaluation.run_factories import SCRIPTED_MARKS, make_endpoint, make_material
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_study, make_user
from tests.public_data import PublicData

pytestmark = SCRIPTED_MARKS
PAGES = sorted([env.ROOT / "README.md", *(env.ROOT / "docs").rglob("*.md")])
COMMAND = re.compile(r"manage\.py (\w+)([^`\n|]*)")
#: A line that can be run as it is, given the files that it names.
LINE = re.compile(r"^ *(?:\.venv/bin/python |python )?manage\.py (.+?)(?: {2,}.*)?$", re.MULTILINE)


@pytest.fixture
def researcher(scripted: ScriptedProcess) -> User:
    """What ``make run`` creates, with one demo study instead of all."""
    demo_accounts(known={})
    user = User.objects.get(username=RESEARCHER)
    make_material(2, slug="demo-simulation", by=user)
    list(demo_results_load(base_url=scripted.base_url))
    assert Endpoint.objects.get(name=ENDPOINT).workspace == workspace_personal(user=user)
    return user


def run_line(line: str) -> str:
    out = StringIO()
    name, *words = shlex.split(line, comments=True)
    call_command(name, *words, stdout=out, stderr=out)
    return out.getvalue()


def lines_of(page: str, *names: str) -> list[str]:
    """The lines of a page that run one of these commands; a line that ends in a backslash goes on."""
    found = LINE.findall(re.sub(r" *\\\n *", " ", (env.ROOT / page).read_text()))
    return [line for line in found if line.split()[0] in names]


def test_every_option_of_a_documented_command_exists() -> None:
    known = get_commands()
    seen, wrong = 0, []
    for page in PAGES:
        for name, rest in COMMAND.findall(page.read_text()):
            if name not in known:
                wrong.append(f"{page.name}: {name}")
                continue
            parser = load_command_class(known[name], name).create_parser("manage.py", name)  # type: ignore[arg-type]
            options = {option for action in _actions(parser) for option in action.option_strings}
            for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", rest):
                seen += 1
                if option not in options:
                    wrong.append(f"{page.name}: {name} {option}")
    assert seen > 40
    assert wrong == []


def _actions(parser: Any) -> list[Any]:
    found = list(parser._actions)
    for action in parser._actions:
        for one in (action.choices or {}).values() if isinstance(action.choices, dict) else ():
            found += _actions(one)
    return found


def test_the_first_study_of_the_tutorial(
    researcher: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it stands, from the checkout; the README has the same commands in short."""
    monkeypatch.chdir(env.ROOT)
    names = ("import_material", "study", "rehearse", "simulate", "report")
    lines = lines_of("docs/tutorials/first-study.md", *names)
    assert [line.split()[0] for line in lines] == list(names)
    assert [line.split()[0] for line in lines_of("README.md", *names)] == list(names)
    said = [run_line(line + (" --inline" if line.startswith("simulate") else "")) for line in lines]
    assert "Imported 12 items into owls: 6 instances" in said[0]
    assert "36 judgments by 12 rehearsal raters" in said[2]
    assert re.search(r"report \d+: /reports/\d+/", said[4])
    study = Study.objects.get(slug="owls")
    assert Run.objects.get(study=study).state == "done"

    (line,) = lines_of("README.md", "agreement")
    monkeypatch.chdir(tmp_path)
    Path("any.csv").write_text("who,item,label\na,1,yes\nb,1,yes\na,2,no\nb,2,yes\n")
    assert run_line(line)


def test_the_pipeline_of_the_page_about_pipelines(
    researcher: User,
    tmp_path: Path,
    small: Any,  # noqa: F811
) -> None:
    (line,) = lines_of("docs/pipelines.md", "pipeline")
    file = tmp_path / "strategyqa_processed_dev.json"
    file.write_text(json.dumps([
        {
            "qid": f"{n:020x}", "term": f"Animal {n}", "question": f"Can animal {n} swim?", "answer": n % 3 == 0,
            "facts": [f"Animal {n} has fins."], "rationale": f"Animal {n} has fins.",
        }
        for n in range(8)
    ]))  # fmt: skip
    line = re.sub(r"\S+/strategyqa_processed_dev\.json", str(file), line)
    with pytest.raises(CommandError, match="Launch “Human utility of rationales"):
        run_line(f"{line} --inline")  # people validate the questions
    pipeline = Pipeline.objects.get()
    assert pipeline.dataset.workspace == workspace_personal(user=researcher), "its owner can see it"


def test_the_imports_of_the_page_about_importing(
    researcher: User, public_data: PublicData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shots = public_data.folder / "few_shot_explanations"
    known = {
        "DATA": public_data.folder / "rationale_human_utility",
        "NAME": researcher.username,
        "commonsenseqa_test.csv": shots / "acceptability_annotations/commonsenseqa_test.csv",
        "ecqa.csv": shots / "fine_grained/commonsenseqa/ecqa.csv",
    }
    Path("items.csv").write_text(
        "Input.question,explanation,robot_says,follow_up\nDo owls fly?,They have wings.,yes,Do chicks fly?\n"
    )
    names = ("convert_rationale_utility", "import_material", "import_judgments")
    lines = [
        line for line in lines_of("docs/import.md", *names) if not re.search(r"STUDY|^import_material$", line)
    ]
    assert len(lines) == 8
    make_study(slug="owls", by=researcher)
    for line in lines:
        said = run_line(re.sub("|".join(map(re.escape, known)), lambda found: str(known[found[0]]), line))
        assert said
    assert Study.objects.get(slug="strategyqa-gpt3").items.count() > 2000
    for slug in ("p3-utility", "acceptability", "quality"):
        assert Study.objects.get(slug=slug).judgments.exists()


def test_planning_and_agreement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for line in lines_of("docs/metrics.md", "simulate_study"):
        run_line(line)
    Path("ratings.csv").write_text("worker,item,label\na,1,yes\nb,1,yes\na,2,no\nb,2,yes\n")
    (line,) = lines_of("docs/agreement.md", "agreement")[:1]
    assert "alpha" in run_line(line).lower()


@pytest.fixture
def dry(tmp_path: Path) -> Callable[..., str]:
    file = tmp_path / "questions.jsonl"
    file.write_text('{"question": "Do owls fly?"}\n{"question": "Do fish swim?"}\n')
    return lambda *more: run_line(
        shlex.join(["pipeline", "p1-yes-no", "--dataset", str(file), "--endpoint", "e", "--dry-run", *more])
    )


def test_a_pipeline_finds_its_endpoint_and_says_what_to_add(
    scripted: ScriptedProcess, dry: Callable[..., str]
) -> None:
    with pytest.raises(CommandError, match="none yet; add one in the admin under Endpoints"):
        dry()
    ada, otto = make_user("ada", staff=True), make_user("otto", staff=True)
    first = make_endpoint(scripted, name="e", by=ada)
    assert "At most:" in dry()
    second = make_endpoint(scripted, name="e", by=otto)
    with pytest.raises(CommandError) as several:
        dry()
    for endpoint in (first, second):
        assert f"--workspace {endpoint.workspace_id}" in str(several.value)
    assert "At most:" in dry("--workspace", "otto")
    assert "At most:" in dry("--workspace", str(first.workspace_id))
    with pytest.raises(CommandError, match="Give its number or a user name"):
        dry("--workspace", "nobody")


def test_simulate_says_how_a_study_gets_an_endpoint(scripted: ScriptedProcess) -> None:
    make_material(1, slug="owls")
    make_endpoint(scripted, by=make_user("ada", staff=True))
    with pytest.raises(CommandError, match="Share it in the admin under Endpoints"):
        run_line("simulate owls --endpoint scripted")

"""Transcripts, the comparison of two runs, and calls as files that can be replayed."""

from __future__ import annotations

import json
from io import BytesIO, StringIO
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from lxml import html

from annotator.models import AuditAction, AuditEntry, User
from annotator.selectors.study import study_hit_type
from annotator.services.images import images_add
from annotator.services.imports.material_import import material_import
from evaluation.models import Run
from evaluation.services.call_files import calls_export, calls_import
from tests.annotator.image_rows import ROW
from tests.evaluation.run_factories import (
    SCRIPTED_MARKS,
    make_endpoint,
    make_material,
    make_run,
    states,
    work,
)
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_study, make_user
from tests.pictures import picture

pytestmark = SCRIPTED_MARKS


@pytest.fixture
def boss() -> User:
    return make_user("boss", staff=True)


def as_user(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def finished(scripted: ScriptedProcess, boss: User, model: str = "scripted", items: int = 4) -> Run:
    run = make_run(
        make_endpoint(scripted, by=boss),
        make_material(items, by=boss),
        model=model,
        max_unparsable=8,
        max_failed_share=1,
    )
    work(run)
    return run


def test_a_transcript_shows_item_chat_every_attempt_answer_and_cost(
    scripted: ScriptedProcess, boss: User
) -> None:
    run = finished(scripted, boss, "scripted?faults=0.7&kinds=nonsense&seed=5", items=8)
    client = as_user(boss)
    again = run.calls.exclude(history=[]).first()
    assert again is not None
    page = client.get(reverse("admin:evaluation_call_change", args=[again.pk])).content.decode()
    assert "Attempt 1" in page
    assert "Attempt 2" in page
    assert "The same" in page, "messages that were sent before are not shown twice"
    assert "Starter question" in page
    assert again.history[0]["error"][:30].replace("'", "&#x27;") in page
    whole = reverse("admin:evaluation_run_transcript", args=[run.pk])
    assert f"{run.calls.count()} calls" in client.get(whole).content.decode()
    only = client.get(f"{whole}?outcome=again").content.decode()
    shown = run.calls.exclude(history=[]).count()
    assert only.count('<article class="fh__call"') == shown < run.calls.count()
    assert "No call has this outcome" in client.get(f"{whole}?outcome=failed").content.decode()
    assert client.get(f"{whole}?outcome=strange&page=x").status_code == 200


def test_a_transcript_shows_the_images_of_an_item(scripted: ScriptedProcess, boss: User) -> None:
    study = make_study(by=boss)
    images_add(study=study, files=[("cat.png", picture())])
    material_import(study=study, file=BytesIO(json.dumps(ROW).encode()), name="m.jsonl")
    run = make_run(make_endpoint(scripted, by=boss), study)
    work(run)
    client = as_user(boss)
    call = run.calls.get()
    for page in (
        reverse("admin:evaluation_run_transcript", args=[run.pk]),
        reverse("admin:evaluation_call_change", args=[call.pk]),
    ):
        [image] = html.fromstring(client.get(page).content).xpath("//img[@class='picture__image']")
        assert image.get("alt") == "A cat on a mat"
        assert client.get(image.get("src")).status_code == 200


def test_a_transcript_page_takes_a_fixed_number_of_queries(
    scripted: ScriptedProcess, boss: User, django_assert_max_num_queries: object
) -> None:
    run = finished(scripted, boss, items=25)
    client = as_user(boss)
    with django_assert_max_num_queries(20):  # type: ignore[operator]
        page = client.get(reverse("admin:evaluation_run_transcript", args=[run.pk])).content.decode()
    assert page.count('<article class="fh__call"') == 20
    assert "Page 1 of 2" in page


def test_the_prompt_of_a_run_keeps_its_line_breaks(scripted: ScriptedProcess, boss: User) -> None:
    run = finished(scripted, boss, items=1)
    page = as_user(boss).get(reverse("admin:evaluation_run_change", args=[run.pk])).content.decode()
    assert "<summary>Prompt</summary><pre>## system\n" in page


def test_an_exported_run_is_replayed_without_a_request(
    scripted: ScriptedProcess, boss: User, tmp_path: Path
) -> None:
    run = finished(scripted, boss, "scripted?faults=0.5&kinds=nonsense&seed=5", items=8)
    file = tmp_path / "calls.jsonl"
    call_command("run_calls", "export", str(run.pk), output=file, stdout=StringIO())
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len(lines) == run.calls.count()
    assert "sk-" not in "".join(lines)
    assert scripted.base_url not in "".join(lines)
    other = make_user("other", staff=True)
    study = make_material(8, by=other, slug="elsewhere")
    endpoint = make_endpoint(scripted, by=other)
    out = StringIO()
    call_command("run_calls", "import", str(file), study="elsewhere", endpoint="scripted", stdout=out)
    assert "replies as run" in out.getvalue()
    scripted.reset()
    replayed = make_run(endpoint, study, model=run.model, max_unparsable=8)
    work(replayed)
    assert (replayed.state, states(replayed)) == ("done", {"done": 8})
    assert scripted.stats()["requests"] == 0
    assert replayed.spent_cost == 0
    first, second = (dict(one.calls.values_list("key", "parsed")) for one in (run, replayed))
    assert first == second


def test_a_reply_of_the_cache_that_can_never_be_read_ends_its_call(
    scripted: ScriptedProcess, boss: User
) -> None:
    run = finished(scripted, boss, items=1)
    row = json.loads(next(calls_export(run=run)))
    for message in row["request"]["messages"]:
        assert message["content"], "the request is stored whole"
    line = json.dumps(row | {"text": "Hard to say.", "parsed": None})
    study = make_material(1, by=make_user("other", staff=True), slug="elsewhere")
    endpoint = make_endpoint(scripted, by=study.researchers.get())
    calls_import(lines=[line], endpoint=endpoint, study=study)
    replayed = make_run(endpoint, study, model=run.model, max_unparsable=1)
    work(replayed)
    assert (replayed.state, states(replayed)) == ("incomplete", {"unparsable": 1})
    assert scripted.stats()["requests"] == 1, "only the first run asked"


def test_an_invalid_file_of_calls_is_refused_with_its_line(scripted: ScriptedProcess, boss: User) -> None:
    run = finished(scripted, boss, items=1)
    good = next(calls_export(run=run))
    row = json.loads(good)
    for line, said in (
        ("{", "Line 2: this is not JSON"),
        ("[]", "Line 2: expected an object"),
        (json.dumps(row | {"request": {"model": "x"}}), "Line 2: request"),
        (json.dumps(row | {"tokens_in": "many"}), "Line 2:"),
    ):
        with pytest.raises(ValidationError, match=said):
            calls_import(lines=[good, line], endpoint=run.endpoint, study=run.study)
    assert Run.objects.count() == 1
    with pytest.raises(ValidationError, match="no call with a reply"):
        calls_import(lines=["\n"], endpoint=run.endpoint, study=run.study)
    with pytest.raises(CommandError, match="There is no run"):
        call_command("run_calls", "export", "0", output="x")


def test_another_lab_cannot_see_transcripts_or_calls(scripted: ScriptedProcess, boss: User) -> None:
    run = finished(scripted, boss, items=1)
    stranger = as_user(make_user("otto", staff=True))
    for name in ("transcript", "compare", "calls", "log", "scores"):
        assert stranger.get(reverse(f"admin:evaluation_run_{name}", args=[run.pk])).status_code == 404
    mine = as_user(boss)
    found = mine.get(reverse("admin:evaluation_run_calls", args=[run.pk]))
    assert b"".join(found.streaming_content).count(b"\n") == 1  # type: ignore[attr-defined]
    entry = AuditEntry.objects.get(action=AuditAction.EXPORTED)
    assert (entry.actor, entry.study, entry.target) == (boss, run.study, f"calls of run {run.pk}")


def test_a_transcript_is_searched_and_its_failures_are_grouped_with_an_example(
    scripted: ScriptedProcess, boss: User
) -> None:
    study = make_material(12, by=boss)
    word = study.items.get(key="item-3").payload["follow_up"]
    model = f"scripted?{urlencode({'refuse': word})}"
    run = make_run(make_endpoint(scripted, by=boss), study, model=model)
    work(run)
    page = reverse("admin:evaluation_run_transcript", args=[run.pk])
    client = as_user(boss)

    def shown(**query: str) -> str:
        return client.get(page, query).content.decode()

    assert shown().count('class="fh__call"') == 12
    assert "Prompt too long for the model" in shown()
    failed = run.calls.get(state="failed")
    assert reverse("admin:evaluation_call_change", args=[failed.pk]) in shown(outcome="done")
    assert shown(failure="context_length").count('class="fh__call"') == 1
    assert shown(q="ITEM-3").count('class="fh__call"') == 1
    assert shown(q="prompt is not ACCEPTED").count('class="fh__call"') == 1
    assert "No call matches." in shown(q="item-3", outcome="done")
    assert "&amp;q=ITEM-3" in shown(q="ITEM-3")
    yes = run.calls.filter(parsed__answer="yes").count()
    assert 0 < yes < 11
    assert shown(answer="answer:yes").count('class="fh__call"') == yes
    assert '<option value="answer:yes" selected>' in shown(answer="answer:yes")


def test_a_prompt_and_parameters_are_given_to_simulate(
    scripted: ScriptedProcess, boss: User, tmp_path: Path
) -> None:
    study = make_material(2, by=boss, slug="owls")
    make_endpoint(scripted, by=boss)
    file = tmp_path / "prompt.md"
    own = study_hit_type(study).prompt_text.replace("## system\n", "## system\nBe brief.\n", 1)
    file.write_text(own)
    call_command(
        "simulate", "owls", "--endpoint", "scripted", "--prompt", str(file), "--parameters", '{"top_p": 0.5}',
        "--inline", stdout=StringIO(),
    )  # fmt: skip
    run = Run.objects.get()
    assert (run.state, run.prompt, run.parameters["top_p"]) == ("done", own, 0.5)
    for wrong in (["--prompt", str(tmp_path / "none.md")], ["--parameters", "[1]"], ["--parameters", "{"]):
        with pytest.raises(CommandError):
            call_command("simulate", "owls", "--endpoint", "scripted", *wrong, stdout=StringIO())

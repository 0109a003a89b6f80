"""Simulators of studies with images: the images themselves where the endpoint takes them, otherwise their descriptions."""

from __future__ import annotations

import io
import json

import pytest
from django.core.exceptions import ValidationError
from django.core.files.storage import default_storage
from django.test import Client
from django.urls import reverse
from lxml import html

from annotator.hit_types.registry import hit_type_get
from annotator.models import Judgment, Study, User
from annotator.services.declared_type import declared_type_save
from annotator.services.images import images_add
from annotator.services.imports.material_import import material_import
from annotator.services.workspace import workspace_personal
from evaluation.simulators.prompt_check import prompt_problems
from tests.annotator.hit_types.declaration.files import PICTURES_FILE
from tests.annotator.image_rows import ROW
from tests.evaluation.run_factories import SCRIPTED_MARKS, make_endpoint, make_run, work
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_study, make_user
from tests.pictures import picture

pytestmark = [*SCRIPTED_MARKS, pytest.mark.usefixtures("stored_files")]
API_PATHS = {"openai": "/v1", "anthropic": "/anthropic/v1", "gemini": "/gemini/v1beta"}


@pytest.fixture
def boss() -> User:
    return make_user("boss", staff=True)


@pytest.fixture
def study(boss: User) -> Study:
    """Two items: one shows the image of a cat."""
    study = make_study(by=boss)
    images_add(study=study, files=[("cat.png", picture()), ("dog.png", picture("brown"))])
    rows = [ROW, {**ROW, "question": "Do cats sleep?", "formats": {}}]
    text = "\n".join(json.dumps(row) for row in rows)
    material_import(study=study, file=io.BytesIO(text.encode()), name="m.jsonl")
    return study


@pytest.mark.parametrize("protocol", API_PATHS)
@pytest.mark.parametrize("together", [1, 2])
def test_a_simulator_is_sent_the_images_of_its_items(
    scripted: ScriptedProcess, study: Study, boss: User, protocol: str, together: int
) -> None:
    where = {"protocol": protocol, "base_url": scripted.root + API_PATHS[protocol]}
    endpoint = make_endpoint(scripted, by=boss, images=True, **where)
    scripted.reset()
    run = make_run(endpoint, study, together=together)
    work(run)
    assert run.state == "done", run.reason
    assert Judgment.objects.filter(rater=run.rater).count() == 2
    assert scripted.stats()["counts"]["images"] == 1
    stored = json.dumps(list(run.calls.values_list("request", flat=True)))
    digest = study.images.get(name="cat.png").digest
    assert f"[[image sha256:{digest}]]" in stored
    assert "base64" not in stored, "requests are stored without the bytes of images"
    assert "A cat on a mat" not in stored, "people who see the image aren't told either"


def test_without_the_setting_a_simulator_gets_descriptions(
    scripted: ScriptedProcess, study: Study, boss: User
) -> None:
    scripted.reset()
    run = make_run(make_endpoint(scripted, by=boss), study)
    work(run)
    assert "images" not in scripted.stats()["counts"]
    stored = json.dumps(list(run.calls.values_list("request", flat=True)))
    assert "An image that you cannot see. It is described as: A cat on a mat" in stored


def declared_study(boss: User, *, described: bool = True) -> Study:
    """A launched study of a type from a file; its one item shows two images, and a third one later."""
    source = PICTURES_FILE.read_text(encoding="utf-8")
    if not described:
        source = source.replace(
            "{kind: image, help: An image,", "{kind: image, described: false, help: An image,"
        )
    workspace = workspace_personal(user=boss)
    declared_type_save(workspace=workspace, by=boss, source=source)
    study = make_study(by=boss, hit_type="picture_pairs", workspace=workspace)
    images_add(
        study=study,
        files=[("cat.png", picture()), ("dog.png", picture("brown")), ("all.png", picture("red"))],
    )
    row = {
        "caption": "A cat on a mat",
        "left": "![A cat](cat.png)",
        "right": "![A dog](dog.png)",
        "chart": "![All of them](all.png)",
    }
    material_import(study=study, file=io.BytesIO(json.dumps(row).encode()), name="m.jsonl")
    return study


def test_a_simulator_of_a_type_from_a_file_is_sent_its_images_stage_by_stage(
    scripted: ScriptedProcess, boss: User
) -> None:
    study = declared_study(boss)
    scripted.reset()
    run = make_run(make_endpoint(scripted, by=boss, images=True), study)
    work(run)
    assert run.state == "done", run.reason
    assert Judgment.objects.filter(rater=run.rater).count() == 1
    assert scripted.stats()["counts"]["images"] == 2 + 3
    first = json.dumps(run.calls.get(stage=0).request)
    known = dict(study.images.values_list("name", "digest"))
    assert [known[name] in first for name in ("cat.png", "dog.png", "all.png")] == [True, True, False]


def test_a_model_that_sees_no_images_is_refused_where_words_can_not_stand_for_them(
    scripted: ScriptedProcess, boss: User
) -> None:
    study = declared_study(boss, described=False)
    with pytest.raises(
        ValidationError, match=r"show images \(left\) that can't be described in words"
    ) as error:
        make_run(make_endpoint(scripted, by=boss), study)
    assert "endpoint" in error.value.message_dict
    make_run(make_endpoint(scripted, by=boss, name="seeing", images=True), study, started=False)


def test_the_setting_tells_simulators_apart_and_their_replies_in_the_cache(
    scripted: ScriptedProcess, study: Study, boss: User
) -> None:
    endpoint = make_endpoint(scripted, by=boss)
    blind = make_run(endpoint, study)
    work(blind)
    endpoint.images = True
    endpoint.save()
    seeing = make_run(endpoint, study)
    work(seeing)
    assert blind.rater != seeing.rater
    assert seeing.rater is not None
    assert seeing.rater.name.endswith(" · images")
    cached = dict(seeing.calls.values_list("key", "from_cache"))
    shows_image = {item.key: "formats" in item.payload for item in study.items.all()}
    assert cached == {key: not shows for key, shows in shows_image.items()}


def test_another_file_under_the_same_name_is_another_request(
    scripted: ScriptedProcess, study: Study, boss: User
) -> None:
    """The cache key has the digest of the image, not its name."""
    endpoint = make_endpoint(scripted, by=boss, images=True)
    work(make_run(endpoint, study))
    other = make_study(by=boss)
    images_add(study=other, files=[("cat.png", picture("red"))])
    material_import(study=other, file=io.BytesIO(json.dumps(ROW).encode()), name="m.jsonl")
    run = make_run(endpoint, other)
    work(run)
    assert run.calls.get().from_cache is False


def test_the_transcript_shows_what_was_sent(scripted: ScriptedProcess, study: Study, boss: User) -> None:
    run = make_run(make_endpoint(scripted, by=boss, images=True), study)
    work(run)
    client = Client()
    client.force_login(boss)
    page = html.fromstring(client.get(reverse("admin:evaluation_run_transcript", args=[run.pk])).content)
    [sent] = page.xpath("//li[contains(@class, 'fh__turn--user')]//img")
    assert sent.get("alt") == "A cat on a mat"
    assert client.get(sent.get("src")).status_code == 200
    assert "[[image" not in page.text_content()


def test_a_missing_file_fails_its_calls_and_says_which(
    scripted: ScriptedProcess, study: Study, boss: User
) -> None:
    run = make_run(make_endpoint(scripted, by=boss, images=True), study)
    default_storage.delete(study.images.get(name="cat.png").file)
    work(run)
    [failed] = run.calls.filter(state="failed")
    assert "The image cat.png is missing on the server." in failed.error
    assert Judgment.objects.filter(rater=run.rater).count() == 1


def test_a_prompt_that_shows_an_image_only_is_accepted(study: Study) -> None:
    kind = hit_type_get("simulation")
    payload = study.items.get(payload__has_key="formats").payload
    text = "## user\n\nLook:\n$question\n\nANSWER: <yes, no or cannot_guess>"
    assert not [
        one
        for one in prompt_problems(kind=kind, payload=payload, presentation={}, text=text)
        if "never shows the item" in one
    ]

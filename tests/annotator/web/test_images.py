"""Who can load an image, and the pages that show one."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from lxml import html
from rest_framework.test import APIClient

from annotator.models import Participation, Study, User
from annotator.selectors.images import image_url
from annotator.services.api_tokens import api_token_make
from annotator.services.images import images_add
from annotator.services.imports.material_import import material_import
from annotator.services.study import study_launch
from tests.annotator.image_rows import ROW
from tests.factories import make_judgment, make_participation, make_rater, make_study, make_user
from tests.pictures import archive, picture

pytestmark = pytest.mark.django_db


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def study(researcher: User) -> Study:
    study = make_study(by=researcher)
    images_add(study=study, files=[("cat.png", picture()), ("dog.png", picture("brown"))])
    material_import(study=study, file=io.BytesIO(json.dumps(ROW).encode()), name="m.jsonl")
    study_launch(study=study)
    study.refresh_from_db()
    return study


def test_a_task_shows_its_image_to_the_person_who_has_it_and_to_nobody_else(
    study: Study, researcher: User
) -> None:
    person = make_participation(study)
    client = logged_in(person.rater.user)
    page = html.fromstring(client.get(f"/study/{study.slug}/task/", follow=True).content)
    [shown] = page.xpath("//img[@class='picture__image']")
    assert (shown.get("alt"), shown.get("width"), shown.get("height")) == ("A cat on a mat", "40", "30")
    [link] = page.xpath("//a[@data-zoom]")
    assert link.get("href") == shown.get("src")
    reply = client.get(shown.get("src"))
    assert b"".join(reply.streaming_content) == picture()
    assert reply["Content-Type"] == "image/png"
    assert reply["X-Content-Type-Options"] == "nosniff"
    assert reply["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert reply["Cache-Control"].startswith("private,")
    for other in (make_participation(study).rater.user, researcher, make_user(staff=True)):
        assert logged_in(other).get(shown.get("src")).status_code == 404
    assert Client().get(shown.get("src")).status_code != 200


def test_an_address_needs_its_signature_and_a_member_of_the_study(study: Study, researcher: User) -> None:
    digest = study.images.get(name="cat.png").digest
    person = make_participation(study)
    user = person.rater.user
    own = image_url(user_pk=user.pk, study_pk=study.pk, digest=digest)
    assert logged_in(user).get(own).status_code == 200
    changed = re.sub(f"{user.pk}:", f"{researcher.pk}:", own, count=1)
    for address in (changed, own[:-3] + "xx/", "/image/none/", f"/image/{study.pk}:{user.pk}:{digest}/"):
        assert logged_in(researcher).get(address).status_code == 404
    stranger = make_user(staff=True)
    made = image_url(user_pk=stranger.pk, study_pk=study.pk, digest=digest)
    assert logged_in(stranger).get(made).status_code == 404
    Participation.objects.filter(pk=person.pk).update(state=Participation.State.REMOVED)
    assert logged_in(user).get(own).status_code == 404


def test_researchers_see_images_in_previews_and_items(study: Study, researcher: User) -> None:
    client = logged_in(researcher)
    item = study.items.get()
    for page in (f"/preview/{study.pk}/", f"/admin/annotator/study/{study.pk}/items/{item.pk}/"):
        shown = html.fromstring(client.get(page).content)
        [image] = shown.xpath("//img[@class='picture__image']")
        assert client.get(image.get("src")).status_code == 200, page
    rows = html.fromstring(client.get(f"/admin/annotator/study/{study.pk}/items/").content)
    assert "[Image: A cat on a mat (cat.png)]" in rows.text_content()


def test_contested_items_show_their_images(study: Study, researcher: User) -> None:
    item = study.items.get()
    for name, word in (("ann", "yes"), ("ben", "no")):
        make_judgment(item, make_rater(name), word)
    client = logged_in(researcher)
    page = html.fromstring(client.get(f"/admin/annotator/study/{study.pk}/contested/").content)
    [image] = page.xpath("//article//img[@class='picture__image']")
    assert image.get("alt") == "A cat on a mat"
    assert client.get(image.get("src")).status_code == 200
    assert logged_in(make_user(staff=True)).get(image.get("src")).status_code == 404
    assert "sha256" not in page.text_content()


def test_images_of_a_later_stage_have_no_address_yet(researcher: User) -> None:
    study = make_study(by=researcher, hit_type="utility")
    images_add(study=study, files=[("owl.png", picture())])
    row = {
        "question": "Can owls swim?", "rationale": "![An owl in a lake](owl.png)", "answer": "yes", "options": ["yes", "no"],
        "gold_label": "yes", "formats": {"rationale": "image"},
    }  # fmt: skip
    material_import(study=study, file=io.BytesIO(json.dumps(row).encode()), name="m.jsonl")
    study_launch(study=study)
    study.refresh_from_db()
    client = logged_in(make_participation(study).rater.user)
    page = client.get(f"/study/{study.slug}/task/", follow=True).content.decode()
    assert "/image/" not in page
    assert "An owl in a lake" not in page


def test_the_page_of_images_takes_files_and_archives_and_lists_every_problem(
    study: Study, researcher: User
) -> None:
    client, address = logged_in(researcher), f"/admin/annotator/study/{study.pk}/images/"
    files = [
        SimpleUploadedFile("hen.png", picture("red")),
        SimpleUploadedFile("more.zip", archive({"a/goat.jpg": picture(kind="JPEG")})),
    ]
    assert client.post(address, {"images": files}).status_code == 302
    assert set(study.images.values_list("name", flat=True)) == {"cat.png", "dog.png", "hen.png", "goat.jpg"}
    refused = client.post(
        address,
        {"images": [SimpleUploadedFile("x.svg", b"<svg/>"), SimpleUploadedFile("cat.png", picture("red"))]},
    )
    assert refused.status_code == 400
    words = html.fromstring(refused.content).text_content()
    assert "x.svg: is not an image of a known type. Upload PNG, JPEG, WebP or GIF." in words
    assert "cat.png: the study has another image with this name." in words
    page = html.fromstring(client.get(address).content)
    assert len(page.xpath("//img[@class='fk-thumb']")) == 4
    assert len(page.xpath("//form[contains(@action, '/delete/')]")) == 3
    client.post(f"{address}{study.images.get(name='hen.png').pk}/delete/")
    client.post(f"{address}{study.images.get(name='cat.png').pk}/delete/")
    assert set(study.images.values_list("name", flat=True)) == {"cat.png", "dog.png", "goat.jpg"}
    uses = client.get(f"{address}items.csv").content.decode().splitlines()
    assert uses[0] == "item,part,image,alt,digest,width,height"
    assert uses[1].split(",")[1:4] == ["question", "cat.png", "A cat on a mat"]


def test_images_come_over_the_api_and_with_the_command(study: Study, researcher: User, tmp_path: Any) -> None:
    api = APIClient()
    api.credentials(HTTP_AUTHORIZATION=f"Token {api_token_make(user=researcher)}")
    address = f"/api/v1/studies/{study.slug}/images/"
    made = api.post(address, {"images": [SimpleUploadedFile("hen.png", picture("red"))]}, format="multipart")
    assert (made.status_code, made.json()["images"][0]["name"], made.json()["unchanged"]) == (
        201,
        "hen.png",
        0,
    )
    assert [one["name"] for one in api.get(address).json()] == ["cat.png", "dog.png", "hen.png"]
    bad = api.post(address, {"images": [SimpleUploadedFile("x.png", b"x")]}, format="multipart")
    assert bad.status_code == 400
    assert "x.png: is not an image" in json.dumps(bad.json())
    assert api.post(address, {}, format="multipart").status_code == 400

    draft = make_study(by=researcher, slug="by-command")
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "cat.png").write_bytes(picture())
    (tmp_path / "m.jsonl").write_text(json.dumps(ROW))
    out = io.StringIO()
    call_command(
        "import_material", draft.slug, str(tmp_path / "m.jsonl"), files=tmp_path / "pictures", stdout=out
    )
    assert "1 image added." in out.getvalue()
    assert draft.items.count() == 1
    (tmp_path / "pictures" / "bad.png").write_bytes(b"x")
    with pytest.raises(CommandError, match=r"bad\.png: is not an image"):
        call_command("import_material", draft.slug, str(tmp_path / "m.jsonl"), files=tmp_path / "pictures")

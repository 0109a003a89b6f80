"""Images that rows name by their address are fetched once when the material is imported, and are the study's own from then on."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from lxml import html
from rest_framework.test import APIClient

from annotator.core.tables.faults import FileRefused
from annotator.models import FileImport, Item, Study, StudyImage, User, Workspace
from annotator.services.images import images_add
from annotator.services.imports import image_addresses
from annotator.services.imports.file_imports import file_import_run
from annotator.services.imports.material_import import ImportResult, material_import
from annotator.services.items import item_edit
from annotator.services.study import study_launch
from annotator.services.study_copy import study_duplicate
from tests.annotator.admin.study_forms import ROOT, sent_form, upload
from tests.annotator.picture_pairs import ROW as PAIR
from tests.annotator.picture_pairs import draft
from tests.factories import make_participation, make_study
from tests.picture_server import PictureServer, pictures_served
from tests.pictures import picture

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stored_files")]


@pytest.fixture
def server(settings: Any) -> Iterator[PictureServer]:
    """A server of the lab's own, which the operator allows; it stands for those elsewhere."""
    with pictures_served() as server:
        settings.LLM_ALLOWED_HOSTS = [server.host]
        yield server


@pytest.fixture
def study(researcher: User) -> Study:
    """A draft of a declared type with three images uploaded."""
    return draft(researcher)


@pytest.fixture
def researcher_client(researcher: User) -> Client:
    client = Client()
    client.force_login(researcher)
    return client


def lines(*rows: dict[str, Any]) -> bytes:
    return "\n".join(json.dumps(row) for row in rows).encode()


def imported(study: Study, *rows: dict[str, Any], **options: Any) -> ImportResult:
    return material_import(study=study, file=io.BytesIO(lines(*rows)), name="m.jsonl", **options)


def refused(study: Study, *rows: dict[str, Any], **options: Any) -> str:
    """The faults of an import, after which nothing is stored."""
    before = sorted(study.images.values_list("name", flat=True))
    with pytest.raises(FileRefused) as error:
        imported(study, *rows, **options)
    assert not study.items.exists()
    assert sorted(study.images.values_list("name", flat=True)) == before
    return str(error.value)


def at(address: str, alt: str = "A cat") -> dict[str, Any]:
    return PAIR | {"left": f"![{alt}]({address})"}


def test_an_image_at_an_address_is_stored_like_an_upload(server: PictureServer, study: Study) -> None:
    server.page("/x?size=large", picture("green", kind="JPEG"))
    bare = PAIR | {"caption": "Trees", "left": server.url("/x?size=large"), "alt": "A tree"}
    result = imported(study, at(server.url("/dog.png")), bare)
    assert (result.rows, result.items, result.warnings) == (2, 2, [])
    first, second = study.items.order_by("id")
    digest = hashlib.sha256(picture("brown")).hexdigest()
    assert first.payload["left"] == f'![A cat]({digest[:16]}.png "40x30 sha256:{digest}")'
    assert re.fullmatch(
        r'!\[A tree\]\([0-9a-f]{16}\.jpeg "40x30 sha256:[0-9a-f]{64}"\)', second.payload["left"]
    )
    stored = study.images.get(name=f"{digest[:16]}.png")
    assert (stored.digest, stored.media_type, stored.width, stored.height) == (digest, "image/png", 40, 30)
    with default_storage.open(stored.file) as file:
        assert file.read() == picture("brown")
    assert stored.file == study.images.get(name="dog.png").file, "stored once"
    with connection.cursor() as cursor:
        cursor.execute("SELECT (SELECT json_agg(i)::text FROM annotator_item i)")
        assert str(server.port) not in cursor.fetchone()[0], "the address isn't kept"


def test_built_in_types_and_lists_name_addresses_as_well(server: PictureServer, researcher: User) -> None:
    study = make_study(by=researcher, hit_type="plausibility")
    explanations = [
        {"system": name, "explanation": f"![{name}]({server.url(path)})"}
        for name, path in (("a", "/cat.png"), ("b", "/dog.png"))
    ]
    row = {"question": "Who barks?", "answer": "dogs", "explanations": json.dumps(explanations)}
    imported(study, row, constants={"formats": '{"explanations": "image"}'})
    assert study.images.count() == 2
    assert str(study.items.get().payload).count("sha256:") == 2


def test_an_address_in_several_rows_is_fetched_once(server: PictureServer, study: Study) -> None:
    rows = [at(server.url("/dog.png")) | {"caption": f"Row {n}"} for n in range(5)]
    imported(study, *rows, PAIR | {"caption": "Both", "right": f"![A dog]({server.url('/dog.png')})"})
    assert server.asked == {"/dog.png": 1}
    assert study.items.count() == 6


def test_the_same_content_at_two_addresses_is_one_image(server: PictureServer, study: Study) -> None:
    server.page("/again.png", picture("brown"))
    imported(study, at(server.url("/dog.png")), at(server.url("/again.png")) | {"caption": "Again"})
    assert study.images.count() == 4


def test_importing_the_same_file_again_changes_nothing(server: PictureServer, study: Study) -> None:
    row = at(server.url("/dog.png")) | {"key": "one"}
    imported(study, row)
    assert imported(study, row).unchanged == 1
    assert study.images.count() == 4
    server.page("/dog.png", picture("pink"))
    with pytest.raises(FileRefused, match="'one'"):
        imported(study, row)
    assert study.images.count() == 4


def test_a_dry_run_asks_no_server(server: PictureServer, study: Study) -> None:
    result = imported(study, PAIR, at(server.url("/dog.png")) | {"caption": "Two"}, dry_run=True)
    assert (result.rows, result.items, result.to_fetch) == (2, 2, 1)
    assert result.as_json()["warnings"] == [
        "1 image will be fetched from other servers when the file is imported. Until then, what names them (1 row) isn't compared "
        "with the study's items."
    ]
    assert not server.asked
    assert not study.items.exists()


# -- what is refused -----------------------------------------------------------------------------------


def test_one_image_that_fails_refuses_all(server: PictureServer, study: Study) -> None:
    words = refused(
        study, PAIR, at(server.url("/dog.png")), at(server.url("/none.png")), at(server.url("/none.png"))
    )
    assert (
        f"m.jsonl:3: left: '{server.url('/none.png')}': the image can't be fetched (1 more place in the file): "
        in words
    )
    assert "the server answered 404 Not Found. Check that the address opens an image" in words
    assert words.count("\n") == 0
    with_column = at(server.url("/none.png")) | {"picture": server.url("/none.png"), "alt": "A"}
    del with_column["left"]
    assert "m.jsonl:1: picture: " in refused(study, with_column, mapping={"left": "picture"})


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"<html>Log in</html>", "is not an image of a known type"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "is not an image of a known type"),
        (picture(kind="BMP"), "is not an image of a known type"),
        (picture(kind="GIF", frames=2), "is animated"),
        (picture(size=(6_000, 5_000)), "has 6,000 x 5,000 pixels; expected at most 25 million"),
        (picture()[:50], "is damaged"),
    ],
    ids=["page", "svg", "bmp", "animated", "huge", "damaged"],
)
def test_the_content_decides_whether_it_is_an_image(
    body: bytes, words: str, server: PictureServer, study: Study
) -> None:
    server.page("/x.png", body, headers={"Content-Type": "image/png"})
    assert words in refused(study, at(server.url("/dog.png")), at(server.url("/x.png")))


def test_a_file_that_is_larger_than_an_upload_may_be_is_refused(
    server: PictureServer, study: Study, settings: Any
) -> None:
    settings.IMAGE_MAX_BYTES = 1_000_000
    assert "is too large; expected at most 1 MB" in refused(study, at(server.url("/endless")))


def test_an_import_gives_up_after_its_time(
    server: PictureServer, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = refused(study, at(server.url("/slow")), at(server.url("/dog.png")), fetch_seconds=0.5)
    assert "fetching the images of one import may take 0.5 seconds here, and took longer" in words
    assert words.count("\n") == 0, "the other image arrived in time"
    monkeypatch.setattr(image_addresses, "SECONDS_EACH", 0.5)
    assert "didn't send the whole file within 0.5 seconds" in refused(study, at(server.url("/slow")))


def test_private_servers_are_never_asked(
    server: PictureServer, study: Study, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pictures_served() as inside:
        server.redirect("/out", inside.url("/dog.png"))
        words = refused(study, at(server.url("/out")))
        assert f"it redirects to '{inside.url('/dog.png')}'" in words

        def elsewhere(self: Any, host: Any, port: Any, **rest: Any) -> Any:
            async def answer() -> list[Any]:
                return [(2, 1, 6, "", ("127.0.0.1", port))]

            return answer()

        for address, message in (
            (inside.url("/dog.png"), "is allowed on port"),
            (f"https://localhost:{inside.port}/dog.png", "is not a public address"),
            ("https://169.254.169.254/latest/x.png", "169.254.169.254 is not a public address"),
            ("https://[::1]/x.png", "is not a public address"),
            ("http://pictures.example/x.png", "needs https"),
        ):
            words = refused(study, at(address))
            assert words.startswith("m.jsonl:1: left: "), words
            assert message in words
        monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", elsewhere)
        words = refused(study, at(f"https://pictures.example:{inside.port}/dog.png"))
        assert "127.0.0.1 is not a public address" in words
        settings.LLM_ONLY_ALLOWED_HOSTS = True
        words = refused(study, at("https://pictures.example/dog.png"))
        assert "not among the hosts that the operator allows" in words
        assert not inside.asked


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("![]({})", "the image '{}' has no alternative text"),
        ("{}", "the image '{}' has no alternative text"),
        ("![A cat](data:image/png;base64,AAAA)", "expected an address that begins with https://"),
        ("![A cat](ftp://example.org/cat.png)", "expected an address that begins with https://"),
        ("![A cat](//example.org/cat.png)", "expected an address that begins with https://"),
        ("![A cat](https://me:secret@example.org/cat.png)", "must not contain a user name"),
        ("![A cat](https://example.org/cat.png 'title')", "must not contain spaces"),
        (f"![A cat](https://example.org/{'x' * 2000}.png)", "has at most 2,000 characters"),
    ],
)
def test_an_address_that_can_not_be_used_is_refused_before_any_is_fetched(
    cell: str, words: str, server: PictureServer, study: Study
) -> None:
    address = server.url("/dog.png")
    assert words.format(address) in refused(study, at(address), PAIR | {"left": cell.format(address)})
    assert not server.asked


def test_other_faults_of_the_file_are_told_before_anything_is_fetched(
    server: PictureServer, study: Study
) -> None:
    assert "m.jsonl:2: caption" in refused(study, at(server.url("/dog.png")), PAIR | {"caption": ""})
    assert not server.asked


def test_an_import_names_a_limited_number_of_addresses(
    server: PictureServer, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_addresses, "MOST_ADDRESSES", 2)
    paths = ["/cat.png", "/dog.png", "/dog.png", "/third.png"]
    words = refused(study, *(at(server.url(path)) for path in paths))
    assert words.startswith("m.jsonl:4: left: ")
    assert (
        "an import fetches at most 2 images, because it waits for other servers. Upload the images as a zip archive"
        in words
    )
    assert not server.asked


def test_a_workspace_without_room_gets_no_images(server: PictureServer, study: Study) -> None:
    server.page("/large.png", picture(size=(3_000, 3_000), kind="GIF") + b"\0" * 1_200_000)
    Workspace.objects.filter(studies=study).update(storage_megabytes=1)
    assert "that they may take" in refused(study, at(server.url("/large.png")))


def test_addresses_stay_refused_where_nothing_is_imported(server: PictureServer, study: Study) -> None:
    imported(study, PAIR)
    item = study.items.get()
    changed = item.payload | {"left": f"![A cat]({server.url('/dog.png')})"}
    with pytest.raises(Exception, match="is an address, and images of other servers are never shown"):
        item_edit(item=item, payload=changed, gold=None)
    assert not server.asked


# -- pages, the command, the API -----------------------------------------------------------------------


def test_a_task_shows_the_stored_image_only(server: PictureServer, study: Study) -> None:
    imported(study, at(server.page("/x.png", picture("grey")), "A grey cat"))
    study_launch(study=study)
    study.refresh_from_db()
    user = make_participation(study).rater.user
    assert user is not None
    person = Client()
    person.force_login(user)
    text = person.get(f"/study/{study.slug}/task/", follow=True).content.decode()
    [shown] = html.fromstring(text).xpath("//img[@alt='A grey cat']")
    assert shown.get("src").startswith("/image/")
    assert person.get(shown.get("src")).getvalue() == picture("grey")
    assert (server.host in text, "x.png" in text) == (False, False)
    assert server.asked == {"/x.png": 1}


def test_a_duplicate_has_the_images(server: PictureServer, study: Study, researcher: User) -> None:
    imported(study, at(server.page("/x.png", picture("grey"))))
    same = study_duplicate(study=study, by=researcher, slug="same", title="Same", material=True)
    digest = hashlib.sha256(picture("grey")).hexdigest()
    assert digest in same.items.get().payload["left"]
    assert same.images.filter(digest=digest).exists()
    assert server.asked == {"/x.png": 1}


def test_the_page_hands_the_import_to_a_worker(
    server: PictureServer, study: Study, researcher_client: Client
) -> None:
    address = f"{ROOT}{study.pk}/import/"
    sent = upload(lines(at(server.url("/dog.png"))).decode(), "m.jsonl")
    page = researcher_client.post(address, {"file": sent}).content.decode()
    assert "1 image will be fetched from other servers" in page
    assert "m.jsonl: 1 item from 1 row" in page
    assert not server.asked
    reply = researcher_client.post(address, sent_form(page) | {"import": "1"})
    job = FileImport.objects.get()
    assert reply["Location"] == f"{ROOT}{study.pk}/imports/{job.pk}/"
    assert not server.asked
    assert file_import_run(file_import_pk=job.pk)
    job.refresh_from_db()
    assert (job.state, job.result["items"]) == (FileImport.State.DONE, 1)
    assert server.asked == {"/dog.png": 1}
    assert study.items.count() == 1


def test_a_worker_lists_the_images_that_it_could_not_fetch(
    server: PictureServer, study: Study, researcher_client: Client
) -> None:
    sent = upload(lines(at(server.url("/none.png"))).decode(), "m.jsonl")
    address = f"{ROOT}{study.pk}/import/"
    page = researcher_client.post(address, {"file": sent}).content.decode()
    reply = researcher_client.post(address, sent_form(page) | {"import": "1"})
    job = FileImport.objects.get()
    file_import_run(file_import_pk=job.pk)
    job.refresh_from_db()
    assert (job.state, job.problem_count) == (FileImport.State.REFUSED, 1)
    assert (job.problems[0]["line"], job.problems[0]["field"]) == (1, "left")
    assert "the server answered 404 Not Found" in researcher_client.get(reply["Location"]).content.decode()
    assert not Item.objects.exists()


def test_the_command_fetches_images(server: PictureServer, study: Study, tmp_path: Path) -> None:
    file = tmp_path / "m.jsonl"
    file.write_bytes(lines(at(server.url("/dog.png"))))
    told = io.StringIO()
    call_command("import_material", study.slug, str(file), "--dry-run", stdout=told)
    assert "1 image will be fetched from other servers" in told.getvalue()
    assert not server.asked
    call_command("import_material", study.slug, str(file), stdout=io.StringIO())
    assert study.items.count() == 1
    file.write_bytes(lines(at(server.url("/none.png")) | {"caption": "Two"}))
    with pytest.raises(CommandError, match=r"m\.jsonl:1: left: .*404 Not Found"):
        call_command("import_material", study.slug, str(file), stdout=io.StringIO())
    assert StudyImage.objects.count() == 4


def test_the_api_fetches_images_within_the_request(
    server: PictureServer, study: Study, researcher: User
) -> None:
    client = APIClient()
    client.force_authenticate(researcher)
    address = f"/api/v1/studies/{study.slug}/material/"

    def post(*rows: dict[str, Any]) -> Any:
        return client.post(address, lines(*rows), content_type="application/x-ndjson")

    assert post(at(server.url("/dog.png"))).status_code == 201
    reply = post(at(server.url("/none.png")) | {"caption": "Two"})
    assert reply.status_code == 400
    assert "404 Not Found" in json.dumps(reply.json())
    assert (study.items.count(), study.images.count()) == (1, 4)


def test_an_image_that_is_uploaded_under_the_name_of_another_is_told(
    server: PictureServer, study: Study
) -> None:
    name = f"{hashlib.sha256(picture('brown')).hexdigest()[:16]}.png"
    images_add(study=study, files=[(name, picture("pink"))])
    assert "the study has another image with this name" in refused(study, at(server.url("/dog.png")))

"""Types from files whose rows show images: as the built-in types' images, from the import to the page and the prompt."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse
from lxml import html

from annotator.core.tables.faults import FileRefused
from annotator.hit_types.declaration.problems import DeclarationRefused
from annotator.hit_types.declaration.reading import hit_type_read
from annotator.models import ExamQuestion, Membership, Study, User
from annotator.selectors.images import image_uses, images_used
from annotator.selectors.study import study_hit_type
from annotator.services.declared_checks import declared_checks
from annotator.services.images import image_delete
from annotator.services.imports.material_import import material_import
from annotator.services.study import study_launch
from annotator.services.study_copy import study_duplicate
from tests.annotator.hit_types.declaration.files import PICTURES_FILE, pictures
from tests.annotator.picture_pairs import ROW, draft
from tests.factories import make_participation, make_user

SOURCE = PICTURES_FILE.read_text(encoding="utf-8")


def imported(study: Study, *rows: dict[str, Any]) -> None:
    text = "\n".join(json.dumps(row) for row in rows)
    material_import(study=study, file=io.BytesIO(text.encode()), name="m.jsonl")


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


# -- the file ------------------------------------------------------------------------------------------


def test_a_type_with_images_passes_its_checks_and_says_what_models_can_not_see() -> None:
    kind = pictures()
    checks = declared_checks(kind)
    assert all(one.passed for one in checks), checks
    assert {one.name: one.detail for one in checks}["No stage contains what a later one shows"].endswith(
        "4 columns of text"
    )
    assert kind.images_shown() == {"cat.png", "dog.png"}
    assert "Picture 1: [An image that you cannot see. It is described as: A grey cat]" in kind.prompt_text
    assert "cat.png" not in kind.prompt_text


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("![A grey cat](cat.png)", "cat.png", "the image 'cat.png' has no alternative text"),
        ("![A grey cat](cat.png)", "A grey cat", "is not an image: write ![what the image shows](file.png)"),
        ("(cat.png)", "(https://example.org/cat.png)", "is an address, and images of other servers are never shown"),
        ("(cat.png)", "(data:image/png;base64,AAAA)", "is an address, and images of other servers are never shown"),
    ],
)  # fmt: skip
def test_an_image_in_a_file_that_can_not_be_shown_is_refused_at_its_line(
    old: str, new: str, message: str
) -> None:
    with pytest.raises(DeclarationRefused) as error:
        hit_type_read(SOURCE.replace(old, new))
    line = next(n for n, text in enumerate(SOURCE.splitlines(), 1) if "item: {" in text)
    assert str(error.value).startswith(f"line {line}: examples[1].item.left")
    assert message in str(error.value)


def test_only_an_image_can_be_undescribed() -> None:
    with pytest.raises(
        DeclarationRefused, match=r"columns\.caption\.described can't be given for kind text; only for image"
    ):
        hit_type_read(SOURCE.replace("example: A cat on a mat, is", "described: false, example: A cat, is"))


# -- import --------------------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.usefixtures("stored_files")
def test_rows_name_uploaded_images_and_need_not_declare_their_format(researcher: User) -> None:
    study = draft(researcher)
    bare = {"caption": "A dog", "left": "![A cat](cat.png)", "right": "dog.png", "alt": "A dog"}
    imported(study, ROW, bare)
    uses = [(one["part"], one["image"], one["alt"]) for one in image_uses(study=study)]
    assert sorted(uses) == [
        ("chart", "chart.png", "All chose the cat"),
        ("left", "cat.png", "A cat"),
        ("left", "cat.png", "A grey cat"),
        ("right", "dog.png", "A brown dog"),
        ("right", "dog.png", "A dog"),
    ]
    assert all(one["digest"] for one in image_uses(study=study))


@pytest.mark.django_db
@pytest.mark.usefixtures("stored_files")
@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("![A cat](cta.png)", "no image named 'cta.png' has been uploaded to the study; did you mean 'cat.png'?"),
        ("![](cat.png)", "the image 'cat.png' has no alternative text"),
        ("cat.png", "the image 'cat.png' has no alternative text"),
        ("A cat", "is not an image: write ![what the image shows](file.png)"),
        ("https://example.org/cat.png", "the image 'https://example.org/cat.png' has no alternative text"),
        ("![A cat](http://example.org/cat.png)", "can't be fetched: example.org needs https"),
        (f"![{'a' * 1001}](cat.png)", "the alternative text has 1001 characters; expected at most 1,000"),
        ("", "is missing"),
    ],
)  # fmt: skip
def test_an_import_names_the_row_and_the_column_of_an_image_that_can_not_be_shown(
    cell: str, message: str, researcher: User
) -> None:
    study = draft(researcher)
    with pytest.raises(FileRefused) as error:
        imported(study, ROW, {**ROW, "caption": "Another", "left": cell})
    assert "m.jsonl:2: left" in str(error.value)
    assert message in str(error.value)
    assert not study.items.exists()


# -- pages ---------------------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.usefixtures("stored_files")
def test_a_task_shows_its_images_with_their_texts_and_none_of_a_later_stage(researcher: User) -> None:
    study = draft(researcher)
    imported(study, ROW)
    study_launch(study=study)
    study.refresh_from_db()
    person = logged_in(make_participation(study).rater.user)
    text = person.get(f"/study/{study.slug}/task/", follow=True).content.decode()
    shown = html.fromstring(text).xpath("//a[@data-zoom]/img[@class='picture__image']")
    assert sorted(one.get("alt") for one in shown) == ["A brown dog", "A grey cat"]
    for one in shown:
        assert person.get(one.get("src")).status_code == 200
        assert logged_in(researcher).get(one.get("src")).status_code == 404
    assert "All chose" not in text
    assert study.images.get(name="chart.png").digest not in text


@pytest.mark.django_db
@pytest.mark.usefixtures("stored_files")
def test_the_files_own_examples_and_exam_show_the_images_of_the_study(researcher: User) -> None:
    study = draft(researcher, exam_required=True, exam_questions=1, pass_mark=1, exam_attempts=1)
    imported(study, ROW)
    cat = study.images.get(name="cat.png")
    kind = study_hit_type(study)
    assert cat.digest in kind.exam[0].payload["left"]
    assert cat.digest in kind.instructions
    with pytest.raises(ValidationError, match=r"cat\.png is shown by an item, a question"):
        image_delete(image=cat)
    page = html.fromstring(logged_in(researcher).get(f"/preview/{study.pk}/exam/").content)
    assert [one.get("alt") for one in page.xpath("//img[@class='picture__image']")] == ["A grey cat", "A dog"]
    study_launch(study=study)
    assert cat.digest in ExamQuestion.objects.get().payload["left"]
    assert cat.digest in images_used(study=study)


@pytest.mark.django_db
@pytest.mark.usefixtures("stored_files")
def test_a_study_without_the_images_of_its_type_can_not_be_launched(researcher: User) -> None:
    study = draft(researcher)
    study.images.filter(name="dog.png").delete()
    imported(study, {"caption": "Cats", "left": "![A cat](cat.png)", "right": "![Another](cat.png)"})
    with pytest.raises(ValidationError, match=r"images that haven't been uploaded to the study: dog\.png"):
        study_launch(study=study)


@pytest.mark.django_db
@pytest.mark.usefixtures("stored_files")
def test_a_copy_in_another_workspace_has_the_images_of_its_type(researcher: User) -> None:
    study = draft(researcher)
    other = make_user(staff=True)
    Membership.objects.create(study=study, user=other, role="viewer")
    copy = study_duplicate(study=study, by=other, slug="elsewhere", title="Elsewhere", material=False)
    assert copy.workspace != study.workspace
    assert sorted(copy.images.values_list("name", flat=True)) == ["cat.png", "dog.png"]


@pytest.mark.django_db
def test_the_editor_shows_what_an_image_shows_until_its_file_is_uploaded() -> None:
    client = logged_in(make_user("ada", staff=True))
    page = client.post(reverse("annotator:preview_hit_type"), {"source": SOURCE, "part": "task"})
    words = [
        one.text_content()
        for one in html.fromstring(page.content).xpath("//p[contains(@class,'picture__words')]")
    ]
    assert sorted(words)[:2] == ["Image: A dog", "Image: A grey cat"]

"""Images of a study: which are accepted, how material names them, and when their files are deleted."""

from __future__ import annotations

import hashlib
import io
import json
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils import timezone

from annotator.core.tables.faults import FileRefused
from annotator.models import Explanation, Instance, Membership, Study, StudyImage
from annotator.selectors.images import image_uses, images_used
from annotator.selectors.study import study_hit_type
from annotator.services import images
from annotator.services.images import folder_images, image_delete, images_add, images_sweep, zip_images
from annotator.services.imports.material_import import material_import
from annotator.services.items import item_edit
from annotator.services.study import study_update
from annotator.services.study_copy import study_duplicate
from annotator.services.study_removal import study_delete, study_purge
from tests.annotator.image_rows import ROW
from tests.factories import make_study, make_user
from tests.pictures import archive, picture

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stored_files")]


def with_images(**fields: Any) -> Study:
    study = make_study(**fields)
    images_add(study=study, files=[("cat.png", picture()), ("dog.png", picture("brown"))])
    return study


def imported(study: Study, *rows: dict[str, Any]) -> None:
    text = "\n".join(json.dumps(row) for row in rows)
    material_import(study=study, file=io.BytesIO(text.encode()), name="m.jsonl")


def refused(study: Study, *rows: dict[str, Any]) -> str:
    with pytest.raises(FileRefused) as error:
        imported(study, *rows)
    return str(error.value)


@pytest.mark.parametrize(
    ("kind", "media"),
    [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("WEBP", "image/webp"), ("GIF", "image/gif")],
)
def test_the_content_decides_the_image_type(kind: str, media: str) -> None:
    study, content = make_study(), picture(kind=kind)
    [image] = images_add(study=study, files=[("folder/whatever.txt", content)]).added
    assert (image.name, image.media_type, image.width, image.height) == ("whatever.txt", media, 40, 30)
    assert image.digest == hashlib.sha256(content).hexdigest()
    with default_storage.open(image.file) as file:
        assert file.read() == content


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            b"<svg xmlns='http://www.w3.org/2000/svg'><script>x</script></svg>",
            "is not an image of a known type",
        ),
        (b"", "is not an image of a known type"),
        (picture()[:60], "is damaged"),
        (picture(kind="GIF", frames=3), "is animated"),
        (picture(kind="BMP"), "is not an image of a known type"),
    ],
)
def test_other_files_than_still_images_are_refused_and_not_stored(content: bytes, words: str) -> None:
    study = make_study()
    with pytest.raises(ValidationError, match=words):
        images_add(study=study, files=[("good.png", picture()), ("bad.png", content)])
    assert not study.images.exists()


def test_a_small_file_of_a_huge_picture_is_refused_before_decoding(settings: Any) -> None:
    bomb = picture("white", size=(6_000, 5_000))
    assert len(bomb) < 200_000
    with pytest.raises(ValidationError, match=r"has 6,000 x 5,000 pixels; expected at most 25 million"):
        images_add(study=make_study(), files=[("bomb.png", bomb)])
    settings.IMAGE_MAX_BYTES = 50
    with pytest.raises(ValidationError, match="is too large; expected at most"):
        images_add(study=make_study(), files=[("large.png", picture())])


def test_a_damaged_zip_archive_is_refused_wherever_the_damage_is() -> None:
    content = archive({f"{n}.png": picture() + b"a" * 500 for n in range(3)})
    rng, refused = Random(1), 0
    for _ in range(400):
        damaged = bytearray(content)
        for _ in range(3):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            list(zip_images(io.BytesIO(damaged)))
        except ValidationError:
            refused += 1
    assert refused > 200


def test_files_that_systems_add_to_a_zip_archive_are_skipped(settings: Any) -> None:
    packed = archive({"pictures/cat.png": picture(), "__MACOSX/._cat.png": b"x", ".DS_Store": b"x"})
    assert [name for name, _ in zip_images(io.BytesIO(packed))] == ["pictures/cat.png"]
    with pytest.raises(ValidationError, match="is not a zip archive"):
        list(zip_images(io.BytesIO(b"PK no")))
    settings.IMAGES_PER_UPLOAD = 0
    with pytest.raises(ValidationError, match="expected at most 0 at a time"):
        list(zip_images(io.BytesIO(packed)))


def test_a_name_has_one_content() -> None:
    study = with_images()
    again = images_add(study=study, files=[("cat.png", picture())])
    assert (again.added, again.unchanged) == ([], 1)
    with pytest.raises(ValidationError, match="another image with this name"):
        images_add(study=study, files=[("cat.png", picture("red"))])


def test_material_names_an_image_by_markdown_or_by_its_file_with_alt() -> None:
    study = with_images()
    other = ROW | {
        "question": "dog.png",
        "alt": "A dog\n asleep",
        "formats": json.dumps({"question": "image"}),
    }
    imported(study, ROW, other)
    cat, dog = study.items.order_by("id")
    digest = study.images.get(name="cat.png").digest
    assert cat.payload["question"] == f'![A cat on a mat](cat.png "40x30 sha256:{digest}")'
    assert dog.payload["question"].startswith('![A dog asleep](dog.png "40x30 sha256:')
    block = study_hit_type(study).stages(cat.payload)[0].blocks[0]
    assert block.image is not None
    assert (block.image.alt, block.image.name, block.image.stored.digest) == (
        "A cat on a mat",
        "cat.png",
        digest,
    )
    assert Instance.objects.filter(input=cat.payload["question"]).count() == 1
    assert [(row["item"], row["image"], row["digest"], row["alt"]) for row in image_uses(study=study)] == [
        (cat.key, "cat.png", digest, "A cat on a mat"),
        (dog.key, "dog.png", study.images.get(name="dog.png").digest, "A dog asleep"),
    ]
    imported(study, ROW | {"question": cat.payload["question"]})
    assert study.items.count() == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"question": "![](cat.png)"}, "m.jsonl:2: question: '![](cat.png)': the image 'cat.png' has no alternative text"),
        ({"question": "cat.png"}, "m.jsonl:2: question: 'cat.png': the image 'cat.png' has no alternative text"),
        ({"question": "![A cat](cta.png)"}, "no image named 'cta.png' has been uploaded to the study; did you mean 'cat.png'?"),
        ({"question": "![A cat](ftp://example.org/cat.png)"}, "the image 'ftp://example.org/cat.png' can't be fetched: expected an address"),
        ({"question": f'![A cat](cat.png "1x1 sha256:{"0" * 64}")'}, "with this digest has not been uploaded"),
        ({"question": f"![{'cat ' * 300}](cat.png)"}, "expected at most 1,000"),
        (
            {"explanation": "dog.png", "question": "cat.png", "alt": "Both", "formats": {"question": "image", "explanation": "image"}},
            "alt: 'Both': describes one image, and this row names 2",
        ),
        ({"formats": {"answer": "image"}}, "'answer' is not a text that is shown"),
    ],
)  # fmt: skip
def test_an_import_says_which_row_names_an_image_wrongly(change: dict[str, Any], words: str) -> None:
    study = with_images()
    assert words in refused(study, ROW, ROW | change)
    assert not study.items.exists()


def test_explanations_in_a_list_can_be_images_and_code() -> None:
    study = with_images(hit_type="plausibility")
    explanations = [
        {"system": "a", "explanation": "![A cat](cat.png)"},
        {"system": "b", "explanation": "![A dog](dog.png)"},
    ]
    imported(
        study,
        {
            "question": "Who barks?",
            "answer": "dogs",
            "explanations": explanations,
            "formats": {"explanations": "image"},
        },
    )
    coded = [{"system": one, "explanation": f"    if {one}:\n        bark()"} for one in "ab"]
    imported(
        study,
        {
            "question": "Who barks?",
            "answer": "dogs",
            "explanations": coded,
            "formats": {"explanations": "code"},
            "key": "c",
        },
    )
    kind = study_hit_type(study)
    shown, code = (
        [b for b in kind.stages(i.payload)[0].blocks if b.group == "explanations"]
        for i in study.items.order_by("id")
    )
    assert [block.image.name for block in shown if block.image] == ["cat.png", "dog.png"]
    assert [block.text for block in code] == ["    if a:\n        bark()", "    if b:\n        bark()"]
    assert {block.format for block in code} == {"code"}
    assert Explanation.objects.filter(text__startswith="![A cat](cat.png ").count() == 1


def test_atomic_units_have_a_format() -> None:
    study = make_study(hit_type="atomic_units")
    row = {
        "domain": "news", "explanation": "Start with the date.", "units": ["**the date**", "`x`"], "input": "On Monday",
        "output": "Monday", "formats": {"units": "markdown"},
    }  # fmt: skip
    imported(study, row)
    blocks = study_hit_type(study).stages(study.items.get().payload)[0].blocks
    assert {block.format for block in blocks if block.group == "points"} == {"markdown"}


def test_models_are_given_the_description_and_told_so() -> None:
    study = with_images()
    imported(study, ROW)
    [*_, asked] = study_hit_type(study).prompt(study.items.get().payload)
    assert "[An image that you cannot see. It is described as: A cat on a mat]" in asked.content
    assert "sha256" not in asked.content


def test_an_edited_item_and_a_question_of_the_exam_refer_to_uploaded_images() -> None:
    study = with_images()
    imported(study, ROW)
    item = study.items.get()
    item = item_edit(item=item, payload=item.payload | {"question": "![A dog](dog.png)"}, gold=None)
    assert 'dog.png "40x30 sha256:' in item.payload["question"]
    with pytest.raises(ValidationError, match=r"no image named 'cow\.png'"):
        item_edit(item=item, payload=item.payload | {"question": "![A cow](cow.png)"}, gold=None)
    question = {"key": "one", "row": ROW, "gold": {"helpful": "no"}, "reason": "So."}
    study = study_update(study=study, exam_own=[question])
    assert 'cat.png "40x30 sha256:' in study.exam_own[0]["payload"]["question"]
    used = images_used(study=study)
    assert used == {study.images.get(name="dog.png").digest: 1, study.images.get(name="cat.png").digest: 0}
    with pytest.raises(ValidationError, match=r"no image named 'cow\.png'"):
        study_update(study=study, exam_own=[question | {"row": ROW | {"question": "![A cow](cow.png)"}}])


def test_only_an_unused_image_can_be_deleted(django_capture_on_commit_callbacks: Any) -> None:
    study = with_images()
    imported(study, ROW)
    cat, dog = study.images.get(name="cat.png"), study.images.get(name="dog.png")
    with pytest.raises(ValidationError, match=r"cat\.png is shown by an item"):
        image_delete(image=cat)
    with django_capture_on_commit_callbacks(execute=True):
        image_delete(image=dog)
    assert [default_storage.exists(one.file) for one in (cat, dog)] == [True, False]


def test_a_file_is_deleted_with_the_last_study_that_shows_it(django_capture_on_commit_callbacks: Any) -> None:
    by = make_user(staff=True)
    study = with_images(by=by)
    imported(study, ROW)
    copy = study_duplicate(study=study, by=by, slug="copy", title="Copy", material=True)
    assert copy.images.count() == 2
    assert list(copy.items.values_list("payload", flat=True)) == list(
        study.items.values_list("payload", flat=True)
    )
    file = study.images.get(name="cat.png").file
    for one, left in ((study, True), (copy, False)):
        study_delete(study=one, by=by, typed=one.slug)
        with django_capture_on_commit_callbacks(execute=True):
            study_purge(study_pk=one.pk)
        assert default_storage.exists(file) == left
    assert not StudyImage.objects.exists()


@pytest.mark.parametrize("elsewhere", [False, True], ids=["the same workspace", "another workspace"])
def test_a_copy_has_the_images_of_its_exam(elsewhere: bool, django_capture_on_commit_callbacks: Any) -> None:
    owner, other = make_user(staff=True), make_user(staff=True)
    study = with_images(by=owner)
    question = {"key": "one", "row": ROW, "gold": {"helpful": "no"}, "reason": "So."}
    study = study_update(study=study, exam_own=[question])
    Membership.objects.create(study=study, user=other, role="viewer")
    by = other if elsewhere else owner
    copy = study_duplicate(study=study, by=by, slug="copy", title="Copy", material=False)
    assert (copy.workspace == study.workspace) is not elsewhere
    assert copy.exam_own == study.exam_own
    names = set(copy.images.values_list("name", flat=True))
    assert names == ({"cat.png"} if elsewhere else {"cat.png", "dog.png"})
    study_update(study=copy, exam_own=[question])  # its questions can be edited further
    study_delete(study=study, by=owner, typed=study.slug)
    with django_capture_on_commit_callbacks(execute=True):
        study_purge(study_pk=study.pk)
    cat = copy.images.get(name="cat.png")
    with default_storage.open(cat.file) as file:
        assert hashlib.sha256(file.read()).hexdigest() == cat.digest


def test_a_copy_elsewhere_says_which_images_file_is_missing() -> None:
    owner, other = make_user(staff=True), make_user(staff=True)
    study = with_images(by=owner)
    study = study_update(
        study=study, exam_own=[{"key": "one", "row": ROW, "gold": {"helpful": "no"}, "reason": "So."}]
    )
    Membership.objects.create(study=study, user=other, role="viewer")
    default_storage.delete(study.images.get(name="cat.png").file)
    with pytest.raises(ValidationError, match=r"image cat\.png is missing on the server"):
        study_duplicate(study=study, by=other, slug="copy", title="Copy", material=False)


def test_a_file_that_an_interrupted_upload_left_is_removed_later(monkeypatch: pytest.MonkeyPatch) -> None:
    study = with_images()
    kept = study.images.get(name="cat.png").file
    left = default_storage.save(f"images/workspace-{study.workspace_id}/ab/{'ab' * 32}", ContentFile(b"x"))
    assert images_sweep() == 0
    later = timezone.now() + timedelta(days=1)
    monkeypatch.setattr(images.timezone, "now", lambda: later)
    assert images_sweep() == 1
    assert [default_storage.exists(path) for path in (kept, left)] == [True, False]


def test_a_folder_gives_its_images_only(tmp_path: Any) -> None:
    tmp_path = tmp_path / "pictures"
    tmp_path.mkdir()
    (tmp_path / "a.PNG").write_bytes(picture())
    (tmp_path / "notes.txt").write_text("x")
    assert [name for name, _ in folder_images(tmp_path)] == ["a.PNG"]
    with pytest.raises(ValidationError, match="is not a folder"):
        list(folder_images(tmp_path / "none"))

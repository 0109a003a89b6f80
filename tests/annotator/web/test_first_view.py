"""The first view of a task of each type from the gallery: what a phone with an empty cache loads, as it is sent."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from lxml import html

from annotator.hit_types.declaration.gallery import GALLERY
from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.hit_types.registry import hit_type_get
from annotator.models import User
from annotator.services.imports.material_import import material_import
from annotator.services.study import study_launch
from tests.factories import make_participation, make_study

pytestmark = pytest.mark.django_db
MOST_BYTES, MOST_RESPONSES = 60_000, 8
SERIF = "vendor/foretell-serif/foretell-serif"
#: Elements of the page for which a browser loads a face of the serif besides the plain one.
FACES = {"bold": "strong|b|th|h2|h3", "italic": "em|i|cite"}


def sent(name: str) -> int:
    """The bytes of a static file as they are sent; fonts are compressed already."""
    content = Path(str(finders.find(name))).read_bytes()
    return len(content) if name.endswith(".woff2") else len(gzip.compress(content, mtime=0))


def loaded(page: Any) -> list[str]:
    """The static files that a browser loads for a page: those which it names, and the faces of the serif that its material uses."""
    names = page.xpath(
        "//link[@rel='stylesheet' or @rel='icon' or @rel='preload']/@href | //script/@src | //img/@src"
    )
    assert all(name.startswith("/static/") for name in names), names
    faces = [
        f"{SERIF}-{face}.woff2"
        for face, tags in FACES.items()
        if page.xpath(" | ".join(f"//*[contains(@class, 'block__text')]//{tag}" for tag in tags.split("|")))
    ]
    return [*(name.removeprefix("/static/") for name in names), f"{SERIF}.woff2", *faces]


@pytest.mark.parametrize("name", sorted(path.stem for path in GALLERY.glob("*.yaml")))
def test_the_first_view_of_a_task_takes_at_most_sixty_kilobytes(name: str, researcher: User) -> None:
    """The page with its head; the heads of the static files, some 300 bytes each, aren't counted."""
    kind = hit_type_get(name)
    assert isinstance(kind, DeclaredHitType)
    study = make_study(by=researcher, hit_type=name, questionnaire_before="", questionnaire_after="")
    rows = "\n".join(json.dumps(case["item"]) for case in kind.declaration["material"])
    material_import(study=study, file=io.BytesIO(rows.encode()), name="m.jsonl")
    study_launch(study=study)
    study.refresh_from_db()
    client = Client(headers={"Accept-Encoding": "gzip"})
    client.force_login(make_participation(study).rater.user)
    reply = client.get(f"/study/{study.slug}/task/", follow=True)
    assert reply["Content-Encoding"] == "gzip"
    page = html.fromstring(gzip.decompress(reply.content))
    assert page.xpath("//form[contains(@action, '/task/')]"), "not a task"
    sizes = {"page": len(reply.serialize_headers()) + len(reply.content)}
    sizes |= {one: sent(one) for one in loaded(page)}
    assert len(sizes) <= MOST_RESPONSES, sizes
    assert 40_000 < sum(sizes.values()) <= MOST_BYTES, sizes

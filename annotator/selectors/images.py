"""The images of a study: which there are, what shows them, and who may open one."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from django.core import signing
from django.db import connection
from django.http import Http404
from django.urls import reverse

from annotator.hit_types.images import image_columns, read_image
from annotator.models import Participation, Study, StudyImage
from annotator.selectors.study import known_hit_type, studies_for
from annotator.selectors.uploaded_images import images_of

log = logging.getLogger(__name__)

_SALT = "annotator.image"


def images_used(*, study: Study) -> dict[str, int]:
    """The digest of each image that the study shows -> in how many items; 0 if only its questions or earlier versions do."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT digest, sum(items)::int FROM (
                SELECT found[1] AS digest, count(DISTINCT i.id) AS items
                FROM annotator_item i, regexp_matches(i.payload::text, 'sha256:([0-9a-f]{64})', 'g') AS found
                WHERE i.study_id = %(study)s AND i.payload ? 'formats' GROUP BY 1
                UNION ALL
                SELECT found[1], 0 FROM annotator_study s,
                    regexp_matches(concat(s.exam_own::text, s.practice_own::text, s.translations::text), 'sha256:([0-9a-f]{64})', 'g') AS found
                WHERE s.id = %(study)s
                UNION ALL
                SELECT found[1], 0 FROM annotator_snapshot v,
                    regexp_matches(v.content::text, 'sha256:([0-9a-f]{64})', 'g') AS found
                WHERE v.study_id = %(study)s
            ) shown GROUP BY 1
            """,
            {"study": study.pk},
        )
        used = dict(cursor.fetchall())
    kind = known_hit_type(study)
    if kind is not None and (shown := kind.images_shown()):
        used |= {
            one.digest: used.get(one.digest, 0)
            for name, one in images_of(study=study).items()
            if name in shown
        }
    return used


def image_uses(*, study: Study) -> Iterator[dict[str, Any]]:
    """Every place in the items at which an image is shown: item, part, file name, digest, alternative text and size."""
    items = study.items.filter(payload__has_key="formats").order_by("id").values_list("key", "payload")
    for key, payload in items.iterator(chunk_size=500):
        for column in image_columns(payload):
            value = payload.get(column)
            texts = value if isinstance(value, list) else [value]
            for text in (one.get("text") if isinstance(one, dict) else one for one in texts):
                image = read_image(text) if isinstance(text, str) else None
                if image is not None:
                    stored = image.stored
                    yield {
                        "item": key, "part": column, "image": image.name, "alt": image.alt,
                        "digest": stored.digest if stored else "", "width": stored.width if stored else "",
                        "height": stored.height if stored else "",
                    }  # fmt: skip


def image_url(*, user_pk: int, study_pk: int, digest: str) -> str:
    """The address of an image for one person, who is shown it in this study.

    It can't be guessed, and it works for nobody else: what a later stage of a task shows can't be opened before.
    """
    token = signing.Signer(salt=_SALT).sign(f"{study_pk}:{user_pk}:{digest}")
    return reverse("annotator:image", args=[token])


def image_get_for(*, user: Any, token: str) -> StudyImage:
    """The image of an address made for this person, as long as they belong to the study; raises ``Http404`` otherwise."""
    try:
        study_pk, user_pk, digest = signing.Signer(salt=_SALT).unsign(token).split(":")
    except (signing.BadSignature, ValueError):
        raise Http404("no such image") from None
    if str(user.pk) != user_pk or not (
        Participation.objects.filter(study_id=int(study_pk), study__deleted_at__isnull=True, rater__user=user)
        .exclude(state=Participation.State.REMOVED)
        .exists()
        or studies_for(user=user).filter(pk=study_pk).exists()
    ):
        log.warning("image of study %s: access denied to user %s", study_pk, user.pk)
        raise Http404("no such image")
    image = StudyImage.objects.filter(study_id=int(study_pk), digest=digest).first()
    if image is None:
        raise Http404("no such image")
    return image

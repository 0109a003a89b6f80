"""Which originals a study's translations were made from, so that a translation is flagged when its original changes."""

from __future__ import annotations

from collections.abc import Collection

from django.core.exceptions import ValidationError
from django.db import transaction

from annotator.hit_types.base import JSON
from annotator.hit_types.translations import each_text
from annotator.models import AuditAction, Study, User
from annotator.selectors.study_texts import original_digests, original_texts
from annotator.services.audit import audit_change


def translated_from(study: Study, *, before: JSON, originals: dict[str, str]) -> JSON:
    """The digests of the originals of the study's translations, after a change of the study.

    A translation that has just been changed was made from the original as it is now. The others keep what is stored;
    those that nothing is stored for were made from the ``originals`` before the change.
    """
    if not study.translations:
        return {}
    now = original_digests(original_texts(study))
    found: JSON = {}
    for code, texts in study.translations.items():
        stored = originals | study.translated_from.get(code, {})
        old = each_text(before.get(code, {}))
        sources = {
            name: stored.get(name) if old.get(name) == text else now.get(name)
            for name, text in each_text(texts).items()
        }
        found[code] = {name: source for name, source in sources.items() if source}
    return found


@transaction.atomic
def translation_confirm(
    *, study: Study, code: str, names: Collection[str] | None = None, by: User | None = None
) -> Study:
    """Note that the translation into a language says what the originals say now, after somebody has compared them.

    ``names`` are those of the texts that were compared, as in ``each_text``; by default all.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.state == Study.State.CLOSED:
        raise ValidationError("The study is closed and can't be changed.")
    now = original_digests(original_texts(study))
    texts = each_text(study.translations.get(code, {}))
    was = study.translated_from
    study.translated_from = was | {
        code: was.get(code, {})
        | {name: now[name] for name in texts if name in now and (names is None or name in names)}
    }
    study.save(update_fields=["translated_from"])
    audit_change(
        action=AuditAction.STUDY_CHANGED, row=study, before={"translated_from": was}, names=["translated_from"],
        study=study, by=by,
    )  # fmt: skip
    return study

"""Validate a study's settings and its own texts before they are saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import ValidationError

from annotator.core.language import languages
from annotator.core.words import plural
from annotator.hit_types.base import JSON, FieldErrors, Question
from annotator.hit_types.images import image_columns, images_resolve
from annotator.hit_types.questions import read_questions
from annotator.hit_types.registry import hit_type_get
from annotator.hit_types.translations import QUESTIONS, read_translations
from annotator.models import PanelLinks, Study
from annotator.selectors.images import images_of
from annotator.selectors.qualification import requirement_known


def study_clean(study: Study, *, images_from: Study | None = None) -> None:
    """Validate a study before it is saved, and normalise its own questions. Raises ``ValidationError``.

    ``images_from`` is the study whose images a new copy will have.
    """
    errors = study_texts_clean(study, images_from=images_from)
    try:
        study.full_clean(validate_constraints=False)
    except ValidationError as error:
        for name, messages in error.message_dict.items():
            errors.setdefault(name, []).extend(messages)
    if errors:
        raise ValidationError(errors)


def _with_images(study: Study, questions: Sequence[Question]) -> tuple[list[JSON], list[str]]:
    """Questions as they are stored, with the digest of each image that they show, and what is wrong with the images."""
    written = [vars(question) for question in questions]
    return written, _images_named(study, written)


def _images_named(study: Study, questions: Sequence[JSON]) -> list[str]:
    """Add to questions the digest of each image that they show; returns what is wrong with the images."""
    shown = [one for one in questions if image_columns(one["payload"])]
    known = images_of(study=study) if shown and study.pk else {}
    faults = list[str]()
    for one in shown:
        one["payload"], errors = images_resolve(one["payload"], known)
        faults += [f"{one['key']}: {name}: {text}" for name, text in errors.items()]
    return faults


def study_texts_clean(study: Study, *, images_from: Study | None = None) -> dict[str, list[str]]:
    """Normalise the study's own questions and translations in place, as ``Model.clean`` may, without saving anything.

    Returns what is wrong with them, with its instructions or with the qualifications it requires, by field.
    """
    with_images = images_from or study
    kind = hit_type_get(study.hit_type)
    errors: dict[str, list[str]] = {}
    if study.variant and study.variant not in kind.variants:
        known = ", ".join(kind.variants) or "none"
        errors["variant"] = [f"{study.variant!r} is not a variant of {kind.name}; it has: {known}"]
        return errors
    for name in ("exam_own", "practice_own"):
        if not getattr(study, name):
            setattr(study, name, None)
            continue
        try:
            questions = read_questions(kind, getattr(study, name))
        except FieldErrors as error:
            errors[name] = [f"{where}: {fault}" if where else fault for where, fault in error.errors.items()]
        else:
            written, strange = _with_images(with_images, questions)
            setattr(study, name, written)
            faults = {one.key: kind.variant_fault(one.payload, study.variant) for one in questions}
            strange += [f"{key}: {kind.variant_field} {fault}" for key, fault in faults.items() if fault]
            if strange:
                errors[name] = strange
    if study.translations and not errors:
        try:
            study.translations = read_translations(
                kind,
                study.translations,
                languages=[one.code for one in languages() if one.code != study.language],
                exam=_questions_of(kind.exam, study.exam_own),
                practice=_questions_of(kind.practice, study.practice_own),
            )
        except FieldErrors as error:
            errors["translations"] = [
                f"{where}: {fault}" if where else fault for where, fault in error.errors.items()
            ]
        else:
            faults_of_images = [
                f"{code}.{name}, {fault}"
                for code, texts in study.translations.items()
                for name in QUESTIONS
                for fault in _images_named(with_images, texts.get(name, ()))
            ]
            if faults_of_images:
                errors["translations"] = faults_of_images
    if study.instructions_text and not kind.external:
        try:
            kind.read_instructions(study.instructions_text)
        except ValueError as error:
            errors["instructions_text"] = [str(error)]
    if study.panel and study.panel_links == PanelLinks.SIGNED and not study.panel_study_ids.strip(" ,"):
        errors["panel_study_ids"] = [
            "Enter the id of the study on Prolific. Signed links of any other study are refused."
        ]
    most = study.exam_questions
    if isinstance(study.pass_mark, int) and isinstance(most, int) and study.pass_mark > most:
        errors["pass_mark"] = [
            f"The exam asks {plural(most, 'question')}, so the pass mark can be at most {most}."
        ]
    if not isinstance(study.requires, list):
        errors["requires"] = ["Expected a list of qualifications."]
    else:
        unknown = [
            ascii(one)
            for one in study.requires
            if not isinstance(one, str) or not requirement_known(one, workspace_id=study.workspace_id)
        ]
        if unknown:
            errors["requires"] = [f"There is no such qualification: {', '.join(unknown)}."]
    return errors


def _questions_of(types: Sequence[Question], own: Sequence[dict[str, Any]] | None) -> Sequence[Question]:
    """The questions that a study may ask: its own, or else those of its HIT type in every variant."""
    return [Question(**question) for question in own] if own else types

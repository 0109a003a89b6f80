"""Validate a study's settings and its own texts before they are saved."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError

from annotator.core.language import languages
from annotator.core.words import listed, plural
from annotator.hit_types.arms import ARM_TITLES
from annotator.hit_types.base import JSON, FieldErrors, Question
from annotator.hit_types.images import image_columns, images_resolve
from annotator.hit_types.questions import read_questions
from annotator.hit_types.translations import QUESTIONS, read_translations
from annotator.models import DeclaredType, PanelLinks, Study
from annotator.models.study_settings.allocation import WholeExplanations
from annotator.recruitment.registry import panel_get
from annotator.recruitment.return_addresses import return_address_fault
from annotator.selectors.declared_type import names_in, version_offered
from annotator.selectors.qualification import requirement_known
from annotator.selectors.study import declared_hit_type
from annotator.selectors.uploaded_images import images_of


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
    kind = declared_hit_type(study)
    errors: dict[str, list[str]] = {}
    for arm in study.control_arms:
        if arm not in kind.control_arms:
            known = listed([f"“{ARM_TITLES[one]}”" for one in kind.control_arms], "and") or "none"
            errors[f"{arm}_raters"] = [f"Tasks of this type don't have this control arm. They have: {known}."]
    if study.confidence_scale and kind.external:
        errors["confidence"] = ["The labels of this study are collected elsewhere, so nobody is asked."]
    if study.whole_explanations == WholeExplanations.TOGETHER and study.one_condition_per_instance:
        errors["whole_explanations"] = [
            "With one condition per instance, nobody gets all follow-ups of an explanation. Let each follow-up go to whoever"
            " comes next, or turn that off."
        ]
    if study.shared_items is not None and study.control_arms:
        errors["shared_items"] = ["A study with control arms gives each item to as many raters in each arm."]
    if study.shared_items is not None and study.whole_explanations != WholeExplanations.NO:
        errors["shared_items"] = [
            "Whole explanations are given out in an order of their own: let all raters get some items, or complete explanations, not both."
        ]
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
            errors[name] = _with_places(error)
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
            errors["translations"] = _with_places(error)
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
    panel = panel_get(study.panel)
    if panel is not None and panel.installed and study.panel_links == PanelLinks.SIGNED:
        if not panel.token:
            errors["panel_links"] = [
                f"{panel.title} doesn't sign its links. Choose links that aren't verified."
            ]
        elif study.state != Study.State.DRAFT and (fault := panel_study_fault(study)):
            errors["panel_study_ids"] = [fault]
    if panel is not None and panel.listed and study.panel_links != PanelLinks.SIGNED:
        errors["panel_links"] = ["Personal links are always signed. Choose signed links."]
    if study.panel_return and (fault := return_address_fault(study.panel_return)):
        errors["panel_return"] = [fault]
    most = study.exam_questions
    if isinstance(study.pass_mark, int) and isinstance(most, int) and study.pass_mark > most:
        errors["pass_mark"] = [
            f"The exam asks {plural(most, 'question')}, so the pass mark can be at most {most}."
        ]
    errors |= questionnaires_clean(study)
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


def questionnaires_clean(study: Study) -> dict[str, list[str]]:
    """Put the files of questionnaires in the place of their names: those that come with Foretell, and the workspace's own in their latest
    version. Returns what is wrong, by setting."""
    errors: dict[str, list[str]] = {}
    for name in ("questionnaire_before", "questionnaire_after"):
        text = str(getattr(study, name) or "")
        if not text.strip():
            setattr(study, name, "")
            continue
        # Imported here: processes of studies without questionnaires start without the readers of YAML and JSON Schema.
        from annotator.hit_types.declaration.problems import DeclarationRefused
        from annotator.hit_types.declaration.questionnaire import questionnaires_text

        try:
            own = list(names_in(study.workspace_id, DeclaredType.Kind.QUESTIONNAIRE))
            setattr(study, name, questionnaires_text(text, own=partial(_own_questionnaire, study), names=own))
        except DeclarationRefused as error:
            errors[name] = [str(problem) for problem in error.problems]
    return errors


def _own_questionnaire(study: Study, name: str) -> str | None:
    """The file of the latest version of a questionnaire of the study's workspace."""
    kind = DeclaredType.Kind.QUESTIONNAIRE
    found = version_offered(workspace_id=study.workspace_id, name=name, kind=kind)
    return found.declaration.source if found else None


def panel_study_fault(study: Study) -> str:
    """The fault if the panel's own study isn't named, whose signed links are accepted. A draft may do without: the panel
    gives the id once its study has been created there, with our link."""
    panel = panel_get(study.panel)
    signed = panel is not None and panel.installed and study.panel_links == PanelLinks.SIGNED
    if panel is None or not signed or not panel.panel_study or study.panel_study_ids.strip(" ,"):
        return ""
    return f"Enter the id of the study on {panel.title}. Signed links of any other study are refused."


def _with_places(error: FieldErrors) -> list[str]:
    """What is wrong, each with the place where it is."""
    return [f"{where}: {fault}" if where else fault for where, fault in error.errors.items()]


def _questions_of(types: Sequence[Question], own: Sequence[dict[str, Any]] | None) -> Sequence[Question]:
    """The questions that a study may ask: its own, or else those of its HIT type in every variant."""
    return [Question(**question) for question in own] if own else types

"""A study whose texts are in English and German."""

from __future__ import annotations

from typing import Any

from annotator.hit_types.registry import hit_type_get
from annotator.models import Study
from annotator.selectors.study_texts import language_states
from tests.factories import make_study

KIND = hit_type_get("simulation")


def german(question: Any, mark: str = "auf Deutsch") -> dict[str, Any]:
    payload = question.payload | {"question": f"{question.payload['question']} {mark}"}
    return {"key": question.key, "payload": payload, "reason": f"{question.reason} (Deutsch)"}


def texts(**changes: Any) -> dict[str, Any]:
    return {
        "title": "Eulen",
        "summary": "Lesen und vorhersagen.",
        "consent_text": "Wir **bewahren** Ihre Antworten auf.",
        "instructions_text": "## Aufgabe\n\nSagen Sie die Antwort vorher.",
        "exam": [german(question) for question in KIND.exam],
        "practice": [german(question) for question in KIND.practice],
    } | changes


def bilingual(**rules: Any) -> Study:
    return make_study(
        items=3, launched=True, title="Owls", summary="Read and predict.", consent_text="We keep your answers.",
        practice_required=True, exam_required=True, exam_questions=2, pass_mark=2, translations={"de": texts()}, **rules,
    )  # fmt: skip


def outdated(study: Study) -> tuple[str, ...]:
    return language_states(study)[0].outdated

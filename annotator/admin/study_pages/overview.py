"""The top of a study's overview: what to do next and, for a draft, what is still missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from django.http import HttpRequest
from django.urls import reverse

from annotator.admin.study_pages.actions import Action, actions_for
from annotator.core.words import listed, money, plural
from annotator.models import Study
from annotator.recruitment.registry import panel_get
from annotator.selectors.progress import StudyProgress
from annotator.selectors.rehearsal import RehearsalProgress, rehearsal_progress
from annotator.selectors.workload import people_needed_words
from annotator.services.study import exam_faults, launch_faults, launch_warnings, pay_minutes_words
from annotator.services.study_check import panel_study_fault
from annotator.services.study_templates import CONSENT

State = Literal["done", "missing", "optional", "blocked"]
MARKS = {"done": "Done", "missing": "To do", "optional": "Optional", "blocked": "Later"}


@dataclass(frozen=True)
class SetupStep:
    """One step of preparing a study: its state, a sentence about it, and where to do it."""

    title: str
    state: State
    says: str
    url: str = ""
    label: str = ""

    @property
    def mark(self) -> str:
        return MARKS[self.state]


@dataclass(frozen=True)
class Next:
    """The top of the overview. ``steps`` is empty once the study is launched."""

    heading: str
    says: str
    steps: tuple[SetupStep, ...]
    actions: tuple[Action, ...]
    join_url: str
    rehearsal: RehearsalProgress


def next_of(
    request: HttpRequest, study: Study, progress: StudyProgress, *, editor: bool, external: bool
) -> Next:
    """What to do next with a study."""
    rehearsal = rehearsal_progress(study)
    join_url = request.build_absolute_uri(reverse("annotator:invitation", args=[study.join_token]))
    steps = (
        draft_steps(study, progress, rehearsal) if study.state == Study.State.DRAFT and not external else ()
    )
    missing = [step.title.lower() for step in steps if step.state == "missing" and step.title != "Launch"]
    heading, says = {
        "draft": (
            "Ready to launch" if not missing else "Prepare the study",
            "Check it once more, then launch it." if not missing else f"Still to do: {listed(missing)}.",
        ),
        "live": (
            "Live",
            _joining_words(study),
        ),
        "paused": ("Paused", "No new tasks are given out. Resume the study, or close it."),
        "closed": ("Closed", "The study has ended. Reports and exports are still available."),
    }[study.state]
    if external:
        heading, says = (
            "Import judgments",
            "This study has no annotators of its own. Import the judgments, then compute a report.",
        )
    return Next(
        heading, says, steps, tuple(actions_for(study)) if editor and not external else (),
        join_url if study.state == Study.State.LIVE and study.join_open and not study.panel else "", rehearsal,
    )  # fmt: skip


def _joining_words(study: Study) -> str:
    """How people join a live study."""
    if not study.join_open:
        return "New participants can't join."
    if panel := panel_get(study.panel):
        return f"Participants join from {panel.title}. Its link and codes are under Settings > Recruitment; the link alone is refused."
    return "Annotators can join with this link:"


def _recruitment_step(study: Study) -> tuple[SetupStep, ...]:
    """What is still to be done at the study's panel, if it has one."""
    panel = panel_get(study.panel)
    if panel is None:
        return ()
    fault = panel_study_fault(study)
    says = (
        f"Create the study on {panel.title} with the link on that page, then enter its id here."
        if fault
        else f"Participants come from {panel.title}."
    )
    address = reverse("admin:study_recruitment", args=[study.pk])
    return (SetupStep("Recruitment", "missing" if fault else "done", says, address, "Link and codes"),)


def draft_steps(study: Study, progress: StudyProgress, rehearsal: RehearsalProgress) -> tuple[SetupStep, ...]:
    """The steps from a new study to its launch, each with what is still missing."""
    settings = reverse("admin:annotator_study_change", args=[study.pk])
    exam = exam_faults(study)
    faults = launch_faults(study)
    texts = _texts_missing(study)
    return (
        SetupStep(
            "Material", "done" if progress.items else "missing",
            f"{plural(progress.items, 'item')} imported." if progress.items else "No items yet. Import a file; you can download a sample.",
            reverse("admin:annotator_study_import", args=[study.pk]), "Import material",
        ),
        SetupStep(
            "Texts", "optional" if texts else "done",
            texts or "Invitation and consent are written.",
            settings + "#what-annotators-read", "Write the texts",
        ),
        SetupStep(
            "Preview", "optional" if progress.items else "blocked",
            "See every screen as annotators will. Nothing is stored." if progress.items else "Import material first.",
            reverse("annotator:preview_step", args=[study.pk, "invitation"]) if progress.items else "", "Preview",
        ),
        SetupStep(
            "Exam", "missing" if exam else "done",
            exam[0] if exam else _exam_words(study), reverse("admin:study_exam", args=[study.pk]), "Exam and practice",
        ),
        SetupStep("Pay", _pay_state(study, progress), _pay_words(study, progress), settings + "#pay", "Set the pay"),
        *_recruitment_step(study),
        SetupStep(
            "Rehearsal", "done" if rehearsal.done else "optional" if progress.items else "blocked",
            f"{plural(rehearsal.done, 'rehearsal judgment')}. Clear the rehearsal when you no longer need it."
            if rehearsal.done else "Fill a copy of the study with synthetic answers, and look at the report." if progress.items else "Import material first.",
            reverse("admin:study_rehearsal", args=[study.pk]), "Rehearse",
        ),
        SetupStep(
            "Launch", "blocked" if faults else "missing",
            " ".join(faults or [*(launch_warnings(study) or ["Everything is ready."]), people_needed_words(study, progress.workload)]).strip(),
            "" if faults else reverse("admin:annotator_study_do", args=[study.pk, "launch"]), "Launch",
        ),
    )  # fmt: skip


def _texts_missing(study: Study) -> str:
    """What the invitation and the consent lack, in words; empty if they are written."""
    texts = {"summary": study.summary, "contact": study.contact, "consent text": study.consent_text}
    missing = [f"no {name}" for name, text in texts.items() if not text]
    words = [f"The invitation has {listed(missing)}."] if missing else []
    if study.consent_text == CONSENT:
        words.append("The consent text is the template's: check that it says what your study does.")
    return " ".join(words)


def _exam_words(study: Study) -> str:
    if not study.exam_required:
        return "No exam is required."
    return f"{plural(study.exam_questions, 'question')}, {study.pass_mark} correct to pass."


def _pay_state(study: Study, progress: StudyProgress) -> State:
    if progress.workload.per_hour < float(study.pay_floor_per_hour):
        return "missing"
    return "done" if study.pay_per_item else "optional"


def _pay_words(study: Study, progress: StudyProgress) -> str:
    if not study.pay_per_item:
        return "Tasks are not paid."
    work = progress.workload
    words = f"{money(study.pay_per_item)} {study.currency} an item"
    if work.tasks_each:
        words += f". One person can earn {work.earns:,.2f} {study.currency} in {pay_minutes_words(work)}"
    words += f": {work.per_hour:.2f} {study.currency} an hour"
    if work.per_hour < float(study.pay_floor_per_hour):
        return f"{words}, below your minimum of {study.pay_floor_per_hour} {study.currency}."
    whole = work.places * study.pay_per_item + work.people * work.exam_pay
    return f"{words}, {whole:,.2f} {study.currency} in all{' with exams for as few people as possible' if work.exam_pay else ''}."

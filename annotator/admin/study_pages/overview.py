"""The top of a study's overview: what to do next and, for a draft, what is still missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from django.http import HttpRequest
from django.urls import reverse

from annotator.admin.study_pages.actions import Action, actions_for
from annotator.core.words import listed, money, plural
from annotator.models import Study
from annotator.selectors.progress import StudyProgress
from annotator.selectors.rehearsal import RehearsalProgress, rehearsal_progress
from annotator.services.study import exam_faults, launch_faults, launch_warnings, pay_per_hour_planned

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
            "Annotators can join with this link:" if study.join_open else "New participants can't join.",
        ),
        "paused": ("Paused", "No new tasks are given out. Resume the study, or close it for good."),
        "closed": ("Closed", "The study has ended. Reports and exports are still available."),
    }[study.state]
    if external:
        heading, says = (
            "Import judgments",
            "This study has no annotators of its own. Import the judgments, then compute a report.",
        )
    return Next(
        heading, says, steps, tuple(actions_for(study)) if editor and not external else (),
        join_url if study.state == Study.State.LIVE and study.join_open else "", rehearsal,
    )  # fmt: skip


def draft_steps(study: Study, progress: StudyProgress, rehearsal: RehearsalProgress) -> tuple[SetupStep, ...]:
    """The steps from a new study to its launch, each with what is still missing."""
    settings = reverse("admin:annotator_study_change", args=[study.pk])
    exam = exam_faults(study)
    faults = launch_faults(study)
    texts = [name for name, text in (("a summary", study.summary), ("a contact", study.contact), ("a consent text", study.consent_text)) if not text]  # fmt: skip
    return (
        SetupStep(
            "Material", "done" if progress.items else "missing",
            f"{plural(progress.items, 'item')} imported." if progress.items else "No items yet. Import a file; you can download a sample.",
            reverse("admin:annotator_study_import", args=[study.pk]), "Import material",
        ),
        SetupStep(
            "Texts", "optional" if texts else "done",
            f"The invitation has {listed(['no ' + one.partition(' ')[2] for one in texts])}." if texts else "Invitation and consent are written.",
            settings + "#what-annotators-read", "Write the texts",
        ),
        SetupStep(
            "Preview", "optional" if progress.items else "blocked",
            "See every screen as annotators will. Nothing is stored." if progress.items else "Import material first.",
            reverse("annotator:preview", args=[study.pk]) if progress.items else "", "Preview",
        ),
        SetupStep(
            "Exam", "missing" if exam else "done",
            exam[0] if exam else _exam_words(study), reverse("admin:study_exam", args=[study.pk]), "Exam and practice",
        ),
        SetupStep("Pay", _pay_state(study), _pay_words(study, progress), settings + "#pay", "Set the pay"),
        SetupStep(
            "Rehearsal", "done" if rehearsal.done else "optional" if progress.items else "blocked",
            f"{plural(rehearsal.done, 'rehearsal judgment')}. Clear the rehearsal when you no longer need it."
            if rehearsal.done else "Fill a copy of the study with synthetic answers, and look at the report." if progress.items else "Import material first.",
            reverse("admin:study_rehearsal", args=[study.pk]), "Rehearse",
        ),
        SetupStep(
            "Launch", "blocked" if faults else "missing",
            " ".join(faults or launch_warnings(study)) or "Everything is ready.",
            "" if faults else reverse("admin:annotator_study_do", args=[study.pk, "launch"]), "Launch",
        ),
    )  # fmt: skip


def _exam_words(study: Study) -> str:
    if not study.exam_required:
        return "No exam is required."
    return f"{plural(study.exam_questions, 'question')}, {study.pass_mark} correct to pass."


def _pay_state(study: Study) -> State:
    if pay_per_hour_planned(study) < float(study.pay_floor_per_hour):
        return "missing"
    return "done" if study.pay_per_item else "optional"


def _pay_words(study: Study, progress: StudyProgress) -> str:
    if not study.pay_per_item:
        return "Tasks are not paid."
    whole = progress.items * study.redundancy * study.pay_per_item
    words = f"{money(study.pay_per_item)} {study.currency} an item, {pay_per_hour_planned(study):.2f} {study.currency} an hour"
    if pay_per_hour_planned(study) < float(study.pay_floor_per_hour):
        return f"{words}: below your minimum of {study.pay_floor_per_hour} {study.currency}."
    return f"{words}, {whole:,.2f} {study.currency} in all."

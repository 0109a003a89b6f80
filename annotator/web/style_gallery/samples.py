"""Contexts for the style page: real dataclasses with invented content, nothing from a database."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace as Row
from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.utils import timezone
from django.utils.safestring import mark_safe
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy

from annotator.hit_types.base import Block, Stage
from annotator.recruitment.registry import PANELS
from annotator.selectors.instructions import InstructionsChange, Passage
from annotator.selectors.places import Places
from annotator.selectors.preparation import Preparation
from annotator.selectors.workload import Workload
from annotator.web.style_gallery.stages import (
    AFTER,
    BEFORE,
    BIDI,
    FORMATS,
    GUESS,
    HELPFUL,
    LONG,
    PLAUSIBILITY,
    POINTS,
    PREFERENCE,
    SIMULATION,
)
from annotator.web.views.common import TROUBLES


@dataclass(frozen=True)
class Screen:
    """One state of one screen; ``with_request`` is False for pages drawn when nothing else works."""

    name: str
    title: str
    template: str
    context: dict[str, Any] = field(default_factory=dict)
    with_request: bool = True


STUDY = Row(
    pk=7,
    slug="deep-water",
    title="Guess what the robot says next",
    summary="You read how a robot explains an answer, and guess what it will say to the next question. It takes no special"
    " knowledge, only careful reading.",
    contact="Ada Example, Example University, ada@example.org",
    exam_required=True,
    practice_required=True,
    minutes_per_item=1.5,
    max_items_per_rater=40,
    pay_per_item=0.45,
    currency="USD",
    undo_seconds=10,
    state="live",
)


def task(stage: Stage = SIMULATION, **changes: Any) -> dict[str, Any]:
    """The context of the task screen, as ``annotator.web.task_page`` makes it."""
    return {
        "mode": "task",
        "study": STUDY,
        "assignment": Row(pk=1, stage=0, draft={}, draft_version=0, taken_back=0),
        "stage": stage,
        "stages": [],
        "committed": [],
        "response": {},
        "errors": {},
        "progress": Row(done=12, total=40, pay_so_far="5.40 USD"),
        "lease_until": timezone.now() + timedelta(minutes=25),
        "submit_url": "/style/nowhere/",
        "draft_url": "",
        "flag_url": "/style/nowhere/",
        "ask_url": "/style/nowhere/",
        "skip_url": "/style/nowhere/",
        "more_time_url": "/style/nowhere/",
        "instructions_url": "/style/screen/drawer/",
        "undo_url": "",
        "undone": 0,
        "saved": False,
    } | changes


def _instructions() -> dict[str, Any]:
    reasons = mark_safe(
        "<p><strong>Step 1.</strong> The robot says why a creature of the deep sea cannot live in a pond. An anglerfish is"
        " one too, so this directly helps.</p><p><strong>Step 2.</strong> A lake holds fresh water and has little"
        " pressure, as a pond does. By its own reasons the robot will say <strong>No</strong>.</p>"
    )
    return {
        "study": STUDY,
        "task_title": "guess a robot's answers",
        "step": "instructions",
        "parts": [
            {
                "html": mark_safe(
                    "<h2>Your task</h2><p>A robot answers questions and explains its answers. On every page you see one"
                    " <strong>starter question</strong>, the robot's <strong>explanation</strong> and its"
                    " <strong>answer</strong>. Below them is a <strong>follow-up question</strong>. Tell us what the robot"
                    " will answer to it, going by what it has just said.</p><p>You are not asked for the right"
                    " answer.</p><h2>Two rules</h2><ul><li>Keep to what the robot claims, even where it is wrong.</li>"
                    "<li>Where a fact is missing, assume that the robot knows it correctly. You may look it up.</li></ul>"
                    "<h2>Worked examples</h2>"
                )
            },
            {"title": "Both steps", "stage": SIMULATION, "response": {"helpful": "yes", "answer": "no"}, "reasoning_html": reasons},
            {"title": "No help", "stage": replace(SIMULATION, blocks=(*SIMULATION.blocks[:3], Block("follow_up", "Follow-up question", "Do anglerfish sleep?", group="follow_up"))), "response": {"helpful": "no"}, "reasoning_html": mark_safe("<p>Both are about fish, but where a fish can live says nothing on whether it sleeps.</p>")},
        ],
    }  # fmt: skip


class SignUp(forms.Form):
    username = forms.CharField(label="Username", help_text="Letters, digits and @ . + - _ only.")
    email = forms.EmailField(
        label="Email address", required=False, help_text="Only to reach you about your work."
    )
    password1 = forms.CharField(label="Password", widget=forms.PasswordInput, help_text="<ul><li>At least 10 characters.</li><li>Not one that everyone uses.</li></ul>")  # fmt: skip


#: One page of each design; the others differ only in their text.
_TROUBLES_SHOWN = ("no_places", "paused", "lease_expired", "already_done", "not_qualified", "link")
_TROUBLE = {
    "next_url": "/me/",
    "next_label": gettext_lazy("Your page"),
}


_CHANGED = InstructionsChange(
    2,
    (
        Passage(False, "Keep to what the robot **says**."),
        Passage(True, "Keep to what the robot **claims**, even where it is wrong."),
        Passage(True, example="A fish in fresh water"),
    ),
)
_PLACES, _PREPARATION = Places(101, False), Preparation(4, 3, 6)
_WORK = Workload(
    places=300,
    units=100,
    tasks_each=30,
    people=10,
    preparation=_PREPARATION,
    minutes_each=1,
    pay=Decimal("0.45"),
    exam_pay=Decimal(1),
)
_EARNINGS = Row(done=40, total=19.0, exam=1.0, earned_something=True)
_EXIT_PAY = format_lazy(
    gettext_lazy("You've earned {amount}. You get it once the researchers have checked your work."),
    amount="19.00 USD",
)


def _account(**changes: Any) -> Row:
    values = {
        "participation": Row(study=STUDY, state="active"), "done": 12, "accepted": 9, "waiting": 3, "surplus": 1,
        "bonus": 1.5, "due": 3.15, "paid": 3.75,
    }  # fmt: skip
    return Row(**values | changes)


def screens() -> list[Screen]:
    """All screens, in the order in which an annotator sees them."""
    said = [
        ("Do the robot's explanation and answer directly help you predict its next answer?", "Not helpful")
    ]
    right = [(HELPFUL.label, "Helpful"), (GUESS.label, "No")]
    marks = [Row(title=BEFORE.title, state="done"), Row(title=AFTER.title, state="now")]
    exam = [
        {"number": n, "prefix": f"q{n}-", "stage": stage, "response": {}, "errors": errors}
        for n, (stage, errors) in enumerate(((SIMULATION, {}), (SIMULATION, {"": "choose an answer"}), (POINTS, {})), 1)
    ]  # fmt: skip
    bound = SignUp({"username": "kim lee", "email": "kim@", "password1": ""})
    last_minutes = timezone.now() + timedelta(seconds=110)
    return [
        Screen("invitation", "Invitation", "annotator/invitation.html", {"study": STUDY, "task_title": "guess a robot's answers", "join_url": "", "login_url": "#", "signup_url": "#", "work": _WORK, "work_time": "43 minutes", "open": True, "places": _PLACES, "preparation": _PREPARATION}),
        Screen("invitation-closed", "Invitation, closed", "annotator/invitation.html", {"study": STUDY, "task_title": "guess a robot's answers", "join_url": "", "login_url": "#", "signup_url": "#", "work": _WORK, "work_time": "43 minutes", "open": False, "places": _PLACES, "preparation": _PREPARATION}),
        Screen("invitation-full", "Invitation, full", "annotator/invitation.html", {"study": STUDY, "task_title": "guess a robot's answers", "join_url": "", "login_url": "#", "signup_url": "#", "work": _WORK, "work_time": "43 minutes", "open": True, "places": Places(0, True), "preparation": _PREPARATION, "alert_url": "#"}),
        Screen("nothing-left", "Nothing left for a participant", "annotator/no_places.html", {"study": STUDY, "places": Places(0, True), "earnings": _EARNINGS, "exit_code": "C1K7-QQ29", "exit_pay": _EXIT_PAY, "asked": True, "me_url": "#"}),
        Screen("consent", "Consent", "annotator/consent.html", {"study": STUDY, "digest": "", "consent_html": mark_safe("<h2>What this is about</h2><p>We study whether explanations that computers give help people predict what they do. You read short texts and answer questions about them.</p><h2>What we keep</h2><p>Your answers, how long they took, and whether you left the page. Published data name no one.</p><h2>Your rights</h2><p>You can stop at any time, without a reason and without losing what you earned. You can download your data or ask for it to be deleted.</p>")}),
        Screen("instructions", "Instructions", "annotator/instructions.html", _instructions()),
        Screen("drawer", "Instructions, for the drawer", "annotator/_instructions.html", _instructions()),
        Screen("practice", "Practice", "annotator/practice.html", task(mode="practice", assignment=None, keep="practice.1", number=1, index=0, count=4, submit_words=gettext_lazy("Check my answer"))),
        Screen("practice-right", "Practice, right", "annotator/practice.html", task(mode="practice", assignment=None, forget=["practice.1"], number=2, index=1, count=4, answered=True, right=True, given=right, correct=right, reason="By its own reasons the robot will say no: a lake is as fresh and as shallow as a pond.")),
        Screen("practice-wrong", "Practice, wrong", "annotator/practice.html", task(mode="practice", assignment=None, forget=["practice.1"], number=4, index=3, count=4, answered=True, right=False, given=said, correct=right, reason="The explanation says why deep-sea fish cannot live in fresh, shallow water. The follow-up question turns on just that.")),
        Screen("exam", "Exam", "annotator/exam.html", {"study": STUDY, "attempt": Row(pk=1), "questions": exam, "count": 3, "pass_mark": 2, "attempts_left": 1, "unanswered": [2], "submit_url": "", "instructions_url": "/style/screen/drawer/"}),
        Screen("exam-passed", "Exam, passed", "annotator/exam_result.html", {"study": STUDY, "attempt": Row(pk=1), "score": 10, "count": 11, "pass_mark": 9, "passed": True, "feedback": True, "missed": [{"number": 4, "stage": SIMULATION, "given": said, "correct": right, "reason": "The explanation says why deep-sea fish cannot live in fresh, shallow water."}], "next_url": "#"}),
        Screen("exam-failed", "Exam, not passed", "annotator/exam_result.html", {"study": STUDY, "score": 7, "count": 11, "pass_mark": 9, "passed": False, "feedback": False, "retry_at": timezone.now() + timedelta(hours=2), "retry_url": "#", "next_url": "#"}),
        Screen("task", "Task", "annotator/task.html", task()),
        Screen("task-chosen", "Task, both steps answered", "annotator/task.html", task(response={"helpful": "yes", "answer": "no"}, saved=True, undo_url="/style/nowhere/")),
        Screen("task-refused", "Task, refused", "annotator/task.html", task(response={"helpful": "yes"}, errors={"answer": "choose an answer"})),
        Screen("task-time", "Task, last minutes", "annotator/task.html", task(lease_until=last_minutes, response={"helpful": "no"})),
        Screen("task-changed", "Task, changed instructions", "annotator/task.html", task(changed=_CHANGED, confirm_url="/style/nowhere/")),
        Screen("task-long", "Task, long material", "annotator/task.html", task(PREFERENCE)),
        Screen("task-pairs", "Task, several texts", "annotator/task.html", task(PLAUSIBILITY, response={"v0": "yes", "v1": "no"})),
        Screen("task-points", "Task, several texts and more", "annotator/task.html", task(POINTS, response={"right1": "yes", "whole": "no"}, committed=[("What do you think?", "Yes")])),
        Screen("task-multi", "Task, long list and text", "annotator/task.html", task(LONG, response={"faults": ["false", "gap"]})),
        Screen("task-before", "Task, first stage", "annotator/task.html", task(BEFORE, stages=[Row(title=BEFORE.title, state="now"), Row(title=AFTER.title, state="later")])),
        Screen("task-after", "Task, second stage", "annotator/task.html", task(AFTER, stages=marks, committed=[("What do you think?", "Yes")])),
        Screen("task-bidi", "Task, difficult text", "annotator/task.html", task(BIDI)),
        Screen("task-formats", "Task, code and tables", "annotator/task.html", task(FORMATS)),
        Screen("preview", "Preview", "annotator/preview.html", task(mode="preview", assignment=None, number=3, count=120, back_url="#", flag_url="", ask_url="", skip_url="", more_time_url="", hidden={"item": 2})),
        Screen("done", "Done", "annotator/done.html", {"study": STUDY, "earnings": _EARNINGS, "places": Places(0, False), "alert_url": "#", "exit_code": "C1K7-QQ29", "exit_pay": _EXIT_PAY, "me_url": "#"}),
        Screen("done-return", "Done, back to the recruiter", "annotator/done.html", {"study": STUDY, "earnings": _EARNINGS, "all_done": True, "return_url": "#", "return_label": next(iter(PANELS)).return_label, "me_url": "#"}),
        Screen("exam-failed-return", "Exam, not passed, back to the recruiter", "annotator/exam_result.html", {"study": STUDY, "score": 7, "count": 11, "pass_mark": 9, "passed": False, "feedback": False, "return_url": "#", "return_label": next(iter(PANELS)).return_label, "next_url": "#"}),
        Screen("me", "Own page", "annotator/me.html", {"accounts": [(_account(), {"can_end": True}), (_account(participation=Row(study=Row(slug="old", title="Which explanation is better?", state="closed", currency="USD"), state="left"), done=140, surplus=0, bonus=0, due=0, paid=63), {"exit_code": "C1K7-QQ29", "exit_pay": _EXIT_PAY})], "messages_list": [Row(author_id=1, study=STUDY, created_at=timezone.now() - timedelta(hours=3), text="Yes, please go by what the robot says, not by what is true. Thank you for asking."), Row(author_id=None, study=STUDY, created_at=timezone.now() - timedelta(hours=5), text="In one task the robot is plainly wrong about whales. Do I go along with it?")], "has_password": True, "sent": "question"}),
        Screen("me-empty", "Own page, empty", "annotator/me.html", {"accounts": [], "messages_list": []}),
        Screen("login", "Log in", "annotator/login.html", {"form": AuthenticationForm()}),
        Screen("signup", "Create an account, refused", "annotator/signup.html", {"form": bound}),
        *(
            Screen(kind.replace("_", "-"), str(one.title), "annotator/trouble.html", {"trouble": one, "study": STUDY} | _TROUBLE)
            for kind, one in TROUBLES.items()
            if kind in _TROUBLES_SHOWN
        ),
        *(Screen(f"error-{name}", f"Error {name}", f"errors/{name}.html") for name in ("400", "403", "403_csrf", "404")),
        *(Screen(f"error-{name}", f"Error {name}", f"errors/{name}.html", with_request=False) for name in ("500", "away", "offline")),
    ]  # fmt: skip

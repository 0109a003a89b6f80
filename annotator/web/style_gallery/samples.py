"""Made-up contexts for the style page: real dataclasses with invented content, nothing from a database."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from types import SimpleNamespace as Row
from typing import Any

from django import forms
from django.contrib.auth.forms import AuthenticationForm
from django.utils import timezone
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy

from annotator.hit_types.base import Block, Field, Option, Stage
from annotator.selectors.instructions import InstructionsChange, Passage
from annotator.selectors.places import Places
from annotator.selectors.preparation import Preparation
from annotator.web.views.common import TROUBLES


@dataclass(frozen=True)
class Screen:
    """One state of one screen; ``with_request`` is False for pages drawn when nothing else works."""

    name: str
    title: str
    template: str
    context: dict[str, Any] = field(default_factory=dict)
    with_request: bool = True


HELPFUL = Field(
    "helpful",
    "Do the robot's explanation and answer directly help you predict its next answer?",
    options=(
        Option(
            "no",
            "Not helpful",
            "Nothing in them directly helps to predict the robot's answer to the follow-up question.",
        ),
        Option("yes", "Helpful", "Something in them directly helps, even if more facts are needed."),
    ),
    help="Judge only whether they help, not whether they are true.",
)
GUESS = Field(
    "answer",
    "What will the robot answer to the follow-up question?",
    options=(
        Option("yes", "Yes", "Going by its explanation, the robot will say “yes”."),
        Option("no", "No", "Going by its explanation, the robot will say “no”."),
    ),
    when=(("helpful", ("yes",)),),
    about=("follow_up",),
)
SIMULATION = Stage(
    "simulation",
    "What will the robot answer?",
    (
        Block("question", "Starter question", "Could a lantern fish be kept in a garden pond?", group="starter"),
        Block(
            "explanation",
            "The robot's explanation",
            "Lantern fish live between 300 and 1,200 metres below the surface of the sea, where the water is cold, dark"
            " and salty. A garden pond is rarely deeper than two metres and holds fresh water. An animal that is built"
            " for high pressure and for salt cannot live in shallow fresh water. So the answer is no.",
            group="starter",
        ),
        Block("output", "The robot answered", "No", kind="answer", group="starter"),
        Block("follow_up", "Follow-up question", "Could an anglerfish of the deep sea live in a village lake?", group="follow_up"),
    ),
    (HELPFUL, GUESS),
)  # fmt: skip

_POST = (
    "I moved into a flat with a north-facing balcony and would like to grow something that we can eat. It gets two hours"
    " of sun in summer and none in winter. The wind is strong since we are on the ninth floor. I have never grown"
    " anything before and I tend to forget to water. My budget is small and I may not screw anything into the wall."
)
PREFERENCE = Stage(
    "simulation",
    "Which response will the robot choose?",
    (
        Block("context", "Context", _POST, group="starter"),
        Block("first", "Response 1", "Forget it, nothing grows without sun. Buy your salad.", group="starter"),
        Block(
            "second",
            "Response 2",
            "Leafy things do best: rocket, mint, chives and sorrel live with two hours of sun. Use one long, heavy box on"
            " the floor rather than pots on the rail, so that the wind cannot take it. Put five centimetres of clay balls"
            " at the bottom: they keep water for a week, which helps if you forget.\n\nStart with mint. It cannot be"
            " killed.",
            group="starter",
        ),
        Block(
            "explanation",
            "The robot's explanation",
            "Response 2 is more helpful because it names plants that fit the light, answers the wind and the watering,"
            " and says what to start with.",
            group="starter",
        ),
        Block("choice", "The robot's choice", "Response 2", kind="answer", group="starter"),
        Block(
            "f-context", "Context", "My sourdough is always flat and sour. I feed the starter once a week and keep it in the fridge. What am I doing wrong?", group="follow_up",
        ),
        Block("f-first", "Response 1", "Feed it every day for a week at room temperature before you bake; a starter straight from the fridge is too weak to raise the dough, and too sour.", group="follow_up"),
        Block("f-second", "Response 2", "Same here, let me know if you find out!", group="follow_up"),
    ),
    (
        Field(
            "choice",
            "In the follow-up, which response will the robot choose?",
            options=(
                Option("1", "Response 1"),
                Option("2", "Response 2"),
                Option("equal", "Equally likely", "Going by its explanation, the robot could choose either."),
            ),
        ),
    ),
)  # fmt: skip

_VERDICTS = (Option("yes", "Yes"), Option("moderate", "Moderate"), Option("no", "No"))
_REASONS = (
    "Copper does not rust: rust is iron oxide, and there is no iron in copper. It takes on a green layer instead.",
    "Copper is a metal, and metals rust when they get wet.",
    "The roof is made of copper. Copper is a soft, reddish metal that is used for roofs, wires and coins. It is known for"
    " lasting long, and many old churches have such roofs, which turn green over the years because copper reacts with the"
    " air. That layer keeps what is below it from reacting any further. Since rust is the name for what iron does, a"
    " copper roof cannot rust.",
    "It cannot rust because it does not rust.",
)
PLAUSIBILITY = Stage(
    "plausibility",
    "Does each explanation justify the answer?",
    (
        Block("question", "Question", "Can a copper roof rust?"),
        Block("answer", "Correct answer", "No", kind="answer"),
        *(Block(f"e{n}", f"Explanation {'ABCD'[n]}", text) for n, text in enumerate(_REASONS)),
    ),
    tuple(
        Field(
            f"v{n}",
            f"Does explanation {'ABCD'[n]} justify the answer?",
            options=_VERDICTS,
            target=f"e{n}",
            about=("question", "answer", f"e{n}"),
        )
        for n in range(len(_REASONS))
    ),
    lead="Easily understood, factually right, all the important reasons, and more than the question said again.",
)

POINTS = Stage(
    "points",
    "Check the list of points",
    (
        Block("explanation", "The robot's explanation", "I name the finding and who made it, and say what is not known yet."),
        Block("u1", "Point 1", "the finding"),
        Block("u2", "Point 2", "who made it"),
    ),
    (
        *(Field(f"right{n}", "Does the explanation say this?", options=(Option("yes", "Yes"), Option("no", "No")), target=f"u{n}", about=("explanation", f"u{n}")) for n in (1, 2)),
        Field("whole", "Is the list of points complete?", options=(Option("yes", "Yes"), Option("no", "No")), about=("explanation",)),
        Field("missing", "What is missing?", kind="text", when=(("whole", ("no",)),)),
    ),
)  # fmt: skip

BEFORE = Stage(
    "before",
    "Before the explanation",
    (Block("question", "Question", "Did the builders of Stonehenge know the wheel?"),),
    (
        Field(
            "first",
            "What do you think?",
            options=(Option("yes", "Yes"), Option("no", "No")),
            help="Please do not look it up: your guess is what counts.",
        ),
    ),
    lead="Answer from what you know. Then you see an explanation, and answer again.",
)
AFTER = Stage(
    "after",
    "After the explanation",
    (
        *BEFORE.blocks,
        Block(
            "rationale",
            "Explanation",
            "Stonehenge was built between about 3000 and 2000 BC. The oldest wheels found in Britain are from around"
            " 1100 BC.",
        ),
    ),
    (Field("second", "Going by the explanation alone, what is the answer?", options=(Option("yes", "Yes"), Option("no", "No"))),),
)  # fmt: skip

LONG = Stage(
    "marks",
    "What is wrong with this explanation?",
    (
        Block("question", "Question", "Do bats lay eggs?"),
        Block(
            "explanation",
            "The robot's explanation",
            "Bats fly. Animals that fly are birds. Birds lay eggs. So bats lay eggs. The answer is yes.",
        ),
        Block("points", "What it claims", items=("Bats fly.", "Animals that fly are birds.", "Birds lay eggs."), kind="list"),
    ),
    (
        Field(
            "faults",
            "Mark all that apply",
            kind="multi",
            options=(
                Option("false", "A claim is false", "At least one sentence is not true."),
                Option("gap", "A step is missing", "One sentence does not follow from the one before it without a missing step."),
                Option("circle", "It goes in a circle", "The conclusion is used as a reason for itself."),
                Option("beside", "It is beside the point", "What it says is true but not relevant to the question."),
                Option("unclear", "It cannot be understood", "The wording is ambiguous."),
                Option("contradiction", "It contradicts itself", "Two sentences cannot both be true."),
                Option("none", "Nothing is wrong", "None of the above."),
            ),
        ),
        Field("note", "Anything else?", kind="text", required=False, max_length=500),
    ),
)  # fmt: skip

_BIDI = Stage(
    "rtl",
    "Right to left, long words, and what looks like code",
    (
        Block("question", "Question in Arabic", "هل يمكن لسمكة من أعماق البحر أن تعيش في بحيرة القرية؟"),
        Block("word", "A word without a break", "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 2),
        Block("code", "What looks like code", "<script>alert(1)</script> <img src=x onerror=alert(1)> [click](javascript:alert(1))"),
    ),
    (Field("answer", "هل السؤال واضح؟", options=(Option("yes", "نعم"), Option("no", "لا")),),),
)  # fmt: skip

_FORMATS = Stage(
    "formats",
    "Code, a table and Markdown",
    (
        Block("code", "Code", "    def low(self):\n        return self.tide < 0.5  # " + "tide_" * 30, format="code"),
        Block("table", "Table", "harbour\tlamps\nNorth\t12\nSouth\t7", format="table"),
        Block("markdown", "Notes", "# Lamps\n\n- **twelve** in the north\n- [seven](https://example.org/) in the south\n\n<b>not bold</b>", format="markdown"),
    ),
    (Field("answer", "Which harbour has more lamps?", options=(Option("n", "North"), Option("l", "L" * 90)), about=("table",)),),
)  # fmt: skip

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
    password1 = forms.CharField(label="Password", widget=forms.PasswordInput, help_text="<ul><li>At least 10 characters.</li><li>Not one that everybody uses.</li></ul>")  # fmt: skip


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
_EARNINGS = Row(done=40, total=19.0, exam=1.0, earned_something=True)


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
        Screen("invitation", "Invitation", "annotator/invitation.html", {"study": STUDY, "task_title": "guess a robot's answers", "join_url": "", "login_url": "#", "signup_url": "#", "pay_per_hour": 18.0, "open": True, "places": _PLACES, "preparation": _PREPARATION}),
        Screen("invitation-closed", "Invitation, closed", "annotator/invitation.html", {"study": STUDY, "task_title": "guess a robot's answers", "join_url": "", "login_url": "#", "signup_url": "#", "pay_per_hour": 18.0, "open": False, "places": _PLACES, "preparation": _PREPARATION}),
        Screen("invitation-full", "Invitation, full", "annotator/invitation.html", {"study": STUDY, "task_title": "guess a robot's answers", "join_url": "", "login_url": "#", "signup_url": "#", "pay_per_hour": 18.0, "open": True, "places": Places(0, True), "preparation": _PREPARATION, "alert_url": "#"}),
        Screen("nothing-left", "Nothing left for somebody", "annotator/no_places.html", {"study": STUDY, "places": Places(0, True), "earnings": _EARNINGS, "completion_code": "C1K7-QQ29", "asked": True, "me_url": "#"}),
        Screen("consent", "Consent", "annotator/consent.html", {"study": STUDY, "digest": "", "consent_html": mark_safe("<h2>What this is about</h2><p>We study whether explanations that computers give help people predict what they do. You read short texts and answer questions about them.</p><h2>What we keep</h2><p>Your answers, how long they took, and whether you left the page. Published data name no one.</p><h2>Your rights</h2><p>You can stop at any time, without a reason and without losing what you earned. You can download your data or ask for it to be deleted.</p>")}),
        Screen("instructions", "Instructions", "annotator/instructions.html", _instructions()),
        Screen("drawer", "Instructions, for the drawer", "annotator/_instructions.html", _instructions()),
        Screen("practice", "Practice", "annotator/practice.html", task(mode="practice", assignment=None, number=2, index=1, count=4)),
        Screen("practice-right", "Practice, right", "annotator/practice.html", task(mode="practice", assignment=None, number=2, index=1, count=4, answered=True, right=True, given=right, correct=right, reason="By its own reasons the robot will say no: a lake is as fresh and as shallow as a pond.")),
        Screen("practice-wrong", "Practice, wrong", "annotator/practice.html", task(mode="practice", assignment=None, number=4, index=3, count=4, answered=True, right=False, given=said, correct=right, reason="The explanation says why deep-sea fish cannot live in fresh, shallow water. The follow-up question turns on just that.")),
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
        Screen("task-bidi", "Task, difficult text", "annotator/task.html", task(_BIDI)),
        Screen("task-formats", "Task, code and tables", "annotator/task.html", task(_FORMATS)),
        Screen("preview", "Preview", "annotator/preview.html", task(mode="preview", assignment=None, number=3, count=120, back_url="#", flag_url="", ask_url="", skip_url="", more_time_url="", hidden={"item": 2})),
        Screen("done", "Done", "annotator/done.html", {"study": STUDY, "earnings": _EARNINGS, "places": Places(0, False), "alert_url": "#", "completion_code": "C1K7-QQ29", "me_url": "#"}),
        Screen("done-return", "Done, back to the recruiter", "annotator/done.html", {"study": STUDY, "earnings": _EARNINGS, "all_done": True, "return_url": "#", "me_url": "#"}),
        Screen("me", "Own page", "annotator/me.html", {"accounts": [_account(), _account(participation=Row(study=Row(slug="old", title="Which explanation is better?", state="closed", currency="USD"), state="left"), done=140, surplus=0, bonus=0, due=0, paid=63)], "messages_list": [Row(author_id=1, study=STUDY, created_at=timezone.now() - timedelta(hours=3), text="Yes, please go by what the robot says, not by what is true. Thank you for asking."), Row(author_id=None, study=STUDY, created_at=timezone.now() - timedelta(hours=5), text="In one task the robot is plainly wrong about whales. Do I go along with it?")], "has_password": True, "sent": "question"}),
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

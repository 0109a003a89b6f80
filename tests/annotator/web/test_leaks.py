"""No response contains anything that an annotator may not see: every address, every HIT type, every stage.

Each free text of the material contains its own marker, and so does everything that is never sent. After every response,
its markers are compared with those that this person may have seen by then. So a next item that comes with a submit, a
later stage, a script's data and an error page are all checked in the same way. New addresses are included
automatically, because the addresses come from the resolver.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from annotator.hit_types.base import Stage
from annotator.models import (
    Assignment,
    ExamQuestion,
    Instance,
    Item,
    Judgment,
    Message,
    Study,
    System,
)
from annotator.services.imports.material_import import material_import
from annotator.services.message import message_send
from annotator.services.study import study_create, study_launch
from annotator.services.workspace import workspace_create
from tests.annotator.declared import clarity, clarity_lines
from tests.annotator.demo_studies import DECLARED, TYPES, demo_lines
from tests.bot import Bot
from tests.factories import make_participation, make_rater, make_study, make_user

pytestmark = pytest.mark.django_db
#: Tokens and nonces have no hyphens, so that none of them contains a marker by chance.
MARK = re.compile(r"zq-\d+-x")
NEVER = "neverSent"
CODE = "neverSentBeforeTheEnd"
#: Every way of asking for the same address.
WAYS: tuple[dict[str, str], ...] = ({}, {"HX-Request": "true"}, {"Accept": "application/json"})
#: Sent with nothing in them, these would still end the way or take a step of it: the bot itself does.
ENDING = {"leave", "logout", "undo", "skip", "message", "flag", "ask"}
ELSE = {"consent", "instructions", "invitation", "login", "signup", "password_change", "password_reset"}


def marked(value: Any, numbers: Iterator[int]) -> Any:
    """The same payload with a marker at the end of every free text."""
    if isinstance(value, dict):
        return {name: marked(one, numbers) for name, one in value.items()}
    if isinstance(value, list):
        return [marked(one, numbers) for one in value]
    if isinstance(value, str) and " " in value.strip():
        return f"{value} zq-{next(numbers)}-x"
    return value


def study_with_markers(name: str, **fields: Any) -> Study:
    lab = workspace_create(by=make_user("ada", staff=True), name="Lab")
    clarity(lab)
    study = study_create(
        by=None, workspace=lab, hit_type=name, slug="leaks", title="Leaks", consent_text="Yes?", completion_code=CODE,
        **({"exam_feedback": False, "one_condition_per_instance": False} | fields),
    )  # fmt: skip
    lines = clarity_lines(4) if name == "clarity" else demo_lines(name)
    material_import(study=study, file=io.BytesIO(b"\n".join(lines)), name="demo.jsonl")
    numbers = iter(range(100_000))
    for item in study.items.order_by("id"):
        item.payload = marked(item.payload, numbers)
        item.gold = (item.gold or {}) | {NEVER: NEVER}
        item.key, item.condition = f"{NEVER}-{item.pk}", NEVER
        item.save()
        if item.follow_up:
            item.follow_up.outputs.update(text=NEVER)
            type(item.follow_up).objects.filter(pk=item.follow_up.pk).update(
                generator=NEVER, kind=NEVER, gold_label=NEVER, text=NEVER
            )
    for model, names in (
        (Instance, ("key", "gold_label", "gold_rationale")),
        (System, ("name", "model", "method")),
    ):
        for row in model.objects.all():
            model.objects.filter(pk=row.pk).update(**dict.fromkeys(names, f"{NEVER}-{row.pk}"[:60]))
    study_launch(study=study)
    study.refresh_from_db()
    for question in ExamQuestion.objects.filter(exam_id=study.snapshot.content["exam"]):
        question.reason, question.pool = NEVER, NEVER
        question.save(update_fields=["reason", "pool"])
    # Another person's words and answers.
    other = make_participation(study)
    message_send(participation=other, kind="question", text=NEVER)
    Judgment.objects.create(
        study=study, item=study.items.latest("id"), rater=make_rater(NEVER), response={NEVER: NEVER}, digest="x",
        source="import",
    )  # fmt: skip
    return study


def marks_of(stages: tuple[Stage, ...]) -> set[str]:
    texts = [
        text for stage in stages for block in stage.blocks for text in (block.label, block.text, *block.items)
    ]
    texts += [o.label + o.detail for stage in stages for f in stage.fields for o in f.options]
    texts += [f.label + f.help for stage in stages for f in stage.fields]
    return {mark for text in texts for mark in MARK.findall(text)}


class Watched(Bot):
    """A bot whose every response is held against what the person may know by then."""

    held = 0
    stages_walked: set[tuple[int, int]]

    def allowed(self) -> set[str]:
        """The stages that are committed or open, of the tasks that were given to this person."""
        user = self.client.session.get("_auth_user_id")
        marks: set[str] = set()
        for one in Assignment.objects.filter(rater__user_id=user).select_related("item"):
            stages = self.kind.stages(one.item.payload, one.presentation)
            marks |= marks_of(stages if one.state == "submitted" else stages[: one.stage + 1])
        return marks

    def _keep(self, path: str, response: Any) -> Any:
        body = (response.getvalue() if response.streaming else response.content).decode("utf-8", "replace")
        text = body + json.dumps(dict(response.headers))
        # What the person may know is asked for only where it matters: most responses contain neither.
        if NEVER in text:
            assert NEVER not in text.replace(CODE, "" if self.done() else CODE), path
        if found := set(MARK.findall(text)):
            assert found <= self.allowed(), (path, found - self.allowed())
        self.held += len(found)
        return super()._keep(path, response)

    def done(self) -> bool:
        user = self.client.session.get("_auth_user_id")
        return (
            bool(user)
            and self.study.participations.filter(rater__user_id=user, finished_at__isnull=False).exists()
        )

    def walk(self, addresses: list[tuple[str, str]], *, ways: int = len(WAYS)) -> None:
        """Every address, read in every way and posted to with nothing in it."""
        for name, path in addresses:
            for headers in WAYS[:ways]:
                self._keep(path, self.client.get(path, headers=headers))
            if name not in ENDING | ELSE:
                token = self.client.cookies["csrftoken"].value if "csrftoken" in self.client.cookies else ""
                nothing = {"stage": "99", "draft_version": "-1", "go": "", "decision": "?"}
                self._keep(path, self.client.post(path, nothing, headers={"X-CSRFToken": token}))


def patterns(resolver: URLResolver, before: str = "") -> Iterator[tuple[str, str]]:
    """(name, pattern) of every address."""
    for one in resolver.url_patterns:
        here = before + str(one.pattern)
        if isinstance(one, URLPattern):
            yield one.name or "", here
        else:
            yield from patterns(one, here)


PART = re.compile(r"<(?:[a-z_]+:)?([a-z_0-9]+)>|\(\?P<([a-z_0-9]+)>[^)]*\)")


def addresses(
    room: str | None, values: dict[str, list[Any]], *, others: list[Any] | None = None
) -> list[tuple[str, str]]:
    """(name, address) of every address of an application, with every value that its parts may have.

    A part that ``values`` does not know takes ``others``; without these, its author has to say here what it may be.
    """
    found: list[tuple[str, str]] = []
    for name, pattern in patterns(get_resolver(room)):
        paths = ["/" + re.sub(r"[\^$\\]|Z$", "", pattern)]
        while part := PART.search(paths[0]):
            key = part[1] or part[2]
            assert key in values or others, f"{pattern}: say here what {key} may be"
            paths = [
                PART.sub(str(value), path, count=1) for path in paths for value in values.get(key) or others
            ]
        found += [(name, re.sub(r"\(\.\?[^)]*\)|\?|\.\*", "", path)) for path in paths]
    return found


def values_for(bot: Bot) -> dict[str, list[Any]]:
    tasks = list(
        Assignment.objects.filter(rater__user=bot.participation.rater.user).values_list("pk", flat=True)
    )
    return {
        "slug": [bot.study.slug], "token": [bot.study.join_token], "uidb64": ["MQ"], "which": ["exam", "practice"], "moment": ["before", "after"],
        "step": ["invitation", "consent", "declined", "passed", "failed", "stopped", "done"],
        "name": ["offline", "away"], "panel": ["prolific"], "pk": tasks[-1:] or [bot.study.pk],
        # Researchers' own: the screen of adjudicators.
        "item_pk": list(bot.study.items.values_list("pk", flat=True)[:1]), "adjudication_pk": [1],
    }  # fmt: skip


def own_addresses(bot: Bot) -> list[tuple[str, str]]:
    """Every address of the annotators' application."""
    return addresses("annotator.urls", values_for(bot))


@pytest.mark.parametrize("name", [*TYPES, *DECLARED, "clarity"])
def test_no_address_reveals_a_later_step(name: str) -> None:
    """At the exam, at every stage of a task, and by every submit, which brings the next task with it."""
    study = study_with_markers(name, practice_required=False)
    bot = Watched(study)
    page = bot.instructions(bot.consent(bot.join()))
    bot.walk(about_the_study(bot), ways=1)
    bot.exam(page)
    page = bot.get(bot.path)
    first: list[Assignment] = []
    stages: set[int] = set()

    def look(page: Any) -> None:
        pk = int(bot.form(page, action=r"^/task/\d+/$").action.split("/")[2])
        assignment = Assignment.objects.select_related("item").get(pk=pk)
        if not first or first[0].pk == pk:
            first.append(assignment)
            stages.add(assignment.stage)
            bot.walk(about_the_study(bot), ways=1)

    page = bot.tasks(page, most=4, each=look)
    assert stages == set(range(len(bot.kind.stages(first[0].item.payload, first[0].presentation))))
    assert CODE in page.content.decode()
    assert bot.held > 10, "the markers were never met, so their absence says nothing"
    bot.walk(about_the_study(bot), ways=1)
    assert not Message.objects.filter(rater=bot.participation.rater).exists()


def about_the_study(bot: Bot) -> list[tuple[str, str]]:
    """The addresses that depend on the study or a task, and the person's own pages."""
    return [
        (name, path)
        for name, path in own_addresses(bot)
        if name in ("me", "data") or path.startswith(("/study/", "/task/", "/preview/", "/join/"))
    ]


def test_no_address_reveals_anything_at_any_step() -> None:
    """Every address before and after consent, instructions, practice, exam and a stage; there in every way of asking."""
    study = study_with_markers("utility")
    bot = Watched(study)
    page = bot.join()
    names = {name for name, _ in own_addresses(bot)}
    assert {"consent", "exam", "tasks", "submit", "draft", "data", "preview", "preview_questions"} <= names
    for step in (bot.consent, bot.instructions, bot.practice, bot.exam):
        bot.walk(own_addresses(bot), ways=1)
        page = step(page)
    page = bot.get(bot.path)
    bot.tasks(page, most=1, each=lambda page: bot.walk(own_addresses(bot)))


def test_the_check_detects_a_leak() -> None:
    """The watch itself: a marker of a later stage, a hidden name and the code before the end are each caught."""
    bot = Watched(study_with_markers("utility", exam_required=False, practice_required=False))
    page = bot.instructions(bot.consent(bot.join()))
    pk = int(bot.form(page, action=r"^/task/\d+/$").action.split("/")[2])
    item = Item.objects.get(assignments=pk)
    for text in (item.payload["rationale"], NEVER, CODE):
        page.content = f"<p>{text}</p>".encode()
        with pytest.raises(AssertionError):
            bot._keep("/", page)


def test_no_researchers_page_is_open_to_annotators() -> None:
    """The admin, the API, reports: by every address there is, as an annotator in the middle of a task."""
    bot = Watched(study_with_markers("utility", exam_required=False, practice_required=False))
    bot.instructions(bot.consent(bot.join()))
    own = {path for _, path in own_addresses(bot)}
    others = [one for one in addresses(None, values_for(bot), others=[1]) if one[1] not in own]
    assert len(others) > 150
    for _, path in others:
        response = bot.client.get(path)
        bot._keep(path, response)
        # The style guide shows samples, the API's description shows the API; neither knows a study. Everybody may set up
        # a second factor for their own login.
        open_to_all = (
            "/style/",
            "/api/v1/schema",
            "/api/v1/docs",
            "/admin/jsi18n",
            "/admin/log",
            "/two-factor/",
            "/sso/",
        )
        if not path.startswith(open_to_all):
            assert response.status_code in (301, 302, 401, 403, 404, 405), (path, response.status_code)


def test_other_peoples_objects_are_not_reachable_by_id(caplog: pytest.LogCaptureFixture) -> None:
    """Every address with another person's ids, as another annotator and as nobody: not found, logged, nothing done."""
    victim = Watched(study_with_markers("utility", exam_required=False, practice_required=False))
    page = victim.instructions(victim.consent(victim.join()))
    task = Assignment.objects.get(rater__user=victim.participation.rater.user)
    theirs = [
        (name, path)
        for name, path in own_addresses(victim)
        if path.startswith(("/study/", "/task/", "/preview/"))
    ]
    assert len(theirs) >= 22
    elsewhere = make_participation(make_study(items=1, launched=True))
    before = Assignment.objects.values().get(pk=task.pk)
    sent = {"stage": "0", "before": "yes", "reason": "x", "text": "x", "draft_version": "0", "digest": "x"}
    for person in (elsewhere.rater.user, None):
        stranger = Watched(victim.study)
        if person:
            stranger.client.force_login(person)
        stranger.client.handler.enforce_csrf_checks = False
        for _, path in theirs:
            for response in (stranger.client.get(path), stranger.client.post(path, sent)):
                stranger._keep(path, response)
                assert response.status_code in (302, 404, 405), (path, response.status_code)
                if response.status_code == 302:
                    assert response["Location"].startswith(("/login/", "/admin/login/")), path
                elif response.status_code == 404:
                    assert any(path in record.getMessage() for record in caplog.records), path
            caplog.clear()
    assert Assignment.objects.values().get(pk=task.pk) == before
    assert not Judgment.objects.filter(source="web").exists()
    assert b'action="/task/' in page.content


def test_a_forged_participant_id_in_the_link_is_ignored(client: Any) -> None:
    study = make_study(items=1, launched=True)
    query = "?PROLIFIC_PID=5f0000000000000000000001&STUDY_ID=x&SESSION_ID=y&recruiter=prolific"
    client.post(f"/join/{study.join_token}/{query}", {"recruiter": "prolific", "recruiter_id": "someone"})
    person = study.participations.get()
    assert (person.recruiter, person.recruiter_id) == ("", "")
    assert "prolific" not in client.get(f"/study/{study.slug}/").content.decode()

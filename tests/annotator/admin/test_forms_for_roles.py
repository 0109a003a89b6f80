"""Every page that a role can reach in a study opens, and every form on it can be sent by that role."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from lxml import html

from annotator.models import Membership, Rater, Study, User
from annotator.services.exclusion import exclusion_make
from annotator.services.message import message_send
from annotator.services.study import study_launch, study_update
from evaluation.models import Endpoint
from evaluation.runs.lifecycle import run_start
from evaluation.simulators.start import simulation_create
from tests.evaluation.reports.studies import stored
from tests.factories import make_item, make_judgment, make_participation, make_rater, make_study, make_user

pytestmark = pytest.mark.django_db
#: What is shown to everyone: log-out, and a link out of the study's pages. A preview has forms that store nothing.
#: The admin's own frame around a list or an object; without buttons where nothing can be changed.
FRAME = re.compile(r"_form$|^changelist-form$")
ELSEWHERE = re.compile(
    r"/logout/|/files/|/preview/|/add/|/delete/|^/admin/annotator/(user|workspace|qualification)/"
)
#: A redirect, a page, or a page that says what is wrong with the values.
ANSWERED = (200, 302, 400, 409, 422)


@pytest.fixture
def owner() -> User:
    return make_user("ada", staff=True)


@pytest.fixture
def draft(owner: User) -> Study:
    return make_study(by=owner, items=2, title="Owls", slug="owls")


@pytest.fixture
def live(owner: User, draft: Study) -> Study:
    """A study with something on each of its pages."""
    item = make_item(draft, key="third")
    study_launch(study=draft)
    draft.refresh_from_db()
    participation = make_participation(draft)
    message_send(participation=participation, kind="question", text="May I look it up?")
    message_send(participation=participation, kind="deletion", text="Please delete my answers.")
    for name, word in (("kim", "yes"), ("lee", "no")):
        make_judgment(item, make_rater(name), word)
    exclusion_make(study=draft, by=owner, reason="always no", rater=Rater.objects.get(name="lee"))
    draft.refresh_from_db()
    study_update(
        study=draft, by=owner, summary="Say what the robot says.", translations={"de": {"title": "Eulen"}}
    )
    endpoint = Endpoint.objects.create(
        workspace=draft.workspace, name="nobody", base_url="http://127.0.0.1:9/v1", model="scripted"
    )
    run_start(run=simulation_create(study=draft, endpoint=endpoint))
    stored(draft)
    stored(draft, min_overlap=2)
    draft.refresh_from_db()
    return draft


def walk(client: Client, study: Study) -> Iterator[tuple[str, Any]]:
    """Every page that links lead to from the study's tabs, within the study: (path, parsed page)."""
    inside = re.compile(
        rf"^/admin/annotator/study/{study.pk}/|^/studies/{study.pk}/|^/reports/|^/admin/evaluation/|^/admin/annotator/(message|item)/"
    )
    ahead, seen = [f"/admin/annotator/study/{study.pk}/live/"], set()
    questions: set[str] = set()
    while ahead:
        path = ahead.pop()
        if path.partition("?")[0] in seen:
            continue
        if "/question/" in path:  # two questions of an exam show what thirty do
            questions.add(path)
            if len(questions) > 2:
                continue
        seen.add(path.partition("?")[0])
        reply = client.get(path)
        assert reply.status_code in (200, 302), f"{path} is linked, and answers {reply.status_code}"
        if reply.status_code == 302 or reply.streaming or "html" not in reply["Content-Type"]:
            continue
        page = html.document_fromstring(reply.content)
        page.make_links_absolute(f"http://testserver{path}")
        yield path, page
        for link in page.xpath("//a/@href"):
            found = str(link).removeprefix("http://testserver").partition("#")[0]
            if inside.match(found) and not ELSEWHERE.search(found):
                ahead.append(found)


def presses(form: Any) -> list[dict[str, Any]]:
    """The form's own values with each of its buttons, as a browser sends them."""
    values: dict[str, Any] = {}
    for name, value in form.form_values():
        values.setdefault(name, []).append(value)
    buttons = form.xpath(".//button[not(@type) or @type='submit'] | .//input[@type='submit']")
    return [values | ({one.get("name"): one.get("value", "")} if one.get("name") else {}) for one in buttons]


@pytest.mark.parametrize(
    ("role", "state"),
    [(role, "live") for role in ("viewer", "reviewer", "editor", "owner")]
    + [("viewer", "draft"), ("owner", "draft"), ("editor", "closed")],
)
def test_every_link_opens_and_every_form_can_be_sent(
    owner: User, role: str, state: str, request: pytest.FixtureRequest
) -> None:
    study = request.getfixturevalue("draft" if state == "draft" else "live")
    if state == "closed":
        Study.objects.filter(pk=study.pk).update(state="closed")
    member = make_user("vera", staff=True)
    Membership.objects.create(study=study, user=member, role=role)
    client = Client()
    client.force_login(member)
    refused, forms, pages, before = [], 0, [], set()
    for path, page in walk(client, study):
        pages.append(path)
        for form in page.forms:
            action = str(form.action or path).removeprefix("http://testserver").partition("#")[0]
            if form.method != "POST" or ELSEWHERE.search(action):
                continue
            sent = presses(form)
            if not sent and not FRAME.search(form.get("id", "")):
                refused.append(f"{path}: a form without a button")
            for values in sent:
                forms += 1
                # A form that many pages have, such as that of the study's state, is sent from the first of them.
                same = (
                    action,
                    str({name: value for name, value in values.items() if name != "csrfmiddlewaretoken"}),
                )
                if same in before:
                    continue
                before.add(same)
                with transaction.atomic():
                    status = client.post(action, values).status_code
                    transaction.set_rollback(True)
                if status not in ANSWERED:
                    refused.append(f"{path}: {action} with {sorted(values)[:6]} answers {status}")
    assert refused == [], "\n".join(refused)
    assert len(pages) > (12 if state == "draft" else 30), pages
    assert forms >= {"viewer": 2, "reviewer": 3, "editor": 6, "owner": 10}[role]

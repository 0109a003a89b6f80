"""The demo's files can be loaded together, and loading them again changes nothing."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.test import Client, RequestFactory
from django.utils import timezone

from annotator.hit_types.registry import hit_types
from annotator.management.commands.load_demo import known_passwords, write_private
from annotator.models import Assignment, Item, Participation, Study, System, User
from annotator.services import demo
from annotator.services.assignment import assignment_next
from annotator.services.rehearsal.fill import take_steps


@pytest.mark.django_db
def test_all_demo_files_load_together_and_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # Filling them is the rehearsal's own subject, and takes its time.
    monkeypatch.setattr(demo, "rehearse", lambda **_: 0)
    monkeypatch.setattr(demo, "rehearsal_spread_times", lambda **_: None)
    files = {f"demo-{path.stem.replace('_', '-')}" for path in demo.FOLDER.glob("*.jsonl")}
    properties = ("surface-form", "support", "informativeness", "style")
    files = files - {"demo-rationale-properties"} | {
        f"demo-rationale-properties-{name}" for name in properties
    }
    demo.demo_accounts(known={})
    list(demo.demo_load())
    assert set(Study.objects.values_list("slug", flat=True)) == files | {"demo-simulation-gain"}
    gain = Study.objects.get(slug="demo-simulation-gain")
    assert (gain.redundancy, gain.control_arms) == (2, ("nothing",))
    assert gain.items.values("instance").distinct().count() == demo.GAIN_INSTANCES
    assert gain.items.count() == 2 * len(demo.gain_lines("simulation"))
    assert set(Study.objects.values_list("state", flat=True)) == {Study.State.LIVE}
    support = Study.objects.get(slug="demo-rationale-properties-support")
    assert support.title == "Does the explanation support the answer?"
    assert set(support.items.values_list("payload__group", flat=True)) == {"support"}
    assert support.snapshot is not None
    assert {question["pool"] for question in support.snapshot.content["practice"]} == {"support"}
    assert "Giveaway" not in support.snapshot.content["instructions"]
    counts = Study.objects.count(), Item.objects.count(), System.objects.count()
    list(demo.demo_load())
    assert (Study.objects.count(), Item.objects.count(), System.objects.count()) == counts
    ways = demo.demo_ways_in(passwords={})
    invitations = [way for way in ways if way["url"].startswith("/join/")]
    assert {way["about"] for way in invitations} == set(Study.objects.values_list("title", flat=True))


def test_a_type_that_has_a_demo_report_with_another_names_one_with_demo_material() -> None:
    named = [kind.demo.report_with for kind in hit_types().values() if kind.demo.report_with]
    assert named
    assert all(demo.demo_lines(name, 1) for name in named), named


@pytest.mark.django_db
def test_the_demo_annotator_can_work_on_every_study_without_a_promise_of_pay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(demo, "rehearsal_spread_times", lambda **_: None)
    monkeypatch.setattr(demo, "rehearsal_raters", lambda **_: [])
    monkeypatch.setattr(demo, "rehearse", lambda **_: 0)
    password = demo.demo_accounts(known={})["annotator"]
    list(demo.demo_load())
    client = Client()
    assert client.login(username="annotator", password=password)
    page = client.get("/me/").content.decode()
    for study in Study.objects.all():
        assert f'href="/study/{study.slug}/"' in page, study.slug
        participation = study.participations.get(rater__user__username="annotator")
        take_steps(participation)
        tasks = 0
        # To the end of each study: no study uses up the questions of another one.
        while held := assignment_next(participation=Participation.objects.get(pk=participation.pk)):
            tasks += 1
            Assignment.objects.filter(pk=held.pk).update(state="submitted", closed_at=timezone.now())
        assert tasks >= 4, f"{study.slug}: {tasks}"
        assert "nobody is paid" in study.contact
        assert "nobody is paid" in study.consent_text
        assert "is paid." not in study.consent_text.replace("nobody is paid.", "")
        invited = Client().get(f"/join/{study.join_token}/").content.decode()
        assert ">Start</button>" in invited, "no places for somebody who tries it"


@pytest.mark.django_db
def test_a_system_gets_its_model_from_a_later_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "rehearse", lambda **_: 0)
    monkeypatch.setattr(demo, "rehearsal_spread_times", lambda **_: None)
    demo.demo_accounts(known={})
    list(demo.demo_load())  # plausibility names "robot-b · post-hoc" and no more; simulation comes after it
    system = System.objects.get(name="robot-b · post-hoc")
    assert (system.model, system.method) == ("robot-b", "post-hoc")


@pytest.mark.django_db
def test_each_installation_has_its_own_lasting_demo_passwords() -> None:
    first = demo.demo_accounts(known={})
    assert demo.demo_accounts(known=first) == first
    assert all(User.objects.get(username=name).check_password(password) for name, password in first.items())
    assert set(demo.demo_accounts(known={}).values()).isdisjoint(first.values())


@pytest.mark.django_db
def test_the_published_demo_password_of_an_earlier_version_is_replaced() -> None:
    old = User.objects.create_user("researcher", password="foretell-demo", is_staff=True)
    own = User.objects.create_user("annotator", password="a-password-of-ones-own")
    assert set(demo.demo_accounts(known={})) == {"researcher"}
    old.refresh_from_db()
    own.refresh_from_db()
    assert (old.demo, old.check_password("foretell-demo")) == (True, False)
    assert (own.demo, own.check_password("a-password-of-ones-own")) == (False, True)


@pytest.mark.django_db
def test_production_refuses_demo_accounts_even_when_they_are_logged_in(settings: Any) -> None:
    (researcher, password), *_ = demo.demo_accounts(known={}).items()
    client = Client()
    assert client.login(username=researcher, password=password)
    assert client.get("/admin/annotator/study/").status_code == 200
    settings.PRODUCTION = True
    assert client.get("/admin/annotator/study/").status_code == 302
    request = RequestFactory().post("/login/")
    assert authenticate(request, username=researcher, password=password) is None


def test_the_password_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "demo.json"
    write_private(file, [{"username": "researcher", "password": "x"}, {"url": "/join/y/"}])
    write_private(file, [{"username": "researcher", "password": "z"}])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert known_passwords(file) == {"researcher": "z"}
    assert known_passwords(tmp_path / "none.json") == {}

"""The demo's files go together, and loading it again changes nothing."""

from __future__ import annotations

import pytest

from annotator.models import Item, Study, System
from annotator.services import demo


@pytest.mark.django_db
def test_every_demo_file_loads_beside_the_others_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # Filling them is the rehearsal's own subject, and takes its time.
    monkeypatch.setattr(demo, "rehearse", lambda **_: 0)
    monkeypatch.setattr(demo, "rehearsal_spread_times", lambda **_: None)
    files = {f"demo-{path.stem.replace('_', '-')}" for path in demo.FOLDER.glob("*.jsonl")}
    list(demo.demo_load())
    assert set(Study.objects.values_list("slug", flat=True)) == files
    assert set(Study.objects.values_list("state", flat=True)) == {Study.State.LIVE}
    counts = Study.objects.count(), Item.objects.count(), System.objects.count()
    list(demo.demo_load())
    assert (Study.objects.count(), Item.objects.count(), System.objects.count()) == counts
    ways = demo.demo_ways_in()
    invitations = [way for way in ways if way["url"].startswith("/join/")]
    assert {way["about"] for way in invitations} == set(Study.objects.values_list("title", flat=True))


@pytest.mark.django_db
def test_a_system_that_was_only_named_gets_its_model_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "rehearse", lambda **_: 0)
    monkeypatch.setattr(demo, "rehearsal_spread_times", lambda **_: None)
    list(demo.demo_load())  # plausibility names "robot-b · post-hoc" and no more; simulation comes after it
    system = System.objects.get(name="robot-b · post-hoc")
    assert (system.model, system.method) == ("robot-b", "post-hoc")

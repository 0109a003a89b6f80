"""The researchers' pages: a study from its template to its end, its rows and its settings."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotator.models import Exclusion, Judgment, Study
from annotator.services.assignment import assignment_next
from annotator.services.message import message_send
from annotator.services.study import study_launch, study_update
from annotator.services.submit_and_next import turn_take
from tests.annotator.admin.study_files import GOOD, csv_file, page
from tests.annotator.admin.study_forms import sent_form
from tests.factories import (
    make_item,
    make_judgment,
    make_participation,
    make_rater,
    make_study,
    simulation_payload,
)

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert('x')</script>"


def settings_sent(form) -> dict:
    """What a browser would send from the settings as they stand."""
    values = {name: form[name].value() for name in form.fields}
    return {name: value for name, value in values.items() if value is not None and value is not False}


# -- a study's life -------------------------------------------------------------------------------


def test_a_study_goes_from_template_to_close(researcher_client, researcher):
    made = researcher_client.post(
        reverse("admin:annotator_study_add"),
        {"template": "simulation", "title": "Birds", "slug": "birds"},
        follow=True,
    )
    study = Study.objects.get(slug="birds")
    assert made.status_code == 200
    assert (study.redundancy, study.pass_mark, study.memberships.get().user) == (3, 9, researcher)
    assert "Import material first" in made.content.decode()

    checked = researcher_client.post(page(study, "import"), {"file": csv_file(GOOD)}).content.decode()
    assert "items.csv: 1 item from 1 row" in checked
    assert not study.items.exists()
    researcher_client.post(page(study, "import"), sent_form(checked) | {"import": "1"}, follow=True)
    assert study.items.count() == 1

    asked = researcher_client.get(page(study, "do", "launch")).content.decode()
    assert "1 item × 3 raters = 3 judgments" in asked
    study.refresh_from_db()
    assert study.state == "draft", "a look at what a launch means launches nothing"
    for action, state in (
        ("launch", "live"),
        ("pause", "paused"),
        ("resume", "live"),
        ("close", "closed"),
        ("reopen", "paused"),
    ):
        researcher_client.post(page(study, "do", action), follow=True)
        study.refresh_from_db()
        assert study.state == state


def test_an_invalid_template_or_slug_is_explained(researcher_client):
    make_study(slug="taken")
    for data, words in (
        ({"template": "nonsense", "title": "A", "slug": "a"}, "Choose what annotators are asked"),
        (
            {"template": "simulation", "title": "A", "slug": "taken"},
            "Another study is called “taken”. “taken-2” is free.",
        ),
        ({"template": "simulation", "title": "A", "slug": "not a slug"}, "Enter a valid “slug”"),
        ({"template": "simulation", "title": "", "slug": "a"}, "This field is required"),
    ):
        reply = researcher_client.post(reverse("admin:annotator_study_add"), data)
        assert reply.status_code == 400
        assert words in reply.content.decode()
    assert Study.objects.count() == 1


def test_a_free_short_name_is_made_from_the_title(researcher_client):
    make_study(slug="owls-others")
    for slug in ("owls-others-2", "owls-others-3", "study"):
        title = "???" if slug == "study" else "Owls & others"
        data = {"template": "simulation", "title": title, "slug": ""}
        assert researcher_client.post(reverse("admin:annotator_study_add"), data).status_code == 302
        assert Study.objects.filter(slug=slug).exists()


def test_settings_of_a_live_study_make_a_new_version(researcher_client, researcher):
    study = make_study(items=1, by=researcher, launched=True)
    shown = researcher_client.get(page(study)).context["form"]
    data = settings_sent(shown)
    reply = researcher_client.post(page(study), data | {"title": "A new title"}, follow=True)
    study.refresh_from_db()
    assert study.title == "A new title", reply.context["form"].errors
    assert "Saved as version 2" in reply.content.decode()
    assert study.snapshot.number == 2


def test_exports_stream_the_judgments(researcher_client, researcher):
    study = make_study(items=1, by=researcher)
    make_judgment(study.items.get(), make_rater("ann"))
    text = b"".join(
        researcher_client.get(page(study, "export", "judgments", "csv")).streaming_content
    ).decode()
    assert "ann" in text
    assert researcher_client.get(page(study, "export", "judgments", "exe")).status_code == 404


# -- rows -----------------------------------------------------------------------------------------


def test_an_exclusion_is_created_with_a_reason_and_lifted(researcher_client, researcher):
    study = make_study(items=1, by=researcher)
    judgment = make_judgment(study.items.get(), make_rater("ann"))
    add = reverse("admin:annotator_exclusion_add")
    assert (
        "required"
        in researcher_client.post(add, {"study": study.pk, "judgment": judgment.pk}).content.decode()
    )
    assert not Exclusion.objects.exists()
    both = {"study": study.pk, "judgment": judgment.pk, "item": judgment.item_id, "reason": "both"}
    assert "exactly one" in researcher_client.post(add, both).content.decode()
    researcher_client.post(
        add, {"study": study.pk, "judgment": judgment.pk, "reason": "answered in a second"}, follow=True
    )
    exclusion = Exclusion.objects.get()
    assert (exclusion.reason, exclusion.created_by) == ("answered in a second", researcher)
    again = researcher_client.post(add, {"study": study.pk, "judgment": judgment.pk, "reason": "again"})
    assert "already excluded" in again.content.decode()
    listed = reverse("admin:annotator_exclusion_changelist")
    researcher_client.post(listed, {"action": "lift", "_selected_action": [exclusion.pk]}, follow=True)
    exclusion.refresh_from_db()
    assert exclusion.lifted_at is not None


def test_hostile_material_is_shown_as_text(researcher_client, researcher):
    study = make_study(by=researcher)
    payload = {name: f"{HOSTILE}{text}" for name, text in simulation_payload().items()} | {"answer": "yes"}
    item = make_item(study, payload=payload)
    study_launch(study=study)
    judgment = make_judgment(item, make_rater(HOSTILE))
    message_send(
        participation=make_participation(Study.objects.get(pk=study.pk)), kind="flag", text=HOSTILE, item=item
    )
    for url in (
        reverse("admin:annotator_item_change", args=[item.pk]),
        reverse("admin:annotator_judgment_change", args=[judgment.pk]),
        reverse("admin:annotator_judgment_changelist"),
        reverse("admin:annotator_message_changelist"),
        f"/preview/{study.pk}/",
    ):
        text = researcher_client.get(url).content.decode()
        assert HOSTILE not in text, url
        assert "&lt;script&gt;" in text, url


@pytest.mark.parametrize("model", ["study", "judgment", "item", "participation"])
def test_lists_take_a_fixed_number_of_queries(researcher_client, researcher, model):
    def queries(studies: int) -> int:
        for _ in range(studies):
            study = make_study(items=3, by=researcher, launched=True)
            make_participation(study)
            for item in study.items.all():
                make_judgment(item, make_rater("ann"))
        with CaptureQueriesContext(connection) as captured:
            assert researcher_client.get(reverse(f"admin:annotator_{model}_changelist")).status_code == 200
        return len(captured)

    queries(1)  # content types are looked up once for a process
    assert queries(1) == queries(5)


def test_a_studys_page_takes_a_fixed_number_of_queries(researcher_client, researcher):
    def queries(items: int) -> int:
        study = make_study(items=items, by=researcher, launched=True)
        for item in study.items.all():
            make_judgment(item, make_rater("ann"))
        with CaptureQueriesContext(connection) as captured:
            assert researcher_client.get(page(study)).status_code == 200
        return len(captured)

    queries(1)  # content types are looked up once for a process
    assert queries(1) == queries(12)


def test_pay_below_the_minimum_at_the_median_time_raises_an_alarm(researcher_client, researcher):
    """The estimate allowed the launch, but by the time that people really take, the study pays too little."""
    study = make_study(
        items=3,
        by=researcher,
        launched=True,
        instructions_text="Guess.",
        pay_per_item="0.25",
        minutes_per_item=1,
        pay_floor_per_hour="9.00",
    )
    alarm = "figures__alarm"
    person = make_participation(study)
    for seconds in (60, 200, 100):
        task = assignment_next(participation=person)
        turn_take(user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw={"helpful": "no"})
        Judgment.objects.filter(assignment=task).update(seconds=seconds)
        shown = researcher_client.get(reverse("admin:study_live", args=[study.pk])).content.decode()
        assert (alarm in shown) == (seconds != 60), seconds
    assert "7.50" in shown, "0.75 for one minute of reading and three times the median of 100 seconds"


def test_an_error_in_the_settings_is_shown_at_its_field(researcher_client, researcher):
    """The name of a database constraint must never be shown as a message."""
    study = make_study(items=1, by=researcher)
    shown = researcher_client.get(page(study)).context["form"]
    data = settings_sent(shown)
    data |= {"exam_questions": "5", "pass_mark": "7", "title": "", "redundancy": "0"}
    reply = researcher_client.post(page(study), data)
    assert reply.status_code == 400
    text = reply.content.decode()
    assert "The exam asks 5 questions, so the pass mark can be at most 5." in text
    for name in ("pass_mark", "title", "redundancy"):
        assert f'id="id_{name}_error"' in text, name
        assert f'href="#id_{name}"' in text, name
    assert "Constraint" not in text
    assert 'value="7"' in text, "what was typed is still there"
    study.refresh_from_db()
    assert study.redundancy == 3


def test_settings_are_saved_before_the_launch(researcher_client, researcher):
    study = make_study(items=1, by=researcher)
    shown = researcher_client.get(page(study)).context["form"]
    data = settings_sent(shown)
    reply = researcher_client.post(page(study), data | {"title": "Edited last", "launch": "1"})
    assert reply["Location"].endswith(f"/{study.pk}/do/launch/")
    study.refresh_from_db()
    assert study.title == "Edited last"


def test_the_launch_warns_when_one_rater_may_see_two_conditions(researcher_client, researcher):
    study = make_study(by=researcher)
    for condition in ("normal", "forced"):
        make_item(study, key=condition, instance="owl", condition=condition)
    warning = "1 instance has items of several conditions"
    assert warning in researcher_client.get(page(study, "do", "launch")).content.decode()
    study_update(study=study, one_condition_per_instance=True)
    assert warning not in researcher_client.get(page(study, "do", "launch")).content.decode()

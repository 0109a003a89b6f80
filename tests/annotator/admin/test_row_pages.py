"""The pages that list a study's items, judgments, raters and exclusions."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotator.models import Exclusion, Study, User
from annotator.services.study import study_create
from tests.annotator.admin.study_forms import NASTY, ROOT, page
from tests.factories import make_item, make_judgment, make_rater, make_study, record_judgment

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stored_files")]


def test_judgments_are_listed_in_words_and_filtered(researcher_client: Client, judged_study: Study) -> None:
    html = page(researcher_client, f"{judged_study.pk}/judgments/")
    assert html.count('<li title="What will the robot answer to the follow-up question?">Yes</li>') == 4
    assert page(researcher_client, f"{judged_study.pk}/judgments/", rater="ann").count("<li title=") == 4
    assert "No judgments match these filters." in page(
        researcher_client, f"{judged_study.pk}/judgments/", rater_kind="simulator"
    )


@pytest.mark.parametrize(
    "query", ["user__password__startswith=x", "_connector=OR", "source=x", "rater__name=ann"]
)
def test_unknown_filters_of_judgments_are_refused(
    researcher_client: Client, judged_study: Study, query: str
) -> None:
    reply = researcher_client.get(f"{ROOT}{judged_study.pk}/judgments/?{query}")
    assert reply.status_code == 400
    assert "<li title=" not in reply.content.decode()
    assert researcher_client.get(f"{ROOT}{judged_study.pk}/download/?{query}").status_code == 400


def test_texts_of_annotators_and_models_are_shown_as_text(
    researcher_client: Client, researcher: User
) -> None:
    study = study_create(by=researcher, hit_type="toy", slug="nasty", title=NASTY[:200])
    payload = {"question": NASTY, "explanation": NASTY, "answer": "yes", "follow_up": NASTY}
    item = make_item(
        study, key="nasty", payload=payload, condition=NASTY[:90], system=NASTY[:53], real_output=NASTY
    )
    judgment = record_judgment(item, make_rater(NASTY), {"guess": "yes", "why": NASTY})
    researcher_client.post(f"{ROOT}{study.pk}/exclude/rater/{judgment.rater_id}/", {"reason": NASTY})
    assert Exclusion.objects.get().reason == NASTY
    for address in (
        "change/", "items/", f"items/{item.pk}/", "judgments/", f"judgments/{judgment.pk}/", "raters/", "exclusions/",
        "exports/", "do/launch/", f"exclude/judgment/{judgment.pk}/", "import/", "import-judgments/",
    ):  # fmt: skip
        html = page(researcher_client, f"{study.pk}/{address}")
        assert "<script>alert" not in html, address
        assert "<img src=x" not in html, address
        assert "&lt;script&gt;alert(1)" in html, address
    assert "<script>alert" not in researcher_client.get(ROOT).content.decode()


def test_exclusions_are_created_with_a_reason_and_lifted(
    researcher_client: Client, judged_study: Study
) -> None:
    judgment = judged_study.judgments.first()
    assert judgment is not None
    for what, pk in (("rater", judgment.rater_id), ("item", judgment.item_id), ("judgment", judgment.pk)):
        address = f"{ROOT}{judged_study.pk}/exclude/{what}/{pk}/"
        assert "will be left out" in researcher_client.get(address).content.decode()
        assert researcher_client.post(address, {"reason": " "}).status_code == 400
        assert researcher_client.post(address, {"reason": "Too fast."}).status_code == 302
        assert "already excluded" in researcher_client.post(address, {"reason": "Again"}).content.decode()
    assert Exclusion.objects.count() == 3
    html = page(researcher_client, f"{judged_study.pk}/judgments/")
    assert html.count('<span class="fk-alarm">excluded:</span> Too fast.') == 3
    for exclusion in Exclusion.objects.all():
        assert (
            researcher_client.get(f"{ROOT}{judged_study.pk}/exclusions/{exclusion.pk}/lift/").status_code
            == 405
        )
        researcher_client.post(f"{ROOT}{judged_study.pk}/exclusions/{exclusion.pk}/lift/")
    assert not Exclusion.objects.filter(lifted_at__isnull=True).exists()


def test_several_judgments_are_excluded_for_one_reason(
    researcher_client: Client, judged_study: Study
) -> None:
    chosen = list(judged_study.judgments.order_by("pk").values_list("pk", flat=True))[:3]
    listed = researcher_client.post(
        "/admin/annotator/judgment/", {"action": "leave_out", "_selected_action": chosen}
    )
    address = listed["Location"]
    assert address.startswith(f"{ROOT}{judged_study.pk}/exclude/judgments/?pk=")
    assert "3 judgments will be left out" in researcher_client.get(address).content.decode()
    assert researcher_client.post(address, {"reason": ""}).status_code == 400
    assert not Exclusion.objects.exists()
    researcher_client.post(address, {"reason": "One bot."})
    assert set(Exclusion.objects.values_list("judgment_id", flat=True)) == set(chosen)
    assert (
        "0 judgments excluded; 3 were already excluded"
        in researcher_client.post(address, {"reason": "Again"}, follow=True).content.decode()
    )
    other = make_judgment(make_item(make_study()), make_rater("zoe"))
    for query in (f"pk={other.pk}", "pk=x", ""):
        assert researcher_client.get(f"{ROOT}{judged_study.pk}/exclude/judgments/?{query}").status_code == 404


def test_the_number_of_queries_is_independent_of_a_pages_length(
    researcher_client: Client, judged_study: Study, researcher: User
) -> None:
    addresses = [
        f"{judged_study.pk}/{name}/" for name in ("items", "judgments", "raters", "exclusions", "exports")
    ]

    def counts() -> list[int]:
        found = []
        for address in addresses:
            with CaptureQueriesContext(connection) as queries:
                page(researcher_client, address)
            found.append(len(queries))
        return found

    counts()  # what is cached for the process
    before = counts()
    for number in range(6):
        make_study(by=researcher)
        item = make_item(judged_study, key=f"more-{number}", system=f"s{number}")
        judgment = make_judgment(item, make_rater(f"r{number}"))
        researcher_client.post(f"{ROOT}{judged_study.pk}/exclude/judgment/{judgment.pk}/", {"reason": "x"})
    assert counts() == before
    assert max(before) <= 20, dict(zip(addresses, before, strict=True))

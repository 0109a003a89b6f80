"""The raters' page of a study that asks how sure raters are: mean confidence, share right, Brier score and AUC of each."""

from __future__ import annotations

import math

import pytest
from django.test import Client
from django.urls import reverse
from lxml import html

from annotator.selectors.study import study_hit_type
from annotator.services.rehearsal.fill import rehearsal_raters, rehearse
from evaluation.core.live_calibration import NO_LABEL, rater_calibration
from evaluation.metrics.calibration import calibration
from evaluation.selectors.confidence import raters_confidence
from tests.annotator.demo_studies import demo_study
from tests.evaluation.reports.sure_study import sure_study
from tests.factories import make_rater, make_study, make_user, record_judgment

pytestmark = pytest.mark.django_db


def test_the_figures_are_those_of_the_report() -> None:
    sure, right = [0.9, 0.6, 0.6, 0.2, 0.9, 0.5], [1, 1, 0, 0, 0, 1]
    own = rater_calibration([(c, bool(y)) for c, y in zip(sure, right, strict=True)])
    other = calibration(sure, right)
    assert own.brier == pytest.approx(other.brier.value)
    assert own.auc == pytest.approx(other.auc.value)
    assert (own.confidence, own.right) == pytest.approx((other.confidence.value, other.accuracy.value))


def test_what_is_not_defined_has_its_reason() -> None:
    none = rater_calibration([(None, True), (0.5, None)])
    assert (none.labels, none.missing, none.unknown, none.reason) == (0, 1, 1, NO_LABEL)
    alike = rater_calibration([(0.5, False), (0.7, False)])
    assert math.isnan(alike.auc)
    assert alike.auc_reason == "all labels are wrong"
    assert alike.brier == pytest.approx((0.25 + 0.49) / 2)


def test_the_page_has_a_row_for_each_rater_and_no_other_study_has_it() -> None:
    boss = make_user("boss", staff=True)
    study = sure_study(by=boss)
    client = Client()
    client.force_login(boss)
    url = reverse("evaluation:live_confidence", args=[study.pk])
    page = client.get(reverse("admin:study_raters", args=[study.pk]))
    assert url in page.content.decode()
    part = html.fromstring(client.get(url, headers={"HX-Request": "true"}).content)
    rows = {
        row.xpath("./td")[0].text_content().split()[0]: [cell.text_content() for cell in row.xpath("./td")][
            1:
        ]
        for row in part.xpath("//tbody/tr")
    }
    # Ann: .9 right, .9 wrong, .6 right, .6 right; the item without a real output isn't known.
    assert rows["ann"] == ["4", "0", "1", "0.75", "0.75", "0.29", "0.17"]
    assert rows["bob"] == ["2", "1", "1", "0.75", "1.00", "0.09", "not defined: all labels are right"]
    assert rows["gpt-4"][:3] == ["3", "1", "1"]
    assert client.get(url).status_code == 200
    plain = make_study(by=boss, items=1)
    record_judgment(plain.items.get(), make_rater("ann"), {"helpful": "no"})
    other = reverse("evaluation:live_confidence", args=[plain.pk])
    assert other not in client.get(reverse("admin:study_raters", args=[plain.pk])).content.decode()
    assert (
        "doesn't ask" in client.get(other).content.decode()
        or "doesn&#x27;t ask" in client.get(other).content.decode()
    )
    stranger = Client()
    stranger.force_login(make_user("stranger", staff=True))
    assert stranger.get(url).status_code == 404


def test_without_a_truth_a_label_is_compared_with_other_people() -> None:
    study = demo_study("plausibility", confidence="steps")
    item = study.items.order_by("pk").first()
    assert item is not None
    keys = [one["key"] for one in item.payload["explanations"]]
    [stage] = study_hit_type(study).stages(item.payload)
    names = [field.name for field in stage.fields[:-1]]
    for name, answer, sure in (("a", "yes", "very"), ("b", "yes", "slightly"), ("c", "no", "completely")):
        record_judgment(item, make_rater(name), dict.fromkeys(names, answer) | {"confidence": sure})
    found = raters_confidence(study=study)
    assert found is not None
    assert found.criterion == "the majority of the other people"
    figures = {name: one for name, _, one in found.raters}
    assert (figures["c"].labels, figures["c"].right, figures["c"].brier) == (len(keys), 0.0, 1.0)
    assert (figures["a"].labels, figures["a"].unknown) == (0, len(keys)), "the two others tie"


def test_the_queries_do_not_grow_with_the_raters(django_assert_max_num_queries) -> None:  # type: ignore[no-untyped-def]
    study = sure_study()
    for number in range(10):
        answer = {"helpful": "yes", "answer": "yes", "confidence": "50"}
        record_judgment(study.items.order_by("pk")[0], make_rater(f"r{number}"), answer)
    with django_assert_max_num_queries(4):
        found = raters_confidence(study=study)
    assert found is not None
    assert len(found.raters) == 13


def test_a_rehearsal_is_shown_until_people_have_judged() -> None:
    boss = make_user("boss", staff=True)
    study = make_study(by=boss, items=3, launched=True, confidence="percent")
    bots = rehearsal_raters(study=study, count=1, accuracy=1, spread=0, seed=1)
    assert rehearse(study=study, raters=bots, seed=1) > 0
    bot = f">{bots[0].user.username}<"
    client = Client()
    client.force_login(boss)
    url = reverse("evaluation:live_confidence", args=[study.pk])
    page = client.get(url).content.decode()
    assert "There are no judgments of people yet: these raters are a rehearsal’s." in page
    assert bot in page
    record_judgment(
        study.items.order_by("pk")[1],
        make_rater("ann"),
        {"helpful": "yes", "answer": "yes", "confidence": "50"},
    )
    page = client.get(url).content.decode()
    assert "rehearsal’s" not in page
    assert (">ann<" in page, bot in page) == (True, False)

"""The review desk of a study with thousands of people: each is looked at once, and newcomers don't have everything counted again."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotator.core.kept_figures import figures_kept
from annotator.models import Rater, Study, User
from annotator.selectors import contested
from annotator.selectors.contested import agreement_with_others
from annotator.selectors.review_desk import Submission, review_desk
from annotator.services.study import study_launch
from tests.annotator.desk_people import NO, YES, items_make, people_make, work_make
from tests.factories import make_item, make_judgment, make_rater, make_study

pytestmark = pytest.mark.django_db


def answers(number: int, item: Any) -> tuple[dict[str, str], float, dict[str, int]]:
    return YES, 9.0, {}


@pytest.fixture
def study(researcher: User) -> Study:
    made = make_study(by=researcher, pay_per_item="0.10", min_seconds=2)
    items_make(made)
    study_launch(study=made)
    made.refresh_from_db()
    work_make(made, people_make(made, ["ann", "ben", "cam"]), answers)
    return made


def test_a_newcomer_does_not_have_everybodys_agreement_counted_again(study: Study) -> None:
    cache.clear()
    with figures_kept(study.pk):
        assert len(review_desk(study).submissions) == 3
        work_make(study, people_make(study, ["dee"]), answers)
        submissions = cache_without("submissions of a study", study)
        with CaptureQueriesContext(connection) as seen:
            found = review_desk(study).submissions
    assert submissions
    assert [one.name for one in found if one.name == "dee"] == ["dee"]
    assert not [one for one in seen.captured_queries if "WITH answers" in one["sql"]]
    cache.clear()
    with figures_kept(study.pk), CaptureQueriesContext(connection) as seen:
        dee = next(one for one in review_desk(study).submissions if one.name == "dee")
    assert dee.evidence.agreement[1] > 0
    assert [one for one in seen.captured_queries if "WITH answers" in one["sql"]], (
        "the test sees that it's counted"
    )


def cache_without(name: str, study: Study) -> bool:
    """Forget one kept figure."""
    from annotator.core.kept_figures import StudyCount

    return cache.delete(StudyCount.declared[name]._key({"study": study.pk}))


def test_everybodys_agreement_is_that_of_each(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    def unlike(number: int, item: Any) -> tuple[dict[str, str], float, dict[str, int]]:
        return (YES if (item.pk + number) % 3 else NO), 9.0, {}

    people = people_make(study, ["dee", "eve", "fay"])
    work_make(study, people, unlike)
    tried = people_make(study, ["gil", "hal"])
    Rater.objects.filter(pk__in=[one.rater_id for one in tried]).update(rehearsal=True)
    work_make(study, tried, unlike)
    alone = make_item(study, key="alone")
    make_judgment(alone, make_rater("ida"), "yes")
    study.judgments.filter(rater=people[0].rater_id).order_by("pk").last().delete()
    make_judgment(study.items.earliest("pk"), make_rater("robot", kind="simulator"), "yes")
    everybody = list(Rater.objects.filter(kind="human").values_list("pk", flat=True))
    for latest in (200, 3):
        monkeypatch.setattr(contested, "LATEST", latest)
        each = agreement_with_others(study, everybody)
        assert len(each) == 8
        assert agreement_with_others(study) == each


def test_the_page_looks_at_each_person_once(
    study: Study, researcher: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    waits = Submission.waits.fget  # type: ignore[attr-defined]

    def counted(one: Submission) -> bool:
        seen.append(one.name)
        return bool(waits(one))

    monkeypatch.setattr(Submission, "waits", property(counted))
    client = Client()
    client.force_login(researcher)
    page = client.get(f"/admin/annotator/study/{study.pk}/desk/")
    assert [n for _, _, n in page.context["shown"]] == [3, 0, 3, 0, 0, 3]
    assert sorted(seen) == ["ann", "ben", "cam"]

"""Agreement so far: the same alpha as in reports, an interval that includes it, and what is left out."""

from __future__ import annotations

import math
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotator.hit_types.base import Variable
from annotator.models import Rater
from annotator.services.exclusion import exclusion_make
from annotator.tasks import figures_renew_task
from evaluation.agreement import Ratings, krippendorff_alpha
from evaluation.core.live_alpha import agreement_over_time, alpha
from evaluation.selectors import live
from foretell import env
from tests.factories import make_item, make_judgment, make_rater, make_study, make_user

LABELS = ("no", "moderate", "yes")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def rows(rng: Random, units: int = 60) -> list[tuple[str, str, str]]:
    """(rater, unit, label), one to four raters per unit, who agree more often than not."""
    found = []
    for unit in range(units):
        truth = rng.choice(LABELS)
        for rater in range(rng.randint(1, 4)):
            found.append((f"r{rater}", f"u{unit}", truth if rng.random() < 0.7 else rng.choice(LABELS)))
    return found


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_it_equals_the_alpha_of_the_reports(level):
    variable = Variable("v", "V", level, LABELS)
    for seed in range(20):
        drawn = rows(Random(seed))
        units: dict[str, Counter[str]] = {}
        for _, unit, label in drawn:
            units.setdefault(unit, Counter())[label] += 1
        found = alpha(units.values(), variable)
        theirs = krippendorff_alpha(Ratings.from_rows(drawn, labels=LABELS, level=level))
        assert found.value == pytest.approx(theirs.value, abs=1e-12)
        assert found.low < found.value < found.high <= 1
        assert found.units == sum(counts.total() > 1 for counts in units.values())


def test_the_interval_covers_what_it_should():
    """Of 120 studies of 60 units, about 95 in 100 intervals hold the alpha of a very large study."""
    variable = Variable("v", "V", "nominal", LABELS)

    def counts(rng: Random, n: int) -> list[Counter[str]]:
        units: dict[str, Counter[str]] = {}
        for _, unit, label in rows(rng, n):
            units.setdefault(unit, Counter())[label] += 1
        return list(units.values())

    truth = alpha(counts(Random("large"), 20_000), variable).value
    found = [alpha(counts(Random(f"study {n}"), 60), variable) for n in range(120)]
    held = sum(one.low <= truth <= one.high for one in found)
    assert 107 <= held <= 119, held


@pytest.mark.parametrize(
    ("units", "level", "reason"),
    [
        ([], "nominal", "no unit has two ratings yet"),
        ([Counter(yes=1)], "nominal", "no unit has two ratings yet"),
        ([Counter(yes=3), Counter(yes=2)], "nominal", "all ratings are the same so far"),
        ([Counter({"1": 1, "2": 1})], "ratio", "this level isn't supported here; the report has it"),
    ],
)
def test_undefined_figures_give_the_reason(units, level, reason):
    found = alpha(units, Variable("v", "V", level))
    assert math.isnan(found.value)
    assert found.reason == reason


def test_one_unit_alone_gives_no_interval():
    found = alpha([Counter(yes=1, no=1)], Variable("v", "V"))
    assert (found.value, math.isnan(found.low)) == (0.0, True)


def test_points_are_of_all_judgments_so_far():
    given = [(f"u{n // 2}", LABELS[n // 2 % 3], NOON + timedelta(minutes=n)) for n in range(100)]
    points = agreement_over_time(given, Variable("v", "V"), points=4)
    assert [point.ratings for point in points] == [25, 50, 75, 100]
    assert points[-1].at == NOON + timedelta(minutes=99)
    assert [point.alpha.value for point in points] == [1, 1, 1, 1]


@pytest.fixture
def study(db):
    owner = make_user("ada", staff=True)
    study = make_study(by=owner, items=6)
    for number, item in enumerate(study.items.all()):
        for rater in range(3):
            make_judgment(item, make_rater(f"rater-{rater}"), "yes" if number % 2 or rater == 2 else "no")
    return study


def test_exclusions_simulators_gold_and_rehearsals_do_not_count(study):
    whole = live.agreement_so_far(study=study)
    assert whole.judgments == 18
    assert whole.points[-1].alpha.value < 1
    exclusion_make(study=study, by=None, reason="always yes", rater=Rater.objects.get(name="rater-2"))
    make_judgment(study.items.first(), make_rater("robot", kind="simulator"), "yes")
    make_judgment(
        make_item(study, key="gold-1", role="gold", gold={"helpful": "no"}), make_rater("rater-0"), "yes"
    )
    Rater.objects.filter(pk=make_rater("rehearsed").pk).update(rehearsal=True)
    make_judgment(study.items.first(), make_rater("rehearsed"), "yes")
    found = live.agreement_so_far(study=study)
    assert (found.judgments, found.rehearsal) == (12, False)
    assert found.points[-1].alpha.value == 1


def test_of_very_many_judgments_a_share_of_the_items_is_read(study, monkeypatch):
    monkeypatch.setattr(live, "MOST", 9)
    found = live.agreement_so_far(study=study)
    assert (found.every, found.judgments) == (2, 9)


def test_of_a_large_study_a_job_computes_it_and_the_page_reads_it(study, monkeypatch):
    monkeypatch.setattr(live, "study_is_large", lambda study: True)
    monkeypatch.setattr("annotator.core.kept_figures.enqueue", lambda name, **values: asked.append(values))
    asked: list[dict[str, object]] = []
    own = Client()
    own.force_login(study.memberships.get().user)
    url = reverse("evaluation:live_agreement", args=[study.pk])
    with CaptureQueriesContext(connection) as done:
        assert "Agreement is being computed" in own.get(url).content.decode()
    assert not [one for one in done.captured_queries if 'FROM "annotator_judgment"' in one["sql"]]
    figures_renew_task(**asked[0])
    assert live.agreement_so_far_kept(study=study) == (True, live.agreement_so_far(study=study))
    assert "Krippendorff" in own.get(url).content.decode()


def test_the_page_and_its_part_are_for_the_studys_researchers(study):
    url = reverse("evaluation:live_agreement", args=[study.pk])
    assert Client().get(url).status_code == 302
    other, own = Client(), Client()
    other.force_login(make_user("otto", staff=True))
    assert other.get(url).status_code == 404
    own.force_login(study.memberships.get().user)
    whole = own.get(url).content.decode()
    part = own.get(url, headers={"HX-Request": "true"}).content.decode()
    assert "Krippendorff&#x27;s alpha is 0." in whole
    assert part.strip() in whole
    assert "describe these raters on other units" in part
    assert "bootstrap intervals" not in part
    assert "<html" not in part


def test_it_needs_no_numpy():
    """The web process holds none: it would cost each of them the memory of all else together."""
    code = "import evaluation.core.live_alpha, sys; print([name for name in ('numpy', 'pandas', 'scipy') if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=env.ROOT, check=True
    )
    assert done.stdout.strip() == "[]"

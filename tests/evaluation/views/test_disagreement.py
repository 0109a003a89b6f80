"""Where disagreement comes from: the page, its links to items, people with a simulator, the CSV, and the number of queries."""

from __future__ import annotations

import csv
from io import StringIO
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from lxml import html

from annotator.core import kept_figures
from annotator.models import FollowUp, Rater, Study
from annotator.selectors import study as study_selectors
from annotator.selectors.contested import contested_items, filter_choices
from annotator.services.exclusion import exclusion_make
from annotator.tasks import figures_renew_task
from evaluation.ratings.load import StudyRatings
from evaluation.reports.disagreement import Sources, disagreement_sources
from tests.evaluation.reports.studies import client_of, small_study
from tests.factories import make_item, make_judgment, make_rater, make_study, make_user

pytestmark = pytest.mark.django_db


def page_of(client: Client, study: Study, **asked: str) -> html.HtmlElement:
    return html.fromstring(
        client.get(reverse("evaluation:disagreement", args=[study.pk]), asked).content.decode()
    )


def test_each_table_divides_the_disagreement_and_leads_to_its_items() -> None:
    """Ann and Bob disagree on one of six items: ya2, of robot-a."""
    study = small_study()
    client = client_of(study)
    page = page_of(client, study)
    words = " ".join(page.text_content().split())
    assert "Krippendorff’s α among people is" in words
    assert [head.text_content() for head in page.xpath("//section/h2")] == ["Systems", "Raters", "Items"]
    tables = page.xpath("//section//table")
    first = [
        [cell.text_content() for cell in row.xpath("./th | ./td")] for row in tables[0].xpath(".//tbody/tr")
    ]
    assert first[0][:4] == ["robot-a", "8", "100.0", "66.7"]
    assert first[0][4] == "1.50"
    assert first[1][2] == "0.0"
    item = study.items.get(key="ya2")
    (link,) = tables[2].xpath(".//tbody/tr[1]//a/@href")
    assert link == reverse("admin:study_item", args=[study.pk, item.pk])
    for table in tables:
        for address in table.xpath(".//tbody//a/@href"):
            assert client.get(address).status_code == 200
    (of_system,) = tables[0].xpath(".//tbody/tr[1]//a/@href")
    listed = html.fromstring(client.get(of_system).content.decode())
    assert [one.text_content() for one in listed.xpath("//article//h3/a")] == ["ya2"]
    review = page.xpath("//a[@href=$url]", url=reverse("evaluation:disagreement", args=[study.pk]))
    assert review


def test_kinds_of_follow_up_have_a_table_that_leads_to_their_items() -> None:
    study = small_study()
    client = client_of(study)
    for item in study.items.select_related("follow_up"):
        FollowUp.objects.filter(pk=item.follow_up_id).update(
            kind="negation" if item.key == "ya2" else "delete"
        )
    page = page_of(client, study)
    rows = page.xpath("//section[h2='Kinds of follow-up']//tbody/tr")
    assert rows[0].xpath("string(./th | ./td[1])").strip() == "negation", "it has all of the disagreement"
    assert [cell.text_content() for cell in rows[0].xpath("./th | ./td")][2] == "100.0"
    (address,) = rows[0].xpath(".//a/@href")
    assert keys_listed(client, address) == ["ya2"]


def keys_listed(client: Client, address: str) -> list[str]:
    listed = html.fromstring(client.get(address).content.decode())
    return sorted(one.text_content() for one in listed.xpath("//article//h3/a"))


def test_links_count_the_raters_that_the_page_counts() -> None:
    """Without people, the page shows the rehearsal unasked, after the launch too: its links must lead there."""
    study = make_study(launched=True, items=1)
    for place, system in enumerate(("owl", "fox")):
        item = make_item(study, key=f"i{place}", system=system)
        for name, answer in (("r1", "yes"), ("r2", "no")):
            make_judgment(item, make_rater(name), answer)
    Rater.objects.filter(name__in=["r1", "r2"]).update(rehearsal=True)
    client = client_of(study)
    page = page_of(client, study)
    assert "among rehearsal raters" in " ".join(page.text_content().split())
    first, second = page.xpath("//section[h2='Systems']//tbody//a/@href")
    assert keys_listed(client, first) + keys_listed(client, second) in (["i0", "i1"], ["i1", "i0"])
    every = page.xpath("//p/a[text()='Contested items']/@href")[-1]
    assert keys_listed(client, every) == ["i0", "i1"]


def test_links_with_a_simulator_lead_to_where_people_and_it_differ() -> None:
    """Each item has one person: people can't disagree among each other, but do with gpt-4, which says yes."""
    study = make_study()
    model = make_rater("gpt-4", kind="simulator", source="simulator")
    for key, answer in {"a1": "yes", "a2": "no", "b1": "no"}.items():
        item = make_item(study, key=key, system=f"robot-{key[0]}")
        make_judgment(item, make_rater("ann"), answer)
        make_judgment(item, model, "yes")
    client = client_of(study)
    page = page_of(client, study, **{"with": "gpt-4"})
    links = page.xpath("//section[h2='Systems']//tbody//a")
    found = {link.text_content(): link.get("href") for link in links}
    assert keys_listed(client, found["robot-a"]) == ["a2"]
    assert keys_listed(client, found["robot-b"]) == ["b1"]
    listed = client.get(found["robot-a"]).content.decode()
    assert "Where people disagree with gpt-4" in listed
    assert f'name="against" value="{model.pk}"' in listed
    exclusion_make(study=study, by=None, reason="odd", rater=make_rater("ann"))
    assert keys_listed(client, found["robot-b"]) == []


def test_an_item_that_shows_several_explanations_is_one_of_each_of_their_systems() -> None:
    study = make_study()
    shown = [make_item(study, key=f"i{n}", system=name).explanation for n, name in enumerate(("owl", "fox"))]
    both = make_item(study, key="both", system="hen")
    for name, answer in (("ann", "yes"), ("bob", "no")):
        make_judgment(both, make_rater(name), answer)
    both.parts = {str(place): one.pk for place, one in enumerate(shown) if one is not None}
    both.explanation = None
    both.save()
    for system, keys in (("owl", ["both"]), ("fox", ["both"]), ("hen", [])):
        assert [one.item.key for one in contested_items(study, filters={"system": system})] == keys
    assert filter_choices(study)["system"] == ["fox", "owl"]


def test_without_disagreement_shares_are_undefined_and_say_why() -> None:
    study = make_study()
    for key, answer in (("a", "yes"), ("b", "no")):
        item = make_item(study, key=key)
        for name in ("ann", "bob"):
            make_judgment(item, make_rater(name), answer)
    client = client_of(study)
    page = page_of(client, study)
    assert "It has no shares: no two ratings that can be compared differ." in page.text_content()
    first = page.xpath("//section[h2='Raters']//tbody/tr[1]/td")
    assert [one.text_content() for one in first][1:4] == ["–", "50.0", "–"]
    response = client.get(reverse("evaluation:disagreement_csv", args=[study.pk]))
    row = next(csv.DictReader(StringIO(response.content.decode())))
    assert (row["share_of_disagreement"], row["relative"], row["contribution"]) == ("", "", "0.0")
    assert row["reason"] == "no two ratings that can be compared differ"


def test_people_with_a_simulator() -> None:
    study = small_study(simulator=True)
    found = disagreement_sources(study=study, variable="helpful", simulator="gpt-4")
    assert isinstance(found, Sources)
    found = disagreement_sources(study=study, simulator="gpt-4")
    assert isinstance(found, Sources)
    # Of 12 pairs, gpt-4 says yes to all: five answers of yes agree.
    assert found.coefficient.n == 12
    assert sum(one.found.part for one in found.tables["item"]) == pytest.approx(1.0)
    (ann, bob) = sorted(found.tables["rater"], key=lambda one: one.name)
    ids = {name: make_rater(name).pk for name in ("ann", "bob")}
    model = make_rater("gpt-4", kind="simulator", source="simulator").pk
    assert [ann.query, bob.query] == [f"raters={ids[name]}-{model}&count=people" for name in ("ann", "bob")]
    client = client_of(study)
    words = " ".join(page_of(client, study, **{"with": "gpt-4"}).text_content().split())
    assert "Cohen’s κ of people with gpt-4 is" in words
    listed = html.fromstring(
        client.get(f"{reverse('admin:study_contested', args=[study.pk])}?{ann.query}").content
    )
    assert listed.xpath("//article")


def test_the_csv_has_the_figures_of_the_page() -> None:
    study = small_study()
    client = client_of(study)
    response = client.get(reverse("evaluation:disagreement_csv", args=[study.pk]))
    rows = list(csv.DictReader(StringIO(response.content.decode())))
    assert {row["by"] for row in rows} == {"system", "rater", "item"}
    found = disagreement_sources(study=study)
    assert isinstance(found, Sources)
    for by in ("system", "rater", "item"):
        own = [row for row in rows if row["by"] == by]
        assert sum(float(row["contribution"]) for row in own) == pytest.approx(1 - found.coefficient.value)
        assert [row["name"] for row in own] == [one.name for one in found.tables[by]]


def test_the_api_has_the_figures_of_the_page() -> None:
    study = small_study()
    client = client_of(study)
    address = f"/api/v1/studies/{study.slug}/disagreement/"
    reply = client.get(address).json()
    found = disagreement_sources(study=study)
    assert found is not None
    assert (reply["ready"], reply["coefficient"]["value"]) == (True, found.coefficient.value)
    tables = {one["by"]: one for one in reply["tables"]}
    assert {by: [row["name"] for row in table["rows"]] for by, table in tables.items()} == {
        by: [one.name for one in rows] for by, rows in found.tables.items()
    }
    assert tables["system"]["rows"][0]["share_of_disagreement"] == 1.0
    assert client.get(address, {"varaible": "helpful"}).status_code == 400
    empty = make_study(items=1)
    assert client_of(empty).get(f"/api/v1/studies/{empty.slug}/disagreement/").json()["coefficient"] is None
    stranger = Client()
    stranger.force_login(make_user(staff=True))
    assert stranger.get(address).status_code == 404


def test_the_number_of_queries_is_constant(django_assert_max_num_queries) -> None:  # type: ignore[no-untyped-def]
    def queries(items: int) -> int:
        study = make_study()
        for number in range(items):
            item = make_item(study, key=f"i{number}", system=f"robot-{number % 4}")
            for place, name in enumerate(("ann", "bob", "cat", "dan")[: 2 + items // 10]):
                make_judgment(item, make_rater(name), "yes" if (number + place) % 2 else "no")
        with django_assert_max_num_queries(40) as counted:
            assert isinstance(disagreement_sources(study=study), Sources)
        return len(counted)

    assert queries(3) == queries(20)


def test_without_judgments_and_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study(items=2)
    client = client_of(study)
    assert "Nobody has judged yet" in page_of(client, study).text_content()
    with monkeypatch.context() as patched:  # an installed type may only have texts
        patched.setattr(StudyRatings, "variables", ())
        words = page_of(client, study).text_content()
    assert "no question that is answered with labels" in words
    assert "Nobody has judged yet" not in words
    assert len(client.get(reverse("evaluation:disagreement_csv", args=[study.pk])).content.splitlines()) == 1
    stranger = Client()
    stranger.force_login(make_user(staff=True))
    assert stranger.get(reverse("evaluation:disagreement", args=[study.pk])).status_code == 404


def test_a_large_study_is_computed_by_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page, the CSV, the API and the order of adjudication wait for a job, and compute nothing in the request."""
    queued: list[dict[str, Any]] = []
    monkeypatch.setattr(kept_figures, "enqueue", lambda name, **arguments: queued.append(arguments))
    monkeypatch.setattr(study_selectors, "LARGE", 1)
    cache.clear()
    study = small_study()
    client = client_of(study)
    address = reverse("evaluation:disagreement", args=[study.pk])
    for _ in range(2):
        assert "computed in the background" in page_of(client, study).text_content()
    assert (
        client.get(reverse("evaluation:disagreement_csv", args=[study.pk])).headers["Location"]
        == f"{address}?"
    )
    assert "computed in the background" in page_of(client, study, variable="made up").text_content()
    queue = f"/admin/annotator/study/{study.pk}/adjudication/?order=posterior"
    assert "computed in the background" in client.get(queue).content.decode()
    names = [one["figures"] for one in queued]
    assert sorted(names) == ["contested items in order", "where disagreement comes from"], "each once"
    for one in queued:
        figures_renew_task(**one)
    assert "Krippendorff’s α among people is" in page_of(client, study).text_content()
    assert "computed in the background" not in client.get(queue).content.decode()
    assert len(queued) == 2


def test_a_job_that_never_comes_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_figures, "enqueue", lambda name, **arguments: None)
    monkeypatch.setattr(study_selectors, "LARGE", 1)
    cache.clear()
    study = small_study()
    client = client_of(study)
    page_of(client, study)
    later = kept_figures.time.time() + kept_figures.ASKED_SECONDS + 1
    monkeypatch.setattr(kept_figures.time, "time", lambda: later)
    assert "Krippendorff’s α among people is" in page_of(client, study).text_content()

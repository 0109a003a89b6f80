"""Attributes of raters that few share, and exact times, are coarsened in a release as chosen; what that costs is said."""

from __future__ import annotations

import io
import json
import random
from collections import Counter
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from annotator.models import Participation, Rater
from evaluation.models import Release, Report
from evaluation.releases.about import About
from evaluation.releases.build import ReleaseError, release_build
from evaluation.releases.cost import release_cost
from evaluation.releases.reading import release_open
from evaluation.releases.reproduce import release_reproduce
from evaluation.releases.small_cells import AS_IT_IS, Coarsening, coarsen, rare
from evaluation.services.release import release_compute, release_create
from tests.evaluation.releases.people import AGES, LANGUAGES, people_study
from tests.evaluation.releases.releases import KEY, PRIVATE, built, everything, rebuilt, renamed_away, rows_of
from tests.evaluation.reports.studies import client_of, small_study, stored
from tests.factories import make_judgment, make_rater, make_user


def values_of(file: io.BytesIO) -> dict[int, dict[str, tuple[str, ...]]]:
    return {
        row["id"]: {name: (str(value),) for name, value in row["attributes"].items()}
        for row in rows_of(file, "rater")
    }


def coarse(report: Report, coarsening: Coarsening, *attributes: str) -> tuple[Any, io.BytesIO]:
    file = io.BytesIO()
    found = release_build(
        studies=report.studies, content=report.content or {}, key=KEY, private=PRIVATE,
        about=About(attributes=frozenset(attributes)), file=file, coarsening=coarsening,
    )  # fmt: skip
    return found, file


@pytest.mark.parametrize("how", ["coarsen", "drop"])
@pytest.mark.parametrize("least", [2, 5, 11])
def test_every_combination_has_enough_raters(how: Any, least: int) -> None:
    """On 40 random populations; nothing is changed that didn't have to be."""
    for seed in range(40):
        dice = random.Random(seed)
        before = {
            rater: {
                name: values
                for name, values in {
                    "age": (str(int(dice.gauss(38, 12))),),
                    "native": (dice.choice(["en"] * 20 + ["pl", "de", "de", "is"]),),
                    "score": (f"{dice.random():.2f}",),
                    "panel": (dice.choice("AB"),),
                }.items()
                if dice.random() < 0.9
            }
            for rater in range(dice.randint(1, 120))
        }
        found = coarsen(before, Coarsening(least, how))
        after = found.after(before)
        assert rare(after, least) == set()
        assert found.alone == len(rare(before, least))
        turned = dict(reversed(before.items()))
        assert coarsen(turned, Coarsening(least, how)).after(turned) == after, "the order doesn't matter"
        assert found.alone or after == before
        for one in found.attributes:
            assert one.coarsened + one.removed <= one.raters
            assert all(number >= least for number in one.values.values())


def test_numbers_become_bands_and_rare_values_other() -> None:
    before = {n: {"age": (str(age),)} for n, age in enumerate(AGES)}
    bands = Counter(one["age"][0] for one in coarsen(before, Coarsening(5)).after(before).values())
    assert bands == {"10 to 29": 8, "30 to 39": 5, "40 to 79": 7}
    assert min(bands.values()) >= 5
    for value in bands:
        low, high = map(int, value.split(" to "))
        assert bands[value] == sum(low <= age <= high for age in AGES)
    spoken = {n: {"native": (one,)} for n, one in enumerate(LANGUAGES)}
    after = coarsen(spoken, Coarsening(5)).after(spoken)
    assert Counter(one["native"][0] for one in after.values()) == {"en": 13, "other": 7}
    dropped = coarsen(spoken, Coarsening(5, "drop")).after(spoken)
    assert Counter(one["native"][0] for one in dropped.values() if one) == {"en": 13, "pl": 5}
    assert coarsen(spoken, AS_IT_IS).after(spoken) == spoken


@pytest.mark.django_db
@pytest.mark.parametrize("how", ["coarsen", "drop"])
def test_a_release_has_no_rare_combination_and_another_lab_reproduces_it(how: Any) -> None:
    report = stored(people_study(), by="rater:native", replicates=100)
    found, file = coarse(report, Coarsening(5, how, "10"), "age")
    values = values_of(file)
    assert rare(values, 5) == set()
    assert found.alone == 0
    assert not {"is", "mt"} & {one for held in values.values() for name in held for one in held[name]}
    assert found.times == 40
    assert all(row["seconds"] % 10 == 0 for row in rows_of(file, "judgment"))
    renamed_away()  # another lab: the study isn't there
    again = release_reproduce(release_open(file))
    assert again.exact
    assert again.problems == []
    assert "The groups by native can't be reproduced as the researchers had them" in again.unchecked[-1]
    assert "fewer than 5 raters shared a combination of attributes" in again.unchecked[-1]
    assert "Figures about time can't be reproduced" in again.unchecked[-1]
    manifest = release_open(file).manifest["coarsening"]
    assert {name: manifest[name] for name in ("smallest_group", "small_groups", "timings")} == {
        "smallest_group": 5, "small_groups": how, "timings": "10",
    }  # fmt: skip
    native = manifest["attributes"]["native"]
    assert native["before"] == 4
    assert native["coarsened"] + native["removed"] >= 2
    card = release_open(file).read("README.md").decode()
    assert "Every combination of them is shared by at least 5 people." in card
    assert "native: of 20 people with a value, " in card
    assert "rounded to 10 seconds" in card
    assert "rounded to 10 seconds" in release_open(file).read("croissant.json").decode()
    page = unescape(release_open(file).read("report.html").decode())
    assert "The groups by native can't be reproduced" in page


@pytest.mark.django_db
def test_attributes_as_they_are_and_no_times() -> None:
    report = stored(people_study(), replicates=100)
    found, file = coarse(report, Coarsening(5, "keep", "none"), "age")
    assert found.alone == 20, "no age is that of five people"
    assert {row["attributes"]["age"] for row in rows_of(file, "rater")} == set(AGES)
    assert {row["seconds"] for row in rows_of(file, "judgment")} == {None}
    assert "Attributes are released as they are" in everything(file)
    assert release_reproduce(release_open(file)).problems == []


@pytest.mark.django_db
def test_a_combination_across_file_and_panel_is_found() -> None:
    """An age from the panel and a language from a file are common each, and together one person's."""
    study = small_study()
    item = study.items.first()
    assert item is not None
    for number in range(12):
        rater = make_rater(f"owl {number:02}")
        Rater.objects.filter(pk=rater.pk).update(attributes={"native": "pl" if number < 6 else "en"})
        Participation.objects.create(
            study=study, rater=rater,
            join_parameters={"sex": "f" if number in (0, 6, 7, 8, 9, 10) else "m"},
        )  # fmt: skip
        make_judgment(item, rater)
    report = stored(study, replicates=100)
    _, file = coarse(report, AS_IT_IS, "native", "sex")
    assert len(together(file)) == 4
    _, file = coarse(report, Coarsening(5), "native", "sex")
    assert min(together(file).values()) >= 5
    assert release_reproduce(release_open(file)).problems == []


def together(file: io.BytesIO) -> Counter[str]:
    found = {row["id"]: dict(row["attributes"]) for row in rows_of(file, "rater")}
    for row in rows_of(file, "participation"):
        found[row["rater_id"]] |= row["join_parameters"]
    return Counter(str(sorted(one.items())) for one in found.values() if one)


@pytest.mark.django_db
def test_a_report_that_could_not_be_computed_is_refused_with_the_reason() -> None:
    study = people_study()
    filtered = stored(study, only="rater:native=mt")
    with pytest.raises(ReleaseError, match="1 rater would have another native in the release"):
        coarse(filtered, Coarsening(5))
    cost = release_cost(report=filtered, attributes=[], coarsening=Coarsening(5))
    assert "without this filter" in cost.sentences[-1]
    assert coarse(filtered, AS_IT_IS)[0].comparison.differing == 0
    grouped = stored(study, by="rater:age")
    with pytest.raises(ReleaseError, match="no value of it would be left"):
        coarse(grouped, Coarsening(5, "drop"))
    common = stored(study, only="rater:native=en", replicates=100)
    found, file = coarse(common, Coarsening(5))
    assert found.comparison.differing == 0, "everyone whom the filter counts is still there"
    assert release_reproduce(release_open(file)).exact


_RELEASE: list[bytes] = []


def native_release() -> io.BytesIO:
    """Built once: checking it needs none of the rows that it was made from."""
    if not _RELEASE:
        report = stored(people_study(), replicates=100)
        _RELEASE.append(coarse(report, Coarsening(5, "coarsen", "10"), "native")[1].getvalue())
    return io.BytesIO(_RELEASE[0])


FORGED = [
    ({"smallest_group": 9}, "raters have a combination of attributes that fewer than 9 raters share"),
    ({"timings": "none"}, "40 judgments have a more exact time than the manifest says"),
    ({"timings": "never"}, "coarsening: timings should be one of exact, 1, 10, none"),
    ({"smallest_group": 1}, "coarsening: smallest_group should be a whole number from 2"),
    ({"small_groups": ["keep"]}, "coarsening: small_groups should be one of coarsen, drop, keep"),
    ({"attributes": {"native": {"raters": -1}}}, "native should have the numbers raters, coarsened"),
    ({"attributes": []}, "attributes should be an object"),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("change", "said"), FORGED)
def test_a_forged_manifest_is_noticed(change: dict[str, Any], said: str) -> None:
    forged = with_manifest(native_release(), lambda found: found["coarsening"].update(change))
    try:
        told = "\n".join(release_reproduce(release_open(forged)).problems)
    except ValueError as error:
        told = str(error)
    assert said in told


@pytest.mark.django_db
def test_numbers_of_the_manifest_that_the_data_contradict_are_named() -> None:
    forged = with_manifest(
        native_release(),
        lambda found: found["coarsening"]["attributes"]["native"].update(after=4, coarsened=0),
    )
    told = "\n".join(release_reproduce(release_open(forged)).problems)
    assert "other numbers of values than the manifest says: native (2 instead of 4)" in told
    assert "README.md, line" in told, "the data card says something else"


@pytest.mark.django_db
def test_an_archive_older_than_coarsening_is_read() -> None:
    report = stored(people_study(), replicates=100)
    _, file = built(report)
    older = with_manifest(file, lambda found: found.pop("coarsening"))
    found = release_reproduce(release_open(older))
    assert found.exact
    assert found.problems == []


def with_manifest(file: io.BytesIO, change: Any) -> io.BytesIO:
    def changed(files: dict[str, bytes]) -> None:
        manifest = json.loads(files["manifest.json"])
        change(manifest)
        files["manifest.json"] = (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()

    return rebuilt(file, changed, private=PRIVATE)


@pytest.mark.django_db
def test_the_page_shows_the_cost_before_anything_is_made() -> None:
    study = people_study()
    report = stored(study)
    client, path = client_of(study, role="editor"), f"/reports/{report.pk}/releases/"
    page = client.get(path).text
    assert 'value="coarsen" selected' in page
    assert 'name="smallest_group" value="5"' in page
    chosen = {"attributes": ["native"], "small_groups": "coarsen", "smallest_group": "5", "timings": "10"}
    shown = client.post(path, chosen | {"cost": "1"})
    assert shown.status_code == 200
    assert not Release.objects.exists(), "nothing was made"
    text = " ".join(shown.text.split())
    assert "2 of 20 raters have a combination of released attributes that fewer than 5 share." in text
    assert "In the release, 7 values of 7 raters would be coarser or missing, in 7 rows." in text
    assert "en (13), other (7)" in text
    assert "40 of 40 times would change." in text
    refused = client.post(path, chosen | {"smallest_group": "1"})
    assert refused.status_code == 422
    client.post(path, chosen)
    release = Release.objects.get()
    assert (release.small_groups, release.smallest_group, release.timings) == ("coarsen", 5, "10")
    release_compute(release_pk=release.pk)
    done = " ".join(client.get(f"/releases/{release.pk}/").text.split())
    assert "native: coarser for 7 raters and left out for 0 raters of 20" in done
    assert "The times of 40 judgments are rounded to 10 seconds." in done
    assert "fewer than five raters share" not in done


@pytest.mark.django_db
def test_the_api_says_the_cost_and_makes_the_same_release() -> None:
    study = people_study()
    report = stored(study)
    client, path = client_of(study, role="editor"), f"/api/v1/reports/{report.pk}/releases/"
    chosen = {"attributes": ["native"], "small_groups": "drop", "smallest_group": 3}
    cost = client.post(f"{path}cost/", chosen, content_type="application/json")
    assert cost.status_code == 200
    assert cost.json()["changed_raters"] == 2
    assert cost.json()["attributes"][0]["values"] == {"en": 13, "pl": 5}
    wrong = client.post(f"{path}cost/", {"attributes": ["shoe"]}, content_type="application/json")
    assert wrong.json()["errors"]["attributes"][0].startswith("No rater has 'shoe'.")
    viewer = client_of(study, role="viewer")
    assert viewer.post(f"{path}cost/", chosen, content_type="application/json").status_code == 404
    made = client.post(path, chosen, content_type="application/json").json()
    assert (made["small_groups"], made["smallest_group"], made["timings"]) == ("drop", 3, "exact")
    assert client.post(path, {"timings": "5"}, content_type="application/json").status_code == 400
    assert Client().post(f"{path}cost/").status_code in (401, 403)


@pytest.mark.django_db
def test_the_command_says_the_cost_and_the_import_says_what_cannot_be_reproduced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = people_study()
    report, file = stored(study, by="rater:native", replicates=100), tmp_path / "owls.zip"
    call_command("release", str(report.pk), "--cost", "--attribute", "age")
    said = capsys.readouterr().out
    assert "of 20 with a released attribute have a combination that too few share." in said
    assert "native: " in said
    with pytest.raises(CommandError, match="--output is missing"):
        call_command("release", str(report.pk))
    call_command("release", str(report.pk), "--output", str(file), "--timings", "1")
    assert "native: coarser for 7 raters" in capsys.readouterr().err
    renamed_away()
    owner = make_user("pi", staff=True)
    call_command("import_release", str(file), "--owner", owner.username)
    said = capsys.readouterr().out
    assert "were reproduced to the last digit." in said
    assert "The groups by native can't be reproduced as the researchers had them" in said
    imported = Rater.objects.filter(source__startswith="release @")
    kept = Counter(rater.attributes["native"] for rater in imported)
    assert kept == {"en": 13, "other": 7}


@pytest.mark.django_db
def test_the_cost_takes_a_constant_number_of_queries(django_assert_max_num_queries: Any) -> None:
    report = stored(people_study())
    with django_assert_max_num_queries(15):
        release_cost(report=report, attributes=["age"], coarsening=Coarsening(5, "coarsen", "10"))


@pytest.mark.django_db
def test_a_new_release_coarsens_unless_told_otherwise() -> None:
    release = release_create(report=stored(people_study()), attributes=["native"], send=False)
    release_compute(release_pk=release.pk)
    release.refresh_from_db()
    assert release.state == "done", release.error
    assert release.findings["alone"] == 0
    assert [one["name"] for one in release.findings["coarsened"]] == ["native"]

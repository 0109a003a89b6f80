"""``manage.py exclude``."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotator.models import Exclusion
from tests.annotator.services.collecting import filled, free_places
from tests.factories import make_judgment, make_rater, make_study

pytestmark = pytest.mark.django_db


def exclude(*arguments: str) -> str:
    out = StringIO()
    call_command("exclude", *arguments, stdout=out)
    return out.getvalue()


def test_a_rater_and_judgments_are_excluded_and_collected_again() -> None:
    study, people = filled()
    one, two = study.judgments.filter(rater=people[1].rater).order_by("pk")[:2]
    said = exclude(
        study.slug, "--rater", people[0].rater.name, "--judgment", str(one.pk), "--judgment", str(two.pk),
        "--reason", "bots", "--collect-again",
    )  # fmt: skip
    assert said == "3 exclusions made, 5 places opened\n"
    assert sum(free_places(study).values()) == 5
    assert set(Exclusion.objects.values_list("reason", flat=True)) == {"bots"}


def test_an_exclusion_in_force_is_collected_again_and_lifted() -> None:
    study, people = filled()
    assert exclude(study.slug, "--rater", people[0].rater.name, "--reason", "a bot") == "1 exclusion made, 0 places opened\n"  # fmt: skip
    pk = str(Exclusion.objects.get().pk)
    assert exclude(study.slug, "--collect", pk) == f"exclusion {pk}: 3 places opened\n"
    assert exclude(study.slug, "--lift", pk) == f"exclusion {pk} lifted\n"
    assert not free_places(study)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name something to exclude"),
        (["--rater", "nobody", "--reason", "x"], "'nobody' has no judgment in this study"),
        (["--rater", "ann", "--reason", "x"], "add --rater-kind"),
        (["--item", "nowhere", "--reason", "x"], "no item 'nowhere'"),
        (["--judgment", "999999999", "--reason", "x"], "no judgment 999999999"),
        (["--judgment", "99999999999999999999", "--reason", "x"], "no judgment 99999999999999999999"),
        (["--item", "item-0"], "Give a reason"),
        (["--item", "item-0", "--reason", "x", "--collect-again"], "isn't asked about again"),
        (["--item", "item-0", "--item", "nowhere", "--reason", "x"], "no item 'nowhere'"),
        (["--collect", "0"], "no exclusion 0"),
        (["--lift", "99999999999999999999"], "no exclusion"),
        (["--item", "item-0", "--reason", "x", "--by", "nobody"], "no user 'nobody'"),
    ],
)
def test_what_cannot_be_excluded_is_named_and_nothing_is_stored(arguments: list[str], message: str) -> None:
    study = make_study(items=1, launched=True)
    for kind in ("human", "simulator"):
        make_judgment(study.items.get(), make_rater("ann", kind=kind))
    with pytest.raises(CommandError, match=message):
        exclude(study.slug, *arguments)
    assert not Exclusion.objects.exists()


def test_another_studys_judgment_and_exclusion_are_not_found() -> None:
    study, other = make_study(items=1), make_study(items=1)
    foreign = make_judgment(other.items.get(), make_rater("ann"))
    exclude(other.slug, "--judgment", str(foreign.pk), "--reason", "x")
    made = Exclusion.objects.get()
    for arguments in (["--judgment", str(foreign.pk), "--reason", "x"], ["--lift", str(made.pk)]):
        with pytest.raises(CommandError, match="in this study"):
            exclude(study.slug, *arguments)
    made.refresh_from_db()
    assert made.lifted_at is None

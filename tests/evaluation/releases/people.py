"""A study of people whose ages and languages are rare."""

from __future__ import annotations

from typing import Any

from annotator.models import Judgment, Rater, Study
from tests.factories import make_item, make_judgment, make_rater, make_study

AGES = [19, 21, 22, 22, 24, 25, 26, 28, 31, 33, 34, 35, 38, 41, 44, 47, 52, 58, 63, 71]
LANGUAGES = ["en"] * 13 + ["pl"] * 5 + ["is", "mt"]


def people_study(**fields: Any) -> Study:
    """20 people on two items, with an age, a language and a time each: 2 languages that one person has, 19 ages."""
    study = make_study(**fields)
    items = [
        make_item(study, key=f"q{n}", instance=f"i{n}", system="robot", real_output="yes") for n in (1, 2)
    ]
    for number, (age, language) in enumerate(zip(AGES, LANGUAGES, strict=True)):
        rater = make_rater(f"owl {number:02}")
        Rater.objects.filter(pk=rater.pk).update(attributes={"age": age, "native": language})
        for item in items:
            judgment = make_judgment(item, rater, "yes" if (number + item.pk) % 3 else "no")
            Judgment.objects.filter(pk=judgment.pk).update(seconds=10.25 + number)
    return study

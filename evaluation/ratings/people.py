"""What people said about the items of a study, label by label, to compare single answers with."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from annotator.hit_types.base import JSON, HitType
from annotator.hit_types.confidence import answer_of
from annotator.models import Item, Study
from annotator.selectors.study import study_hit_type

#: What is labelled: a variable, and the unit within the item (empty if the item is the unit).
Labelled = tuple[str, str]
Labels = Mapping[Labelled, str]


@dataclass(frozen=True)
class PeopleSaid:
    """The labels that people gave one item: ``counts`` of each label, and the number of ``people``."""

    people: int = 0
    counts: dict[Labelled, Counter[str]] = field(default_factory=dict)

    @property
    def majority(self) -> dict[Labelled, str]:
        """The label that more people gave than any other, for each that has one.

        >>> PeopleSaid(3, {("answer", ""): Counter(yes=2, no=1), ("sure", ""): Counter(yes=1, no=1)}).majority
        {('answer', ''): 'yes'}
        """
        found = {}
        for labelled, counts in self.counts.items():
            (label, most), *others = counts.most_common(2)
            if not others or others[0][1] < most:
                found[labelled] = label
        return found


def labels_of(kind: HitType, payload: JSON, response: JSON) -> dict[Labelled, str]:
    """The labels of one response, as metrics count them, without how sure the rater is. A response that can't be rated has none."""
    try:
        ratings = kind.to_ratings(payload, answer_of(kind, response))
    except (KeyError, TypeError, ValueError):
        return {}
    return {(rating.variable, rating.unit): rating.value for rating in ratings}


def people_said(*, study: Study) -> dict[int, PeopleSaid]:
    """The people's labels by the item's primary key, for items that a person has judged.

    Judgments that no report counts (excluded, surplus, rehearsal beside people) are left out; imported ones count as people's.
    """
    from evaluation.ratings.judgments import judgments_load  # imported late: pages don't hold NumPy

    kind = study_hit_type(study)
    judgments = judgments_load(study=study)
    human = ~judgments.raters.is_simulator[judgments.rater]
    items, responses = judgments.item[human], judgments.response[human]
    ids = judgments.items.ids[items].tolist()
    payloads = dict(Item.objects.filter(study=study, pk__in=set(ids)).values_list("pk", "payload"))
    said: dict[int, PeopleSaid] = {}
    for pk, code in zip(ids, responses.tolist(), strict=True):
        labels = labels_of(kind, payloads[pk], json.loads(judgments.responses[code]))
        before = said.get(pk, PeopleSaid())
        for labelled, label in labels.items():
            before.counts.setdefault(labelled, Counter())[label] += 1
        said[pk] = PeopleSaid(before.people + 1, before.counts)
    return said


def disagrees(labels: Labels, said: PeopleSaid | None) -> bool:
    """Whether one of the labels isn't what most people said. False where people gave no label, or as often another one.

    >>> disagrees({("answer", ""): "no"}, PeopleSaid(2, {("answer", ""): Counter(yes=2)}))
    True
    """
    majority = said.majority if said else {}
    return any(label != majority.get(labelled, label) for labelled, label in labels.items())

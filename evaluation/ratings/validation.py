"""Which generalization questions a majority of their validators accepts (Joshi et al. 2023, A.6.2)."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from annotator.models import Study

if TYPE_CHECKING:
    from evaluation.ratings.judgments import Judgments

Validators = Literal["people", "simulators"]
CRITERIA = ("relation", "answerable", "answer_right")


@dataclass(frozen=True)
class Verdict:
    """What the validators of one question say: by criterion, whether more than half of all its ``raters`` say yes.

    A rater who is not asked whether the answer is right, since the context gives none, does not say yes.
    """

    key: str
    kind: str
    raters: int
    relation: bool
    answerable: bool
    answer_right: bool

    @property
    def accepted(self) -> bool:
        """Of its kind, answerable and correctly answered."""
        return self.relation and self.answerable and self.answer_right


def question_verdicts(*, study: Study, by: Validators) -> list[Verdict]:
    """A verdict on each question of a validation study, in the order of the items; without raters it is not accepted."""
    from evaluation.ratings.judgments import judgments_load  # numpy, which the web process does not need

    return verdicts_of(judgments_load(study=study), by=by)


def verdicts_of(judgments: Judgments, *, by: Validators) -> list[Verdict]:
    """As ``question_verdicts``, of judgments that are loaded already."""
    said: dict[int, list[dict[str, str]]] = defaultdict(list)
    responses = [json.loads(text) for text in judgments.responses]
    simulated = judgments.raters.is_simulator
    rows = zip(judgments.item.tolist(), judgments.rater.tolist(), judgments.response.tolist(), strict=True)
    for item, rater, response in rows:
        if bool(simulated[rater]) == (by == "simulators"):
            said[item].append(responses[response])
    keys, kinds = judgments.items.key.values(""), judgments.items.kind.values("")
    return [
        Verdict(str(keys[n]), str(kinds[n]), len(said[n]), *(_majority(said[n], name) for name in CRITERIA))
        for n in range(len(judgments.items))
        if judgments.in_play[n]
    ]


def _majority(responses: list[dict[str, str]], name: str) -> bool:
    return 2 * sum(response.get(name) == "yes" for response in responses) > len(responses)

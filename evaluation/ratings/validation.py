"""Which generalization questions a majority of their validators accepts (Joshi et al. 2023, A.6.2 and Figure 10)."""

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
#: The kind whose answer is asked about (Figure 10).
ANSWERED = "similar_reasoning"


@dataclass(frozen=True)
class MajorityVerdict:
    """The verdict on one question: for each criterion, whether more than half of its ``raters`` say yes.

    Whether the answer is right is asked of similar reasoning alone (``answer_asked``); a rephrase has the original's answer and a counterfactual
    the opposite one. A rater who isn't asked because the context doesn't answer the question doesn't count as yes.
    """

    key: str
    kind: str
    raters: int
    relation: bool
    answerable: bool
    answer_right: bool
    answer_asked: bool = True

    @property
    def accepted(self) -> bool:
        """Of its kind, answerable and correctly answered."""
        return self.relation and self.answerable and self.answer_right


def question_verdicts(*, study: Study, by: Validators) -> list[MajorityVerdict]:
    """The verdict on each question of a validation study, in the order of the items; without raters, a question isn't
    accepted."""
    from evaluation.ratings.judgments import (
        judgments_load,
    )  # imported late, because the web process doesn't load numpy

    return verdicts_of(judgments_load(study=study), by=by)


def verdicts_of(judgments: Judgments, *, by: Validators) -> list[MajorityVerdict]:
    """``question_verdicts`` for judgments that are already loaded."""
    said: dict[int, list[dict[str, str]]] = defaultdict(list)
    responses = [json.loads(text) for text in judgments.responses]
    simulated = judgments.raters.is_simulator
    rows = zip(judgments.item.tolist(), judgments.rater.tolist(), judgments.response.tolist(), strict=True)
    for item, rater, response in rows:
        if bool(simulated[rater]) == (by == "simulators"):
            said[item].append(responses[response])
    keys, kinds = judgments.items.key.values(""), judgments.items.kind.values("")
    return [
        _verdict(str(keys[n]), str(kinds[n]), said[n])
        for n in range(len(judgments.items))
        if judgments.in_play[n]
    ]


def _verdict(key: str, kind: str, said: list[dict[str, str]]) -> MajorityVerdict:
    # Studies from before the answer was asked of similar reasoning alone have judgments of it.
    asked = kind == ANSWERED or any("answer_right" in response for response in said)
    relation, answerable, right = (_majority(said, name) for name in CRITERIA)
    return MajorityVerdict(key, kind, len(said), relation, answerable, right or not asked, asked)


def _majority(responses: list[dict[str, str]], name: str) -> bool:
    return 2 * sum(response.get(name) == "yes" for response in responses) > len(responses)

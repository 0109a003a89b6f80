"""Evidence about participants' work: everything that is unusual, in words with its numbers. It decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from annotator.core.kept_figures import StudyCount
from annotator.models import Item, Study
from annotator.selectors.contested import agreement_with_others
from annotator.selectors.live import behaviour_signs, checks_by_role, lower_median

#: Kind of sign -> its name, in the order in which they are told.
SIGNS = {
    "fast": "Too fast",
    "attention": "Attention checks failed",
    "gold": "Gold missed",
    "same": "Always the same answer",
    "pasted": "Pasted text",
    "left": "Left the page often",
    "disagrees": "Disagrees with everyone",
    "repeats": "Contradicts own repeats",
}
#: Comparisons with other people from which on somebody can disagree with everyone.
ENOUGH_PAIRS = 10

# Items with the same content, which one person has answered more than once.
_REPEATS = StudyCount(
    "repeated items and their answers",
    """
WITH contents AS (
    SELECT array_agg(id) AS items FROM annotator_item WHERE study_id = %(study)s GROUP BY md5(payload::text) HAVING count(*) > 1
), copies AS (
    SELECT items[1] AS content, unnest(items) AS item FROM contents
), given AS (
    SELECT j.rater_id, count(DISTINCT j.digest) AS answers FROM copies JOIN annotator_judgment j ON j.item_id = copies.item
    WHERE j.source = 'web' GROUP BY j.rater_id, copies.content HAVING count(*) > 1
)
SELECT rater_id, count(*) FILTER (WHERE answers > 1), count(*) FROM given GROUP BY rater_id
""",
)


@dataclass(frozen=True)
class Sign:
    """One unusual thing about a person's work. ``kind`` is one of ``SIGNS``; ``words`` has the numbers."""

    kind: str
    words: str

    @property
    def title(self) -> str:
        return SIGNS[self.kind]


@dataclass(frozen=True)
class Evidence:
    """What is unusual about a person's work, with what the panel's rules ask about: failed attention checks, and the share of other
    people's answers that agree (None if nobody else judged the same items)."""

    signs: tuple[Sign, ...] = ()
    attention: tuple[int, int] = (0, 0)
    gold: tuple[int, int] = (0, 0)
    agreement: tuple[int, int] = (0, 0)
    repeats: tuple[int, int] = (0, 0)


def repeats_contradicted(study: Study) -> dict[int, tuple[int, int]]:
    """Rater -> (contents that they answered differently, contents that they answered more than once)."""
    return {rater: (differed, of) for rater, differed, of in _REPEATS.rows({"study": study.pk})}


def evidence_of(study: Study, raters: Sequence[int]) -> dict[int, Evidence]:
    """Rater -> their evidence, for each of ``raters``, who are people; a constant number of queries.

    Behaviour is judged from five judgments on (``selectors.live``), attention checks from one and gold items from two on, agreement with
    others from ``ENOUGH_PAIRS`` comparisons on: it must be at most half of the median person's. Own repeats: from two on, if half
    of them were answered differently.
    """
    behaviour = {one.pk: one.signs for one in behaviour_signs(study)[1]}
    checks, repeats = checks_by_role(study), repeats_contradicted(study)
    of_all = agreement_with_others(study)
    agreement = {rater: of_all[rater] for rater in raters if rater in of_all}
    shares = [same / pairs for same, pairs in agreement.values() if pairs >= ENOUGH_PAIRS]
    usual = lower_median(shares, none=0.0)
    found = {}
    for rater in raters:
        signs = dict(behaviour.get(rater, {}))
        attention = checks.get((rater, Item.Role.ATTENTION), (0, 0))
        gold = checks.get((rater, Item.Role.GOLD), (0, 0))
        for kind, least, (failed, of) in (("attention", 1, attention), ("gold", 2, gold)):
            if of >= least and failed * 5 >= of * 2:
                signs[kind] = f"{failed} of {of} failed"
        same, pairs = agreement.get(rater, (0, 0))
        if pairs >= ENOUGH_PAIRS and len(shares) > 2 and same / pairs <= usual / 2:
            signs["disagrees"] = (
                f"agrees in {same} of {pairs} comparisons with others; the median person in {100 * usual:.0f} %"
            )
        differed, of = repeats.get(rater, (0, 0))
        if of >= 2 and differed * 2 >= of:
            signs["repeats"] = f"answered {differed} of {of} repeated tasks differently"
        told = tuple(Sign(kind, signs[kind]) for kind in SIGNS if kind in signs)
        found[rater] = Evidence(told, attention, gold, (same, pairs), (differed, of))
    return found

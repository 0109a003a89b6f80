"""What adjudicators have to label, what they have labelled, and what is decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from annotator.core.allocation import presentation_rng
from annotator.core.canonical import digest_of
from annotator.core.words import plural
from annotator.hit_types.base import JSON, HitType
from annotator.hit_types.confidence import answer_of, answer_variables
from annotator.models import Adjudication, Item, Judgment, Rater, Study, User
from annotator.models.adjudication import FIRST_ROUND
from annotator.selectors.adjudication_order import WaitingItems, contested_in_order
from annotator.selectors.judgment import ExclusionReasons
from annotator.selectors.study import study_hit_type

#: (variable, unit suffix) -> label.
Labels = dict[tuple[str, str], str]


@dataclass(frozen=True)
class AdjudicationQueue:
    """The contested items of a study as one person may see them.

    ``waiting`` are the items that this person may label, in order. Of ``contested`` items, ``decided`` have equal labels of two
    adjudicators, ``undecided`` have three different ones, ``mine`` have this person's label and ``judged`` their answer as an annotator.
    ``computing``: a job still computes the chosen order, so the items are in the order of entropy.
    """

    waiting: WaitingItems
    contested: int
    decided: int
    undecided: int
    mine: int
    judged: int
    computing: bool = False

    @property
    def empty_words(self) -> str:
        """Why nothing is waiting, and what to do; empty if something is."""
        if self.waiting:
            return ""
        if not self.contested:
            return (
                "No item has two different answers of people yet. Items appear here once annotators disagree."
            )
        if self.decided == self.contested:
            return "Every contested item is decided. Turn on “Adjudicated labels” in a report, or copy the decided items as gold."
        found = []
        if open_ := self.contested - self.decided - self.undecided:
            found.append(
                f"{plural(open_, 'contested item')} still {'needs' if open_ == 1 else 'need'} another adjudicator: you have labelled or judged "
                "the rest. Ask another member with at least the role reviewer to open this page."
            )
        if self.undecided:
            found.append(
                f"On {plural(self.undecided, 'item')} three adjudicators gave three different labels: discuss the guidelines, then correct or exclude them."
            )
        return " ".join(found)


def adjudication_queue(*, study: Study, user: User, order: str = "entropy") -> AdjudicationQueue:
    """The contested items that a person may adjudicate: at most two different people label an item without seeing each other's
    labels, a third settles a tie, and nobody labels an item that they judged as an annotator. A fixed number of queries.

    ``order`` is one of ``ORDERS``; items of which an order knows nothing come last. Who labelled and judged what is read now, the contested
    items of a large study are those of ``contested_in_order``.
    """
    every, computing = contested_in_order(study, order)
    given: dict[int, list[tuple[int | None, str]]] = {}
    for item, by, digest in _active(study).values_list("item", "by", "digest"):
        given.setdefault(item, []).append((by, digest))
    judged = set(Judgment.objects.filter(study=study, rater__user=user).values_list("item", flat=True))
    counts, left_out, ties = Counter[str](), [], []
    for place in every.places_of(judged | given.keys()):
        item = every.items[place]
        labels = given.get(item, [])
        state = _state([digest for _, digest in labels])
        counts[state] += 1
        mine = any(by == user.pk for by, _ in labels)
        counts["mine"] += mine
        counts["judged"] += item in judged
        if mine or item in judged or state not in ("open", "tie"):
            left_out.append(place)
        elif state == "tie":
            ties.append(place)
    return AdjudicationQueue(
        waiting=WaitingItems(every, left_out, ties),
        contested=len(every.items),
        decided=counts["decided"],
        undecided=counts["undecided"],
        mine=counts["mine"],
        judged=counts["judged"],
        computing=computing,
    )


def may_adjudicate(*, item: Item, user: User) -> str:
    """Why this person may not label the item; empty if they may. Their role in the study is checked by whoever asks. Without the
    item's key, which may name a system."""
    if item.withdrawn_at is not None:
        return "This item was withdrawn."
    if Judgment.objects.filter(item=item, rater__user=user).exists():
        return "You judged this item as an annotator, so other people adjudicate it."
    given = list(Adjudication.objects.filter(item=item, undone_at__isnull=True).values_list("by", "digest"))
    if any(by == user.pk for by, _ in given):
        return "You have already adjudicated this item."
    if len(given) > FIRST_ROUND or _state([digest for _, digest in given]) not in ("open", "tie"):
        return "This item doesn't need another adjudicator."
    return ""


def is_contested(*, item: Item) -> bool:
    """Whether people gave the item different answers that count. Reads this item's judgments only."""
    reasons = ExclusionReasons(item.study)
    given = _counted(item).values_list("pk", "rater_id", "digest")
    return len({digest for pk, rater, digest in given if not reasons.of(pk, item.pk, rater)}) > 1


def _counted(item: Item) -> QuerySet[Judgment]:
    """People's judgments of an item that count, exclusions apart."""
    return Judgment.objects.filter(
        item=item,
        standing=Judgment.Standing.COUNTED,
        rater__kind=Rater.Kind.HUMAN,
        rater__rehearsal=False,
    )


def _state(digests: list[str]) -> str:
    """What the labels of an item say: open, tie, decided (two are equal) or undecided (three different ones).

    >>> _state(["a"]), _state(["a", "b"]), _state(["a", "b", "b"]), _state(["a", "b", "c"])
    ('open', 'tie', 'decided', 'undecided')
    """
    if any(n > 1 for n in Counter(digests).values()):
        return "decided"
    return ("open", "open", "tie", "undecided")[min(len(digests), 3)]


def _active(study: Study) -> Any:
    """Adjudications that weren't taken back, of items that aren't withdrawn, in order of item and seat."""
    found = Adjudication.objects.filter(study=study, undone_at__isnull=True, item__withdrawn_at__isnull=True)
    return found.order_by("item", "seat")


def labels_of(kind: HitType, payload: JSON, response: JSON) -> Labels:
    """The labels that a response gives: (variable, unit suffix) -> label, without how sure the person is."""
    asked = {answer_variable.name for answer_variable in answer_variables(kind)}
    return {
        (rating.variable, rating.unit): rating.value
        for rating in kind.to_ratings(payload, response)
        if rating.variable in asked
    }


def labels_digest(kind: HitType, payload: JSON, response: JSON) -> str:
    """SHA-256 of a response's labels, or of the whole answer where it has none."""
    labels = labels_of(kind, payload, response)
    pairs = sorted([variable, unit, value] for (variable, unit), value in labels.items())
    return digest_of(pairs if pairs else answer_of(kind, response))


def settled(given: Iterable[Labels]) -> Labels:
    """What adjudicators of one item decided: each unit's label that two of them gave. Units without such a label are left out.

    >>> settled([{("q", ""): "yes", ("r", ""): "no"}, {("q", ""): "yes", ("r", ""): "yes"}])
    {('q', ''): 'yes'}
    """
    votes: dict[tuple[str, str], Counter[str]] = {}
    for labels in given:
        for unit, label in labels.items():
            votes.setdefault(unit, Counter())[label] += 1
    return {
        unit: label
        for unit, counted in votes.items()
        for label, n in counted.most_common(1)
        if n >= FIRST_ROUND
    }


@dataclass(frozen=True)
class SettledLabel:
    """What adjudicators made of one unit. ``label`` is the one that two of them gave, empty if none; ``adjudicators`` how many labelled
    it, and ``third`` whether the third of them decided; None without a label."""

    label: str
    adjudicators: int
    third: bool | None

    @property
    def third_words(self) -> str:
        """``yes``, ``no``, or empty if nothing is decided."""
        return "" if self.third is None else "yes" if self.third else "no"

    @property
    def cells(self) -> tuple[str, str, str]:
        """The cells of a table of ratings: ``SETTLED_COLUMNS``."""
        return self.label, str(self.adjudicators) if self.adjudicators else "", self.third_words


#: Columns of tables of ratings, with what is in them.
SETTLED_COLUMNS = {
    "adjudicated": "the unit's label that two adjudicators gave, beside the raters' own; empty if there is none",
    "adjudicators": "how many people adjudicated the unit; empty if nobody did",
    "third_decided": "yes if the third adjudicator decided between the first two, no if those agreed; empty without an adjudicated label",
}
NOT_ADJUDICATED = SettledLabel("", 0, None)


def settled_labels(given: Sequence[tuple[int, Labels]]) -> dict[tuple[str, str], SettledLabel]:
    """What the adjudicators of one item, (seat, labels) each in order of seat, made of each of its units.

    >>> one, two, three = {("q", ""): "yes"}, {("q", ""): "no"}, {("q", ""): "no"}
    >>> settled_labels([(1, one), (2, two), (3, three)])
    {('q', ''): SettledLabel(label='no', adjudicators=3, third=True)}
    >>> settled_labels([(1, one)])[("q", "")].cells
    ('', '1', '')
    """
    decided = settled(labels for _, labels in given)
    first = settled(labels for seat, labels in given if seat <= FIRST_ROUND)
    people = Counter(unit for _, labels in given for unit in labels)
    return {
        unit: SettledLabel(decided.get(unit, ""), n, unit not in first if unit in decided else None)
        for unit, n in people.items()
    }


def settled_labels_of(study: Study) -> dict[int, dict[tuple[str, str], SettledLabel]]:
    """Item's id -> what adjudicators made of its units, by (variable, unit suffix); items without adjudications are left out. One query."""
    kind = study_hit_type(study)
    given: dict[int, list[tuple[int, Labels]]] = {}
    rows = _active(study).values_list("item", "item__payload", "seat", "response")
    for item, payload, seat, response in rows:
        given.setdefault(item, []).append((seat, labels_of(kind, payload, response)))
    return {item: settled_labels(labels) for item, labels in given.items()}


@dataclass(frozen=True)
class Adjudicated:
    """An item with adjudications. ``state`` is open, tie, decided or undecided; ``response`` holds the answers that are the same
    for the people who agree on its labels, without how sure they are; None unless the item is decided."""

    item: Item
    given: tuple[Adjudication, ...]
    state: str
    response: JSON | None


def _common(responses: list[JSON]) -> JSON:
    """The fields that all responses have with the same value.

    >>> _common([{"q": "yes", "why": "a"}, {"q": "yes", "why": "b"}])
    {'q': 'yes'}
    """
    first, *others = responses
    return {name: value for name, value in first.items() if all(one.get(name) == value for one in others)}


def adjudicated_items(*, study: Study) -> list[Adjudicated]:
    """All items with adjudications, in order of item; two queries."""
    kind = study_hit_type(study)
    rows: dict[int, list[Adjudication]] = {}
    for one in _active(study).select_related("by"):
        rows.setdefault(one.item_id, []).append(one)
    with_any = Adjudication.objects.filter(item=OuterRef("pk"), undone_at__isnull=True)
    items = study.items.filter(Exists(with_any), withdrawn_at__isnull=True).order_by("id")
    found = []
    for item in items:
        given = rows.get(item.pk, [])
        counted = Counter(one.digest for one in given)
        state = _state([one.digest for one in given])
        agreed = [answer_of(kind, one.response) for one in given if counted[one.digest] > 1]
        response = _common(agreed) if agreed else None
        found.append(Adjudicated(item, tuple(given), state, response))
    return found


def adjudicators_presentation(study: Study, kind: HitType, item: Item) -> JSON:
    """What adjudicators get where raters get different orders or arms: the same for all of them."""
    return kind.present(item.payload, presentation_rng(seed=study.seed, item_key=item.key, rater=0))


@dataclass(frozen=True)
class GivenAnswer:
    """A complete answer in words, (question, answer) pairs, and how many people gave it."""

    words: list[tuple[str, str]]
    people: int


def answers_counted(*, study: Study, item: Item) -> list[GivenAnswer]:
    """The different answers of people to an item that count, the most common first, without names. Two queries.

    What adjudicators see in another order than raters did is named by the adjudicators' order.
    """
    kind, reasons = study_hit_type(study), ExclusionReasons(study)
    own = adjudicators_presentation(study, kind, item)
    groups: dict[str, list[Judgment]] = {}
    for one in _counted(item).select_related("assignment").order_by("digest", "id"):
        if not reasons.of(one.pk, one.item_id, one.rater_id):
            groups.setdefault(one.digest, []).append(one)
    given = []
    for group in groups.values():
        one = group[0]
        drawn = one.assignment.presentation if one.assignment and "arm" in own else own
        given.append(GivenAnswer(kind.describe(item.payload, one.response, drawn), len(group)))
    return sorted(given, key=lambda one: -one.people)

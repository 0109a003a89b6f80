"""The raters of a study, one row each; and the items that they disagree on."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.http import urlencode

from annotator.admin.study_pages.frame import VIEWER, address_of, render, study_page
from annotator.core.row_ids import row_id
from annotator.hit_types.base import Block, HitType
from annotator.models import ExamAttempt, Judgment, Rater, Study
from annotator.selectors.contested import (
    agreement_with_others,
    contested_items,
    filter_choices,
    pair_agreement,
    raters_named,
)
from annotator.selectors.judgment import ExclusionReasons
from annotator.selectors.live import flagged_raters, gold_checks
from annotator.selectors.owed import balances_of
from annotator.selectors.study import study_hit_type
from annotator.selectors.study_rows import RATER_SORTS, raters_of

PAGE = 50
CONTESTED = 20


@study_page(VIEWER, people="raters")
def raters(request: HttpRequest, study: Study) -> HttpResponse:
    """Who has judged: work, time, agreement with the others, checks, exam, flags and what is owed."""
    offset = row_id(request.GET.get("from"))
    sort = request.GET.get("sort", "")
    sort = sort if sort in RATER_SORTS else RATER_SORTS[0]
    rows = raters_of(study, limit=PAGE + 1, offset=min(offset, 10**9), sort=sort)
    shown = [row.pk for row in rows[:PAGE]]
    excluded = ExclusionReasons(study).raters
    agreement, gold = agreement_with_others(study, shown), gold_checks(study)
    found = flagged_raters(study, excluded=frozenset(excluded), checks=gold)[1]
    flags = {one.pk: one.reasons for one in found}
    owed = {balance.rater: balance for balance in balances_of(study, raters=shown)}
    exams = _exams(study, shown)
    return render(
        request, study, "raters", tab="participants", title=f"Raters of {study.title}",
        rows=[
            {
                "rater": row, "excluded": excluded.get(row.pk, ""), "agreement": _share(agreement.get(row.pk)),
                "gold": _passed(gold.get(row.pk)), "exam": exams.get(row.pk), "flags": flags.get(row.pk, ()),
                "owed": owed.get(row.pk),
            }
            for row in rows[:PAGE]
        ],
        following=offset + PAGE if len(rows) > PAGE else 0, sort=sort,
        confidence_url=address_of("evaluation:live_confidence", study.pk) if study.confidence_scale and rows else "",
    )  # fmt: skip


def _share(pair: tuple[int, int] | None) -> float | None:
    return 100 * pair[0] / pair[1] if pair and pair[1] else None


def _passed(pair: tuple[int, int] | None) -> tuple[int, int] | None:
    return (pair[1] - pair[0], pair[1]) if pair else None


def _exams(study: Study, shown: list[int]) -> dict[int, tuple[int, int]]:
    """Rater -> (right answers, questions) of their latest attempt in this study."""
    attempts = ExamAttempt.objects.filter(
        participation__study=study, participation__rater__in=shown, submitted_at__isnull=False
    )
    rows = attempts.order_by("number").values_list("participation__rater", "score", "drawn")
    return {rater: (score or 0, len(drawn)) for rater, score, drawn in rows}


@study_page(VIEWER, people="contested items")
def contested(request: HttpRequest, study: Study) -> HttpResponse:
    """The items with the most different answers, people and simulators side by side. ``raters=ID-ID`` are those that two raters
    answered differently, ``raters=ID`` those that one rater judged, ``against=ID`` those that people answered differently from one rater.
    """
    chosen = raters_named(study, [row_id(pk) for pk in request.GET.get("raters", "").split("-")[:2]])
    count = request.GET.get("count") or ("rehearsal" if any(one.rehearsal for one in chosen) else "")
    rehearsal = count == "rehearsal" or (not count and _only_rehearsed(study))
    filters = {
        name: (request.GET.get(name) or "").replace("\x00", "")[:200]
        for name in ("system", "condition", "kind", "rater")
    }
    offset = min(row_id(request.GET.get("from")), 10**9)
    pair = (chosen[0].pk, chosen[1].pk) if len(chosen) == 2 else None
    if len(chosen) == 1:
        filters["rater"] = chosen[0].name
    against = next(iter(raters_named(study, [row_id(request.GET.get("against"))])), None)
    found = contested_items(
        study,
        rehearsal=rehearsal,
        filters=filters,
        pair=pair,
        against=against.pk if against else None,
        limit=CONTESTED + 1,
        offset=offset,
    )
    kind, reasons = study_hit_type(study), ExclusionReasons(study)
    choices = filter_choices(study)
    kept = {name: value for name, value in filters.items() if value} | (
        {"count": "rehearsal"} if rehearsal else {}
    )
    if pair:
        kept["raters"] = f"{pair[0]}-{pair[1]}"
    elif against:
        kept["against"] = str(against.pk)
    return render(
        request, study, "contested", tab="review", title=f"Contested items of {study.title}",
        rows=[
            {
                "one": one,
                "answers": _answers(kind, reasons, one.judgments, one.item.payload),
                "blocks": _judged(kind, one.item.payload),
            }
            for one in found[:CONTESTED]
        ],
        filters=[{"name": name, "value": filters[name], "choices": choices[name]} for name in choices if choices[name]],
        rater=filters["rater"], rehearsal=rehearsal, chosen=bool(kept), pair=chosen if pair else None, raters=kept.get("raters", ""),
        against=None if pair else against,
        same=pair_agreement(study, pair) if pair else None, rehearsed=not rehearsal and study.rehearsals.exists(),
        following=urlencode(kept | {"from": offset + CONTESTED}) if len(found) > CONTESTED else "",
    )  # fmt: skip


def _judged(kind: HitType, payload: dict[str, Any]) -> list[Block]:
    """Everything that raters of an item saw, in the order of its stages."""
    blocks = {block.name: block for stage in kind.every_stage(payload) for block in stage.blocks}
    return list(blocks.values())


def _only_rehearsed(study: Study) -> bool:
    """Whether nobody but rehearsal raters has judged: before the launch, unless judgments were imported."""
    people = study.judgments.filter(rater__kind=Rater.Kind.HUMAN, rater__rehearsal=False)
    return study.state == Study.State.DRAFT and study.rehearsals.exists() and not people.exists()


def _answers(
    kind: HitType, reasons: ExclusionReasons, judgments: tuple[Judgment, ...], payload: dict[str, Any]
) -> list[dict[str, Any]]:
    """Each different answer in words, with the raters who gave it; people first, the most common answer first."""
    groups: dict[str, dict[str, Any]] = {}
    for judgment in judgments:
        group = groups.setdefault(
            judgment.digest,
            {
                "words": kind.describe(
                    payload,
                    judgment.response,
                    judgment.assignment.presentation if judgment.assignment else None,
                ),
                "people": [],
                "simulators": [],
            },
        )
        who = {
            "judgment": judgment,
            "excluded": reasons.of(judgment.pk, judgment.item_id, judgment.rater_id)
            or ("late" if judgment.standing == Judgment.Standing.SURPLUS else ""),
        }
        group["simulators" if judgment.rater.kind == "simulator" else "people"].append(who)
    return sorted(groups.values(), key=lambda group: -len(group["people"]))

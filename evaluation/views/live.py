"""Agreement so far and the raters' confidence, as parts of the researchers' pages and as pages of their own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from annotator.selectors.study import study_get_for
from evaluation.core.live_alpha import Alpha, Point
from evaluation.selectors.confidence import raters_confidence
from evaluation.selectors.live import AgreementSoFar, agreement_so_far_kept


@dataclass(frozen=True)
class Mark:
    """A point of the plot: its horizontal position, and the vertical positions of dot and interval, as shares."""

    point: Point
    x: float
    y: float | None
    top: float
    bottom: float
    words: str
    last: bool


@login_required
@never_cache
@require_GET
def live_agreement(request: HttpRequest, study_pk: int) -> HttpResponse:
    """Agreement on the headline variable after each eighth of the judgments."""
    study = study_get_for(user=request.user, pk=study_pk)
    context: dict[str, Any] = {"study": study, "says": "Agreement is not followed for this kind of study."}
    ready, found = agreement_so_far_kept(study=study)
    if not ready:
        context["says"] = "Agreement is being computed. Reload this page in a minute."
    if found is not None:
        context |= {"found": found, "says": says(found)} | plot(found.points)
    partial = request.headers.get("HX-Request")
    name = "evaluation/_live_agreement.html" if partial else "evaluation/live_agreement.html"
    return render(request, name, context)


@login_required
@never_cache
@require_GET
def live_confidence(request: HttpRequest, study_pk: int) -> HttpResponse:
    """Each rater's confidence beside what is right, as a part of the raters' page and as a page of its own."""
    study = study_get_for(user=request.user, pk=study_pk)
    found = raters_confidence(study=study)
    rows = [
        {
            "name": name, "simulator": simulator, "one": one,
            "figures": [
                _figure(value, reason)
                for value, reason in (
                    (one.confidence, one.reason), (one.right, one.reason), (one.brier, one.reason), (one.auc, one.auc_reason),
                )
            ],
        }
        for name, simulator, one in (found.raters if found else ())
    ]  # fmt: skip
    partial = request.headers.get("HX-Request")
    name = "evaluation/_live_confidence.html" if partial else "evaluation/live_confidence.html"
    return render(request, name, {"study": study, "found": found, "rows": rows})


def _figure(value: float, reason: str) -> str:
    return f"not defined: {reason}" if math.isnan(value) else number(value)


def number(value: float) -> str:
    """A number with two decimals and a true minus sign."""
    return f"{value:.2f}".replace("-", "−")


def in_words(alpha: Alpha) -> str:
    if math.isnan(alpha.value):
        return f"not defined: {alpha.reason}"
    if math.isnan(alpha.low):
        return f"{number(alpha.value)}; {alpha.reason}"
    return f"{number(alpha.value)}, 95 % interval {number(alpha.low)} to {number(alpha.high)}"


def says(found: AgreementSoFar) -> str:
    """The answer in a sentence. It gives the interval and doesn't call any value good or bad."""
    if not found.points:
        return "There are no judgments of people yet."
    last = found.points[-1].alpha
    if math.isnan(last.value):
        return f"Alpha is not defined yet: {last.reason}."
    among = "Among the synthetic raters of the rehearsal, " if found.rehearsal else ""
    words = f"{among}Krippendorff's alpha is {in_words(last)}"
    first = found.points[0]
    if len(found.points) > 1 and not math.isnan(first.alpha.value):
        words += f"; after the first {first.ratings:,} ratings it was {number(first.alpha.value)}"
    return words + "."


def plot(points: list[Point]) -> dict[str, Any]:
    """The position of each point; the scale goes from 1 down to 0, or to the lowest value below that."""
    defined = [one.alpha for one in points if not math.isnan(one.alpha.value)]
    lows = [one.value if math.isnan(one.low) else one.low for one in defined]
    floor = max(-1.0, min([0.0, *(math.floor(low * 5) / 5 for low in lows)]))

    def down(value: float) -> float:
        return (1 - max(value, floor)) / (1 - floor)

    marks = []
    for place, point in enumerate(points):
        alpha = point.alpha
        known, sure = not math.isnan(alpha.value), not math.isnan(alpha.low)
        marks.append(
            Mark(
                point,
                x=(place + 0.5) / len(points),
                y=down(alpha.value) if known else None,
                top=down(alpha.high if sure else alpha.value) if known else 0.0,
                bottom=down(alpha.low if sure else alpha.value) if known else 0.0,
                words=in_words(alpha),
                last=place == len(points) - 1,
            )
        )
    lines = [(number(value), down(value)) for value in (1.0, 0.5, 0.0, floor) if value >= floor]
    return {"marks": marks if defined else [], "lines": sorted(set(lines), key=lambda line: line[1])}

"""Rehearsal raters: synthetic annotators of known quality, for any HIT type.

A rehearsal rater with accuracy *a* gives each question's right answer with probability *a*, and otherwise one of the
other options with equal probability. For an item without gold, a right answer is derived from the item's key, the same
for all raters, so that they agree as people of that accuracy would. Where a study asks how sure they are, they are surer where they are right. Their judgments are marked as rehearsal.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from random import Random
from typing import Any

from annotator.hit_types.base import JSON, Field, Passages, Stage
from annotator.hit_types.confidence import is_confidence


def rehearsal_answer(
    stage: Stage, *, gold: Mapping[str, Any] | None, item_key: str, accuracy: float, rng: Random
) -> JSON:
    """A raw response to one stage; ``accuracy`` in [0, 1].

    >>> from annotator.hit_types.base import Option
    >>> helps = Field("helps", "?", options=(Option("no", "No"), Option("yes", "Yes")))
    >>> stage = Stage("s", "S", (), (helps,))
    >>> rehearsal_answer(stage, gold={"helps": "yes"}, item_key="a", accuracy=1.0, rng=Random(1))
    {'helps': 'yes'}
    """
    if not 0 <= accuracy <= 1:
        raise ValueError(f"accuracy: expected a share from 0 to 1, got {accuracy}")
    response: JSON = {}
    truths: JSON = {}
    for asked in stage.fields:
        if asked.applies(response):
            if asked.scale and is_confidence(asked.name):
                right = all(truths[name] == value for name, value in response.items() if name in truths)
                response[asked.name] = _confidence(asked, accuracy, rng, right=right)
                continue
            truth = (gold or {}).get(asked.name) or _truth(asked, item_key, stage)
            truths[asked.name] = truth
            if asked.passages:
                near = rng.random() < accuracy
                response[asked.name] = truth if near else marked_passage(asked.passages, stage, rng)
                continue
            response[asked.name] = _answer(asked, truth, accuracy, rng)
    _make_distinct(stage, response)
    return response


def _make_distinct(stage: Stage, response: JSON) -> None:
    """Give fields that need different answers (places of a ranking) different ones, in the order of those drawn."""
    for group in dict.fromkeys(asked.distinct for asked in stage.fields if asked.distinct):
        asked = [field for field in stage.fields if field.distinct == group and field.name in response]
        order = {option.value: place for one in asked for place, option in enumerate(one.options)}
        if len({response[one.name] for one in asked}) == len(asked):
            continue
        drawn = sorted(asked, key=lambda one: order[response[one.name]])
        for one, option in zip(drawn, drawn[0].options if drawn else (), strict=False):
            response[one.name] = option.value


def _number(bounds: tuple[int, int], step: int, rng: Random) -> str:
    return str(rng.randrange(bounds[0], bounds[1] + 1, step))


def marked_passage(asked: Passages, stage: Stage, rng: Random) -> str:
    """One passage of one to three words, marked at random; ``none`` in a third of the cases, if that is an answer.

    >>> from annotator.hit_types.base import Block, Option
    >>> asked = Passages("text", (Option("tone", "Tone"),))
    >>> marked_passage(asked, Stage("s", "S", (Block("text", "Text", "Cats"),), ()), Random(1))
    'tone @0-4'
    """
    if asked.none and rng.random() < 1 / 3:
        return "none"
    text = next(block.text for block in stage.blocks if block.name == asked.block)
    words = list(re.finditer(r"\S+", text))
    first = rng.randrange(len(words))
    last = words[min(len(words) - 1, first + rng.randrange(3))]
    severity = f"/{rng.choice(asked.severities).value}" if asked.severities else ""
    return f"{rng.choice(asked.categories).value}{severity} @{words[first].start()}-{last.end()}"


def _truth(asked: Field, item_key: str, stage: Stage) -> Any:
    rng = Random(hashlib.sha256(f"{item_key}\x1f{asked.name}".encode()).digest())
    if asked.passages:
        return marked_passage(asked.passages, stage, rng)
    if asked.kind == "text":
        return _number(asked.bounds, asked.step, rng) if asked.bounds else ""
    chosen = rng.choice(asked.options).value
    return [chosen] if asked.kind == "multi" else chosen


def _answer(asked: Field, truth: Any, accuracy: float, rng: Random) -> Any:
    if asked.bounds:
        return truth if rng.random() < accuracy else _number(asked.bounds, asked.step, rng)
    if asked.kind == "text":
        return truth or ("Nothing is missing." if asked.required else "")
    values = [option.value for option in asked.options]
    if asked.kind == "multi":
        kept = [v for v in values if (v in truth) == (rng.random() < accuracy)]
        kept = [v for v in kept if v != asked.alone] or kept
        return kept or [rng.choice(values)]
    others = [value for value in values if value != truth]
    return truth if rng.random() < accuracy or not others else rng.choice(others)


def _confidence(asked: Field, accuracy: float, rng: Random, *, right: bool) -> str:
    """How sure a rehearsal rater is: around their accuracy, and more where they are right."""
    sure = min(1.0, max(0.0, rng.gauss(accuracy + (0.05 if right else -0.2), 0.15)))
    return asked.options[round(sure * (len(asked.options) - 1))].value


def accuracies(count: int, *, mean: float, spread: float, rng: Random) -> list[float]:
    """Accuracies of ``count`` raters around a mean, kept within [0.05, 0.99]."""
    return [min(0.99, max(0.05, rng.gauss(mean, spread))) for _ in range(count)]

"""Demonstrations drawn at random for each question, from the training part of its dataset (Joshi et al. 2023, A.2)."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from django.db.models import QuerySet

from annotator.core.canonical import text_digest
from annotator.hit_types.base import ChatMessage, render_prompt
from annotator.models import Dataset, Instance
from evaluation.prompts import shown
from evaluation.runs.structured import Form, form_text
from evaluation.selectors.material import parts_of


def demonstrable(dataset: Dataset) -> QuerySet[Instance]:
    """The instances that can be demonstrations: with a correct answer and a gold rationale."""
    return Instance.objects.filter(dataset=dataset).exclude(gold_rationale="").exclude(gold_label="")


def demonstrations_fault(dataset: Dataset, count: int) -> str:
    """Why ``count`` demonstrations can't be drawn; empty if they can."""
    parts = parts_of(dataset)
    found = sum(parts[pk] == "train" for pk in demonstrable(dataset).values_list("pk", flat=True))
    if found > count:
        return ""
    return (
        f"{count} demonstrations need at least {count + 1} questions of the training part with a correct answer and a"
        f" gold rationale; the dataset has {found}"
    )


def demonstrations_draw(dataset: Dataset, asked: Iterable[Instance], count: int) -> dict[int, list[Instance]]:
    """For each instance asked about, ``count`` others of the training part; which ones depends on its key alone."""
    parts = parts_of(dataset)
    pool = sorted(
        (key, pk) for pk, key in demonstrable(dataset).values_list("pk", "key") if parts[pk] == "train"
    )
    drawn = {
        one.pk: Random(text_digest("demonstrations", one.key)).sample(
            [pk for key, pk in pool if key != one.key], count
        )
        for one in asked
    }
    rows = Instance.objects.in_bulk({pk for chosen in drawn.values() for pk in chosen})
    return {pk: [rows[one] for one in chosen] for pk, chosen in drawn.items()}


def with_demonstrations(
    prompt: str, chat: list[ChatMessage], drawn: Iterable[Instance], *, form: Form, task: str
) -> list[ChatMessage]:
    """The chat with these instances in the place of the prompt's own demonstrations; ``prompt`` is its part of the file."""
    pairs = []
    for one in drawn:
        asked = render_prompt(prompt, {"input": one.input, "output": ""})[-1]
        value = {"answer": shown(one.gold_label), "explanation": one.gold_rationale}
        pairs += [asked, ChatMessage("assistant", form_text(form, task, value))]
    return [*(message for message in chat[:1] if message.role == "system"), *pairs, chat[-1]]

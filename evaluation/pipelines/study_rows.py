"""Import rows of a study from the material that earlier steps made, one function for each HIT type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from django.db.models import QuerySet

from annotator.models import Dataset, Explanation, FollowUp, Instance, Output

Row = dict[str, Any]


def study_rows(
    hit_type: str, dataset: Dataset, systems: list[str] | None = None, group: str = ""
) -> Iterator[Row]:
    """The rows; raises ``KeyError`` for a type that no material step feeds.

    ``group``: of a type whose items are of several kinds (properties), the one that this study asks about.
    """
    try:
        make = _MAKERS[hit_type]
    except KeyError:
        raise KeyError(
            f"no study of type {hit_type!r} is made from material; there are: {', '.join(_MAKERS)}"
        ) from None
    rows = make(dataset, systems)
    return ({**row, "group": group} for row in rows) if group else rows


def _explanations(dataset: Dataset, systems: list[str] | None) -> QuerySet[Explanation]:
    found = Explanation.objects.filter(instance__dataset=dataset).select_related("instance", "system")
    return (found.filter(system__name__in=systems) if systems else found).order_by("pk")


def _follow_ups(dataset: Dataset, systems: list[str] | None) -> Iterator[tuple[FollowUp, Explanation, str]]:
    """Each follow-up of an explanation with the real output of the explanation's own system."""
    outputs = Output.objects.filter(follow_up__explanation__in=_explanations(dataset, systems).values("pk"))
    related = "follow_up__explanation__"
    for output in outputs.select_related(f"{related}instance", f"{related}system").order_by("follow_up_id"):
        explanation = output.follow_up.explanation
        if explanation is not None and output.system_id == explanation.system_id:
            yield output.follow_up, explanation, output.text


def _about(explanation: Explanation) -> Row:
    return {
        "instance": explanation.instance.key,
        "system": explanation.system.name,
        "model": explanation.system.model,
        "method": explanation.system.method,
    }


def _simulation(dataset: Dataset, systems: list[str] | None) -> Iterator[Row]:
    for follow_up, explanation, output in _follow_ups(dataset, systems):
        yield _about(explanation) | {
            "key": f"e{explanation.pk}-f{follow_up.pk}",
            "question": explanation.instance.input,
            "explanation": explanation.text,
            "answer": explanation.output,
            "follow_up": follow_up.text,
            "real_output": output,
            "generator": follow_up.generator,
            "kind": follow_up.kind,
            "gold_label": explanation.instance.gold_label,
            "gold_rationale": explanation.instance.gold_rationale,
        }


def _preference(dataset: Dataset, systems: list[str] | None) -> Iterator[Row]:
    for follow_up, explanation, output in _follow_ups(dataset, systems):
        context, first, second = preference_parts(explanation.instance.input)
        new, new_first, new_second = preference_parts(follow_up.text)
        yield _about(explanation) | {
            "key": f"e{explanation.pk}-f{follow_up.pk}",
            "context": context,
            "response_1": first,
            "response_2": second,
            "explanation": explanation.text,
            "choice": explanation.output[-1:],
            "follow_up_context": new,
            "follow_up_response_1": new_first,
            "follow_up_response_2": new_second,
            "real_output": output[-1:],
            "generator": follow_up.generator,
            "kind": follow_up.kind,
            "gold_label": explanation.instance.gold_label[-1:],
        }


def _choice(dataset: Dataset, systems: list[str] | None) -> Iterator[Row]:
    for follow_up, explanation, output in _follow_ups(dataset, systems):
        question, options = choice_parts(explanation.instance.input)
        new, new_options = choice_parts(follow_up.text)
        yield _about(explanation) | {
            "key": f"e{explanation.pk}-f{follow_up.pk}",
            "question": question,
            "options": options,
            "explanation": explanation.text,
            "answer": explanation.output,
            "follow_up": new,
            "follow_up_options": new_options or options,
            "real_output": output,
            "generator": follow_up.generator,
            "kind": follow_up.kind,
            "gold_label": explanation.instance.gold_label,
        }


def _plausibility(dataset: Dataset, systems: list[str] | None) -> Iterator[Row]:
    for instance in Instance.objects.filter(dataset=dataset).exclude(gold_label="").order_by("pk"):
        shown: dict[str, Row] = {}
        for explanation in _explanations(dataset, systems).filter(instance=instance):
            shown.setdefault(
                explanation.system.name,
                {
                    "system": explanation.system.name,
                    "model": explanation.system.model,
                    "method": explanation.system.method,
                    "explanation": explanation.text,
                },
            )
        if shown:
            yield {
                "key": instance.key,
                "instance": instance.key,
                "question": instance.input,
                "answer": instance.gold_label,
                "explanations": list(shown.values()),
            }


def _utility(dataset: Dataset, systems: list[str] | None) -> Iterator[Row]:
    for explanation in _explanations(dataset, systems).exclude(instance__gold_label=""):
        yield (
            _about(explanation)
            | _asked(explanation.instance)
            | {
                "key": f"e{explanation.pk}",
                "rationale": explanation.text,
                "gold_label": explanation.instance.gold_label,
                "answer": explanation.output,
                "gold_rationale": explanation.instance.gold_rationale,
            }
        )


def _asked(instance: Instance) -> Row:
    """The question, and its options where it has any."""
    question, options = choice_parts(instance.input)
    return {"question": question, "options": options} if options else {"question": instance.input}


def _properties(dataset: Dataset, systems: list[str] | None) -> Iterator[Row]:
    for explanation in _explanations(dataset, systems):
        yield (
            _about(explanation)
            | _asked(explanation.instance)
            | {
                "key": f"e{explanation.pk}",
                "answer": explanation.output,
                "rationale": explanation.text,
            }
        )


def _validation(dataset: Dataset, systems: list[str] | None) -> Iterator[Row]:
    asked = FollowUp.objects.filter(instance__dataset=dataset, explanation__isnull=True)
    for follow_up in asked.exclude(instance__gold_rationale="").select_related("instance").order_by("pk"):
        yield {
            "key": f"f{follow_up.pk}",
            "instance": follow_up.instance.key,
            "context": follow_up.instance.gold_rationale,
            "question": follow_up.instance.input,
            "gold_label": follow_up.instance.gold_label,
            "follow_up": follow_up.text,
            "answer": follow_up.gold_label,
            "kind": KINDS.get(follow_up.kind, follow_up.kind),
            "generator": follow_up.generator,
        }


#: The kinds of generalization question, as the HIT types call them.
KINDS = {"similar": "similar_reasoning"}


def _generalization(dataset: Dataset, systems: list[str] | None) -> Iterator[Row]:
    asked: dict[int, list[FollowUp]] = {}
    for follow_up in FollowUp.objects.filter(instance__dataset=dataset, explanation__isnull=True).order_by(
        "pk"
    ):
        asked.setdefault(follow_up.instance_id, []).append(follow_up)
    for explanation in _explanations(dataset, systems).exclude(instance__gold_label=""):
        for follow_up in asked.get(explanation.instance_id, []):
            yield _about(explanation) | {
                "key": f"e{explanation.pk}-f{follow_up.pk}",
                "question": explanation.instance.input,
                "rationale": explanation.text,
                "follow_up": follow_up.text,
                "kind": KINDS.get(follow_up.kind, follow_up.kind),
                "gold_label": explanation.instance.gold_label,
                "follow_up_gold": follow_up.gold_label,
                "answer": explanation.output,
                "generator": follow_up.generator,
            }


def _atomic_units(dataset: Dataset, systems: list[str] | None) -> Iterator[Row]:
    for follow_up, explanation, output in _follow_ups(dataset, systems):
        units = list(explanation.units.order_by("number").values_list("role", "text"))
        if not units:
            continue
        news = {"domain": "news", "units": [text for _, text in units]}
        medical = {
            "domain": "medical",
            "details": [text for role, text in units if role == "input"],
            "suggestions": [text for role, text in units if role == "output"],
        }
        yield (
            _about(explanation)
            | (news if units[0][0] == "both" else medical)
            | {
                "key": f"e{explanation.pk}-f{follow_up.pk}",
                "explanation": explanation.text,
                "input": follow_up.text,
                "output": output,
                "original": explanation.instance.input,
                "generator": follow_up.generator,
            }
        )


_MAKERS: dict[str, Callable[[Dataset, list[str] | None], Iterator[Row]]] = {
    "simulation": _simulation,
    "simulation_preference": _preference,
    "simulation_choice": _choice,
    "plausibility": _plausibility,
    "utility": _utility,
    "generalization_utility": _generalization,
    "atomic_units": _atomic_units,
    "rationale_properties": _properties,
    "question_validation": _validation,
}


def preference_parts(text: str) -> tuple[str, str, str]:
    """Context and both responses of a preference example.

    >>> preference_parts("Context: Hot tea?\\nResponse 1: Wait.\\nResponse 2: Why?")
    ('Hot tea?', 'Wait.', 'Why?')
    """
    context, _, rest = text.removeprefix("Context: ").partition("\nResponse 1: ")
    first, _, second = rest.partition("\nResponse 2: ")
    return context, first, second


def choice_parts(text: str) -> tuple[str, list[str]]:
    """The question and its options.

    >>> choice_parts("Which?\\nA: one\\nB: two")
    ('Which?', ['one', 'two'])
    """
    lines = text.splitlines()
    options = [line[2:].strip() for line in lines if len(line) > 2 and line[0].isupper() and line[1] in ":."]
    question = [line for line in lines if not (len(line) > 2 and line[0].isupper() and line[1] in ":.")]
    return "\n".join(question).strip(), options

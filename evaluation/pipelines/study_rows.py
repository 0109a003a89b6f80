"""Make a study's import rows from the material of earlier steps; each HIT type declares what it is made from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import QuerySet

from annotator.hit_types.base import JSON, ItemSource, MadeFrom
from annotator.hit_types.making import ExplanationSource, FollowUpSource, InstanceSource
from annotator.hit_types.registry import hit_type_get, hit_types
from annotator.models import AtomicUnit, Dataset, Explanation, FollowUp, Instance, Output
from evaluation.pipelines.material import sanity_system
from evaluation.selectors.material import generalization_questions

Sources = Iterator[ItemSource]


def study_rows(
    *,
    hit_type: str,
    dataset: Dataset,
    systems: Sequence[str] = (),
    choices: Mapping[str, Any] | None = None,
) -> Iterator[JSON]:
    """The rows of a study of ``hit_type``, in a fixed number of queries.

    ``systems`` names the systems whose explanations are used; if empty, all of the dataset's. ``choices`` are the study
    step's, for the HIT type (``group``, ``arms``). Raises ``KeyError`` for a type that cannot be made from material.
    """
    kind = hit_type_get(hit_type)
    if not kind.made_from:
        known = [name for name, one in hit_types().items() if one.made_from]
        raise KeyError(
            f"no study of type {hit_type!r} is made from material; expected one of: {', '.join(known)}"
        )
    for source in _SOURCES[kind.made_from](dataset, systems, choices or {}):
        row = kind.make_row(source)
        if row is not None:
            yield row


def _explanations(dataset: Dataset, systems: Sequence[str]) -> QuerySet[Explanation]:
    of_dataset = Explanation.objects.filter(instance__dataset=dataset).select_related("instance", "system")
    return (of_dataset.filter(system__name__in=systems) if systems else of_dataset).order_by("pk")


def _units(dataset: Dataset) -> Mapping[int, tuple[tuple[str, str], ...]]:
    units_of: dict[int, list[tuple[str, str]]] = defaultdict(list)
    rows = AtomicUnit.objects.filter(explanation__instance__dataset=dataset).order_by(
        "explanation_id", "number"
    )
    for explanation, role, text in rows.values_list("explanation_id", "role", "text"):
        units_of[explanation].append((role, text))
    return {explanation: tuple(units) for explanation, units in units_of.items()}


def _instance(instance: Instance) -> InstanceSource:
    return InstanceSource(
        key=instance.key,
        input=instance.input,
        gold_label=instance.gold_label,
        gold_rationale=instance.gold_rationale,
    )


def _explanation(explanation: Explanation, units: tuple[tuple[str, str], ...] = ()) -> ExplanationSource:
    system = explanation.system
    return ExplanationSource(
        pk=explanation.pk,
        text=explanation.text,
        output=explanation.output,
        system=system.name,
        model=system.model,
        method=system.method,
        units=units,
    )


def _follow_up(follow_up: FollowUp) -> FollowUpSource:
    return FollowUpSource(
        pk=follow_up.pk,
        text=follow_up.text,
        generator=follow_up.generator,
        kind=follow_up.kind,
        gold_label=follow_up.gold_label,
    )


def _of_follow_ups(dataset: Dataset, systems: Sequence[str], choices: Mapping[str, Any]) -> Sources:
    """Each follow-up of an explanation with the real output of the explanation's own system.

    With the choice ``sanity``, also with the output written from the explanation itself, as a separate system (P2).
    """
    units = _units(dataset)
    outputs = Output.objects.filter(follow_up__explanation__in=_explanations(dataset, systems).values("pk"))
    related = "follow_up__explanation__"
    seen: set[int] = set()
    for output in outputs.select_related("system", f"{related}instance", f"{related}system").order_by(
        "follow_up_id", "pk"
    ):
        explanation = output.follow_up.explanation
        if explanation is None:
            continue
        own = output.system_id == explanation.system_id
        checked = choices.get("sanity") and output.system.name == sanity_system(explanation.system.name)
        if own or checked:
            shown = _explanation(explanation, units.get(explanation.pk, ()))
            if checked:
                shown = replace(shown, system=output.system.name, method=output.system.method)
            yield ItemSource(
                _instance(explanation.instance),
                shown,
                _follow_up(output.follow_up),
                output.text,
                first=own and explanation.pk not in seen,
                choices=choices,
            )
            if own:
                seen.add(explanation.pk)


def _of_explanations(dataset: Dataset, systems: Sequence[str], choices: Mapping[str, Any]) -> Sources:
    for explanation in _explanations(dataset, systems):
        yield ItemSource(_instance(explanation.instance), _explanation(explanation), choices=choices)


def _of_instances(dataset: Dataset, systems: Sequence[str], choices: Mapping[str, Any]) -> Sources:
    """Each instance with the first explanation of every system."""
    by_system: dict[int, dict[str, ExplanationSource]] = defaultdict(dict)
    for explanation in _explanations(dataset, systems):
        by_system[explanation.instance_id].setdefault(explanation.system.name, _explanation(explanation))
    for instance in Instance.objects.filter(dataset=dataset).order_by("pk"):
        shown = tuple(by_system[instance.pk].values())
        yield ItemSource(_instance(instance), explanations=shown, choices=choices)


def _questions(dataset: Dataset, choices: Mapping[str, Any]) -> QuerySet[FollowUp]:
    return generalization_questions(dataset=dataset, choices=choices).select_related("instance")


def _of_questions(dataset: Dataset, systems: Sequence[str], choices: Mapping[str, Any]) -> Sources:
    for question in _questions(dataset, choices):
        yield ItemSource(_instance(question.instance), follow_up=_follow_up(question), choices=choices)


def _of_explained_questions(dataset: Dataset, systems: Sequence[str], choices: Mapping[str, Any]) -> Sources:
    asked: dict[int, list[FollowUpSource]] = defaultdict(list)
    for question in _questions(dataset, choices):
        asked[question.instance_id].append(_follow_up(question))
    for explanation in _explanations(dataset, systems):
        for source in asked[explanation.instance_id]:
            yield ItemSource(
                _instance(explanation.instance), _explanation(explanation), source, choices=choices
            )


_SOURCES: Mapping[MadeFrom, Callable[[Dataset, Sequence[str], Mapping[str, Any]], Sources]] = {
    "follow_ups": _of_follow_ups,
    "explanations": _of_explanations,
    "instances": _of_instances,
    "questions": _of_questions,
    "explained_questions": _of_explained_questions,
}

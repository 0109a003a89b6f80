"""What a report needs of the research material beyond its judgments: texts of rationales, and GEN-U's two runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from annotator.models import Explanation, Instance, Output, Study

#: What ``evaluation.pipelines.steps.outputs.GenU`` calls the systems that its outputs are kept under.
MARK, WITHOUT, WITH = " · GEN-U ", "without", "with "


def rationale_texts(*, study: Study) -> dict[int, tuple[str, str]]:
    """Explanation id -> its text and its instance's gold rationale (empty where there is none)."""
    rows = Explanation.objects.filter(items__study=study).order_by().distinct()
    found = rows.values_list("id", "text", "instance__gold_rationale")
    return {pk: (text, gold) for pk, text, gold in found}


def instance_inputs(*, study: Study) -> dict[int, str]:
    """Instance id -> its input."""
    return dict(Instance.objects.filter(items__study=study).order_by().distinct().values_list("id", "input"))


@dataclass(frozen=True)
class GenUAnswer:
    """One generalization question answered by ``model`` with the rationale of ``system`` and without any."""

    model: str
    system: str
    instance: int
    with_right: bool | None
    without_right: bool | None


def gen_u_answers(*, study: Study) -> Iterator[GenUAnswer]:
    """GEN-U's answers on the generalization questions of a study's instances; None where one run has no answer.

    An answer is right where it is the question's gold label, spaces and case aside; a question without one is left out.
    """
    rows = (
        Output.objects.filter(
            system__name__contains=MARK,
            follow_up__explanation__isnull=True,
            follow_up__instance__items__study=study,
        )
        .exclude(follow_up__gold_label="")
        .order_by("follow_up_id", "system__name")
        .distinct()
    )
    alone: dict[tuple[str, int], bool] = {}
    shown: dict[tuple[str, str, int], bool] = {}
    instances: dict[int, int] = {}
    found = rows.values_list(
        "follow_up_id", "follow_up__instance_id", "follow_up__gold_label", "system__name", "text"
    )
    for question, instance, gold, name, text in found:
        model, _, how = name.partition(MARK)
        right = text.strip().casefold() == gold.strip().casefold()
        instances[question] = instance
        if how == WITHOUT:
            alone[model, question] = right
        elif how.startswith(WITH):
            shown[model, how.removeprefix(WITH), question] = right
    for (model, system, question), right in sorted(shown.items()):
        yield GenUAnswer(model, system, instances[question], right, alone.get((model, question)))

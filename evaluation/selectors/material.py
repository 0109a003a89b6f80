"""Research material that reports need besides judgments: texts of rationales, and GEN-U's two runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from django.db.models import QuerySet

from annotator.core.canonical import text_digest
from annotator.models import Dataset, Explanation, FollowUp, Instance, Item, Output, Study, System
from evaluation.models import InstancePart, Pipeline

#: The names of the systems under which GEN-U's answers are stored, see ``gen_u_system``.
MARK, WITHOUT, WITH = " · GEN-U ", "without", "with "
#: The choice ``questions`` of steps that use only generalization questions that passed validation.
VALIDATED = "validated"


Part = Literal["train", "validation", "test"]
#: Before the file's name in the default name of a pipeline's dataset.
PIPELINE_PREFIX = "pipeline: "


def gen_u_system(model: str, rationale: str = "") -> str:
    """The name of the system under which a model's answers to generalization questions are stored.

    >>> gen_u_system("gpt"), gen_u_system("gpt", "claude · cot")
    ('gpt · GEN-U without', 'gpt · GEN-U with claude · cot')
    """
    return f"{model}{MARK}{WITH + rationale if rationale else WITHOUT}"[:200]


def part_by_key(key: str) -> Part:
    """The part that an instance belongs to whose file names none: test (a fifth), validation (a tenth of the rest) or train. Joshi et
    al. 2023, Table 8, have 458, 184 and 1,648.

    >>> [n for n in range(40) if part_by_key(str(n)) == "validation"]
    [13, 17, 23]
    """
    number = int(text_digest(key)[:8], 16)
    return "test" if number % 5 == 0 else "validation" if number // 5 % 10 == 0 else "train"


def parts_of(dataset: Dataset) -> dict[int, Part]:
    """Instance id -> the part that it belongs to: the one that the dataset's file names; by key where it names none."""
    own = own_parts(dataset)
    rows = Instance.objects.filter(dataset=dataset).order_by("pk").values_list("pk", "key")
    return {pk: own.get(pk) or part_by_key(key) for pk, key in rows}


def own_parts(dataset: Dataset) -> dict[int, Part]:
    """Instance id -> the part that the dataset's file names; only of instances of which it names one."""
    rows = InstancePart.objects.filter(instance__dataset=dataset).values_list("instance", "part")
    return {pk: cast(Part, part) for pk, part in rows}


def rationale_texts(*, study: Study) -> dict[int, tuple[str, str]]:
    """Explanation id -> its text and its instance's gold rationale (empty if there is none)."""
    rows = Explanation.objects.filter(items__study=study).order_by().distinct()
    found = rows.values_list("id", "text", "instance__gold_rationale")
    return {pk: (text, gold) for pk, text, gold in found}


def first_line(text: str) -> str:
    r"""The first line with a word, with spaces normalised; it tells two inputs with the same key apart. In some task
    types, options follow on later lines.

    >>> first_line("  Can owls\tswim? \n(A) yes")
    'Can owls swim?'
    """
    return next((" ".join(line.split()) for line in text.splitlines() if line.strip()), "")


def models_explained(*, study: Study) -> set[str]:
    """The models whose explanations a study's items show."""
    shown = System.objects.filter(explanations__items__study=study)
    found = set(shown.order_by().values_list("model", flat=True).distinct())
    if not found:  # items of several explanations each
        parts = Item.objects.filter(study=study).exclude(parts={}).values_list("parts", flat=True)
        pks = {pk for held in parts.iterator(2000) for pk in held.values()}
        several = System.objects.filter(explanations__in=pks)
        found = set(several.order_by().values_list("model", flat=True).distinct())
    return found - {""}


def instance_inputs(*, study: Study) -> dict[int, str]:
    """Instance id -> the first line of its input."""
    rows = Instance.objects.filter(items__study=study).order_by().distinct().values_list("id", "input")
    return {pk: first_line(text) for pk, text in rows}


def datasets_behind(*, study: Study) -> set[int]:
    """The study's own dataset, and those of the pipelines that made it, from which its material was copied."""
    found = set(Instance.objects.filter(items__study=study).order_by().values_list("dataset", flat=True))
    pipelines = Pipeline.objects.filter(dataset__workspace=study.workspace_id)
    for dataset, main, results in pipelines.values_list("dataset", "study", "results"):
        made = {result.get("study") for result in results.values() if isinstance(result, dict)}
        if main == study.pk or study.slug in made:
            found.add(dataset)
    return found


def dataset_name(*, study: Study) -> str:
    """The name of the dataset that a study's material is from; empty if it has none of its own name, or several.

    Every import makes a dataset that has the study's own short name: that of a pipeline, from which it was copied, has a real one.
    """
    named = dict(Dataset.objects.filter(pk__in=datasets_behind(study=study)).values_list("pk", "name"))
    found = {name.removeprefix(PIPELINE_PREFIX) for name in named.values()} - {study.slug}
    return found.pop() if len(found) == 1 else ""


def generalization_questions(*, dataset: Dataset, choices: Mapping[str, Any]) -> QuerySet[FollowUp]:
    """A dataset's generalization questions, in order.

    With the choice ``questions`` *validated*, only those that the study with the slug ``validation`` accepts.
    """
    asked = FollowUp.objects.filter(instance__dataset=dataset, explanation__isnull=True).order_by("pk")
    if choices.get("questions") != VALIDATED:
        return asked
    return asked.filter(verdicts__study__slug=choices.get("validation", ""), verdicts__accepted=True)


@dataclass(frozen=True)
class GenUAnswer:
    """One generalization question answered by ``model`` with the rationale of ``system`` and without any."""

    model: str
    system: str
    instance: int
    with_right: bool | None
    without_right: bool | None


def gen_u_answers(*, study: Study) -> Iterator[GenUAnswer]:
    """GEN-U's answers on the generalization questions of a study's instances; None if one run has no answer.

    The questions are those of the study's own dataset and of the pipeline's that it was made from, whose instances are
    matched by key and input; ``instance`` is the study's own. An answer is right if it equals the question's gold
    label, ignoring spaces and case; a question without one is left out.
    """
    own = {
        (key, first_line(text)): pk
        for pk, key, text in Instance.objects.filter(items__study=study)
        .order_by()
        .distinct()
        .values_list("id", "key", "input")
    }
    rows = (
        Output.objects.filter(
            system__name__contains=MARK,
            follow_up__explanation__isnull=True,
            follow_up__instance__dataset__in=datasets_behind(study=study),
        )
        .exclude(follow_up__gold_label="")
        .order_by("follow_up_id", "system__name")
    )
    alone: dict[tuple[str, int], bool] = {}
    shown: dict[tuple[str, str, int], bool] = {}
    instances: dict[int, int] = {}
    found = rows.values_list(
        "follow_up_id",
        "follow_up__instance__key",
        "follow_up__instance__input",
        "follow_up__gold_label",
        "system__name",
        "text",
    )
    for question, key, asked, gold, name, text in found:
        instance = own.get((key, first_line(asked)))
        if instance is None:
            continue
        model, _, how = name.partition(MARK)
        right = text.strip().casefold() == gold.strip().casefold()
        instances[question] = instance
        if how == WITHOUT:
            alone[model, question] = right
        elif how.startswith(WITH):
            shown[model, how.removeprefix(WITH), question] = right
    for (model, system, question), right in sorted(shown.items()):
        yield GenUAnswer(model, system, instances[question], right, alone.get((model, question)))


def matching_rules(*, study: Study) -> list[str]:
    """The rules on partial matches that a study's items follow; items from before there was a choice follow "whole"."""
    found = study.items.order_by().values_list("payload__matching", flat=True).distinct()
    return sorted({str(rule or "whole") for rule in found})

"""What a release contains: tables, their rows and columns. Everything that isn't named here stays in the database."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from django.db.models import Field, Model, Q, QuerySet

from annotator.models import (
    Adjudication,
    Consent,
    Dataset,
    Declaration,
    ExamAttempt,
    Exclusion,
    Explanation,
    FollowUp,
    Instance,
    Item,
    Judgment,
    LedgerEntry,
    Output,
    Participation,
    QuestionnaireAnswer,
    Rater,
    Snapshot,
    Study,
    System,
    Workspace,
    settings_of,
)
from evaluation.core.step_kinds import kinds_making
from evaluation.models import Call, Pipeline, QuestionVerdict, Recipe, Reward, Run
from evaluation.releases.parts import NO_PART, ReleasePart
from evaluation.selectors.material import MARK, datasets_behind


class Scope:
    """The rows behind a report on some studies: their items, judgments and raters, and the material that reports read."""

    def __init__(self, studies: Sequence[Study]) -> None:
        self.studies = sorted(studies, key=lambda study: study.pk)
        self.study_pks = [study.pk for study in self.studies]

    @cached_property
    def parts(self) -> ReleasePart:
        """What a release of the studies has that not every release has, its plan apart."""
        asked = QuestionnaireAnswer.objects.filter(participation__study__in=self.study_pks).exclude(
            attributes={}
        )
        found = (
            ReleasePart.TYPES if any(study.declaration_id is not None for study in self.studies) else NO_PART
        )
        if asked.exists():
            found |= ReleasePart.QUESTIONNAIRES
        if Adjudication.objects.filter(item__study__in=self.study_pks).exists():
            found |= ReleasePart.ADJUDICATED
        return found

    @cached_property
    def items(self) -> QuerySet[Item]:
        return Item.objects.filter(study__in=self.study_pks)

    @cached_property
    def behind(self) -> set[int]:
        """The datasets of the studies, and those of the pipelines that made them."""
        return set().union(*(datasets_behind(study=study) for study in self.studies))

    @cached_property
    def pipelines(self) -> set[int]:
        found = Pipeline.objects.filter(Q(study__in=self.study_pks) | Q(dataset__in=self.behind))
        return set(found.values_list("pk", flat=True))

    @cached_property
    def explanations(self) -> set[int]:
        """Explanations that items show, and those that a pipeline's rewards are about."""
        found = set(self.items.filter(explanation__isnull=False).values_list("explanation", flat=True))
        parts = self.items.exclude(parts={}).values_list("parts", flat=True)
        found |= {int(pk) for held in parts.iterator(chunk_size=2_000) for pk in held.values()}
        rewarded = Reward.objects.filter(pipeline__in=self.pipelines)
        return found | set(rewarded.values_list("explanation", flat=True))

    @cached_property
    def instances(self) -> set[int]:
        """Instances of items and explanations, and those of the same key that GEN-U answered questions about."""
        own = Instance.objects.filter(items__study__in=self.study_pks)
        explained = Instance.objects.filter(explanations__in=self.explanations)
        found = set(own.values_list("pk", flat=True)) | set(explained.values_list("pk", flat=True))
        asked = Instance.objects.filter(
            dataset__in=self.behind,
            key__in=own.values("key"),
            follow_ups__explanation__isnull=True,
            follow_ups__outputs__system__name__contains=MARK,
        )
        return found | set(asked.values_list("pk", flat=True))

    @cached_property
    def follow_ups(self) -> set[int]:
        shown = set(self.items.filter(follow_up__isnull=False).values_list("follow_up", flat=True))
        asked = FollowUp.objects.filter(
            instance__in=self.instances, explanation__isnull=True, outputs__system__name__contains=MARK
        )
        return shown | set(asked.values_list("pk", flat=True))

    @cached_property
    def systems(self) -> set[int]:
        """The systems that were explained, and those of GEN-U."""
        explained = System.objects.filter(explanations__in=self.explanations)
        asked = System.objects.filter(outputs__follow_up__in=self.follow_ups, name__contains=MARK)
        return set(explained.values_list("pk", flat=True)) | set(asked.values_list("pk", flat=True))

    @cached_property
    def datasets(self) -> set[int]:
        held = Instance.objects.filter(pk__in=self.instances).values_list("dataset", flat=True)
        made = Pipeline.objects.filter(pk__in=self.pipelines).values_list("dataset", flat=True)
        return set(held) | set(made)

    @cached_property
    def workspaces(self) -> set[int]:
        found = Dataset.objects.filter(pk__in=self.datasets).values_list("workspace", flat=True)
        return {pk for pk in (*found, *(study.workspace_id for study in self.studies)) if pk is not None}

    @cached_property
    def runs(self) -> set[int]:
        """Runs of the studies' simulators and of the steps that made their material."""
        found = Run.objects.filter(
            Q(study__in=self.study_pks) | Q(dataset__in=self.behind) | Q(pipeline__in=self.pipelines)
        )
        return set(found.values_list("pk", flat=True))

    @cached_property
    def raters(self) -> set[int]:
        """Everyone who judged or joined, and the simulators that were run."""
        found = set(
            Judgment.objects.filter(study__in=self.study_pks).values_list("rater", flat=True).distinct()
        )
        joined = Participation.objects.filter(study__in=self.study_pks)
        found |= set(joined.values_list("rater", flat=True))
        ran = Run.objects.filter(pk__in=self.runs, rater__isnull=False)
        paid = LedgerEntry.objects.filter(study__in=self.study_pks)
        return found | set(ran.values_list("rater", flat=True)) | set(paid.values_list("rater", flat=True))


Rows = Callable[[Scope], QuerySet[Any]]


@dataclass(frozen=True)
class ReleasedTable:
    """A table of a release.

    ``columns`` are columns of the database, without the row's number, which every table has. ``screened`` are free
    text. Of ``moments`` the release only says whether there is one: no date or time of anybody's work is released. Rows are
    ordered by the column ``by``, if there is one, so that their order doesn't tell when somebody did something.
    """

    model: type[Model]
    columns: tuple[str, ...]
    rows: Rows
    screened: tuple[str, ...] = ()
    moments: tuple[str, ...] = ()
    by: str = ""

    @property
    def name(self) -> str:
        """The file's name, such as ``follow_up``."""
        return re.sub(r"(?<!^)(?=[A-Z])", "_", self.model.__name__).lower()


def refers_to(field: Field[Any, Any]) -> type[Model] | None:
    """The model whose row numbers a column holds; None for a column of another kind, such as one that holds a digest."""
    if field.remote_field is None or not field.target_field.primary_key:  # type: ignore[attr-defined]
        return None
    return field.remote_field.model


def _held(model: type[Model], of: str) -> Rows:
    """The rows whose ids the scope lists."""
    return lambda scope: model._default_manager.filter(pk__in=getattr(scope, of))


# fmt: off
#: In an order in which every row comes after those that it refers to.
TABLES = (
    ReleasedTable(Workspace, (), _held(Workspace, "workspaces")),
    ReleasedTable(
        Declaration,
        ("digest", "source"),
        lambda scope: Declaration.objects.filter(studies__in=scope.study_pks).distinct(),
    ),
    ReleasedTable(
        Study,
        (
            "workspace_id",
            "declaration_id",
            "state",
            *(name for name, setting in settings_of(Study).items() if setting.released),
        ),
        lambda scope: Study.objects.filter(pk__in=scope.study_pks),
    ),
    ReleasedTable(
        Snapshot,
        ("study_id", "number", "digest", "content"),
        lambda scope: Snapshot.objects.filter(study__in=scope.study_pks),
    ),
    ReleasedTable(Dataset, ("workspace_id", "name"), _held(Dataset, "datasets")),
    ReleasedTable(
        Instance, ("dataset_id", "key", "input", "gold_label", "gold_rationale"), _held(Instance, "instances")
    ),
    ReleasedTable(System, ("workspace_id", "name", "model", "method"), _held(System, "systems")),
    ReleasedTable(
        Explanation,
        ("instance_id", "system_id", "text", "output", "digest"),
        _held(Explanation, "explanations"),
    ),
    ReleasedTable(
        FollowUp,
        ("instance_id", "explanation_id", "text", "generator", "kind", "gold_label", "digest"),
        _held(FollowUp, "follow_ups"),
    ),
    ReleasedTable(
        Output,
        ("follow_up_id", "system_id", "text"),
        lambda scope: Output.objects.filter(follow_up__in=scope.follow_ups, system__in=scope.systems),
    ),
    ReleasedTable(
        Item,
        (
            "study_id",
            "key",
            "payload",
            "gold",
            "role",
            "condition",
            "instance_id",
            "explanation_id",
            "follow_up_id",
            "parts",
            "attributes",
            "version",
            "withdrawn_at",
            "withdrawn_reason",
        ),
        lambda scope: scope.items,
        screened=("withdrawn_reason",),
        moments=("withdrawn_at",),
    ),
    ReleasedTable(Rater, ("kind", "source", "name", "rehearsal", "attributes"), _held(Rater, "raters")),
    ReleasedTable(
        Participation,
        ("study_id", "rater_id", "state", "join_parameters", "finished_at"),
        lambda scope: Participation.objects.filter(study__in=scope.study_pks),
        moments=("finished_at",),
        by="rater_id",
    ),
    ReleasedTable(
        QuestionnaireAnswer,
        ("participation_id", "moment", "version", "attributes"),
        lambda scope: QuestionnaireAnswer.objects.filter(participation__study__in=scope.study_pks).exclude(attributes={}),
        by="participation_id",
    ),
    ReleasedTable(
        Consent,
        ("participation_id", "digest", "withdrawn_at"),
        lambda scope: Consent.objects.filter(participation__study__in=scope.study_pks),
        moments=("withdrawn_at",),
        by="participation_id",
    ),
    ReleasedTable(
        ExamAttempt,
        ("participation_id", "score", "pass_mark", "pay", "submitted_at"),
        lambda scope: ExamAttempt.objects.filter(participation__study__in=scope.study_pks),
        moments=("submitted_at",),
        by="participation_id",
    ),
    ReleasedTable(
        LedgerEntry,
        ("study_id", "rater_id", "kind", "amount"),
        lambda scope: LedgerEntry.objects.filter(study__in=scope.study_pks, undone_at__isnull=True),
        by="rater_id",
    ),
    ReleasedTable(
        Judgment,
        (
            "study_id",
            "item_id",
            "rater_id",
            "snapshot_id",
            "response",
            "language",
            "standing",
            "source",
            "seconds",
            "signals",
        ),
        lambda scope: Judgment.objects.filter(study__in=scope.study_pks),
        screened=("response",),
    ),
    ReleasedTable(
        Adjudication,
        ("study_id", "item_id", "adjudicator", "seat", "response"),
        lambda scope: Adjudication.objects.filter(study__in=scope.study_pks, undone_at__isnull=True),
        screened=("response",),
        by="item_id",
    ),
    ReleasedTable(
        Exclusion,
        ("study_id", "rater_id", "item_id", "judgment_id", "reason"),
        lambda scope: Exclusion.objects.filter(study__in=scope.study_pks, lifted_at__isnull=True),
        screened=("reason",),
    ),
    ReleasedTable(
        QuestionVerdict,
        ("study_id", "follow_up_id", "accepted"),
        lambda scope: QuestionVerdict.objects.filter(
            study__in=scope.study_pks, follow_up__in=scope.follow_ups
        ),
    ),
    ReleasedTable(
        Recipe,
        ("workspace_id", "name", "version", "digest", "content"),
        lambda scope: Recipe.objects.filter(pipelines__in=scope.pipelines).distinct(),
    ),
    ReleasedTable(
        Pipeline,
        ("recipe_id", "dataset_id", "study_id", "step", "state", "results"),
        _held(Pipeline, "pipelines"),
    ),
    ReleasedTable(
        Reward,
        ("pipeline_id", "step", "explanation_id", "value", "quantile", "samples"),
        lambda scope: Reward.objects.filter(pipeline__in=scope.pipelines),
    ),
    ReleasedTable(
        Run,
        (
            "kind",
            "study_id",
            "dataset_id",
            "pipeline_id",
            "model",
            "parameters",
            "options",
            "prompt",
            "prompt_digest",
            "samples",
            "state",
            "rater_id",
            "spent_cost",
            "sent_calls",
        ),
        _held(Run, "runs"),
    ),
    ReleasedTable(
        Call,
        ("run_id", "state", "error_kind", "parsed"),
        lambda scope: Call.objects.filter(
            Q(run__study__in=scope.study_pks, state__in=[Call.State.UNPARSABLE, Call.State.FAILED])
            | Q(
                run__pipeline__rewards__isnull=False,
                run__in=scope.runs,
                run__kind__in=kinds_making("explanations"),
            )
        ).distinct(),
    ),
)
# fmt: on


def tables_of(parts: ReleasePart) -> tuple[ReleasedTable, ...]:
    """The tables of a release with these parts."""
    left_out = {
        *(() if ReleasePart.TYPES in parts else (Declaration,)),
        *(() if ReleasePart.QUESTIONNAIRES in parts else (QuestionnaireAnswer,)),
    }
    return tuple(
        table
        if ReleasePart.TYPES in parts
        else replace(table, columns=tuple(name for name in table.columns if name != "declaration_id"))
        for table in TABLES
        if table.model not in left_out
    )

"""What moves with a study, row by row, and what doesn't, with the reason. A new table must be on one of the two lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from django.db.models import Model, Q, QuerySet

from annotator import models as a
from annotator.models import Study, User
from evaluation import models as e
from evaluation.releases.tables import Scope

Row = dict[str, Any]


class MoveScope:
    """The rows of one study: what a release of it has, and the people, messages and model calls that a release leaves out."""

    def __init__(self, study: Study) -> None:
        self.study, self._released = study, Scope([study])

    @cached_property
    def follow_ups(self) -> set[int]:
        judged = e.QuestionVerdict.objects.filter(study=self.study).values_list("follow_up", flat=True)
        return self._released.follow_ups | set(judged)

    @cached_property
    def explanations(self) -> set[int]:
        asked = a.FollowUp.objects.filter(pk__in=self.follow_ups, explanation__isnull=False)
        return self._released.explanations | set(asked.values_list("explanation", flat=True))

    @cached_property
    def instances(self) -> set[int]:
        explained = a.Explanation.objects.filter(pk__in=self.explanations).values_list("instance", flat=True)
        asked = a.FollowUp.objects.filter(pk__in=self.follow_ups).values_list("instance", flat=True)
        return self._released.instances | set(explained) | set(asked)

    @cached_property
    def systems(self) -> set[int]:
        explained = a.Explanation.objects.filter(pk__in=self.explanations).values_list("system", flat=True)
        answered = a.Output.objects.filter(follow_up__in=self.follow_ups).values_list("system", flat=True)
        return self._released.systems | set(explained) | set(answered)

    @cached_property
    def pipelines(self) -> set[int]:
        return self._released.pipelines

    @cached_property
    def datasets(self) -> set[int]:
        held = a.Instance.objects.filter(pk__in=self.instances).values_list("dataset", flat=True)
        made = e.Pipeline.objects.filter(pk__in=self.pipelines).values_list("dataset", flat=True)
        return set(held) | set(made)

    @cached_property
    def recipes(self) -> set[int]:
        return set(e.Pipeline.objects.filter(pk__in=self.pipelines).values_list("recipe", flat=True))

    @cached_property
    def runs(self) -> set[int]:
        """The study's own runs, and those that made its material; not those of other studies of its pipelines."""
        made = Q(study__isnull=True) & (Q(dataset__in=self.datasets) | Q(pipeline__in=self.pipelines))
        return set(e.Run.objects.filter(Q(study=self.study) | made).values_list("pk", flat=True))

    @cached_property
    def endpoints(self) -> set[int]:
        asked = e.Run.objects.filter(pk__in=self.runs).values_list("endpoint", flat=True)
        carried = e.Pipeline.objects.filter(pk__in=self.pipelines).values_list("endpoint", flat=True)
        return set(asked) | set(carried)

    @cached_property
    def raters(self) -> set[int]:
        """Everyone who has a row in the study, and the simulators that were run."""
        found = set(
            e.Run.objects.filter(pk__in=self.runs, rater__isnull=False).values_list("rater", flat=True)
        )
        for model in (a.Judgment, a.Participation, a.LedgerEntry, a.Exclusion, a.Message, a.DataRequest):
            rows = model._default_manager.filter(study=self.study, rater__isnull=False)
            found |= set(rows.values_list("rater", flat=True).distinct())
        given = a.Assignment.objects.filter(participation__study=self.study)
        return found | set(given.values_list("rater", flat=True).distinct())

    @cached_property
    def exams(self) -> set[int]:
        """Exams that were tried in the study, and those by which its people qualified."""
        tried = a.ExamAttempt.objects.filter(participation__study=self.study).values_list("exam", flat=True)
        passed = self.qualifications.filter(exam__isnull=False).values_list("exam", flat=True)
        return set(tried) | set(passed)

    @property
    def qualifications(self) -> QuerySet[a.Qualification]:
        """What the study's people may do in its workspace."""
        return a.Qualification.objects.filter(
            workspace=self.study.workspace, rater__in=self.raters, rater__kind="human"
        )

    @property
    def reports(self) -> QuerySet[e.Report]:
        """Finished reports on this study alone."""
        return e.Report.objects.filter(study=self.study, others__isnull=True, state="done")

    @property
    def releases(self) -> QuerySet[e.Release]:
        """Finished releases of these reports."""
        return e.Release.objects.filter(report__in=self.reports, state="done")

    @cached_property
    def users(self) -> set[int]:
        """The accounts of its raters, and of everyone whom a row of the study names."""
        found = set(
            a.Rater.objects.filter(pk__in=self.raters, user__isnull=False).values_list("user", flat=True)
        )
        return found | users_named(self, [table for table in MOVED if table.model is not a.Rater])


def users_named(scope: Any, tables: Iterable[MovedTable]) -> set[int]:
    """The accounts that rows of these tables refer to."""
    found = set[int]()
    for table in tables:
        for name in _to_users(table.model):
            if f"{name}_id" not in table.withheld:
                rows = table.rows(scope).filter(**{f"{name}__isnull": False})
                found |= set(rows.order_by().values_list(name, flat=True).distinct())
    return found


def _to_users(model: type[Model]) -> list[str]:
    fields = model._meta.concrete_fields
    return [field.name for field in fields if field.remote_field and field.remote_field.model is User]


@dataclass(frozen=True)
class MovedTable:
    """A table of which rows move.

    ``withheld`` are columns that don't, each with its reason; in the moved row they have their default, or the value in ``put``. A row that is
    on the other side already is used there if ``key`` has equal values; then the columns of ``same`` must be equal, too, or nothing is imported.
    ``loose`` columns become empty if the row that they refer to doesn't move. Rows of a table with ``part_of`` are left out where the row that
    this column refers to was there already.
    """

    model: type[Model]
    rows: Callable[[Any], QuerySet[Any]]
    withheld: Mapping[str, str] = field(default_factory=dict)
    put: Mapping[str, Any] = field(default_factory=dict)
    key: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()
    part_of: str = ""

    @property
    def name(self) -> str:
        return self.model._meta.label_lower

    @property
    def columns(self) -> list[str]:
        """The columns that move, the row's number first."""
        return [
            field.attname for field in self.model._meta.concrete_fields if field.attname not in self.withheld
        ]

    def with_rows(self, rows: Callable[[Any], QuerySet[Any]]) -> MovedTable:
        """The same table with other rows."""
        return replace(self, rows=rows)


def _held(model: type[Model], of: str) -> Callable[[MoveScope], QuerySet[Any]]:
    """The rows whose ids the scope lists."""
    return lambda scope: model._default_manager.filter(pk__in=getattr(scope, of))


def _of_study(model: type[Model], path: str = "study") -> Callable[[MoveScope], QuerySet[Any]]:
    """The rows that lead to the study by ``path``."""
    return lambda scope: model._default_manager.filter(**{path: scope.study})


_HERE = "who may do what is decided on each installation"
_PROVIDER = "a secret, or where one would be sent; enter it again on the other installation"
# fmt: off
#: In an order in which every row comes after those that it refers to, apart from those that refer to a later row of their own table.
MOVED = (
    MovedTable(
        User, _held(User, "users"),
        withheld={
            "password": "passwords never move", "last_login": "belongs to the other installation", "is_superuser": _HERE, "is_staff": _HERE,
            "demo": "an account of the demo is an ordinary one elsewhere",
        },
    ),
    MovedTable(a.Rater, _held(a.Rater, "raters")),
    MovedTable(a.Exam, _held(a.Exam, "exams"), key=("hit_type", "digest")),
    MovedTable(
        a.ExamQuestion, lambda scope: a.ExamQuestion.objects.filter(exam__in=scope.exams),
        key=("exam_id", "key"), same=("number", "pool", "payload", "gold"),
    ),
    MovedTable(
        a.Declaration, lambda scope: a.Declaration.objects.filter(digest=scope.study.declaration_id), key=("digest",), same=("source",),
    ),
    MovedTable(
        Study, lambda scope: Study.objects.filter(pk=scope.study.pk),
        withheld={
            "panel_secret_sealed": "a secret that only this installation can read; paste the panel's secret again",
            "deleted_at": "a moved study isn't deleted", "deleted_by_id": "a moved study isn't deleted",
        },
    ),
    MovedTable(a.Snapshot, _of_study(a.Snapshot)),
    MovedTable(a.StudyImage, _of_study(a.StudyImage)),
    MovedTable(a.Dataset, _held(a.Dataset, "datasets"), key=("workspace_id", "name", "created_at")),
    MovedTable(
        a.Instance, _held(a.Instance, "instances"), key=("dataset_id", "key"), same=("input", "gold_label", "gold_rationale"),
    ),
    MovedTable(
        e.InstancePart, lambda scope: e.InstancePart.objects.filter(instance__in=scope.instances), key=("instance_id",), same=("part",),
    ),
    MovedTable(a.System, _held(a.System, "systems"), key=("workspace_id", "name"), same=("model", "method")),
    MovedTable(
        a.Explanation, _held(a.Explanation, "explanations"), key=("instance_id", "system_id", "digest"), same=("text", "output"),
    ),
    MovedTable(
        a.AtomicUnit, lambda scope: a.AtomicUnit.objects.filter(explanation__in=scope.explanations),
        key=("explanation_id", "number"), same=("role", "text"),
    ),
    MovedTable(
        a.FollowUp, _held(a.FollowUp, "follow_ups"), key=("instance_id", "explanation_id", "digest"), same=("text", "gold_label"),
    ),
    MovedTable(
        a.Output, lambda scope: a.Output.objects.filter(follow_up__in=scope.follow_ups), key=("follow_up_id", "system_id"), same=("text",),
    ),
    MovedTable(a.Item, _of_study(a.Item)),
    MovedTable(a.Participation, _of_study(a.Participation)),
    MovedTable(a.Consent, _of_study(a.Consent, "participation__study")),
    MovedTable(a.QuestionnaireAnswer, _of_study(a.QuestionnaireAnswer, "participation__study")),
    MovedTable(a.ExamAttempt, _of_study(a.ExamAttempt, "participation__study")),
    MovedTable(a.ExamAnswer, _of_study(a.ExamAnswer, "attempt__participation__study")),
    MovedTable(
        a.Qualification, lambda scope: scope.qualifications, key=("workspace_id", "rater_id", "hit_type", "exam_id"), loose=("attempt_id",),
    ),
    MovedTable(
        a.QualificationEvent, lambda scope: a.QualificationEvent.objects.filter(qualification__in=scope.qualifications),
        part_of="qualification_id",
    ),
    MovedTable(a.Assignment, _of_study(a.Assignment, "participation__study")),
    MovedTable(a.StageCommit, _of_study(a.StageCommit, "assignment__participation__study")),
    MovedTable(a.Place, _of_study(a.Place)),
    MovedTable(a.Judgment, _of_study(a.Judgment)),
    MovedTable(a.Exclusion, _of_study(a.Exclusion)),
    MovedTable(a.Replacement, _of_study(a.Replacement, "judgment__study")),
    MovedTable(a.Review, _of_study(a.Review, "judgment__study")),
    MovedTable(a.Adjudication, _of_study(a.Adjudication)),
    MovedTable(a.LedgerEntry, _of_study(a.LedgerEntry)),
    MovedTable(a.PayBatch, _of_study(a.PayBatch)),
    MovedTable(a.PayPart, _of_study(a.PayPart, "batch__study")),
    MovedTable(a.PayLine, _of_study(a.PayLine, "part__batch__study")),
    MovedTable(a.ReviewDecision, _of_study(a.ReviewDecision)),
    MovedTable(a.UnpaidWork, _of_study(a.UnpaidWork, "decision__study")),
    MovedTable(a.Message, _of_study(a.Message)),
    MovedTable(a.DataRequest, _of_study(a.DataRequest)),
    MovedTable(a.Rehearsal, lambda scope: a.Rehearsal.objects.filter(study=scope.study).exclude(state__in=("queued", "running"))),
    MovedTable(a.PersonalLink, _of_study(a.PersonalLink)),
    MovedTable(a.PanelLink, _of_study(a.PanelLink)),
    MovedTable(a.PanelEvent, _of_study(a.PanelEvent)),
    MovedTable(
        a.PanelStudy, _of_study(a.PanelStudy),
        withheld={"follows_work": "one installation at most changes places at the panel; switch it on where the study continues"},
    ),
    MovedTable(e.AnalysisPlan, _of_study(e.AnalysisPlan)),
    MovedTable(e.PlanLook, _of_study(e.PlanLook, "plan__study")),
    MovedTable(e.QuestionVerdict, _of_study(e.QuestionVerdict)),
    MovedTable(
        e.Endpoint, _held(e.Endpoint, "endpoints"), key=("workspace_id", "created_at"),
        withheld={
            "base_url": _PROVIDER, "headers": _PROVIDER, "key_variable": _PROVIDER, "key_encrypted": _PROVIDER, "ca_certificates": _PROVIDER,
        },
        put={"base_url": "https://moved.invalid/v1"},
    ),
    MovedTable(
        e.Recipe, _held(e.Recipe, "recipes"), key=("workspace_id", "name", "version"), same=("digest", "content"),
    ),
    MovedTable(
        e.Pipeline, _held(e.Pipeline, "pipelines"), key=("recipe_id", "dataset_id", "created_at"), loose=("study_id",),
    ),
    MovedTable(
        e.Reward, lambda scope: e.Reward.objects.filter(pipeline__in=scope.pipelines),
        key=("pipeline_id", "step", "explanation_id"), same=("value", "quantile", "samples"),
    ),
    MovedTable(
        e.Run, _held(e.Run, "runs"), key=("kind", "study_id", "dataset_id", "pipeline_id", "created_at"), loose=("dataset_id", "pipeline_id"),
    ),
    MovedTable(
        e.Call, lambda scope: e.Call.objects.filter(run__in=scope.runs), part_of="run_id",
        withheld={"cache_key": "a file mustn't answer requests of other studies", "claimed_by": "names a worker of the other installation"},
    ),
    MovedTable(e.Report, lambda scope: scope.reports),
    MovedTable(e.ReportFile, lambda scope: e.ReportFile.objects.filter(report__in=scope.reports)),
    MovedTable(
        e.Release, lambda scope: scope.releases,
        withheld={"file": "the archive moves, under another name"}, put={"file": ""},
    ),
    MovedTable(e.ReleaseText, lambda scope: e.ReleaseText.objects.filter(release__in=scope.releases)),
)
_LAB = "belongs to the installation, not to a study"
#: Label of the table -> why it stays.
LEFT = {
    "admin.LogEntry": _LAB,
    "auth.Permission": _LAB,
    "auth.Group": _LAB,
    "auth.Group_permissions": _LAB,
    "contenttypes.ContentType": _LAB,
    "sessions.Session": "whoever is logged in stays so here only",
    "authtoken.Token": "API tokens never move",
    "account.EmailAddress": "a confirmed address is a way to log in; it is confirmed again on the other installation",
    "account.EmailConfirmation": "a way to log in",
    "mfa.Authenticator": "second factors never move",
    "usersessions.UserSession": "whoever is logged in stays so here only",
    "socialaccount.SocialApp": "a secret of the installation",
    "socialaccount.SocialAccount": "a way to log in",
    "socialaccount.SocialToken": "a way to log in",
    "annotator.User_groups": _HERE,
    "annotator.User_user_permissions": _HERE,
    "annotator.LoginAttempt": _LAB,
    "annotator.ApiToken": "API tokens never move",
    "annotator.AuditSubject": "part of the audit trail",
    "annotator.AuditEntry": "the audit trail is what happened on this installation, and can't be written by a file; it stays here",
    "annotator.Tombstone": "repeats erasures after a backup of this installation is restored",
    "annotator.Export": "a file that can be made again from the study",
    "annotator.FileImport": "an upload whose rows have moved",
    "annotator.Invitation": "a secret link to this installation",
    "annotator.Membership": _HERE,
    "annotator.NoticeChoices": "a researcher's own choice on this installation",
    "annotator.Notice": "an e-mail from this installation",
    "annotator.PanelConnection": "holds the token of the panel; connect the other workspace to it",
    "annotator.DeclaredType": "the file of the study's own type moves, and its workspace there saves it under its name",
    "annotator.DeclaredVersion": "part of a type of a workspace",
    "annotator.MessageTemplate": "belongs to the workspace",
    "annotator.PlaceAlert": "a promise to write when this installation has a place",
    "annotator.Workspace": "the study goes into a workspace of the other installation",
    "annotator.WorkspaceMember": _HERE,
    "evaluation.Endpoint_shared_with": _HERE,
    "evaluation.KeptJob": "a job of this installation",
    "evaluation.KeptStudy": "says where this installation keeps a study's file",
    "evaluation.WorkspaceRestore": "how far a restore has come on this installation",
    "evaluation.Batch": "refers to the provider's account of this installation; a run with a batch under way isn't moved",
    "evaluation.FineTuning": "refers to the provider's account of this installation",
    "evaluation.SigningKey": "a secret of the workspace",
    "evaluation.PlanJob": "a calculation on the plan; its power moves with the plan, and anything else is computed again",
    "evaluation.Report_others": "a report on several studies isn't of one of them; compute it again",
}
# fmt: on
BY_NAME = {table.name: table for table in MOVED}
#: What a template needs of a study: no people, no judgments, no model calls. References to other tables become empty.
OF_TEMPLATES = frozenset(
    {
        a.Declaration, Study, a.Snapshot, a.StudyImage, a.Dataset, a.Instance, e.InstancePart, a.System, a.Explanation, a.AtomicUnit,
        a.FollowUp, a.Output, a.Item, e.AnalysisPlan,
    }
)  # fmt: skip

"""What a backup of a workspace has beside the files of its studies, and what it doesn't, with the reason. A new table must be on one of the lists.

Tables of ``tables.MOVED`` are in the file of each study. Material, endpoints and recipes are in both places, so that each study's file can
be read alone; where both are read, a row is made once.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.db.models import Model, Q, QuerySet

from annotator import models as a
from annotator.models import User, Workspace
from evaluation import models as e
from evaluation.moves.tables import BY_NAME, LEFT, MovedTable, users_named


class WorkspaceScope:
    """The rows of one workspace that belong to no single study: what it owns, and the rows that these refer to."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def owned(self, model: type[Model]) -> QuerySet[Any]:
        """The rows that are the workspace's own."""
        return model._default_manager.filter(workspace=self.workspace)

    def _with(self, model: type[Model], more: QuerySet[Any]) -> set[int]:
        """The numbers of the rows that are the workspace's own, and of others that something refers to."""
        return set(self.owned(model).values_list("pk", flat=True)) | set(more)

    @cached_property
    def datasets(self) -> set[int]:
        return set(self.owned(a.Dataset).values_list("pk", flat=True))

    @cached_property
    def instances(self) -> set[int]:
        return set(a.Instance.objects.filter(dataset__in=self.datasets).values_list("pk", flat=True))

    @cached_property
    def explanations(self) -> set[int]:
        return set(a.Explanation.objects.filter(instance__in=self.instances).values_list("pk", flat=True))

    @cached_property
    def follow_ups(self) -> set[int]:
        return set(a.FollowUp.objects.filter(instance__in=self.instances).values_list("pk", flat=True))

    @cached_property
    def systems(self) -> set[int]:
        explained = a.Explanation.objects.filter(pk__in=self.explanations).values_list("system", flat=True)
        answered = a.Output.objects.filter(follow_up__in=self.follow_ups).values_list("system", flat=True)
        return self._with(a.System, explained.union(answered))

    @cached_property
    def pipelines(self) -> set[int]:
        return set(e.Pipeline.objects.filter(dataset__in=self.datasets).values_list("pk", flat=True))

    @cached_property
    def recipes(self) -> set[int]:
        return self._with(
            e.Recipe, e.Pipeline.objects.filter(pk__in=self.pipelines).values_list("recipe", flat=True)
        )

    @cached_property
    def runs(self) -> set[int]:
        """The runs that made material; those of a study are in its file."""
        made = Q(dataset__in=self.datasets) | Q(pipeline__in=self.pipelines)
        return set(e.Run.objects.filter(made, study__isnull=True).values_list("pk", flat=True))

    @cached_property
    def endpoints(self) -> set[int]:
        """Its own, and those of other workspaces that its runs have used."""
        asked = e.Run.objects.filter(pk__in=self.runs).values_list("endpoint", flat=True)
        carried = e.Pipeline.objects.filter(pk__in=self.pipelines).values_list("endpoint", flat=True)
        return self._with(e.Endpoint, asked.union(carried))

    @cached_property
    def raters(self) -> set[int]:
        """Those who have qualified, and simulators that made material."""
        ran = e.Run.objects.filter(pk__in=self.runs, rater__isnull=False).values_list("rater", flat=True)
        return set(self.owned(a.Qualification).values_list("rater", flat=True).distinct()) | set(ran)

    @cached_property
    def exams(self) -> set[int]:
        passed = self.owned(a.Qualification).filter(exam__isnull=False)
        return set(passed.values_list("exam", flat=True).distinct())

    @cached_property
    def declarations(self) -> set[str]:
        saved = a.DeclaredVersion.objects.filter(type__workspace=self.workspace)
        return {str(one) for one in saved.values_list("declaration", flat=True).distinct()}

    @cached_property
    def users(self) -> set[int]:
        """Members, people with a role in single studies, the accounts of its raters, and everyone whom a row names."""
        roles = a.Membership.objects.filter(study__workspace=self.workspace).values_list("user", flat=True)
        raters = a.Rater.objects.filter(pk__in=self.raters, user__isnull=False)
        found = set(roles) | set(raters.values_list("user", flat=True))
        return found | users_named(self, [table for table in OWN if table.model is not a.Rater])


def _owned(model: type[Model]) -> Any:
    return lambda scope: scope.owned(model)


def _like(model: type[Model], rows: Any = None) -> MovedTable:
    """The table as it is in a study's file, with the same columns and the same rules; ``rows`` are other rows of it."""
    table = BY_NAME[model._meta.label_lower]
    return table if rows is None else table.with_rows(rows)


_AGAIN = "a secret that only this installation can read; connect the panel again"
_SEEN = "what this installation saw of the panel"
# fmt: off
#: In an order in which every row comes after those that it refers to.
OWN = (
    MovedTable(
        Workspace, lambda scope: Workspace.objects.filter(pk=scope.workspace.pk),
        withheld={
            "personal_of_id": "everybody has one personal workspace; a restored one is shared by its members",
            "last_turn_at": "belongs to the other installation",
        },
    ),
    _like(User),
    _like(a.Rater),
    MovedTable(a.WorkspaceMember, _owned(a.WorkspaceMember)),
    _like(a.Exam),
    _like(a.ExamQuestion),
    _like(a.Declaration, lambda scope: a.Declaration.objects.filter(digest__in=scope.declarations)),
    MovedTable(a.DeclaredType, _owned(a.DeclaredType)),
    MovedTable(a.DeclaredVersion, lambda scope: a.DeclaredVersion.objects.filter(type__workspace=scope.workspace)),
    MovedTable(a.MessageTemplate, _owned(a.MessageTemplate)),
    MovedTable(
        a.PanelConnection, _owned(a.PanelConnection),
        withheld={"token_sealed": _AGAIN, "secret_sealed": _AGAIN, "hooks": _SEEN, "tested_at": _SEEN, "fault": _SEEN},
        put={"token_sealed": "", "fault": "Restored from a backup, which has no token. Connect the panel again."},
    ),
    _like(a.Dataset),
    _like(a.Instance),
    _like(e.InstancePart),
    _like(a.System),
    _like(a.Explanation),
    _like(a.AtomicUnit),
    _like(a.FollowUp),
    _like(a.Output),
    _like(a.Qualification, _owned(a.Qualification)),
    _like(a.QualificationEvent, lambda scope: a.QualificationEvent.objects.filter(qualification__in=scope.owned(a.Qualification))),
    _like(e.Endpoint),
    _like(e.Recipe),
    _like(e.Pipeline),
    _like(e.Reward),
    _like(e.Run),
    _like(e.Call),
)
#: Tables that stay for the same reason as when a study moves.
_AS_IN_A_STUDY = (
    "admin.LogEntry", "auth.Permission", "auth.Group", "auth.Group_permissions", "contenttypes.ContentType", "sessions.Session",
    "authtoken.Token", "account.EmailAddress", "account.EmailConfirmation", "mfa.Authenticator", "usersessions.UserSession",
    "socialaccount.SocialApp", "socialaccount.SocialAccount", "socialaccount.SocialToken", "annotator.User_groups",
    "annotator.User_user_permissions", "annotator.LoginAttempt", "annotator.ApiToken", "annotator.AuditSubject", "annotator.AuditEntry",
    "annotator.Tombstone", "annotator.Export", "annotator.FileImport", "annotator.Invitation", "annotator.NoticeChoices",
    "annotator.Notice", "annotator.PlaceAlert", "evaluation.KeptJob", "evaluation.Batch", "evaluation.FineTuning", "evaluation.PlanJob",
    "evaluation.Report_others",
)
#: Label of the table -> why it isn't in the backup of a workspace.
STAYS = {name: LEFT[name] for name in _AS_IN_A_STUDY} | {
    "annotator.Membership": "roles in single studies are in the backup's table of contents, beside their study",
    "evaluation.Endpoint_shared_with": "other workspaces share theirs themselves, and no restore gives another workspace anything",
    "evaluation.KeptStudy": "its study is in an encrypted file of its own; the command names these files, copy them too",
    "evaluation.SigningKey": "a secret of the workspace; releases are signed with a new one",
    "evaluation.WorkspaceRestore": "how far a restore has come on this installation",
}
# fmt: on

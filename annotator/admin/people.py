"""Users, raters, qualifications and exam questions."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from allauth.usersessions.models import UserSession
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.response import TemplateResponse
from rest_framework.authtoken.models import TokenProxy
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import display
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from annotator.accounts.activity import sessions_of
from annotator.admin.access import (
    EDITOR,
    AddedByService,
    StudyScoped,
    WorkspaceScoped,
)
from annotator.admin.rehearsal_filter import RehearsalFilter
from annotator.admin.study_pages.people_lists import grant, qualifications_shown, users
from annotator.core.read_only import ReadOnlyMixin
from annotator.core.service_errors import ShowsServiceErrors
from annotator.core.words import plural
from annotator.forms.people import GrantForm, RevokeForm
from annotator.models import ExamQuestion, Qualification, QualificationEvent, Rater, Snapshot, User
from annotator.selectors.study import studies_for
from annotator.selectors.user import user_of
from annotator.services.account import account_delete, account_save, sessions_end
from annotator.services.audit import people_viewed
from annotator.services.exam import qualification_revoke
from annotator.services.second_factor import second_factor_remove

# A worker that renders a template imports this file first, for the tags; only what is registered can be removed.
_OTHERS = ("account", "mfa", "socialaccount", "usersessions")
for _app in ("django.contrib.auth", "rest_framework.authtoken", *(f"allauth.{name}" for name in _OTHERS)):
    import_module(f"{_app}.admin")
admin.site.unregister(Group)
admin.site.unregister(TokenProxy)  # nobody may see other people's tokens
for _model in (Authenticator, EmailAddress, SocialAccount, SocialApp, SocialToken, UserSession):
    admin.site.unregister(_model)


@admin.register(User)
class UserAdmin(ShowsServiceErrors, DjangoUserAdmin, ModelAdmin):
    """User accounts, for superusers only. What a researcher may do in a study is set by the study's members."""

    fieldsets = (
        (None, {"fields": ("username", "password")}),
        ("Name", {"fields": ("first_name", "last_name", "email")}),
        ("Permissions", {"fields": ("is_active", "is_staff", "is_superuser")}),
        ("Dates", {"fields": ("last_login", "date_joined")}),
    )
    list_filter = (RehearsalFilter, "is_staff", "is_superuser", "is_active")
    filter_horizontal = ()
    actions = ("second_factor_remove", "log_out")

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """The page of accounts; what is sent from it is one of the ``actions``."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        people_viewed(by=request.user, page="accounts", everywhere=True)
        return super().changelist_view(request, extra_context) if request.method == "POST" else users(request)

    @admin.action(description="Reset two-factor login (for people who lost their phone)")
    def second_factor_remove(self, request: HttpRequest, rows: QuerySet[User]) -> None:
        removed = [row for row in rows if second_factor_remove(user=row, by=user_of(request))]
        messages.success(
            request, f"{plural(len(removed), 'person', 'people')} can now log in with just a password."
        )

    @admin.action(description="Log out everywhere")
    def log_out(self, request: HttpRequest, rows: QuerySet[User]) -> None:
        by = user_of(request)
        ended = sum(sessions_end(sessions=sessions_of(row), user=row, by=by) for row in rows)
        messages.success(request, f"{plural(ended, 'session')} ended.")

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        account_save(account=obj)

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        account_delete(account=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        for one in queryset:
            account_delete(account=one)


class EventInline(ReadOnlyMixin, TabularInline):
    """The history of a qualification: what happened, who did it and why."""

    model = QualificationEvent
    extra = 0
    fields = readonly_fields = ("kind", "by", "reason", "at")


@admin.register(Qualification)
class QualificationAdmin(WorkspaceScoped, AddedByService):
    """Who may do which HIT type in a workspace: granted, revoked with a reason, never deleted."""

    shows_people = True
    add_form = GrantForm
    change_role = EDITOR
    add_role = EDITOR
    inlines = (EventInline,)
    shown = (
        "workspace",
        "rater",
        "hit_type",
        "exam",
        "attempt",
        "granted_by",
        "granted_at",
        "revoked_at",
        "reason",
    )
    actions = ("revoke",)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.shown if obj else ("workspace", "name", "hit_type", "why")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.shown if obj else ()

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:
        return self.inlines if obj else ()

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """The page of qualifications; what is sent from it is the action ``revoke``."""
        if request.method == "POST":
            return super().changelist_view(request, extra_context)
        if not self.has_view_permission(request):
            raise PermissionDenied
        context = qualifications_shown(
            request,
            self.get_queryset(request),
            may_grant=self.has_add_permission(request),
            changeable=self.reachable(request, EDITOR),
        )
        self._viewed(request, [row["one"] for row in context["rows"]])
        return TemplateResponse(request, "admin/annotator/study_pages/qualifications.html", context)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        return grant(request)

    @admin.action(description="Revoke…")
    def revoke(self, request: HttpRequest, rows: QuerySet[Qualification]) -> HttpResponse | None:
        """Ask for the reason, then revoke; these people's open tasks are released."""
        mine = self.reachable(request, EDITOR).values("pk")
        chosen = Qualification.objects.filter(pk__in=rows.values("pk")).filter(pk__in=mine, revoked_at=None)
        form = RevokeForm(request.POST if "sure" in request.POST else None)
        if form.is_valid():
            why, by = form.cleaned_data["why"], user_of(request)
            done = [qualification_revoke(qualification=one, reason=why, by=by) for one in chosen]
            messages.success(request, f"{plural(len(done), 'qualification')} revoked.")
            return None
        context = {
            **self.admin_site.each_context(request),
            "title": "Revoke qualifications",
            "chosen": chosen.select_related("rater"),
            "form": form,
            "opts": self.model._meta,
        }
        return render(request, "admin/annotator/revoke.html", context)


@admin.register(Rater)
class RaterAdmin(StudyScoped):
    nothing_yet = "A rater appears here with their first judgment: a participant, a simulator, or a name from an imported file."
    shows_people = True
    study_path = "judgments__study"
    list_display = ("name", "kind", "source", "rehearsal", "created_at")
    list_filter = (RehearsalFilter, "kind")
    search_fields = ("name",)
    fields = ("name", "kind", "source", "rehearsal", "created_at")

    def reachable(self, request: HttpRequest, role: str) -> QuerySet[Any]:
        return super().reachable(request, role).distinct()

    def owners_shown(self, request: HttpRequest, rows: list[Any]) -> dict[str, Any]:
        mine = studies_for(user=request.user)
        return {"studies": mine.filter(judgments__rater__in=[row.pk for row in rows]).distinct()}


@admin.register(ExamQuestion)
class ExamQuestionAdmin(ReadOnlyMixin, ModelAdmin):
    """How difficult each exam question was; a study's exam page shows more."""

    nothing_yet = "Questions appear here when someone has taken an exam."
    list_display = ("key", "exam", "pool", "answered", "difficulty")
    list_filter = ("exam__hit_type",)
    list_select_related = ("exam",)
    fields = ("exam", "key", "number", "pool", "payload", "gold", "reason")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Only exams of the researcher's own studies: other labs must not read their questions."""
        studies = studies_for(user=request.user)
        exams = Snapshot.objects.filter(study__in=studies).values_list("content__exam", flat=True)
        own = Q(answers__attempt__participation__study__in=studies)
        return (
            super()
            .get_queryset(request)
            .filter(exam__in=[pk for pk in exams.distinct() if pk is not None])
            .annotate(
                n=Count("answers", filter=own), right=Count("answers", filter=own & Q(answers__right=True))
            )
        )

    @display(description="Answered")
    def answered(self, question: Any) -> int:
        return int(question.n)

    @display(description="Right")
    def difficulty(self, question: Any) -> str:
        return f"{question.right / question.n:.0%}" if question.n else "no answers yet"

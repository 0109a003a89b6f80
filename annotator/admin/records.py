"""The rows behind a study's figures: items, judgments, participants, messages, exclusions, payments, exports."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from unfold.decorators import display

from annotator.admin.access import AddedByService, StudyScoped
from annotator.admin.json_text import json_show
from annotator.admin.rehearsal_filter import RehearsalFilter
from annotator.admin.study_pages.inbox import inbox, thread_address
from annotator.core.row_ids import row_id
from annotator.core.words import plural
from annotator.forms.service import ServiceForm
from annotator.models import (
    Exclusion,
    Export,
    Item,
    Judgment,
    LedgerEntry,
    Membership,
    Message,
    Participation,
)
from annotator.selectors.study import studies_for, study_hit_type
from annotator.selectors.user import user_of
from annotator.services.exclusion import exclusion_lift, exclusion_make, exclusion_reason_set
from annotator.services.review import judgments_accept

REVIEWER = Membership.Role.REVIEWER


@admin.register(Item)
class ItemAdmin(StudyScoped):
    nothing_yet = "Items appear here when you import a study's material."
    list_display = ("key", "study", "role", "condition", "instance")
    list_filter = (("study", admin.RelatedOnlyFieldListFilter), "role")
    list_select_related = ("study", "instance")
    search_fields = ("key",)
    fields = (
        "study",
        "key",
        "role",
        "condition",
        "payload_shown",
        "gold_shown",
        "instance",
        "explanation",
        "follow_up",
    )

    @display(description="Shown to annotators")
    def payload_shown(self, item: Item) -> str:
        return json_show(item.payload)

    @display(description="Correct response (never shown to annotators)")
    def gold_shown(self, item: Item) -> str:
        return json_show(item.gold) if item.gold else "–"


@admin.register(Judgment)
class JudgmentAdmin(StudyScoped):
    nothing_yet = (
        "Judgments appear here when participants or simulators submit them, or when you import them."
    )
    shows_people = True
    list_display = ("item", "rater", "said", "source", "rehearsal", "standing", "took", "created_at")
    list_filter = (RehearsalFilter, ("study", admin.RelatedOnlyFieldListFilter), "source", "standing")
    list_select_related = ("study", "item", "rater")
    search_fields = ("item__key", "rater__name")
    actions = ("accept", "leave_out")
    fields = (
        "study",
        "item",
        "rater",
        "said",
        "source",
        "standing",
        "took",
        "signals_shown",
        "snapshot",
        "created_at",
    )

    @display(description="Rehearsal", boolean=True)
    def rehearsal(self, judgment: Judgment) -> bool:
        return judgment.rater.rehearsal

    @display(description="Response")
    def said(self, judgment: Judgment) -> str:
        kind = study_hit_type(judgment.study)
        return "; ".join(answer for _, answer in kind.describe(judgment.item.payload, judgment.response))

    @display(description="Time", ordering="seconds")
    def took(self, judgment: Judgment) -> str:
        """From when the item was shown to when the answer was submitted; imported judgments may have none."""
        return "–" if judgment.seconds is None else f"{judgment.seconds:,.1f} s"

    @display(description="Times and signals")
    def signals_shown(self, judgment: Judgment) -> str:
        return json_show(judgment.signals)

    @admin.action(description="Accept the selected judgments")
    def accept(self, request: HttpRequest, rows: QuerySet[Judgment]) -> None:
        mine = rows.filter(study__in=studies_for(user=request.user, role=REVIEWER))
        accepted = judgments_accept(judgments=mine, by=user_of(request))
        messages.success(request, f"{plural(accepted, 'judgment')} accepted.")

    @admin.action(description="Exclude the selected judgments…")
    def leave_out(self, request: HttpRequest, rows: QuerySet[Judgment]) -> HttpResponse | None:
        """Redirect to the page that asks for the reason."""
        chosen = list(rows.order_by().values_list("study_id", "pk")[:1_000])
        studies = {study for study, _ in chosen}
        if len(studies) != 1:
            messages.error(request, "Select judgments of one study only.")
            return None
        address = reverse("admin:study_exclude_judgments", args=[*studies])
        return redirect(f"{address}?{urlencode({'pk': [pk for _, pk in chosen]}, doseq=True)}")


class ExclusionForm(ServiceForm):
    class Meta:
        model = Exclusion
        fields = ("study", "rater", "item", "judgment", "reason", "collect_again")

    def create(self, data: dict[str, Any]) -> Exclusion:
        return exclusion_make(by=self.by, **data)


@admin.register(Exclusion)
class ExclusionAdmin(AddedByService):
    """Exclusions are created and lifted, never deleted."""

    nothing_yet = (
        "To exclude something, open a rater, an item or a judgment in its study. Excluded data is kept."
    )
    shows_people = True
    add_role = REVIEWER
    change_role = REVIEWER
    add_form = ExclusionForm
    list_display = ("what", "study", "reason", "created_by", "created_at", "lifted_at")
    list_filter = (("study", admin.RelatedOnlyFieldListFilter), ("lifted_at", admin.EmptyFieldListFilter))
    list_select_related = ("study", "rater", "item", "judgment__item", "judgment__rater", "created_by")
    raw_id_fields = ("rater", "item", "judgment")
    actions = ("lift",)

    @display(description="Excluded")
    def what(self, exclusion: Exclusion) -> str:
        kind = "rater" if exclusion.rater else "item" if exclusion.item else "judgment"
        return f"{kind} {exclusion.rater or exclusion.item or exclusion.judgment}"

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        fixed = (
            "study",
            "rater",
            "item",
            "judgment",
            "collect_again",
            "lifted_at",
            "created_by",
            "created_at",
        )
        return fixed if obj else ()

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        fields = ["study", "rater", "item", "judgment", "reason", "collect_again"]
        return [*fields, "lifted_at", "created_by", "created_at"] if obj else fields

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "study":
            kwargs["queryset"] = studies_for(user=request.user, role=REVIEWER)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: Exclusion, form: Any, change: bool) -> None:
        """Save only the reason, so that lifting the exclusion at the same time isn't undone."""
        if change:
            exclusion_reason_set(exclusion=obj, reason=obj.reason)

    @admin.action(description="Lift the selected exclusions")
    def lift(self, request: HttpRequest, rows: QuerySet[Exclusion]) -> None:
        mine = studies_for(user=request.user, role=REVIEWER)
        lifted = [exclusion_lift(exclusion=row) for row in rows.filter(study__in=mine)]
        messages.success(request, f"{plural(len(lifted), 'exclusion')} lifted.")


@admin.register(Participation)
class ParticipationAdmin(StudyScoped):
    nothing_yet = "Participants appear here when they join one of your studies with its link."
    shows_people = True
    list_display = ("rater", "study", "state", "rehearsal", "practice_done", "joined_at", "finished_at")
    list_filter = (RehearsalFilter, ("study", admin.RelatedOnlyFieldListFilter), "state")
    list_select_related = ("study", "rater")
    search_fields = ("rater__name",)
    fields = (
        "study",
        "rater",
        "state",
        "recruiter",
        "recruiter_id",
        "recruiter_session",
        "recruiter_verified",
        "panel_status",
        "panel_status_at",
        "join_parameters_shown",
        "instructions_at",
        "practice_done",
        "joined_at",
        "finished_at",
    )

    @display(description="Ids on the join link")
    def join_parameters_shown(self, participation: Participation) -> str:
        return (
            "; ".join(f"{name}: {value}" for name, value in participation.join_parameters.items()) or "none"
        )

    @display(description="Rehearsal", boolean=True)
    def rehearsal(self, participation: Participation) -> bool:
        return participation.rater.rehearsal


@admin.register(Message)
class MessageAdmin(StudyScoped):
    """The list is the inbox, and a message's page its thread in the study's inbox."""

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return inbox(request)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Any = None,
    ) -> HttpResponse:
        if object_id is None:  # people write messages, in a study's inbox or on their own page
            raise PermissionDenied
        return redirect(thread_address(request, row_id(object_id)))


@admin.register(LedgerEntry)
class LedgerEntryAdmin(StudyScoped):
    nothing_yet = "What participants are owed appears here when you accept their work in a study's payments."
    shows_people = True
    list_display = ("rater", "study", "kind", "amount", "reason", "created_by", "created_at")
    list_filter = (("study", admin.RelatedOnlyFieldListFilter), "kind")
    list_select_related = ("study", "rater", "created_by")


@admin.register(Export)
class ExportAdmin(StudyScoped):
    """Files of judgments, built in the background."""

    nothing_yet = "Files appear here when you export the judgments of a study."
    list_display = (
        "study",
        "form",
        "format",
        "state",
        "created_by",
        "created_at",
        "finished_at",
        "file_link",
    )
    list_filter = (("study", admin.RelatedOnlyFieldListFilter), "state")
    list_select_related = ("study", "created_by")
    change_role = None

    @display(description="File")
    def file_link(self, export: Export) -> str:
        return export.error or (
            "ready: only the person who requested it can download it" if export.state == "done" else "–"
        )

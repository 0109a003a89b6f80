"""The list of studies, and a study's page: its state, what to do next, and its settings."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.forms import ModelForm, MultipleChoiceField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import NoReverseMatch, path, reverse
from unfold.admin import TabularInline
from unfold.decorators import display
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from annotator.admin import study_actions as study_pages
from annotator.admin.access import BY_WORKSPACE, EDITOR, OWNER, AddedByService
from annotator.admin.study_pages import urls as study_page_urls
from annotator.forms.study import NewStudyForm, StudyForm
from annotator.hit_types.registry import hit_type_get
from annotator.models import Membership, Study
from annotator.selectors.progress import study_progress
from annotator.selectors.qualification import requirement_choices
from annotator.selectors.study import studies_for
from annotator.selectors.user import user_of
from annotator.services.study import launch_faults, study_update


class MembershipInline(TabularInline):
    """The study's members, whom only an owner can change."""

    model = Membership
    extra = 0
    tab = True
    autocomplete_fields = ("user",)

    def _owner(self, request: HttpRequest, obj: Study | None) -> bool:
        return obj is not None and studies_for(user=request.user, role=OWNER).filter(pk=obj.pk).exists()

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_staff)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._owner(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._owner(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._owner(request, obj)


REQUIRES = "Only people with all of these can join: passed in another study, or granted by a researcher."


@admin.register(Study)
class StudyAdmin(AddedByService):
    study_path = ""
    add_form = NewStudyForm
    change_role = EDITOR
    form = StudyForm
    inlines = (MembershipInline,)
    list_display = (
        "title", "workspace", "type_shown", "state_shown", "items_shown", "judgments_shown", "created_at",
    )  # fmt: skip
    list_filter = (BY_WORKSPACE, "state", "hit_type")
    search_fields = ("title", "slug")
    readonly_fields = (
        "workspace",
        "slug_shown",
        "type_shown",
        "state_shown",
        "version_shown",
        "link_shown",
        "launched_at",
        "closed_at",
    )
    prepopulated_fields: dict[str, tuple[str, ...]] = {}
    change_form_outer_before_template = "admin/annotator/study/home.html"
    fieldsets = (
        (
            "What annotators read",
            {
                "classes": ("tab",),
                "fields": ("title", "summary", "contact", "consent_text", "instructions_text", "completion_code"),
            },
        ),
        (
            "Items and raters",
            {
                "classes": ("tab",),
                "fields": (
                    "redundancy", "max_items_per_rater", "one_condition_per_instance", "lease_minutes", "seed", "join_open",
                ),
            },
        ),
        (
            "Qualification",
            {
                "classes": ("tab",),
                "fields": (
                    "practice_required", "exam_required", "exam_questions", "pass_mark", "exam_attempts",
                    "exam_wait_minutes", "exam_feedback", "exam_pay", "requires",
                ),
            },
        ),
        (
            "Pay and time",
            {
                "classes": ("tab",),
                "fields": (
                    "pay_per_item", "currency", "minutes_per_item", "pay_floor_per_hour", "min_seconds", "undo_seconds",
                ),
            },
        ),
        (
            "Identity",
            {
                "classes": ("tab",),
                "fields": (
                    "workspace", "slug_shown", "type_shown", "state_shown", "version_shown", "link_shown",
                    "launched_at", "closed_at",
                ),
            },
        ),
    )  # fmt: skip

    # -- columns and fields ------------------------------------------------------------------------------------

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("snapshot", "workspace")

    @display(description="HIT type", ordering="hit_type")
    def type_shown(self, study: Study) -> str:
        kind = hit_type_get(study.hit_type)
        return f"{kind.title} ({kind.source})"

    @display(
        description="State", ordering="state", label={"live": "success", "paused": "warning", "draft": "info"}
    )
    def state_shown(self, study: Study) -> str:
        return study.state

    @display(description="Items")
    def items_shown(self, study: Study) -> str:
        return f"{self.counts['items'].get(study.pk, 0):,}"

    @display(description="Judgments")
    def judgments_shown(self, study: Study) -> str:
        return f"{self.counts['judgments'].get(study.pk, 0):,}"

    @display(description="Short name")
    def slug_shown(self, study: Study) -> str:
        return study.slug

    @display(description="Version")
    def version_shown(self, study: Study) -> str:
        snapshot = study.snapshot
        return f"{snapshot.number}, {snapshot.digest}" if snapshot else "none until it is launched"

    @display(description="Annotators join at")
    def link_shown(self, study: Study) -> str:
        return reverse("annotator:invitation", args=[study.join_token])

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        # Two grouped counts for the whole list, however long it is.
        self.counts = study_pages.list_counts(request)
        return super().changelist_view(request, extra_context)

    # -- add and change --------------------------------------------------------------------------

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_staff)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        if obj is not None and obj.state == Study.State.CLOSED:
            return False
        return super().has_change_permission(request, obj)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return ((None, {"fields": ("workspace", "template", "title", "slug")}),)
        return super().get_fieldsets(request, obj)

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:
        return () if obj is None else super().get_inlines(request, obj)

    def get_prepopulated_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return {"slug": ("title",)} if obj is None else {}

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return ()
        fixed = ("seed",) if obj.state != Study.State.DRAFT else ()
        return (*self.readonly_fields, *fixed)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "requires":
            return MultipleChoiceField(
                choices=requirement_choices(workspace_id=self.workspace_of(request)), required=False, widget=UnfoldAdminCheckboxSelectMultipleWidget, help_text=REQUIRES,
                label="Required qualifications",
            )  # fmt: skip
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def workspace_of(self, request: HttpRequest) -> int | None:
        """The workspace of the study whose page this is."""
        match = request.resolver_match
        study = self.get_object(request, match.kwargs.get("object_id", "")) if match else None
        return study.workspace_id if study else None

    def save_model(self, request: HttpRequest, obj: Study, form: ModelForm, change: bool) -> None:
        if not change:
            return
        version = obj.snapshot
        changed = {name: form.cleaned_data[name] for name in form.changed_data if name in form.cleaned_data}
        try:
            saved = study_update(study=obj, by=user_of(request), **changed)
        except ValidationError as error:
            messages.error(request, "Not saved: " + " ".join(error.messages))
            return
        if saved.snapshot != version and saved.snapshot:
            messages.info(
                request,
                f"The study is live, so this is version {saved.snapshot.number}. Earlier judgments keep their version.",
            )

    def response_add(self, request: HttpRequest, obj: Study, post_url_continue: Any = None) -> HttpResponse:
        messages.success(request, "Study created. Next, import its material.")
        return redirect("admin:annotator_study_change", obj.pk)

    # -- the study's page -------------------------------------------------------------------------

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        study = self.get_object(request, object_id)
        extra = dict(extra_context or {})
        if study is not None:
            extra["home"] = self.home(request, study)
        return super().change_view(request, object_id, form_url, extra)

    def home(self, request: HttpRequest, study: Study) -> dict[str, Any]:
        progress = study_progress(study)
        editor = studies_for(user=request.user, role=EDITOR).filter(pk=study.pk).exists()
        return {
            "study": study,
            "kind": hit_type_get(study.hit_type),
            "progress": progress,
            "faults": launch_faults(study) if study.state == Study.State.DRAFT else [],
            "editor": editor,
            "actions": study_pages.actions_for(study) if editor else [],
            "links": self.links(study),
            "cost": progress.items * study.redundancy * study.pay_per_item,
            "done_share": progress.done / progress.places if progress.places else 0,
            "held_share": progress.leased / progress.places if progress.places else 0,
            "joined": study.participations.count(),
            "waiting": study.messages.filter(settled_at__isnull=True).exclude(kind="reply").count(),
            "underpaid": progress.pay_per_hour is not None
            and progress.pay_per_hour < float(study.pay_floor_per_hour),
            "join_url": request.build_absolute_uri(reverse("annotator:invitation", args=[study.join_token])),
        }

    def links(self, study: Study) -> list[tuple[str, str, str]]:
        """(what, where, why): rows behind the figures, and the rooms that another app may bring."""
        of_study = f"?study__id__exact={study.pk}"
        wanted = [
            ("Live", "admin:study_live", [study.pk], "", "is it going well, can I trust it, what needs me"),
            ("Preview as an annotator", "annotator:preview", [study.pk], "", "nothing is stored"),
            (
                "Exam and practice",
                "admin:study_exam",
                [study.pk],
                "",
                "questions of your own, previewed; how they fare",
            ),
            ("Items", "admin:study_items", [study.pk], "", "what is judged"),
            ("Judgments", "admin:study_judgments", [study.pk], "", "what was said, in words"),
            (
                "People",
                "admin:annotator_participation_changelist",
                [],
                of_study,
                "who takes part, and how far they are",
            ),
            ("Messages", "admin:annotator_message_changelist", [], of_study, "flags and questions"),
            ("Raters", "admin:study_raters", [study.pk], "", "how many, how fast"),
            ("Exclusions", "admin:study_exclusions", [study.pk], "", "what is left out, and why"),
            (
                "Run a simulator",
                "admin:evaluation_run_add",
                [],
                f"?kind=simulate&study={study.pk}",
                "the same items to a model",
            ),
            ("Runs", "admin:evaluation_run_changelist", [], of_study, "jobs of model calls"),
            ("Reports", "evaluation:reports", [study.pk], "", "agreement and metrics"),
            ("Exports", "admin:study_exports", [study.pk], "", "chosen rows, also very many"),
        ]
        found = []
        for title, name, args, query, why in wanted:
            try:
                found.append((title, reverse(name, args=args) + query, why))
            except NoReverseMatch:
                continue
        return found

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view
        return [
            path("<int:pk>/do/<slug:name>/", view(study_pages.do), name="annotator_study_do"),
            path(
                "<int:pk>/export/<slug:form>.<slug:ending>",
                view(study_pages.export),
                name="annotator_study_export",
            ),
            *study_page_urls.patterns(view),
            *super().get_urls(),
        ]

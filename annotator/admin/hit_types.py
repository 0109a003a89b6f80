"""The HIT types and questionnaires of the researcher's workspaces: lists, and an editor with a live preview."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from csp.decorators import csp_update
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from unfold.admin import ModelAdmin
from unfold.decorators import display

from annotator.admin.access import BY_WORKSPACE, EDITOR, WorkspaceScoped
from annotator.core import converters  # noqa: F401 - registers them
from annotator.core.row_ids import row_id
from annotator.core.service_errors import errors_add
from annotator.core.words import plural
from annotator.forms.hit_type import CopyForm, HitTypeForm, TryForm
from annotator.hit_types.declaration.document import MOST_BYTES
from annotator.hit_types.declaration.gallery import GALLERY
from annotator.hit_types.declaration.problems import DeclarationRefused, Problem
from annotator.hit_types.declaration.questionnaire import questionnaires_read, questionnaires_text
from annotator.hit_types.declaration.questionnaire_files import FOLDER as QUESTIONNAIRES
from annotator.hit_types.declaration.questionnaire_files import questionnaire_names
from annotator.hit_types.registry import hit_types
from annotator.models import DeclaredQuestionnaire, DeclaredType, DeclaredVersion
from annotator.selectors.declared_type import (
    declared_type_get_for,
    declared_types_for,
    version_get,
    versions_listed,
)
from annotator.selectors.user import user_of
from annotator.services.declared_file import source_text
from annotator.services.declared_type import (
    SavedMeanwhile,
    declared_type_copy,
    declared_type_delete,
    declared_type_save,
    source_renamed,
)
from annotator.services.gallery_demo import gallery_demo_make

Kind = DeclaredType.Kind
#: Versions that are listed.
MOST_LISTED = 100
_FRAMED: Any = csp_update({"frame-src": ["'self'"]})


@dataclass(frozen=True)
class Sort:
    """What the pages of types and those of questionnaires differ in: their addresses and words, and what the editor shows beside the
    file, as the value and the words of a button each."""

    kind: str
    noun: str
    plural: str
    lead: str
    preview: str
    pages: str
    actions: str
    parts: tuple[tuple[str, str], ...]


SORTS = {
    Kind.HIT_TYPE: Sort(
        Kind.HIT_TYPE, "HIT type", "HIT types",
        "One file says what is shown and asked, how people are taught and examined, and how models are asked the same.",
        "annotator:preview_hit_type", "admin:annotator_declaredtype", "admin:hit_type",
        (("task", "Task"), ("instructions", "Instructions"), ("practice", "Practice"), ("exam", "Exam"), ("prompt", "Prompt")),
    ),
    Kind.QUESTIONNAIRE: Sort(
        Kind.QUESTIONNAIRE, "questionnaire", "Questionnaires",
        "One file says what people are asked before or after the tasks of a study. Nobody has to answer.",
        "annotator:preview_questionnaire", "admin:annotator_declaredquestionnaire", "admin:questionnaire",
        (("before", "Before the tasks"), ("after", "After the tasks")),
    ),
}  # fmt: skip


@admin.register(DeclaredType)
class DeclaredTypeAdmin(WorkspaceScoped):
    """The types of the researcher's workspaces. A row leads to the editor."""

    nothing_yet = "A HIT type of your own is one file, without code. Add one from the gallery, a built-in type or an upload."
    kind: str = Kind.HIT_TYPE
    add_role = EDITOR
    list_display = ("name_shown", "title_shown", "version_shown", "workspace", "saved_shown")
    list_display_links = None
    list_filter = (BY_WORKSPACE,)
    search_fields = ("name",)

    def get_queryset(self, request: HttpRequest) -> Any:
        return declared_types_for(user=request.user, kind=self.kind)

    @display(description="Name", ordering="name")
    def name_shown(self, one: DeclaredType) -> str:
        return format_html('<a href="{}/change/">{}</a>', one.pk, one.name)

    @display(description="Title")
    def title_shown(self, one: Any) -> str:
        return str(one.title)

    @display(description="Version")
    def version_shown(self, one: Any) -> str:
        return f"{one.number} ({one.version})"

    @display(description="Saved")
    def saved_shown(self, one: Any) -> Any:
        return one.saved_at

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return obj is not None and self.may(request, obj, EDITOR)

    @method_decorator(_FRAMED)
    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        return editor(request, kind=self.kind)

    @method_decorator(_FRAMED)
    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        of = declared_type_get_for(user=request.user, pk=row_id(object_id), kind=self.kind)
        return editor(request, of, kind=self.kind)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        return delete(request, pk=row_id(object_id), kind=self.kind)

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view
        name, kind = SORTS[Kind(self.kind)].actions.removeprefix("admin:"), {"kind": self.kind}
        own = [
            path("<row:pk>/copy/", view(copy), kind, name=f"{name}_copy"),
            path("<row:pk>/versions/<row:number>/", view(download), kind, name=f"{name}_download"),
        ]
        if self.kind == Kind.HIT_TYPE:
            own.append(path("gallery/try/", view(try_it), name="hit_type_try"))
        return [*own, *ModelAdmin.get_urls(self)]


@admin.register(DeclaredQuestionnaire)
class DeclaredQuestionnaireAdmin(DeclaredTypeAdmin):
    """The questionnaires of the researcher's workspaces. A row leads to the editor."""

    nothing_yet = "A questionnaire asks participants before or after their tasks. Add one from the gallery or an upload."
    kind = Kind.QUESTIONNAIRE


@require_http_methods(["GET", "HEAD", "POST"])
def editor(
    request: HttpRequest, of: DeclaredType | None = None, *, kind: str = Kind.HIT_TYPE
) -> HttpResponse:
    """Write a type or a questionnaire: start from a file of the gallery, an existing type or an upload; save it as a new version."""
    sort = SORTS[Kind(kind)]
    may = (
        of is None or declared_types_for(user=request.user, role=EDITOR, kind=kind).filter(pk=of.pk).exists()
    )
    latest = version_get(type=of) if of else None
    problems: tuple[Problem, ...] = ()
    meanwhile: DeclaredVersion | None = None
    if request.method == "POST":
        if of is not None:  # a viewer's type isn't there for changes
            of = declared_type_get_for(user=request.user, pk=of.pk, role=EDITOR, kind=kind)
        sent, problems = _sent(request)
        form = HitTypeForm(sent, by=user_of(request), new=of is None)
        if not problems and "save" in request.POST and form.is_valid():
            try:
                workspace = of.workspace if of else form.cleaned_data["workspace"]
                saved = declared_type_save(
                    workspace=workspace, by=user_of(request), source=form.cleaned_data["source"],
                    base=form.cleaned_data["base"], of=of, kind=kind,
                )  # fmt: skip
            except DeclarationRefused as error:
                problems = error.problems
            except SavedMeanwhile as error:
                meanwhile = error.latest
                form.add_error(None, error.messages)
            except ValidationError as error:
                errors_add(form, error)
            else:
                same = latest is not None and saved.number == latest.number
                said = (
                    "Nothing was saved: the file is as in the latest version."
                    if same
                    else f"Version {saved.number} of {saved.type} was saved."
                )
                messages.success(request, said)
                return redirect(f"{sort.pages}_change", saved.type_id)
    else:
        form = HitTypeForm(
            initial={"source": _start(request, of, latest, kind), "base": latest.number if latest else 0},
            by=user_of(request), new=of is None,
        )  # fmt: skip
    return _editor_page(
        request, form, sort=sort, of=of, latest=latest, may=may, problems=problems, meanwhile=meanwhile
    )


def _sent(request: HttpRequest) -> tuple[Any, tuple[Problem, ...]]:
    """What was sent, with the text of an uploaded file in place of the editor's."""
    file = request.FILES.get("file")
    if file is None or "upload" not in request.POST:
        return request.POST, ()
    sent = request.POST.copy()
    try:
        sent["source"] = source_text(file.read(MOST_BYTES + 1))
    except DeclarationRefused as error:
        return sent, error.problems
    return sent, ()


def _start(request: HttpRequest, of: DeclaredType | None, latest: DeclaredVersion | None, kind: str) -> str:
    """The text that the editor begins with."""
    if of is not None and latest is not None:
        number = row_id(request.GET.get("version"))
        return (version_get(type=of, number=number) if number else latest).declaration.source
    start, _, name = request.GET.get("from", "").partition(":")
    if start == "gallery" and name in _gallery(kind):
        folder = GALLERY if kind == Kind.HIT_TYPE else QUESTIONNAIRES
        source = (folder / f"{name}.yaml").read_text(encoding="utf-8")
        return source_renamed(source, f"my_{name}"[:40])
    if start == "type":
        chosen = declared_type_get_for(user=request.user, pk=row_id(name), kind=kind)
        return version_get(type=chosen).declaration.source
    if start:
        raise Http404("no such start")
    return ""


def _gallery(kind: str) -> dict[str, str]:
    """The types of the gallery, or the questionnaires that come with Foretell: name -> title, by title."""
    if kind == Kind.QUESTIONNAIRE:
        files = {name: questionnaires_read(questionnaires_text(name))[0] for name in questionnaire_names()}
        return {name: one.title for name, one in files.items()}
    names = (path.stem for path in GALLERY.glob("*.yaml"))
    return dict(sorted(((name, hit_types()[name].title) for name in names), key=lambda one: one[1]))


def _editor_page(
    request: HttpRequest, form: HitTypeForm, *, sort: Sort, of: DeclaredType | None, latest: DeclaredVersion | None, may: bool,
    problems: tuple[Problem, ...] = (), meanwhile: DeclaredVersion | None = None, copy_form: CopyForm | None = None,
) -> HttpResponse:  # fmt: skip
    user = user_of(request)
    context = {
        **admin.site.each_context(request),
        "title": of.name if of else f"New {sort.noun}",
        "sort": sort,
        "pages": {name: f"{sort.pages}_{name}" for name in ("change", "changelist", "delete")},
        "download": f"{sort.actions}_download",
        "copy": f"{sort.actions}_copy",
        "form": form,
        "of": of,
        "latest": latest,
        "may": may,
        "problems": problems,
        "meanwhile": meanwhile,
        "gallery": _gallery(sort.kind) if of is None else {},
        "try_form": TryForm(by=user) if of is None and sort.kind == Kind.HIT_TYPE else None,
        "others": declared_types_for(user=user, kind=sort.kind).order_by("workspace__name", "name")[:200]
        if of is None
        else [],
        "versions": list(versions_listed(of)[:MOST_LISTED]) if of else [],
        "copy_form": copy_form
        or (CopyForm(by=user, initial={"name": f"{of.name}_copy"[:40]}) if of else None),
    }
    wrong = bool(problems or form.errors or (copy_form and copy_form.errors))
    return TemplateResponse(request, "admin/annotator/hit_type.html", context, status=400 if wrong else 200)


@require_POST
def try_it(request: HttpRequest) -> HttpResponse:
    """Make a demo study of a type of the gallery in one of the researcher's workspaces, with its rehearsal."""
    form = TryForm(request.POST, by=user_of(request))
    study = None
    if form.is_valid():
        try:
            study = gallery_demo_make(by=user_of(request), **form.cleaned_data)
        except ValidationError as error:
            errors_add(form, error)
    if study is not None:
        messages.success(
            request,
            f"{study.title} was made from {plural(study.items.count(), 'item')}, and rehearsal raters are answering them. Look at Preview for the task, "
            "and compute a report when the rehearsal is done. Close and delete the study when you have seen enough.",
        )
        return redirect("admin:study_live", study.pk)
    messages.error(request, " ".join(str(text) for texts in form.errors.values() for text in texts))
    return redirect("admin:annotator_declaredtype_add")


@require_POST
@_FRAMED
def copy(request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    """Copy the latest version under another name, or into another workspace of the researcher."""
    of, sort = declared_type_get_for(user=request.user, pk=pk, kind=kind), SORTS[Kind(kind)]
    form = CopyForm(request.POST, by=user_of(request))
    if form.is_valid():
        try:
            made = declared_type_copy(type=of, by=user_of(request), **form.cleaned_data)
        except DeclarationRefused as error:
            form.add_error("name", [problem.message for problem in error.problems])
        except ValidationError as error:
            errors_add(form, error)
        else:
            messages.success(request, f"{made.type} was made from {of} in {made.type.workspace}.")
            return redirect(f"{sort.pages}_change", made.type_id)
    latest = version_get(type=of)
    shown = HitTypeForm(
        initial={"source": latest.declaration.source, "base": latest.number}, by=user_of(request), new=False
    )
    may = declared_types_for(user=request.user, role=EDITOR, kind=kind).filter(pk=pk).exists()
    return _editor_page(request, shown, sort=sort, of=of, latest=latest, may=may, copy_form=form)


@require_safe
def download(request: HttpRequest, pk: int, number: int, kind: str) -> HttpResponse:
    """A version's file, as it was saved."""
    version = version_get(type=declared_type_get_for(user=request.user, pk=pk, kind=kind), number=number)
    response = HttpResponse(version.declaration.source, content_type="text/plain; charset=utf-8")
    suffix = "json" if version.declaration.source.lstrip().startswith("{") else "yaml"
    response["Content-Disposition"] = f'attachment; filename="{version.type.name}.{suffix}"'
    return response


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    """Ask, then delete a type that no study uses, or a questionnaire."""
    of, sort = declared_type_get_for(user=request.user, pk=pk, role=EDITOR, kind=kind), SORTS[Kind(kind)]
    if request.method == "POST":
        try:
            declared_type_delete(type=of, by=user_of(request))
        except ValidationError as error:
            messages.error(request, " ".join(error.messages))
            return redirect(f"{sort.pages}_change", pk)
        messages.success(request, f"{of.name} was deleted.")
        return redirect(f"{sort.pages}_changelist")
    context = {
        **admin.site.each_context(request), "title": f"Delete {of.name}", "of": of, "back": f"{sort.pages}_change", "sort": sort,
        "count": plural(of.versions.count(), "version"),
    }  # fmt: skip
    return TemplateResponse(request, "admin/annotator/hit_type_delete.html", context)

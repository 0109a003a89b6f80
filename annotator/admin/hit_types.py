"""The HIT types of the researcher's workspaces: a list, and an editor with a live preview."""

from __future__ import annotations

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
from annotator.hit_types.registry import hit_types
from annotator.models import DeclaredType, DeclaredVersion
from annotator.selectors.declared_type import (
    declared_type_get_for,
    declared_types_for,
    version_get,
    versions_listed,
)
from annotator.selectors.user import user_of
from annotator.services.declared_type import (
    SavedMeanwhile,
    declared_type_copy,
    declared_type_delete,
    declared_type_save,
    source_renamed,
    source_text,
)
from annotator.services.gallery_demo import gallery_demo_make

#: What the editor shows of a type, beside the file: the value of the button and its words.
PARTS = (
    ("task", "Task"),
    ("instructions", "Instructions"),
    ("practice", "Practice"),
    ("exam", "Exam"),
    ("prompt", "Prompt"),
)
#: Versions that are listed.
MOST_LISTED = 100
_FRAMED: Any = csp_update({"frame-src": ["'self'"]})


@admin.register(DeclaredType)
class DeclaredTypeAdmin(WorkspaceScoped):
    """The types of the researcher's workspaces. A row leads to the editor."""

    add_role = EDITOR
    list_display = ("name_shown", "title_shown", "version_shown", "workspace", "saved_shown")
    list_display_links = None
    list_filter = (BY_WORKSPACE,)
    search_fields = ("name",)

    def get_queryset(self, request: HttpRequest) -> Any:
        return declared_types_for(user=request.user)

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
        return editor(request)

    @method_decorator(_FRAMED)
    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        return editor(request, declared_type_get_for(user=request.user, pk=row_id(object_id)))

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        return delete(request, pk=row_id(object_id))

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view
        own = [
            path("gallery/try/", view(try_it), name="hit_type_try"),
            path("<row:pk>/copy/", view(copy), name="hit_type_copy"),
            path("<row:pk>/versions/<row:number>/", view(download), name="hit_type_download"),
        ]
        return [*own, *ModelAdmin.get_urls(self)]


@require_http_methods(["GET", "HEAD", "POST"])
def editor(request: HttpRequest, of: DeclaredType | None = None) -> HttpResponse:
    """Write a type: start from a file of the gallery, an existing type or an upload; save it as a new version."""
    may = of is None or declared_types_for(user=request.user, role=EDITOR).filter(pk=of.pk).exists()
    latest = version_get(type=of) if of else None
    problems: tuple[Problem, ...] = ()
    meanwhile: DeclaredVersion | None = None
    if request.method == "POST":
        if of is not None:  # a viewer's type isn't there for changes
            of = declared_type_get_for(user=request.user, pk=of.pk, role=EDITOR)
        sent, problems = _sent(request)
        form = HitTypeForm(sent, by=user_of(request), new=of is None)
        if not problems and "save" in request.POST and form.is_valid():
            try:
                workspace = of.workspace if of else form.cleaned_data["workspace"]
                saved = declared_type_save(
                    workspace=workspace, by=user_of(request), source=form.cleaned_data["source"],
                    base=form.cleaned_data["base"], of=of,
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
                return redirect("admin:annotator_declaredtype_change", saved.type_id)
    else:
        form = HitTypeForm(
            initial={"source": _start(request, of, latest), "base": latest.number if latest else 0},
            by=user_of(request), new=of is None,
        )  # fmt: skip
    return _editor_page(request, form, of=of, latest=latest, may=may, problems=problems, meanwhile=meanwhile)


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


def _start(request: HttpRequest, of: DeclaredType | None, latest: DeclaredVersion | None) -> str:
    """The text that the editor begins with."""
    if of is not None and latest is not None:
        number = row_id(request.GET.get("version"))
        return (version_get(type=of, number=number) if number else latest).declaration.source
    kind, _, name = request.GET.get("from", "").partition(":")
    if kind == "gallery" and name in _gallery():
        source = (GALLERY / f"{name}.yaml").read_text(encoding="utf-8")
        return source_renamed(source, f"my_{name}"[:40])
    if kind == "type":
        return version_get(type=declared_type_get_for(user=request.user, pk=row_id(name))).declaration.source
    if kind:
        raise Http404("no such start")
    return ""


def _gallery() -> dict[str, str]:
    """The types of the gallery: name -> title, by title."""
    names = (path.stem for path in GALLERY.glob("*.yaml"))
    return dict(sorted(((name, hit_types()[name].title) for name in names), key=lambda one: one[1]))


def _editor_page(
    request: HttpRequest, form: HitTypeForm, *, of: DeclaredType | None, latest: DeclaredVersion | None, may: bool,
    problems: tuple[Problem, ...] = (), meanwhile: DeclaredVersion | None = None, copy_form: CopyForm | None = None,
) -> HttpResponse:  # fmt: skip
    user = user_of(request)
    context = {
        **admin.site.each_context(request),
        "title": of.name if of else "New HIT type",
        "form": form,
        "of": of,
        "latest": latest,
        "may": may,
        "problems": problems,
        "meanwhile": meanwhile,
        "parts": PARTS,
        "gallery": _gallery() if of is None else {},
        "try_form": TryForm(by=user) if of is None else None,
        "others": declared_types_for(user=user).order_by("workspace__name", "name")[:200]
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
    if form.is_valid():
        study = gallery_demo_make(by=user_of(request), **form.cleaned_data)
        messages.success(
            request,
            f"{study.title} was made from {plural(study.items.count(), 'item')}, and rehearsal raters are answering them. Look at Preview for the task, "
            "and compute a report when the rehearsal is done. Close and delete the study when you have seen enough.",
        )
        return redirect("admin:study_live", study.pk)
    messages.error(request, " ".join(text for texts in form.errors.values() for text in texts))
    return redirect("admin:annotator_declaredtype_add")


@require_POST
@_FRAMED
def copy(request: HttpRequest, pk: int) -> HttpResponse:
    """Copy the latest version under another name, or into another workspace of the researcher."""
    of = declared_type_get_for(user=request.user, pk=pk)
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
            return redirect("admin:annotator_declaredtype_change", made.type_id)
    latest = version_get(type=of)
    shown = HitTypeForm(
        initial={"source": latest.declaration.source, "base": latest.number}, by=user_of(request), new=False
    )
    may = declared_types_for(user=request.user, role=EDITOR).filter(pk=pk).exists()
    return _editor_page(request, shown, of=of, latest=latest, may=may, copy_form=form)


@require_safe
def download(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    """A version's file, as it was saved."""
    version = version_get(type=declared_type_get_for(user=request.user, pk=pk), number=number)
    response = HttpResponse(version.declaration.source, content_type="text/plain; charset=utf-8")
    suffix = "json" if version.declaration.source.lstrip().startswith("{") else "yaml"
    response["Content-Disposition"] = f'attachment; filename="{version.type.name}.{suffix}"'
    return response


@require_http_methods(["GET", "HEAD", "POST"])
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask, then delete a type that no study uses."""
    of = declared_type_get_for(user=request.user, pk=pk, role=EDITOR)
    if request.method == "POST":
        try:
            declared_type_delete(type=of, by=user_of(request))
        except ValidationError as error:
            messages.error(request, " ".join(error.messages))
            return redirect("admin:annotator_declaredtype_change", pk)
        messages.success(request, f"{of.name} was deleted.")
        return redirect("admin:annotator_declaredtype_changelist")
    context = {
        **admin.site.each_context(request), "title": f"Delete {of.name}", "of": of,
        "count": plural(of.versions.count(), "version"),
    }  # fmt: skip
    return TemplateResponse(request, "admin/annotator/hit_type_delete.html", context)

"""What the admin's pages of models share: rows are read-only, a form creates them, and buttons call services."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.forms import ModelForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.urls import path, reverse
from unfold.admin import ModelAdmin

from annotator.core.errors import Conflict
from annotator.core.read_only import ReadOnlyMixin
from annotator.core.service_errors import ShowsServiceErrors
from annotator.models import Membership


@dataclass(frozen=True)
class RowAction:
    """A button on a row's page: its label, the states of the row that offer it, its service and the message that follows.

    ``asks`` says what can't be undone: the button then leads to a page that asks first.
    ``carries`` is the service's argument, a list of strings, that the form repeats as the page has shown it: so nobody
    confirms what has changed since.
    """

    label: str
    states: tuple[str, ...]
    service: Callable[..., Any]
    done: str
    carries: str = ""
    asks: str = ""


def error_text(error: Exception) -> str:
    """An error of a service in one line; a ``ValidationError`` has several messages."""
    return "; ".join(getattr(error, "messages", [str(error)]))


class ReadOnlyAdmin(ReadOnlyMixin, ModelAdmin):
    """Rows that services write: staff can read them here, and change nothing."""

    list_per_page = 50
    show_full_result_count = False


class CreatedByForm(ShowsServiceErrors, ReadOnlyAdmin):
    """Rows that ``creation_form`` creates through a service; the form gets the ``user``. Existing rows are read-only."""

    creation_form: ClassVar[type[ModelForm]]

    def has_add_permission(self, request: HttpRequest) -> bool:  # type: ignore[override]
        return bool(request.user.is_staff)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        if obj is None:
            form = self.creation_form
            own = type(f"Own{form.__name__}", (form,), {"user": request.user})
            return self.with_service_error(request, own)
        return super().get_form(request, obj, change, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return [(None, {"fields": self.creation_form.Meta.fields})]  # type: ignore[attr-defined]
        return super().get_fieldsets(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return () if obj is None else self.fields

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """The form's ``save`` has already created the row."""

    def page_of(self, pk: int) -> HttpResponse:
        """Go to a row's page."""
        return redirect(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", pk)

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        return self.page_of(obj.pk)


class WithActions(CreatedByForm):
    """Rows with a page that shows their progress live and has a button for each of ``row_actions``.

    A subclass defines ``row_get``, the one function that reaches a row for a user, and ``page_context``.
    """

    row_actions: ClassVar[dict[str, RowAction]]
    progress_template: ClassVar[str]

    def row_get(self, request: HttpRequest, pk: int, role: str = Membership.Role.VIEWER) -> Any:
        raise NotImplementedError

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        raise NotImplementedError

    def actions_of(self, row: Any) -> list[tuple[str, str]]:
        """(name, label) of the actions that the row's state allows."""
        return [(name, one.label) for name, one in self.row_actions.items() if row.state in one.states]

    def get_urls(self) -> list[Any]:
        view, name = self.admin_site.admin_view, f"{self.opts.app_label}_{self.opts.model_name}"
        return [
            path("<int:pk>/progress/", view(self.progress), name=f"{name}_progress"),
            path("<int:pk>/do/<slug:name>/", view(self.do), name=f"{name}_do"),
            *super().get_urls(),
        ]

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Any = None,
    ) -> Any:
        row = self.get_object(request, object_id) if object_id else None
        context = self.page_context(request, row) if row else {}
        return super().changeform_view(request, object_id, form_url, {**(extra_context or {}), **context})

    def progress(self, request: HttpRequest, pk: int) -> HttpResponse:
        return render(request, self.progress_template, self.page_context(request, self.row_get(request, pk)))

    def do(self, request: HttpRequest, pk: int, name: str) -> HttpResponse:
        row = self.row_get(request, pk, Membership.Role.EDITOR)
        if name not in self.row_actions:
            raise Http404("no such action")
        action = self.row_actions[name]
        if request.method != "POST":
            if not action.asks:
                return HttpResponseNotAllowed(["POST"])
            context = self.admin_site.each_context(request) | {
                "row": row,
                "action": action,
                "allowed": row.state in action.states,
                "back": reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", args=[pk]),
                "title": f"{action.label}: {row}",
            }
            return render(request, "admin/evaluation/confirm.html", context)
        shown = {action.carries: request.POST.getlist(action.carries)} if action.carries else {}
        try:
            action.service(**{str(self.opts.model_name): row}, **shown)
        except (Conflict, ValidationError) as error:
            messages.error(request, error_text(error))
        else:
            messages.success(request, action.done)
        return self.page_of(pk)

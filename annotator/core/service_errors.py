"""Show a service's errors in the form that called it, also when the service refuses only as the form is saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.forms import BaseForm
from django.http import HttpRequest

T = TypeVar("T")


def errors_add(form: BaseForm, error: ValidationError) -> None:
    """Show a service's errors at the fields that they name, or at the top if the form has no such field."""
    if not hasattr(error, "error_dict"):
        form.add_error(None, error)
        return
    for name, errors in error.error_dict.items():
        form.add_error(name if name in form.fields else None, errors)


def save_checked(save: Callable[[], T]) -> T:
    """Store a row through its service, in a transaction of its own.

    If a constraint refuses the row, somebody has stored a conflicting one since the service checked it. The service then
    runs once more, finds that row, and raises a ``ValidationError`` that says what is wrong.
    """
    try:
        with transaction.atomic():
            return save()
    except IntegrityError:
        with transaction.atomic():
            return save()


class ShowsServiceErrors:
    """For a ``ModelAdmin`` whose forms are saved by services: an error that a service raises as it saves is shown in the
    form, like one that validation finds. ``get_form`` must pass its form through ``with_service_error``.

    Validation has passed then, and something has changed since, such as a name that somebody else has taken. Nothing is
    stored, and the form is shown again with what the researcher entered.
    """

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().changeform_view(request, *args, **kwargs)  # type: ignore[misc]
        except ValidationError as error:
            request.service_error = error  # type: ignore[attr-defined]
        except IntegrityError:
            pass  # somebody has stored a conflicting row: validation finds it now
        return super().changeform_view(request, *args, **kwargs)  # type: ignore[misc]

    def with_service_error(self, request: HttpRequest, form: Any) -> Any:
        """The form class itself, or one whose forms show the error that the service raised for this request."""
        error = getattr(request, "service_error", None)
        return type(form.__name__, (_WithServiceError, form), {"service_error": error}) if error else form

    def save_form(self, request: HttpRequest, form: Any, change: bool) -> Any:
        return save_checked(lambda: form.save(commit=False))


class _WithServiceError:
    """A form that isn't valid: it shows the error that the service raised for the same values."""

    service_error: ValidationError

    def full_clean(self: Any) -> None:
        super().full_clean()  # type: ignore[misc]
        if not self.errors:
            errors_add(self, self.service_error)

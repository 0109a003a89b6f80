"""A model form whose row is checked and stored by a service."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Model

from annotator.core.service_errors import errors_add, save_checked
from annotator.models import User


class ServiceForm(forms.ModelForm):
    """A form for a new row. ``by`` is the researcher; a subclass overrides ``create``.

    Validation tries the service in a savepoint that is rolled back, so that its ``ValidationError`` is shown at the field
    that it names and nothing is written before ``save``.
    """

    by: User

    def create(self, data: dict[str, Any]) -> Model:
        """Store the row through its service and return it. May raise ``ValidationError``."""
        raise NotImplementedError

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors:
            try:
                save_checked(lambda: self._try(data))
            except ValidationError as error:
                errors_add(self, error)
        return data

    def _try(self, data: dict[str, Any]) -> None:
        self.create(data)
        transaction.set_rollback(True)

    def _post_clean(self) -> None:
        """Skip the model's own validation: the service has validated the row."""

    def save(self, commit: bool = True) -> Any:
        """Store the row, whatever ``commit`` says, which Django's admin sets to False. Raises ``ValidationError`` if the
        service refuses what it accepted before, because something has changed since.
        """
        self.instance = self.create(self.cleaned_data)
        return self.instance

    def save_m2m(self) -> None:
        """Nothing is left to save."""

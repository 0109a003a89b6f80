"""What our own forms in the admin share: their style (the theme styles only the fields that Django makes from a model), and that
services save their rows."""

from __future__ import annotations

from django import forms


def fields_style(form: forms.BaseForm) -> None:
    """Give every unstyled widget the style of the admin's theme."""
    from unfold import widgets

    looks: tuple[tuple[type[forms.Widget], list[str]], ...] = (
        (forms.CheckboxInput, ["own-check"]),
        (forms.CheckboxSelectMultiple, ["own-check"]),
        (forms.Textarea, widgets.TEXTAREA_CLASSES),
        (forms.Select, [name for name in widgets.SELECT_CLASSES if name != "appearance-none"]),
        (forms.FileInput, ["text-font-default-light", "dark:text-font-default-dark"]),
        (forms.widgets.Input, widgets.INPUT_CLASSES),
    )
    for field in form.fields.values():
        if field.widget.attrs.get("class"):
            continue
        for kind, classes in looks:
            if isinstance(field.widget, kind):
                field.widget.attrs["class"] = " ".join(classes)
                break


class NewRowForm(forms.ModelForm):
    """A form of a new row that a service checks and creates, in the form's ``save``."""

    def _post_clean(self) -> None:
        """The service checks the row."""

    def save_m2m(self) -> None:
        """The service has saved everything."""

"""The form in which a researcher chooses emails about studies."""

from __future__ import annotations

from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminSelectWidget

from annotator.models import NoticeChoices


class NoticeForm(forms.ModelForm):
    """How soon the researcher wants to hear about each kind of news."""

    class Meta:
        model = NoticeChoices
        fields = NoticeChoices.KINDS
        help_texts = {
            "messages": "A question, a flagged item or a request for deletion. The email says that there is one, not what it says.",
            "full": "Every place is filled, so that you can close the study or add items.",
            "quality": "Agreement whose interval lies below 0.4; a run that paused or ended with failures.",
            "pay": "Low pay at the time that tasks really take, with consent, instructions, practice and exam; and the amounts that you set for the cost.",
            "places": "Fewer than a tenth of the places are left.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in self.fields:
            self.fields[name].widget = UnfoldAdminSelectWidget(choices=NoticeChoices.When.choices)
            self.fields[name].label = (
                str(self.fields[name].label)[:1].upper() + str(self.fields[name].label)[1:]
            )

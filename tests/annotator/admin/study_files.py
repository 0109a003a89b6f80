"""A file to import, and the addresses of a study's admin pages."""

from __future__ import annotations

from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotator.models import Study


def page(study: Study, name: str = "change", *rest: object) -> str:
    """The address of a study's page in the admin, by the end of its URL name."""
    return reverse(f"admin:annotator_study_{name}", args=[study.pk, *rest])


def csv_file(*rows: str) -> SimpleUploadedFile:
    """A CSV file of material for a simulation study."""
    text = "question,explanation,answer,follow_up,real_output,system\n" + "\n".join(rows) + "\n"
    return SimpleUploadedFile("items.csv", text.encode())


GOOD = "Can owls fly?,All birds can fly.,yes,Can penguins fly?,no,robot-a"

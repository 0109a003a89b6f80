"""Import of material and judgments: upload, column mapping, preview with every error, import."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import IO, Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from annotator.admin.study_pages.frame import EDITOR, render, study_page
from annotator.core.tables.faults import FaultLog, FileRefused
from annotator.core.words import plural
from annotator.forms.importing import JudgmentsForm, MaterialForm, UploadForm
from annotator.models import FileImport, Study
from annotator.selectors.study import study_hit_type
from annotator.selectors.user import user_of
from annotator.services.demo import demo_lines, sample_lines
from annotator.services.imports.file_imports import (
    file_import_request,
    in_background,
    judgments_options,
    material_options,
)
from annotator.services.imports.judgments_import import judgments_import
from annotator.services.imports.material_import import material_import
from annotator.services.imports.pending_uploads import Parked, park, parked
from annotator.services.imports.readers import max_bytes, table_open

#: Rows of the sample file.
SAMPLE = 5


def header_of(file: IO[bytes], name: str) -> tuple[str, ...]:
    """The columns of a file: its header, or the keys of the first rows (JSON lines). Raises ``FileRefused``."""
    log = FaultLog(name)
    table = table_open(file, name=name, log=log)
    if table.columns is not None:
        return table.columns
    columns: dict[str, None] = {}
    with suppress(FileRefused):
        for _, values in islice(table.rows, 100):
            columns.update(dict.fromkeys(values))
    if not columns:
        log.check()
    return tuple(columns)


class _Import:
    """The two steps of an import page. Subclasses supply the form for the columns and the import."""

    template: str
    title: str
    address: str
    import_kind: str

    def __init__(self, request: HttpRequest, study: Study):
        self.request, self.study = request, study
        self.kind = study_hit_type(study)

    def columns_form(self, header: tuple[str, ...], data: Any) -> forms.Form:
        raise NotImplementedError

    def run(self, form: Any, file: IO[bytes], name: str, *, dry_run: bool) -> Any:
        raise NotImplementedError

    def options(self, form: Any) -> dict[str, Any]:
        raise NotImplementedError

    def waits_for_others(self, result: Any) -> bool:
        """Whether the import would ask other servers, for which a request shouldn't wait."""
        return False

    def done(self, result: Any) -> str:
        raise NotImplementedError

    def respond(self) -> HttpResponse:
        user_pk = int(self.request.user.pk or 0)
        if self.request.method != "POST":
            if ticket := self.request.GET.get("ticket", ""):  # a file that came in pieces
                found = parked(ticket=ticket, study_pk=self.study.pk, user_pk=user_pk)
                if found is not None:
                    return self.second(found, None)
            return self.show(upload=UploadForm())
        if "ticket" not in self.request.POST:
            upload = UploadForm(self.request.POST, self.request.FILES)
            if not upload.is_valid():
                return self.show(upload=upload, status=400)
            file = upload.cleaned_data["file"]
            waiting = park(study_pk=self.study.pk, user_pk=user_pk, file=file, name=file.name)
            return self.second(waiting, None)
        found = parked(ticket=self.request.POST["ticket"], study_pk=self.study.pk, user_pk=user_pk)
        if found is None:
            messages.error(self.request, "The uploaded file has expired. Choose it again.")
            return redirect(self.address, self.study.pk)
        return self.second(found, self.request.POST)

    def second(self, waiting: Parked, data: Any) -> HttpResponse:
        """Show columns, preview and errors; import if the button was pressed."""
        try:
            with waiting.open() as file:
                return self._look(waiting, file, data)
        except FileNotFoundError:
            messages.error(self.request, "The uploaded file has expired. Choose it again.")
            return redirect(self.address, self.study.pk)

    def _look(self, waiting: Parked, file: IO[bytes], data: Any) -> HttpResponse:
        try:
            header = header_of(file, waiting.name)
        except FileRefused as error:
            waiting.discard()
            return self.show(upload=UploadForm(), refused=error, name=waiting.name, status=400)
        form = self.columns_form(header, data)
        if data is None:
            form = self.columns_form(header, initial_data(form))
        result, refused = None, None
        if in_background(waiting.size):
            if data is not None and "import" in data and form.is_valid():
                try:
                    return self._hand_over(waiting, form)
                except ValidationError as error:
                    messages.error(self.request, " ".join(error.messages))
        elif form.is_valid():
            try:
                result = self.run(form, file, waiting.name, dry_run=True)
                if data is not None and "import" in data:
                    if self.waits_for_others(result):
                        return self._hand_over(waiting, form)
                    result = self.run(form, file, waiting.name, dry_run=False)
                    waiting.discard()
                    messages.success(self.request, self.done(result))
                    return redirect("admin:study_live", self.study.pk)
            except FileRefused as error:
                refused = error
            except ValidationError as error:
                messages.error(self.request, " ".join(error.messages))
        return self.show(
            form=form, ticket=waiting.ticket, name=waiting.name, result=result, refused=refused,
            large=in_background(waiting.size), size=waiting.size,
        )  # fmt: skip

    def _hand_over(self, waiting: Parked, form: Any) -> HttpResponse:
        """Have a worker import a file that is large or waits for other servers, and show how far it is."""
        job = file_import_request(
            study=self.study,
            by=user_of(self.request),
            kind=self.import_kind,
            waiting=waiting,
            options=self.options(form),
        )
        return redirect("admin:study_file_import", self.study.pk, job.pk)

    def show(self, *, status: int = 200, **context: Any) -> HttpResponse:
        if self.study.state != Study.State.DRAFT and self.template == "import_material":
            context["closed"] = True
        return render(
            self.request, self.study, self.template, tab="items" if "material" in self.template else "judgments",
            title=f"{self.title} into {self.study.title}", limit=max_bytes() // 1_000_000, status=status,
            has_items=self.study.items.exists(), replace="replace" in self.request.POST,
            example=[(c.name, c.example) for c in self.kind.columns if c.required],
            cancel_url=reverse(self.address, args=[self.study.pk]),
            upload_url=reverse("admin:study_import_upload", args=[self.study.pk]),
            piece_bytes=settings.IMPORT_PIECE_BYTES,
            recent=self.study.file_imports.filter(kind=self.import_kind)[:5], **context,
        )  # fmt: skip


def initial_data(form: forms.Form) -> dict[str, Any]:
    """A form's initial values as submitted data, so that the first page shows a preview."""
    data: dict[str, Any] = {}
    for name in form.fields:
        value = form[name].initial
        if value not in (None, ""):
            data[name] = value
    return data


class _Material(_Import):
    template, title, address = "import_material", "Import material", "admin:annotator_study_import"
    import_kind = FileImport.Kind.MATERIAL

    def options(self, form: Any) -> dict[str, Any]:
        return material_options(
            mapping=form.mapping(),
            constants=form.constants(),
            attributes=form.cleaned_data["attributes"],
            replace="replace" in self.request.POST,
        )

    def columns_form(self, header: tuple[str, ...], data: Any) -> forms.Form:
        return MaterialForm(data, kind=self.kind, header=header)

    def run(self, form: Any, file: IO[bytes], name: str, *, dry_run: bool) -> Any:
        return material_import(study=self.study, file=file, name=name, dry_run=dry_run, **self.options(form))

    def waits_for_others(self, result: Any) -> bool:
        return bool(result.to_fetch)

    def done(self, result: Any) -> str:
        return f"Imported {plural(result.items, 'item')} from {plural(result.rows, 'row')}."


class _Judgments(_Import):
    template, title, address = (
        "import_judgments",
        "Import judgments",
        "admin:annotator_study_import_judgments",
    )
    import_kind = FileImport.Kind.JUDGMENTS

    def options(self, form: Any) -> dict[str, Any]:
        return judgments_options(form.columns())

    def columns_form(self, header: tuple[str, ...], data: Any) -> forms.Form:
        return JudgmentsForm(data, kind=self.kind, header=header)

    def run(self, form: Any, file: IO[bytes], name: str, *, dry_run: bool) -> Any:
        return judgments_import(
            study=self.study, file=file, name=name, columns=form.columns(), dry_run=dry_run
        )

    def done(self, result: Any) -> str:
        return f"Imported {plural(result.judgments, 'judgment')} by {plural(result.raters, 'new rater')}."


def _page(steps: type[_Import]) -> Callable[..., Any]:
    def view(request: HttpRequest, study: Study) -> HttpResponse:
        return steps(request, study).respond()

    return study_page(EDITOR, methods=("GET", "HEAD", "POST"))(view)


material = _page(_Material)
judgments = _page(_Judgments)


@study_page(EDITOR)
def sample(request: HttpRequest, study: Study) -> HttpResponse:
    """A small file that can be imported unchanged: the first items of the HIT type's demo material, as JSON lines."""
    if study.declaration_id:
        lines = sample_lines(study_hit_type(study), SAMPLE)
    else:
        lines = demo_lines(study.hit_type, SAMPLE, variant=study.variant)
    if not lines:
        raise Http404("no sample for this HIT type")
    response = HttpResponse("".join(lines), content_type="application/x-ndjson")
    response["Content-Disposition"] = f'attachment; filename="{study.hit_type}-sample.jsonl"'
    return response

"""Reading runs in the admin: transcripts, runs side by side, and files of calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.urls import path

from annotator.core.row_ids import row_id
from annotator.models import User
from evaluation.core.failure_words import failure_words
from evaluation.runs.text import clean
from evaluation.selectors.run import run_get_for, runs_for
from evaluation.selectors.transcript import (
    ON_A_PAGE,
    OUTCOMES,
    answers_of,
    calls_shown,
    calls_with,
    failures_of,
)
from evaluation.services.call_files import calls_download
from evaluation.services.human_scores import human_scores_download
from evaluation.services.inspect_logs import run_log_download
from evaluation.simulators.side_by_side import calls_against_people, runs_side_by_side

if TYPE_CHECKING:
    from unfold.sites import UnfoldAdminSite

#: The most runs that are compared with another, and items on one page of them.
MOST_COMPARED = 20
ITEMS_ON_A_PAGE = 50


class RunReading:
    """The pages of ``RunAdmin`` on which people read what models were asked and what they answered."""

    if TYPE_CHECKING:
        admin_site: UnfoldAdminSite

    def reading_urls(self) -> list[Any]:
        view = self.admin_site.admin_view
        return [
            path("<int:pk>/transcript/", view(self.transcript), name="evaluation_run_transcript"),
            path("<int:pk>/compare/", view(self.compare), name="evaluation_run_compare"),
            path("<int:pk>/calls.jsonl", view(self.calls_file), name="evaluation_run_calls"),
            path("<int:pk>/run.eval", view(self.log_file), name="evaluation_run_log"),
            path("<int:pk>/scores.jsonl", view(self.scores_file), name="evaluation_run_scores"),
        ]

    def transcript(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The run's calls as a person reads them, by outcome."""
        run = run_get_for(user=request.user, pk=pk)
        outcome = request.GET.get("outcome", "all")
        text, failure = request.GET.get("q", "")[:200], clean(request.GET.get("failure", "")[:40])
        answer, against = clean(request.GET.get("answer", "")[:200]), bool(request.GET.get("against"))
        kept = {"q": text, "failure": failure, "answer": answer, "against": "1" if against else ""}
        found = calls_with(
            run=run, outcome=outcome, text=clean(text), failure=failure, answer=answer,
            among=calls_against_people(run) if against else None,
        )  # fmt: skip
        pages = Paginator(found, ON_A_PAGE)
        page = pages.get_page(request.GET.get("page"))
        context = self.admin_site.each_context(request) | {
            "run": run,
            "study": run.study,  # for the addresses of its images
            "outcome": outcome if outcome in OUTCOMES else "all",
            "outcomes": [(name, label) for name, (label, _) in OUTCOMES.items()],
            "page": page,
            "q": text,
            "failure": failure,
            "answer": answer,
            "answers": answers_of(run=run),
            "against": against,
            "filtered": any(kept.values()),
            "failures": [(kind, failure_words(kind), n, call) for kind, n, call in failures_of(run=run)],
            "kept": urlencode({name: value for name, value in kept.items() if value}),
            "total": pages.count,
            "shown": calls_shown(run=run, calls=list(page.object_list)),
            "title": f"Transcript of run {run.pk}",
        }
        return render(request, "admin/evaluation/run_transcript.html", context)

    def compare(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Runs side by side, item by item: each ``?with=`` is another one; without any, the runs to choose from."""
        run = run_get_for(user=request.user, pk=pk)
        given = dict.fromkeys(map(row_id, request.GET.getlist("with")[:MOST_COMPARED]))
        others = [run_get_for(user=request.user, pk=one) for one in given if one and one != run.pk]
        same = {"study": run.study_id} if run.study_id else {"dataset": run.dataset_id, "kind": run.kind}
        only_different = "different" in request.GET
        number = row_id(request.GET.get("page")) or 1
        compared = others and runs_side_by_side(
            [run, *others],
            start=(number - 1) * ITEMS_ON_A_PAGE,
            most=ITEMS_ON_A_PAGE,
            only_different=only_different,
        )
        chosen = [("with", one.pk) for one in others] + [("different", 1)] * only_different
        context = self.admin_site.each_context(request) | {
            "run": run,
            "others": others,
            "choices": runs_for(user=request.user).filter(**same).exclude(pk=run.pk)[:100],
            "compared": compared,
            "only_different": only_different,
            "kept": urlencode(chosen),
            "previous": number - 1,
            "next": number + 1 if compared and compared.total > number * ITEMS_ON_A_PAGE else None,
            "title": f"Compare run {run.pk}",
        }
        return render(request, "admin/evaluation/run_compare.html", context)

    def calls_file(self, request: HttpRequest, pk: int) -> StreamingHttpResponse:
        """The run's calls as JSON lines; ``manage.py run_calls import`` takes them back."""
        run = run_get_for(user=request.user, pk=pk)
        response = StreamingHttpResponse(
            calls_download(run=run, by=cast(User, request.user)), content_type="application/x-ndjson"
        )
        response["Content-Disposition"] = f'attachment; filename="run-{run.pk}-calls.jsonl"'
        return response

    def log_file(self, request: HttpRequest, pk: int) -> FileResponse:
        """The run as a log of Inspect."""
        run = run_get_for(user=request.user, pk=pk)
        file = run_log_download(run=run, by=cast(User, request.user))
        return FileResponse(file, as_attachment=True, filename=f"run-{run.pk}.eval")

    def scores_file(self, request: HttpRequest, pk: int) -> StreamingHttpResponse:
        """What people said about the items of the run's study, for Inspect's ``precomputed_scores()``."""
        run = run_get_for(user=request.user, pk=pk)
        if run.study is None:
            raise Http404("a run without a study")
        lines = human_scores_download(study=run.study, by=cast(User, request.user))
        response = StreamingHttpResponse(lines, content_type="application/x-ndjson")
        response["Content-Disposition"] = f'attachment; filename="{run.study.slug}-scores.jsonl"'
        return response

"""What people and models wrote in a study: a page to read and search."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.utils.http import urlencode

from annotator.admin.study_pages.frame import VIEWER, render, study_page
from annotator.core.row_ids import row_id
from annotator.models import Rater, Study
from annotator.selectors.written_answers import MOST_SEARCHED, sought_text, written_answers, written_questions


@study_page(VIEWER, people="written answers")
def written(request: HttpRequest, study: Study) -> HttpResponse:
    """Texts in the order in which they were submitted; those of one question, or with some words in them."""
    questions = written_questions(study)
    sought, question = sought_text(request.GET.get("q")), request.GET.get("question", "")
    by = request.GET.get("by", "")
    chosen = {question: questions[question]} if question in questions else questions
    page = written_answers(
        study=study, questions=chosen, sought=sought, by=by, after=row_id(request.GET.get("after"))
    )
    query = {"q": sought, "question": question, "by": by}
    return render(
        request, study, "written", tab="judgments", title=f"Written answers of {study.title}",
        answers=[(answer, answer.parts(sought)) for answer in page.answers], page=page, questions=questions, sought=sought, most_searched=MOST_SEARCHED,
        question=question, by=by, kinds=Rater.Kind.choices,
        following=urlencode({**query, "after": str(page.after)}) if page.after else "",
    )  # fmt: skip

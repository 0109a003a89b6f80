"""A bot that works as an annotator over HTTP and reads the forms of each page as a browser would.

Before every step it sends invalid input, which must be refused without any effect.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any

from django.test import Client
from lxml import html

from annotator.hit_types.base import HitType, Question, Stage
from annotator.hit_types.built_in import question_in
from annotator.hit_types.confidence import without_confidence
from annotator.models import Assignment, Judgment, Participation, Study, User
from annotator.selectors.study import study_hit_type
from annotator.services.rehearsal.answers import rehearsal_answer
from annotator.services.rehearsal.fill import right_answers
from annotator.web.views.question_pages import question_page  # noqa: F401 - the page that practice and exam are built from


def practice_stages(kind: HitType, question: Question) -> list[Stage]:
    """The stages that a practice question goes through: up to the last one that it grades."""
    stages = without_confidence(kind).stages(question.payload)
    graded = [n for n, stage in enumerate(stages) if any(one.name in question.gold for one in stage.fields)]
    return list(stages[: graded[-1] + 1])


class Bot:
    """One annotator. ``seen`` collects everything that the server sent, by step."""

    def __init__(self, study: Study):
        self.study = study
        self.kind = study_hit_type(study)
        self.client = Client(enforce_csrf_checks=True)
        self.seen: list[tuple[str, str]] = []
        self.rng = Random(4)

    # -- the browser ------------------------------------------------------------------------------

    def get(self, path: str) -> Any:
        return self._keep(path, self.client.get(path, follow=True))

    def post(self, path: str, data: dict[str, Any], *, swap: bool = False) -> Any:
        token = self.client.cookies["csrftoken"].value if "csrftoken" in self.client.cookies else ""
        headers = {"X-CSRFToken": token} | ({"HX-Request": "true"} if swap else {})
        return self._keep(path, self.client.post(path, data, follow=True, headers=headers))

    def _keep(self, path: str, response: Any) -> Any:
        body = response.getvalue() if response.streaming else response.content
        self.seen.append((path, body.decode()))
        return response

    def form(self, response: Any, *, action: str = "") -> Any:
        page = html.fromstring(response.content)
        forms = [f for f in page.forms if f.method == "POST" and re.search(action, f.action or "")]
        assert forms, f"no form in {response.request['PATH_INFO']}:\n{response.content.decode()[:3000]}"
        return forms[0]

    @property
    def path(self) -> str:
        return f"/study/{self.study.slug}/"

    @property
    def participation(self) -> Participation:
        return Participation.objects.select_related("study", "rater").get(
            study=self.study, rater__user=User.objects.latest("id")
        )

    # -- the steps --------------------------------------------------------------------------------

    def join(self) -> Any:
        page = self.get(f"/join/{self.study.join_token}/")
        assert page.status_code == 200
        titles = [self.study.title, *(texts.get("title") for texts in self.study.translations.values())]
        shown = html.fromstring(page.content).text_content()
        assert any(title in shown for title in titles if title)
        return self.post(f"/join/{self.study.join_token}/", {})

    def consent(self, page: Any) -> Any:
        assert page.request["PATH_INFO"].endswith("/consent/")
        refused = self.post(self.path + "consent/", {"decision": "agree", "digest": "0" * 64})
        assert refused.status_code == 409, "consent to another text"
        assert self.get(self.path + "task/").request["PATH_INFO"].endswith("/consent/"), "consent was skipped"
        digest = self.form(page).fields["digest"]
        return self.post(self.path + "consent/", {"decision": "agree", "digest": digest})

    def instructions(self, page: Any) -> Any:
        assert page.request["PATH_INFO"].endswith("/instructions/")
        for later in ("practice/", "exam/", "task/"):
            at = self.get(self.path + later).request["PATH_INFO"]
            assert at.endswith("/instructions/"), f"{later} was open before the instructions"
        return self.post(self.path + "instructions/", {})

    def practice(self, page: Any) -> Any:
        for question in self.kind.practice:
            assert page.request["PATH_INFO"].endswith("/practice/")
            assert self.post(self.path + "practice/", {"helpful": "nonsense"}).status_code == 422
            for stage in practice_stages(self.kind, question):
                self.has_fields(page, stage)
                answer = rehearsal_answer(
                    stage, gold=question.gold, item_key=question.key, accuracy=1, rng=self.rng
                )
                fields = self.form(page).fields
                shown = {name: fields[name] for name in ("step", "earlier") if name in fields}
                page = self.post(self.path + "practice/", answer | shown)
                assert page.status_code == 200
            text = html.fromstring(page.content).text_content()
            code = html.fromstring(page.content).get("lang")
            other = question_in(self.study.hit_type, code, "practice", question)
            reasons = {question.reason, other["reason"] if other else question.reason}
            assert any(" ".join(reason.split()) in " ".join(text.split()) for reason in reasons)
            number = self.form(page).fields["number"]
            page = self.post(self.path + "practice/", {"go": "on", "number": number})
        return page

    def exam(self, page: Any, *, right: bool = True) -> Any:
        assert page.request["PATH_INFO"].endswith("/exam/")
        attempt = self.participation.exam_attempts.latest("number")
        sent = {"attempt": self.form(page, action=r"/exam/").fields["attempt"]}
        assert self.post(self.path + "exam/", sent).status_code == 422, "an empty exam was handed in"
        answers = right_answers(self.participation, attempt.drawn)
        if not right:
            answers = {key: self.wrong(key) for key in answers}
        data = {
            f"q{n}-{name}": v for n, key in enumerate(attempt.drawn, 1) for name, v in answers[key].items()
        }
        return self.post(self.path + "exam/", data | sent)

    def wrong(self, key: str) -> dict[str, Any]:
        question = next(q for q in self.kind.exam if q.key == key)
        stage = self.kind.question_stage(question.payload, question.gold)
        return rehearsal_answer(stage, gold=question.gold, item_key=key, accuracy=0, rng=self.rng)

    def tasks(
        self, page: Any, *, most: int, swap: bool = True, each: Callable[[Any], None] | None = None
    ) -> Any:
        """Work until nothing is left, or ``most`` tasks are done."""
        done = 0
        while done < most and re.search(rb'action="/task/\d+/"', page.content):
            if each:
                each(page)
            form = self.form(page, action=r"^/task/\d+/$")
            pk = int(form.action.split("/")[2])
            assignment = Assignment.objects.select_related("item").get(pk=pk)
            stages = self.kind.stages(assignment.item.payload, assignment.presentation)
            stage = stages[assignment.stage]
            assert int(form.fields["stage"]) == assignment.stage
            self.has_fields(page, stage)
            self.send_invalid_input(form, assignment, stage)
            raw = rehearsal_answer(
                stage, gold=assignment.item.gold, item_key=assignment.item.key, accuracy=0.9, rng=self.rng
            )
            sent = {name: value for name, value in form.fields.items() if value is not None}
            page = self.post(form.action, sent | raw, swap=swap)
            assert page.status_code in (200, 204), page.content.decode()[:2000]
            if assignment.stage + 1 == len(stages):
                done += 1
                assert Judgment.objects.filter(assignment=assignment).exists()
            if page.headers.get("HX-Redirect"):
                page = self.get(page.headers["HX-Redirect"])
        return page

    def send_invalid_input(self, form: Any, assignment: Assignment, stage: Stage) -> None:
        """Nothing at all, a value that is not offered, a stage that is not open: refused, and nothing changed."""
        before = (Judgment.objects.count(), assignment.stage)
        base = {name: form.fields[name] for name in ("assignment", "stage") if name in form.fields}
        first = stage.fields[0]
        required = any(asked.required and not asked.when for asked in stage.fields)
        if required:
            assert self.post(form.action, base, swap=True).status_code == 422
        if first.kind != "text":
            assert self.post(form.action, base | {first.name: "no such option"}, swap=True).status_code == 422
        assert self.post(form.action, base | {"stage": "9"}, swap=True).status_code == 409
        assert self.post(form.action, base | {"stage": "x"}, swap=True).status_code == 409
        assignment.refresh_from_db()
        assert (Judgment.objects.count(), assignment.stage) == before

    def has_fields(self, page: Any, stage: Stage) -> None:
        """Every field of the stage is in the form, with every option."""
        tree = html.fromstring(page.content)
        for asked in stage.fields:
            named = tree.xpath(f'//*[@name="{asked.name}"]')
            assert named, f"{asked.name} is not in the form"
            offered = {one.get("value") for one in named}
            for option in asked.options:
                assert option.value in offered, f"{asked.name}: {option.value} is not offered"

    def whole_way(self, *, most: int = 3) -> Any:
        page = self.join()
        if self.study.consent_text:
            page = self.consent(page)
        page = self.instructions(page)
        if self.study.practice_required:
            page = self.practice(page)
        if self.study.exam_required:
            page = self.exam(page)
            assert self.participation.exam_attempts.latest("number").passed
            page = self.get(self.path)
        return self.tasks(page, most=most)

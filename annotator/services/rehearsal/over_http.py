"""Rehearsal raters over HTTP: each logs in, takes every step and plays tasks as a browser would.

The client keeps its own record, to be compared with what the server stored.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from html import unescape
from random import Random
from threading import Lock
from typing import Any

import httpx2

from annotator.core.tls import tls_context
from annotator.hit_types.arms import arm_of, explained_key
from annotator.hit_types.base import JSON, Question
from annotator.models import Assignment, Participation, Study
from annotator.selectors.snapshot import snapshot_content
from annotator.selectors.study import study_hit_type
from annotator.services.rehearsal.answers import rehearsal_answer
from annotator.services.rehearsal.fill import RehearsalRater, exam_answers

log = logging.getLogger(__name__)

_FORM = re.compile(r"<form\b[^>]*\baction=\"(/task/(\d+)/)\"[^>]*>(.*?)</form>", re.S)
_INPUT = re.compile(r"<input\b[^>]*>", re.S)
_ATTRIBUTE = re.compile(r"([\w-]+)=\"([^\"]*)\"")


@dataclass
class Ledger:
    """What the clients sent, and the server's replies."""

    submitted: int = 0
    by_rater: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    latencies: list[float] = field(default_factory=list)
    seconds: float = 0.0
    lock: Lock = field(default_factory=Lock)


class Browser:
    """One rater's session: cookies, CSRF and forms, without a page."""

    def __init__(self, url: str):
        self.client = httpx2.Client(base_url=url, follow_redirects=True, timeout=60, verify=tls_context())

    def get(self, path: str) -> httpx2.Response:
        response = self.client.get(path)
        response.raise_for_status()
        return response

    def post(self, path: str, data: JSON, *, swap: bool = False) -> httpx2.Response:
        headers = {
            "X-CSRFToken": self.client.cookies.get("csrftoken") or "",
            "Referer": str(self.client.base_url),
        }
        if swap:
            headers["HX-Request"] = "true"
        return self.client.post(path, data=data, headers=headers)


def hidden_fields(form: str) -> JSON:
    """The hidden fields of a form's HTML."""
    fields = {}
    for found in _INPUT.findall(form):
        attributes = dict(_ATTRIBUTE.findall(found))
        if attributes.get("type") == "hidden" and "name" in attributes:
            fields[attributes["name"]] = unescape(attributes.get("value", ""))
    return fields


def rehearse_http(
    *, study: Study, raters: list[RehearsalRater], url: str, seed: int, at_once: int, most: int | None = None
) -> Ledger:
    """Run the raters, ``at_once`` at a time, until nothing is left or ``most`` is reached."""
    ledger = Ledger()
    started = time.monotonic()
    with ThreadPoolExecutor(max_workers=at_once) as pool:
        list(
            pool.map(
                lambda pair: _work(study, pair[1], ledger, url=url, seed=f"{seed} {pair[0]}", most=most),
                enumerate(raters),
            )
        )
    ledger.seconds = time.monotonic() - started
    return ledger


def _work(
    study: Study, rater: RehearsalRater, ledger: Ledger, *, url: str, seed: str, most: int | None
) -> None:
    from django.db import connection

    rng = Random(f"rehearsal http {seed}")
    try:
        browser = Browser(url)
        page = _enter(browser, study, rater)
        while (task := _FORM.search(page.text)) is not None:
            with ledger.lock:
                if most is not None and ledger.submitted >= most:
                    break
            page = _turn(browser, study, rater, task, rng, ledger)
            if page.headers.get("HX-Redirect"):
                page = browser.get(page.headers["HX-Redirect"])
    except Exception as error:
        log.exception("a rehearsal over HTTP failed")
        with ledger.lock:
            ledger.faults.append(f"{rater.user.username}: {type(error).__name__}: {error}")
    finally:
        connection.close()


def _turn(
    browser: Browser, study: Study, rater: RehearsalRater, task: re.Match[str], rng: Random, ledger: Ledger
) -> httpx2.Response:
    before = time.monotonic()
    reply, whole = task_play(browser, study, task, accuracy=rater.accuracy, rng=rng)
    took = time.monotonic() - before
    with ledger.lock:
        ledger.latencies.append(took)
        if whole:
            ledger.submitted += 1
            ledger.by_rater[rater.user.username] = ledger.by_rater.get(rater.user.username, 0) + 1
    return reply


def _enter(browser: Browser, study: Study, rater: RehearsalRater) -> httpx2.Response:
    """Log in, join, and take every step up to the first task."""
    browser.get("/login/")
    browser.post("/login/", {"username": rater.user.username, "password": rater.password})
    browser.get(f"/join/{study.join_token}/")
    page = browser.post(f"/join/{study.join_token}/", {})
    for _ in range(200):
        following = step_play(browser, study, page, lambda: _participation(study, rater))
        if following is None:
            return page
        page = following
    raise RuntimeError(f"never came to a task; last page {page.url}")


def _participation(study: Study, rater: RehearsalRater) -> Participation:
    return Participation.objects.select_related("study").get(study=study, rater__user=rater.user)


def task_on(page: httpx2.Response) -> re.Match[str] | None:
    """The form of the task on a page."""
    return _FORM.search(page.text)


def task_play(
    browser: Browser, study: Study, task: re.Match[str], *, accuracy: float, rng: Random
) -> tuple[httpx2.Response, bool]:
    """Answer one stage of a task; returns the reply, and whether the task has been answered."""
    path, pk, form = task.group(1), int(task.group(2)), task.group(3)
    data: dict[str, Any] = hidden_fields(form)
    stage = int(data.get("stage", 0))
    assignment = Assignment.objects.select_related("item").get(pk=pk)
    item = assignment.item
    stages = study_hit_type(study).stages(item.payload, assignment.presentation)
    key = explained_key(item.key, arm_of(item.payload))
    data |= rehearsal_answer(stages[stage], gold=item.gold, item_key=key, accuracy=accuracy, rng=rng)
    reply = browser.post(path, data, swap=True)
    if reply.status_code not in (200, 204):
        raise RuntimeError(f"submit of task {pk} answered {reply.status_code}")
    return reply, stage + 1 == len(stages)


def step_play(
    browser: Browser,
    study: Study,
    page: httpx2.Response,
    participation: Callable[[], Participation],
    *,
    exam_accuracy: float = 1.0,
) -> httpx2.Response | None:
    """Take the step that the page asks for, and return the page after it; None if it asks for none, such as a task."""
    path = page.url.path.removeprefix(f"/study/{study.slug}/")
    if path == "consent/":
        digest = hidden_fields(page.text).get("digest", "")
        return browser.post(page.url.path, {"decision": "agree", "digest": digest})
    if path == "instructions/":
        return browser.post(page.url.path, {})
    if path == "practice/":
        return _practise(browser, participation(), page)
    if path == "exam/":
        return _sit_exam(browser, participation(), page, exam_accuracy)
    if path.startswith("questionnaire/"):
        return browser.post(page.url.path, {"skip": "yes"})
    if path == "exam/result/":
        following = browser.get(f"/study/{study.slug}/")
        return None if following.url.path == page.url.path else following
    return None


def _practise(browser: Browser, participation: Participation, page: httpx2.Response) -> httpx2.Response:
    """Answer the current practice question, read the reason, and continue."""
    rules = snapshot_content(participation.study.snapshot_id)
    question = Question(**rules["practice"][participation.practice_done])
    stage = study_hit_type(participation.study).question_stage(question.payload, question.gold)
    answer = rehearsal_answer(stage, gold=question.gold, item_key=question.key, accuracy=1.0, rng=Random(0))
    reason = browser.post(page.url.path, answer)
    number = hidden_fields(reason.text).get("number", "")
    return browser.post(page.url.path, {"go": "on", "number": number})


def _sit_exam(
    browser: Browser, participation: Participation, page: httpx2.Response, accuracy: float
) -> httpx2.Response:
    attempt = participation.exam_attempts.latest("number")
    answers = exam_answers(participation, attempt.drawn, accuracy=accuracy)
    data = {
        f"q{number}-{name}": value
        for number, key in enumerate(attempt.drawn, 1)
        for name, value in answers[key].items()
    }
    return browser.post(page.url.path, data | {"attempt": str(attempt.pk)})

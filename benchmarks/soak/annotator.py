"""One annotator, who takes every step of every study and does what people do besides answering. Keeps a ledger of what the
server acknowledged."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from html import unescape
from random import Random
from typing import Any

from benchmarks.soak.browser import Browser, Form, GaveUp, Page, Traffic
from benchmarks.soak.plan import Habits

TASK = r"/task/\d+/"
ACKNOWLEDGED = (200, 204)


@dataclass(frozen=True)
class Open:
    """A study that is open: its type, address and invitation, and the questions of its exam with their answers."""

    hit_type: str
    slug: str
    join: str
    exam: list[dict[str, Any]]


@dataclass
class Ledger:
    """What the server acknowledged to one annotator. ``answers`` are final: those that were undone are removed."""

    answers: dict[int, dict[str, str]] = field(default_factory=dict)
    did: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    last: float = field(default_factory=time.monotonic)
    longest_wait: float = 0.0

    def acknowledged(self, pk: int, answers: dict[str, str]) -> None:
        now = time.monotonic()
        self.longest_wait = max(self.longest_wait, now - self.last)
        self.last = now
        self.answers[pk] = answers


class Annotator:
    def __init__(
        self,
        number: int,
        *,
        seed: int,
        habits: Habits,
        studies: Sequence[Open],
        addresses: Sequence[str],
        headers: dict[str, str],
        traffic: Traffic,
        over: threading.Event,
        progress: Callable[[int], None],
    ) -> None:
        self.rng = Random(f"annotator {seed} {number}")
        self.habits, self.over, self.progress = habits, over, progress
        turn = number % len(studies)
        self.studies = [*studies[turn:], *studies[:turn]]
        self.browser = Browser(addresses, traffic, headers)
        self.ledger = Ledger()
        self.stages: dict[int, dict[str, str]] = {}

    def work(self) -> None:
        """Work on the studies in turn until everything is done; a study without a free task is asked again later."""
        try:
            while not self.over.is_set():
                for study in self.studies:
                    if not self.over.is_set():
                        self.work_on(study)
                self.over.wait(2.0)
        except GaveUp as error:
            self.ledger.faults.append(f"no reply to {error}")
        except Exception as error:
            self.ledger.faults.append(f"{type(error).__name__}: {error}")

    # -- the steps ------------------------------------------------------------------------------------------

    def work_on(self, study: Open) -> None:
        page = self.enter(study)
        while not self.over.is_set():
            form = page.form(TASK)
            if form is None:
                return
            before = len(self.ledger.answers)
            page = self.turn(study, form)
            # Only now: the run ends once every place is done, and an answer that is being taken back isn't.
            self.progress(len(self.ledger.answers) - before)

    def enter(self, study: Open) -> Page:
        page = self.browser.get(f"/study/{study.slug}/task/")
        if page.status in (403, 404):
            self.browser.get(study.join)
            page = self.browser.post(study.join, {})
        for _ in range(60):
            step = page.path.removeprefix(f"/study/{study.slug}/").partition("?")[0]
            form = page.form(re.escape(page.path.partition("?")[0]))
            if step == "consent/" and form:
                page = self.browser.post(form.path, form.hidden | {"decision": "agree"})
            elif step == "instructions/":
                page = self.browser.post(page.path, {})
            elif step == "practice/" and form:
                go_on = {"go": "on"} if not form.fields else {}
                page = self.browser.post(form.path, form.hidden | form.answers(self.rng) | go_on)
                if page.status == 422:  # another answer rules this field out
                    continue
            elif step == "exam/" and form:
                page = self.sit_exam(study, form)
            elif step == "exam/result/":
                again = "again=1" in page.text
                page = self.browser.get(f"/study/{study.slug}/" + ("exam/?again=1" if again else ""))
            else:
                return page
        raise RuntimeError(f"never came to a task of {study.slug}; last page {page.path} {page.status}")

    def sit_exam(self, study: Open, form: Form) -> Page:
        """Answer the questions as their pages ask; sometimes all of them wrongly at the first attempt."""
        fail = "failed exam" not in self.ledger.did and self.rng.random() < self.habits.fail_exam
        data = form.hidden | form.answers(self.rng)
        for number, section in re.findall(r'id="question-(\d+)"(.*?)</section>', form.html, re.S):
            text = unescape(section)
            (right,) = [
                one["gold"]
                for one in study.exam
                if one["payload"]["follow_up"] in text and one["payload"]["explanation"] in text
            ]
            wrong = {"helpful": "no"} if right.get("helpful") != "no" else {"helpful": "yes", "answer": "yes"}
            for name in ("helpful", "answer"):
                data.pop(f"q{number}-{name}", None)
            data |= {f"q{number}-{name}": value for name, value in (wrong if fail else right).items()}
        self.ledger.did["failed exam" if fail else "passed exam"] += 1
        return self.browser.post(form.path, data)

    # -- the tasks ------------------------------------------------------------------------------------------

    def turn(self, study: Open, form: Form) -> Page:
        """Answer the open stage, in one of the ways that people do; returns the page that follows."""
        pk, habits, tasks = int(form.path.split("/")[2]), self.habits, f"/study/{study.slug}/task/"
        if self.happens(habits.skip):
            self.browser.post(f"{form.path}skip/", {"reason": "It is unclear."})
            self.ledger.did["skip"] += 1
            return self.browser.get(tasks)
        if self.happens(habits.more_time):
            self.browser.post(f"{form.path}more-time/", {})
            self.ledger.did["more time"] += 1
        if self.happens(habits.draft) and "draft_version" in form.hidden:
            self.browser.post(f"{form.path}draft/", form.hidden | form.answers(self.rng))
            self.ledger.did["draft"] += 1
        if self.happens(habits.two_tabs):
            return self.two_tabs(form, pk, tasks)
        answers = self.answers(form)
        page = self.browser.post(form.path, form.hidden | answers, swap=True)
        if page.status not in ACKNOWLEDGED:
            self.ledger.faults.append(f"the answer to task {pk} was refused with {page.status}")
            return self.browser.get(tasks)
        following = page.form(TASK)
        self.took(pk, answers, page)
        done = following is None or following.path != form.path
        undo = page.form(f"{form.path}undo/") if done else None
        if undo and self.happens(habits.undo):
            return self.undo(undo, pk, tasks)
        return page

    def undo(self, undo: Form, pk: int, tasks: str) -> Page:
        reply = self.browser.post(undo.path, undo.hidden, swap=True)
        # If it is sent again after a lost reply, there is nothing left to undo, because the first request did it.
        if reply.status == 200 or "There is no answer to undo" in reply.text:
            answers = self.ledger.answers.pop(pk)
            form = reply.form(TASK)
            asked = set(form.fields) if form else set()
            self.stages[pk] = {name: value for name, value in answers.items() if name not in asked}
            self.ledger.did["undo"] += 1
        else:
            self.ledger.did["undo came too late"] += 1
        return self.browser.get(tasks)

    def two_tabs(self, form: Form, pk: int, tasks: str) -> Page:
        """The same stage from two tabs at once, with the same answer or with two: one answer counts."""
        first = self.answers(form)
        second = dict(first) if self.rng.random() < 0.5 else self.answers(form)
        tabs = [self.browser, self.browser.tab()]
        with ThreadPoolExecutor(max_workers=2) as pool:
            pages = list(
                pool.map(
                    lambda pair: pair[0].post(form.path, form.hidden | pair[1], swap=True),
                    zip(tabs, (first, second), strict=True),
                )
            )
        self.ledger.did["two tabs"] += 1
        taken = [
            (page, answers)
            for page, answers in zip(pages, (first, second), strict=True)
            if page.status in ACKNOWLEDGED
        ]
        if not taken or any(page.status not in (*ACKNOWLEDGED, 409) for page in pages):
            self.ledger.faults.append(f"two tabs, task {pk}: {[page.status for page in pages]}")
        elif len(taken) == 2 and relevant(first) != relevant(second):
            self.ledger.faults.append(f"two answers to task {pk} were acknowledged")
        else:
            self.took(pk, taken[0][1], taken[0][0])
        return self.browser.get(tasks)

    def answers(self, form: Form) -> dict[str, str]:
        answers = form.answers(self.rng)
        if answers.get("helpful") == "no":
            answers.pop("answer", None)
        return answers

    def took(self, pk: int, answers: dict[str, str], page: Page) -> None:
        """A stage was acknowledged; the task is done if the page that follows is not its next stage."""
        whole = self.stages.get(pk, {}) | answers
        following = page.form(TASK)
        if following is not None and int(following.path.split("/")[2]) == pk:
            self.stages[pk] = whole
            return
        self.stages.pop(pk, None)
        self.ledger.acknowledged(pk, whole)

    def happens(self, share: float) -> bool:
        return self.rng.random() < share


def relevant(answers: dict[str, str]) -> dict[str, str]:
    """An answer without texts."""
    return {name: value for name, value in answers.items() if value != "None."}

"""People from the stand-in of a panel, who take part over HTTP: most work, the others leave in every way that there is.

The demo, the tests and the benchmark use the same people.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from random import Random
from typing import Any
from urllib.parse import urlsplit

import httpx2
from django.db import connections

from annotator.models import PanelStudy, Participation, Study
from annotator.recruitment.stand_in.books import ProlificBooks, Refusal
from annotator.services.rehearsal.over_http import Browser, hidden_fields, step_play, task_on, task_play

log = logging.getLogger(__name__)

#: How people end, of ten: seven do all their tasks.
FATES = ("works", "works", "returns", "works", "fails", "works", "works", "declines", "works", "works")
#: The same for every second ten.
OTHERS = ("works", "times out", "works", "works", "works", "vanishes", "works", "works", "stops", "works")
ALL_FATES = frozenset(FATES + OTHERS)
_CODE = re.compile(r"submissions/complete\?cc=([\w-]+)")
_JOIN = re.compile(r"<form\b[^>]*\baction=\"(/join/[^\"]*)\"")


@dataclass
class PanelPeople:
    """Those who come to the studies that are published at the stand-in. ``ends`` counts how they ended, ``unanswered`` are those who saw
    neither a code nor what to do, ``faults`` those who saw an error.

    ``at_once`` people work at the same time. Each waits for a time between the two of ``pause``, in seconds, before every step, and gives the right answer with a
    probability between the two of ``accuracy``. ``remote`` names the only study that they take part in.
    """

    books: ProlificBooks
    at_once: int = 4
    pause: tuple[float, float] = (0.0, 0.0)
    accuracy: tuple[float, float] = (0.9, 0.9)
    remote: str = ""
    came: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    unanswered: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    #: Counters are changed by several threads.
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, stop: threading.Event, *, per_minute: float = 0.0, most: int = 100_000) -> None:
        """People come until ``stop``, or ``most`` have come: ``per_minute`` of them, or as soon as there is a place and somebody has
        left. Returns when everybody who came has ended."""
        free, rng = threading.Semaphore(self.at_once), Random(self.at_once)
        with ThreadPoolExecutor(self.at_once) as pool:
            while not stop.is_set() and self.came < most:
                if per_minute:
                    stop.wait(60 / per_minute * rng.uniform(0.5, 1.5))
                if not free.acquire(timeout=0.2):
                    continue
                person = None if stop.is_set() else self._arrives()
                if person is None:
                    free.release()
                    stop.wait(0.2)
                    continue
                pool.submit(person.goes).add_done_callback(lambda _: free.release())

    def _arrives(self) -> PanelPerson | None:
        """Somebody takes a place in a study; None if there is none."""
        for remote, there in list(self.books.studies.items()):
            if there["status"] != "ACTIVE" or self.remote not in ("", remote):
                continue
            try:
                submission = self.books.arrive(remote, self.books.id())
            except Refusal:
                continue
            number, self.came = self.came, self.came + 1
            fate = (FATES if number // 10 % 2 == 0 else OTHERS)[number % 10]
            return PanelPerson(self, remote, submission, fate, Random(number))
        return None

    def count(self, end: str) -> None:
        with self.lock:
            self.ends[end] += 1


@dataclass
class PanelPerson:
    """One person with one submission, and how they end: ``fate`` is one of ``ALL_FATES``."""

    people: PanelPeople
    remote: str
    submission: str
    fate: str
    rng: Random

    def goes(self) -> None:
        """Take part, and end at the panel as people do: by a code, by returning the submission, or never."""
        self.people.count(self.fate)
        try:
            row = PanelStudy.objects.select_related("study").filter(remote_id=self.remote).first()
            link = self.people.books.link(self.submission)
            with browser_for(link) as browser:
                shown = browser.get(link)
                if row is None or self.fate == "vanishes":  # closes the page; their time runs out
                    self._moves("TIMED-OUT")
                    return
                self._takes_part(browser, row.study, shown)
        except Exception as error:
            log.exception("a person from the stand-in saw an error")
            with self.people.lock:
                self.people.faults.append(f"{self.fate}: {type(error).__name__}: {error}")
            self._moves("RETURNED")
        finally:
            if threading.current_thread() is not threading.main_thread():
                connections.close_all()

    def _takes_part(self, browser: Browser, study: Study, shown: httpx2.Response) -> None:
        form = _JOIN.search(shown.text)
        page = self._then(browser.post, unescape(form[1]), {}) if form else shown
        if not Participation.objects.filter(study=study, recruiter_session=self.submission).exists():
            self.people.count("finds nothing")  # others did what was left a moment ago
            self._enters(page)
            return
        knows = 0.0 if self.fate == "fails" else 1.0
        tasks = 0
        for _ in range(500):
            if page.url.path.endswith("/consent/") and self.fate == "declines":
                digest = hidden_fields(page.text).get("digest", "")
                self._then(
                    browser.post, page.url.path, {"decision": "decline", "digest": digest, "sure": "yes"}
                )
                self._enters(browser.get(f"/study/{study.slug}/left/"))
                return
            task = task_on(page)
            if task is None:
                following = self._then(
                    step_play, browser, study, page, self._participation, exam_accuracy=knows
                )
                if following is None:
                    if self.fate != "works":  # the others did the rest before this person could leave
                        self.people.count("has nothing left")
                    break
                page = following
                continue
            if self.fate == "returns" or (self.fate == "times out" and tasks):
                self._moves("RETURNED" if self.fate == "returns" else "TIMED-OUT")
                return
            if self.fate == "stops" and tasks:
                browser.post(f"/study/{study.slug}/leave/", {})
                page = browser.get(f"/study/{study.slug}/left/")
                break
            page, whole = self._then(task_play, browser, study, task, accuracy=self._accuracy, rng=self.rng)
            tasks += whole
            if page.headers.get("HX-Redirect"):
                page = browser.get(page.headers["HX-Redirect"])
        self._enters(page)

    @property
    def _accuracy(self) -> float:
        return Random(self.submission).uniform(*self.people.accuracy)

    def _participation(self) -> Participation:
        return Participation.objects.select_related("study").get(recruiter_session=self.submission)

    def _then(self, step: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
        """Take a step after a moment, and fail if the page is an error."""
        low, high = self.people.pause
        if high:
            time.sleep(self.rng.uniform(low, high))
        made = step(*arguments, **more)
        page = made[0] if isinstance(made, tuple) else made
        if page is not None and page.status_code >= 400:
            raise RuntimeError(f"{page.request.url.path} answered {page.status_code}: {page.text[:300]}")
        return made

    def _enters(self, page: httpx2.Response) -> None:
        """Enter the code of the page at the panel, as its button does, and return the submission if the panel asks for that."""
        found = _CODE.search(page.text)
        if found is None:
            with self.people.lock:
                self.people.unanswered.append(f"{self.fate}: {page.url.path}")
            return
        self.people.books.complete(self.submission, found[1])
        there = self.people.books.studies[self.remote]["completion_codes"]
        if any(one["code"] == found[1] and "REQUEST_RETURN" in str(one["actions"]) for one in there):
            self._moves("RETURNED")

    def _moves(self, status: str) -> None:
        self.people.books.move(self.submission, status)


@contextmanager
def browser_for(link: str) -> Iterator[Browser]:
    """A new browser for the site of a link."""
    where = urlsplit(link)
    browser = Browser(f"{where.scheme}://{where.netloc}")
    try:
        yield browser
    finally:
        browser.client.close()

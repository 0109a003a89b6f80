"""Every string that annotators read goes through gettext: the pages are shown in an invented language that marks them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core import mail
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.utils import translation
from lxml import html

from annotator.hit_types.registry import hit_types
from annotator.web.style_gallery.samples import Screen, screens
from annotator.web.templatetags.screens import ANSWER_ERRORS
from annotator.web.views.common import TROUBLES
from tests.bot import Bot
from tests.factories import make_study, make_user

OPEN, CLOSE = "⟦", "⟧"
ANNOTATOR = Path(__file__).resolve().parents[3] / "annotator"

#: Elements that hold study material, which researchers write and translate, or what a person wrote.
STUDY_MATERIAL = {
    "block__label", "block__text", "block__list", "block-group__title", "aside__label",  # what is judged
    "asked__label", "asked__help", "asked__text", "wordings", "option__label", "option__detail",  # what is asked
    "task__title", "task__lead", "stages", "committed", "answers",  # stages, and answers in words
    "prose", "fold__title", "example__title", "reason__text",  # instructions, consent, examples, reasons
    "letter__text",  # messages
    "key", "code", "num",  # key caps, completion code, figures with a currency
}  # fmt: skip
#: Elements whose own label is study material, though what is in them is not: a worked example has its title.
LABELLED_BY_MATERIAL = {"example"}
#: Attributes that people read or hear.
READ = ("aria-label", "alt", "placeholder", "title")
READ_DATA = (
    "data-announce", "data-away", "data-choose", "data-failed", "data-here", "data-kept", "data-left", "data-lost",
    "data-more", "data-over", "data-refused", "data-sending-words", "data-sent", "data-write",
)  # fmt: skip
#: Not translated wherever they stand: the product's name, and names and currencies of the studies below.
NAMES = ("Foretell", "USD", "kim lee", "ada@example.org", "kim@")


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A language ("xx") in which every translated string stands between marks. No catalogue is needed."""
    backend = translation._trans  # type: ignore[attr-defined]
    _ = backend.gettext  # loaded by the first use

    def mark(text: Any) -> str:
        return f"{OPEN}{text}{CLOSE}" if text and translation.get_language() == "xx" else str(text)

    monkeypatch.setattr(backend, "gettext", mark)
    monkeypatch.setattr(backend, "pgettext", lambda context, text: mark(text))
    monkeypatch.setattr(backend, "ngettext", lambda one, many, n: mark(one if n == 1 else many))
    monkeypatch.setattr(backend, "npgettext", lambda context, one, many, n: mark(one if n == 1 else many))
    monkeypatch.setattr(backend, "get_language_from_request", lambda request, check_path=False: "xx")
    with translation.override("xx"):
        yield


def unmarked(page: str, *names: str) -> list[str]:
    """The visible strings of a page that are neither marked nor study material. ``names``: titles and the like."""
    found: list[str] = []
    depth = 0

    def look(text: str | None, inside: bool) -> None:
        nonlocal depth
        outside = ""
        for character in text or "":
            depth += (character == OPEN) - (character == CLOSE)
            if not depth and not inside and character != CLOSE:
                outside += character
        for name in (*names, *NAMES):
            outside = outside.replace(name, "")
        if any(character.isalpha() for character in outside):
            found.append(" ".join(outside.split()))

    def walk(element: Any, inside: bool) -> None:
        if not isinstance(element.tag, str) or element.tag in ("script", "style"):
            return
        classes = set(element.get("class", "").split())
        material = inside or bool(STUDY_MATERIAL & classes)
        if not material and not LABELLED_BY_MATERIAL & classes:
            for name in (*READ, *READ_DATA):
                look(element.get(name), False)
        look(element.text, material)
        for child in element:
            walk(child, material)
            look(child.tail, material)

    walk(html.document_fromstring(page), False)
    assert depth == 0, "a mark has no partner"
    return found


def drawn(screen: Screen) -> str:
    if not screen.with_request:
        return render_to_string(screen.template, screen.context)
    request = RequestFactory().get("/")
    request.user = AnonymousUser()
    return render_to_string(screen.template, screen.context, request)


def names_of(screen: Screen) -> list[str]:
    """Titles and texts that researchers write, wherever a page repeats them (its title, its header)."""
    found = [screen.context.get("task_title", ""), "Which explanation is better?"]
    if study := screen.context.get("study") or next(iter(screen.context.get("messages_list", ())), None):
        study = getattr(study, "study", study)
        found += [study.title, study.summary, study.contact]
    for stage in (
        screen.context.get("stage"),
        *(part.get("stage") for part in screen.context.get("parts", ())),
    ):
        if stage is not None:
            found += [stage.title]
    found += [name.capitalize() for name in found if name == screen.context.get("task_title")]
    return sorted(filter(None, found), key=len, reverse=True)


@pytest.mark.parametrize("screen", screens(), ids=lambda screen: screen.name)
def test_a_screen_has_no_string_that_cannot_be_translated(marked: None, screen: Screen) -> None:
    with translation.override("en"):
        plain = drawn(screen)
    assert OPEN not in plain
    if screen.name == "signup":  # the gallery's form is its own; the real one is below
        return
    assert unmarked(drawn(screen), *names_of(screen)) == []


def test_the_check_finds_an_untranslated_string() -> None:
    page = f"<p>{OPEN}Saved{CLOSE} at once</p><img alt='A robot'><p class='block__text'>Can owls swim?</p>"
    assert unmarked(page) == ["at once", "A robot"]


@pytest.mark.django_db
def test_a_whole_study_has_no_string_that_cannot_be_translated(marked: None) -> None:
    study = make_study(
        items=3,
        launched=True,
        title="Owls",
        consent_text="We keep your answers.",
        practice_required=True,
        exam_required=True,
        exam_questions=2,
        pass_mark=1,
        pay_per_item="0.50",
        completion_code="C0DE",
    )
    bot = Bot(study)
    bot.whole_way(most=3)
    bot.get("/me/")
    pages = [(path, body) for path, body in bot.seen if body.lstrip().startswith("<")]
    assert len({path for path, _ in pages}) > 6
    #: The values that a forged form is told it may send.
    values = "no, yes"
    names = ["Owls", values, study.contact, bot.kind.task_title, bot.kind.task_title.capitalize()]
    for page in ("login", "signup", "password/reset", "password/reset/sent", "nowhere"):
        pages.append((page, Client().get(f"/{page}/").content.decode()))
    found = {
        path: left for path, body in pages if (left := unmarked(body, *filter(None, names), *stages_of(bot)))
    }
    assert found == {}


def stages_of(bot: Bot) -> list[str]:
    titles = {stage.title for item in bot.study.items.all() for stage in bot.kind.stages(item.payload)}
    return sorted(titles, key=len, reverse=True)


@pytest.mark.django_db
def test_the_mail_with_a_link_is_translated(marked: None) -> None:
    make_user("ada", email="ada@example.org")
    Client().post("/password/reset/", {"email": "ada@example.org"})
    [message] = mail.outbox
    assert message.subject.startswith(OPEN)
    lines = [line for line in str(message.body).splitlines() if line and not line.startswith("http")]
    assert lines
    assert all(line.startswith(OPEN) and line.endswith(CLOSE) for line in lines), lines


@pytest.mark.parametrize("kind", TROUBLES)
def test_a_trouble_page_is_translated_when_it_is_shown(marked: None, kind: str) -> None:
    trouble = TROUBLES[kind]
    for words in (trouble.title, trouble.happened, trouble.pay, trouble.now):
        assert str(words).startswith(OPEN), words


def refusals() -> Iterator[tuple[str, ast.expr]]:
    """The messages of refusals that annotators read: (file:line, expression)."""
    files = [
        ANNOTATOR / "services" / f"{name}.py"
        for name in ("assignment", "exam", "participation", "stage_submit")
    ]
    for file in (*files, *(ANNOTATOR / "web").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if (
                isinstance(node, ast.Raise)
                and isinstance(node.exc, ast.Call)
                and isinstance(node.exc.func, ast.Name)
            ):
                place = {"Refused": 1, "Conflict": 0, "DraftConflict": 0}.get(node.exc.func.id)
                if place is not None:
                    yield f"{file.name}:{node.lineno}", node.exc.args[place]


#: Only researchers and programs meet these.
RESEARCHERS_REFUSALS = ("Give the reason.", "has already judged")


def test_refusals_are_translated() -> None:
    found = [
        f"{where}: {ast.unparse(message)}"
        for where, message in refusals()
        if "gettext" not in ast.unparse(message)
        and "needs_words" not in ast.unparse(message)
        and not any(words in ast.unparse(message) for words in RESEARCHERS_REFUSALS)
    ]
    assert found == []


def test_the_errors_of_answers_are_known_to_the_translation() -> None:
    """HIT types don't import Django, so the screens translate their errors and must list each of them."""
    from annotator.hit_types.base import FieldErrors, clean_text

    said = set()
    for kind in hit_types().values():
        for question in kind.exam:
            with pytest.raises(FieldErrors) as refused:
                kind.parse_question(question.payload, question.gold, {})
            said |= set(refused.value.errors.values())
    with pytest.raises(FieldErrors) as refused:
        clean_text("\x00")
    said |= set(refused.value.errors.values())
    assert len(said) > 1
    assert said <= set(ANSWER_ERRORS)

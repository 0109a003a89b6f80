"""Every string that annotators read goes through gettext: the pages are shown in an invented language that marks them."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core import mail
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.utils import translation
from django.utils.translation import gettext
from lxml import html

from annotator.core.errors import Trouble
from annotator.hit_types.base import Example, Stage
from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.hit_types.registry import hit_types
from annotator.recruitment.registry import PANELS
from annotator.web.style_gallery.samples import Screen, screens
from annotator.web.templatetags.screens import ANSWER_ERRORS
from annotator.web.views.common import TROUBLES
from annotator.web.wording import stage_shown, wording_shown
from tests.bot import Bot
from tests.contracts.cases import payloads
from tests.factories import make_study, make_user

OPEN, CLOSE = "⟦", "⟧"
ANNOTATOR = Path(__file__).resolve().parents[3] / "annotator"

#: Elements that hold study material, which researchers write and translate, or what a person wrote.
STUDY_MATERIAL = {
    "block__text", "block__list", "option__label", "asked__text", "answers", "committed",  # what is judged and answered
    "prose", "fold__title", "reason__text",  # instructions, consent, reasons
    "letter__text",  # messages
    "key", "code", "num",  # key caps, completion code, figures with a currency
}  # fmt: skip
#: The style gallery shows stages of no HIT type: their labels aren't marked.
SAMPLE_TEXTS = {
    "block__label", "block-group__title", "aside__label", "asked__label", "asked__help", "option__detail",
    "task__title", "task__lead", "stages", "example", "example__title",
}  # fmt: skip
#: Attributes that people read or hear.
READ = ("aria-label", "alt", "placeholder", "title")
READ_DATA = (
    "data-announce", "data-away", "data-choose", "data-close", "data-failed", "data-found", "data-none", "data-here", "data-kept", "data-left", "data-lost",
    "data-more", "data-over", "data-refused", "data-sending-words", "data-sent", "data-waiting-words", "data-write",
)  # fmt: skip
#: Not translated wherever they stand: the product's name, and names and currencies of the studies below.
NAMES = ("Foretell", "USD", "kim lee", "ada@example.org", "kim@", "English", "Deutsch", "العربية")


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
    monkeypatch.setattr("annotator.web.language.language_chosen", lambda request: "xx")
    with translation.override("xx"):
        yield


def unmarked(page: str, *names: str, material: Set[str] = frozenset(STUDY_MATERIAL)) -> list[str]:
    """The visible strings of a page that are neither marked for translation nor study material.

    ``names``: titles and the like. ``material``: the classes of elements that hold material.
    """
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
        hidden = inside or bool(material & classes)
        if not hidden:
            for name in (*READ, *READ_DATA):
                look(element.get(name), False)
        look(element.text, hidden)
        for child in element:
            walk(child, hidden)
            look(child.tail, hidden)

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
    assert unmarked(drawn(screen), *names_of(screen), material=STUDY_MATERIAL | SAMPLE_TEXTS) == []


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


@pytest.mark.parametrize("trouble", [*TROUBLES.values(), *next(iter(PANELS)).troubles.values()])
def test_a_trouble_page_is_translated_when_it_is_shown(marked: None, trouble: Trouble) -> None:
    for words in (trouble.title, trouble.happened, trouble.pay, trouble.now):
        assert str(words).startswith(OPEN), words


def refusals() -> Iterator[tuple[str, ast.expr]]:
    """The messages of refusals that annotators read: (file:line, expression)."""
    files = [
        ANNOTATOR / "services" / f"{name}.py"
        for name in (
            "assignment",
            "assignment_lock",
            "draft",
            "exam",
            "judgment_undo",
            "participation",
            "stage_submit",
        )
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


def texts_of(stage: Stage) -> Iterator[str]:
    """The texts of a stage other than its material."""
    yield from (stage.title, stage.lead)
    for block in stage.blocks:
        yield block.label
        if block.kind == "answer":
            yield block.text
    for asked in stage.fields:
        yield from (asked.label, asked.help)
        for option in asked.options:
            yield from (option.label, option.detail)


@pytest.mark.parametrize(
    "name",
    sorted(
        name
        for name, kind in hit_types().items()
        if not kind.external and not isinstance(kind, DeclaredHitType)  # a file is in its own language
    ),
)
def test_every_text_of_a_hit_type_is_translated_and_no_material_is(marked: None, name: str) -> None:
    kind = hit_types()[name]
    assert wording_shown(kind.task_title).startswith(OPEN)
    for payload in payloads(kind):
        material = json.dumps(payload, ensure_ascii=False)
        for stage in kind.every_stage(payload):
            for text in filter(None, texts_of(stage_shown(stage))):
                plain = text.partition(". ")[2] if text[1:3] == ". " else text  # a lettered option
                if not text.startswith(OPEN):
                    assert json.dumps(plain, ensure_ascii=False)[1:-1] in material, text
    for part in kind.read_instructions(kind.instructions):
        if isinstance(part, Example):
            assert wording_shown(part.title).startswith(OPEN)
            pairs = kind.describe(part.payload, part.response, translate=gettext)
            assert all(OPEN in question for question, _ in pairs), pairs

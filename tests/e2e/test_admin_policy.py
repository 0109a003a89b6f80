"""The admin works under a content policy that evaluates nothing (``page`` fails the test on any violation or script error)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import unfold
from django.contrib import admin
from django.urls import reverse
from playwright.sync_api import Page, expect

from foretell import env
from tests.factories import make_item, make_judgment, make_rater, make_study, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PASSWORD = "a-long-password-7"
#: Templates of Unfold that no page of ours shows: the short search (SIDEBAR's show_search is off), rows that are dragged.
NOT_USED = {"unfold/helpers/search.html"}


@pytest.fixture
def admin_page(live_server, page: Page) -> Page:
    """A page on which a superuser has logged in."""
    make_user("root", staff=True, is_superuser=True)
    page.goto(f"{live_server.url}/admin/")
    page.fill("input[name=username]", "root")
    page.fill("input[name=password]", PASSWORD)
    page.click("[type=submit]")
    expect(page.locator("input[name=password]")).to_have_count(0)
    alpine_started(page)
    return page


def alpine_started(page: Page) -> None:
    """Wait for Alpine. Before it has started, no key does anything."""
    page.wait_for_function("() => document.body?._x_dataStack")


def test_every_list_and_form_of_the_admin_opens(live_server, admin_page: Page) -> None:
    visited = 0
    for model in admin.site._registry:
        label = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        for url in (reverse(f"{label}_changelist"), reverse(f"{label}_add")):
            response = admin_page.goto(live_server.url + url)
            assert response is not None
            assert response.status in (200, 403), url  # some objects aren't created in the admin
            visited += 1
    assert visited >= 4


def test_the_theme_is_chosen_in_the_account_menu(live_server, admin_page: Page) -> None:
    admin_page.emulate_media(color_scheme="light")
    menu = admin_page.locator("[x-data*=openUserLinks]")
    log_out = menu.get_by_text("Log out")
    menu.locator("[x-on\\:click='openUserLinks = !openUserLinks']").click()
    for theme, classes in (("Dark", "dark"), ("Light", "light")):
        menu.get_by_text(theme, exact=True).click()
        expect(admin_page.locator("html")).to_have_class(classes)
        # A timer that the click starts sets the cookie.
        admin_page.wait_for_function(
            "cookie => document.cookie.includes(cookie)", arg=f"theme={theme.lower()}"
        )
    expect(log_out).to_be_visible()
    admin_page.locator("h1").first.click()
    expect(log_out).to_be_hidden()


def test_the_sidebar_is_hidden_until_it_is_shown_again(live_server, admin_page: Page) -> None:
    sidebar, switch = (
        admin_page.locator("#nav-sidebar-inner"),
        admin_page.locator("[x-on\\:click*=sidebarDesktopOpen]"),
    )
    expect(sidebar).to_be_visible()
    switch.click()
    expect(sidebar).to_be_hidden()
    admin_page.reload()
    expect(sidebar).to_be_hidden()
    switch.click()
    expect(sidebar).to_be_visible()
    admin_page.reload()
    expect(sidebar).to_be_visible()


def test_the_sidebar_opens_on_a_phone(live_server, admin_page: Page) -> None:
    admin_page.set_viewport_size({"width": 390, "height": 800})
    sidebar = admin_page.locator("#nav-sidebar-inner")
    expect(sidebar).to_be_hidden()
    admin_page.locator("main [x-on\\:click*=sidebarMobileOpen]").first.click()
    expect(sidebar).to_be_visible()


def test_filters_open_and_actions_appear_for_chosen_rows(live_server, admin_page: Page) -> None:
    study = make_study(slug="owls")
    make_judgment(make_item(study, key="a"), make_rater("kim"))
    admin_page.goto(live_server.url + reverse("admin:annotator_judgment_changelist"))
    filters = admin_page.locator("#changelist-filter")
    expect(filters).to_be_hidden()
    admin_page.locator("[x-on\\:click='filterOpen = true']").click()
    expect(filters).to_be_visible()
    admin_page.keyboard.press("Escape")
    expect(filters).to_be_hidden()

    admin_page.locator("input.action-select").first.check()
    bar = admin_page.locator("#changelist-actions")
    expect(bar).to_be_visible()
    box = bar.bounding_box()
    assert box is not None
    assert box["width"] > 400  # as wide as the list
    run = bar.get_by_role("button", name="Run")
    expect(run).to_be_hidden()
    bar.locator("select[name=action]").select_option(index=1)
    expect(run).to_be_visible()
    run.click()
    admin_page.wait_for_load_state()
    expect(admin_page.locator("main")).to_contain_text("1")


def test_the_command_palette_works_with_the_keyboard_only(live_server, admin_page: Page) -> None:
    admin_page.keyboard.press("Control+k")
    field = admin_page.locator("#search-input-command")
    expect(field).to_be_focused()
    field.fill("exclusio")
    field.press("n")  # one key, because each key that is released searches
    # Shown when Alpine has counted the results; before, arrow keys do nothing.
    expect(admin_page.locator("#command-results-note")).to_contain_text("Found")
    expect(admin_page.locator("#command-results-note")).to_be_visible()
    admin_page.keyboard.press("ArrowDown")
    expect(
        admin_page.locator("#command-results-list li.active, #command-results-list .active").first
    ).to_be_visible()
    admin_page.keyboard.press("Enter")
    admin_page.wait_for_url("**/exclusion/**")
    alpine_started(admin_page)
    admin_page.keyboard.press("Control+k")
    expect(field).to_be_focused()
    admin_page.keyboard.press("Escape")
    expect(field).to_be_hidden()


def test_a_users_form_is_filled_and_saved(live_server, admin_page: Page) -> None:
    """Date and time pickers, the two boxes of permissions, and the form's address."""
    user = make_user("kim", staff=True, date_joined=datetime(2026, 3, 1, 12, tzinfo=UTC))
    admin_page.goto(live_server.url + reverse("admin:annotator_user_change", args=[user.pk]))
    admin_page.locator("#calendarlink1").click()
    box = admin_page.locator("#calendarbox1")
    expect(box).to_be_visible()
    box.get_by_text("Yesterday").click()
    expect(box).to_be_hidden()
    expect(admin_page.locator("[name=date_joined_0]")).not_to_have_value("2026-03-01")
    admin_page.fill("[name=email]", "kim@example.org")
    form = admin_page.locator("#user_form")
    assert form.get_attribute("action") == f"/admin/annotator/user/{user.pk}/change/"
    admin_page.locator("[name=_save]").click()
    admin_page.wait_for_url("**/annotator/user/")
    user.refresh_from_db()
    assert user.email == "kim@example.org"


# -- every expression in Unfold's templates ---------------------------------------------------------------

EXPRESSION = re.compile(
    r"""(?:x-(?:data|show|sort|text|model|if|bind|on|init|effect|resize|html)[\w:.-]*|[@:][a-z][\w:.-]*)=("[^"]*"|'[^']*')"""
)
TAG = re.compile(r"\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)


IF = re.compile(r"\{%\s*if\b[^%]*%\}(.*?)(?:\{%\s*else\s*%\}(.*?))?\{%\s*endif\s*%\}", re.DOTALL)


def branches(text: str) -> Iterator[str]:
    """The expression without template language: once with the first branch of each ``if``, once with the last."""
    yield TAG.sub("7", IF.sub(lambda found: found[1], text))
    yield TAG.sub("7", IF.sub(lambda found: found[2] or "", text))


def expressions() -> list[tuple[str, str]]:
    """Each expression of each template that Unfold's pages are made of: ours where there is one of that name."""
    folder = Path(unfold.__file__).parent / "templates"
    found = []
    for path in sorted(folder.rglob("*.html")):
        name = path.relative_to(folder).as_posix()
        ours = env.ROOT / "templates" / name
        if name in NOT_USED or name.startswith("unfold_crispy/"):
            continue
        text = (ours if ours.is_file() and "extends" not in ours.read_text() else path).read_text(
            encoding="utf-8"
        )
        # Quotes inside a template tag aren't the attribute's.
        text = TAG.sub(lambda tag: tag[0].replace('"', "").replace("'", ""), text)
        for one in EXPRESSION.finditer(text):
            found += [(name, branch) for branch in branches(one[1][1:-1]) if branch.strip()]
    return found


def test_alpines_build_reads_every_expression_of_unfolds_templates(live_server, admin_page: Page) -> None:
    every = expressions()
    assert len(every) > 150
    every.append(("this test", "if (open) close()"))
    refused = admin_page.evaluate(
        """every => every.map(([name, text]) => {
             try { Alpine.evaluateRaw(document.body, text); }
             catch (error) { return `${name}: ${text}: ${error.message}`; }
             return "";
           }).filter((one) => /CSP Parser Error|prohibited/.test(one))""",
        every,
    )
    assert len(refused) == 1, refused
    assert refused[0].startswith("this test: if (open) close()")

"""Processes that show no page start without the pages; checks of the code see all of them."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.core import checks

from annotator.models import Study
from foretell.unchecked_commands import Commands
from tests.processes import python

START = "import os, sys, django; os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'foretell.settings'); django.setup()\n"
PAGES = ("annotator.admin", "evaluation.admin", "annotator.web.views", "foretell.urls", "fido2")
WORKER = f"""
from foretell.celery import app
app.loader.import_default_modules()
print(*[name for name in {PAGES} if name in sys.modules])
"""
RENDERED = """
from django.template.loader import render_to_string
print(render_to_string("evaluation/report_file.html", {"page": {}, "style": ""}))
"""
CHECKED = """
from django.contrib import admin
from django.core import checks
checks.run_checks(tags=["admin"])
print(*sorted({model._meta.app_label for model in admin.site._registry}))
"""


@pytest.mark.django_db
def test_a_worker_loads_no_page() -> None:
    done = python("-c", START + WORKER)
    assert (done.stdout.split(), done.returncode) == ([], 0), done.stderr


@pytest.mark.django_db
def test_a_process_without_pages_renders_a_template() -> None:
    done = python("-c", START + RENDERED)
    assert done.stdout.rstrip().endswith("</html>"), done.stderr


@pytest.mark.django_db
def test_the_checks_load_the_pages_of_the_admin() -> None:
    done = python("-c", START + CHECKED)
    assert {"annotator", "evaluation"} <= set(done.stdout.split()), done.stderr


def test_the_checks_find_a_mistake_in_a_page_of_the_admin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(admin.site._registry[Study]), "list_display", ["no_such_column"])
    found = [problem.id for problem in checks.run_checks(tags=["admin"])]
    assert found == ["admin.E108"]


def test_the_products_commands_run_no_checks_and_djangos_do() -> None:
    utility = Commands(["manage.py"])
    assert utility.fetch_command("study").requires_system_checks == []
    assert utility.fetch_command("createsuperuser").requires_system_checks == "__all__"

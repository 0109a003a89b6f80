"""``manage.py hit_type import`` and ``export``."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotator.models import DeclaredType
from annotator.services.workspace import workspace_create
from tests.annotator.declared import CLARITY
from tests.annotator.questionnaires import READING
from tests.factories import make_user

pytestmark = pytest.mark.django_db


def hit_type(*arguments: str) -> str:
    out = StringIO()
    call_command("hit_type", *arguments, stdout=out)
    return out.getvalue()


def test_a_file_goes_into_a_workspace_and_comes_back(tmp_path: Path) -> None:
    workspace_create(by=make_user("ada", staff=True), name="Lab")
    file = tmp_path / "clarity.yaml"
    file.write_text(CLARITY, encoding="utf-8")
    assert "is version 1 in Lab" in hit_type("import", str(file), "--workspace", "Lab", "--owner", "ada")
    assert hit_type("export", "clarity", "--workspace", "Lab") == CLARITY
    with pytest.raises(CommandError, match="has no HIT type 'owls' \\(there are: clarity\\)"):
        hit_type("export", "owls", "--workspace", "Lab")
    with pytest.raises(CommandError, match="there is no workspace 'Nowhere'"):
        hit_type("import", str(file), "--workspace", "Nowhere")
    file.write_text(CLARITY.replace("kind: choice", "kind: chioce"), encoding="utf-8")
    with pytest.raises(CommandError, match=r"line 25: .*Did you mean choice"):
        hit_type("import", str(file), "--workspace", "Lab")
    assert DeclaredType.objects.get().versions.count() == 1


def test_a_questionnaire_is_checked_saved_and_printed_under_its_kind(tmp_path: Path) -> None:
    workspace_create(by=make_user("ada", staff=True), name="Lab")
    file = tmp_path / "reading.yaml"
    file.write_text(READING, encoding="utf-8")
    assert "reading.yaml: questionnaire reading, version " in hit_type("check", str(file))
    assert ": 2 questions, 1 score" in hit_type("check", str(file))
    assert "is version 1 in Lab" in hit_type("import", str(file), "--workspace", "Lab", "--owner", "ada")
    assert hit_type("export", "reading", "--workspace", "Lab", "--questionnaire") == READING
    with pytest.raises(CommandError, match="Lab has no HIT type 'reading' \\(there are: none\\)"):
        hit_type("export", "reading", "--workspace", "Lab")
    file.write_text(READING.replace("kind: scale", "kind: scael"), encoding="utf-8")
    out = StringIO()
    with pytest.raises(CommandError, match="1 file with problems"):
        call_command("hit_type", "check", str(file), stdout=out)
    assert "reading.yaml:8: questions.often.kind" in out.getvalue()
    file.write_text(CLARITY, encoding="utf-8")
    assert "HIT type clarity, version " in hit_type("check", str(file))

"""``manage.py study``."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from tests.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("text", "expected"),
    [("true", True), ("True", True), ("yes", True), ("1", True), ("false", False), ("FALSE", False), ("no", False), ("0", False)],
)  # fmt: skip
def test_set_accepts_true_and_false(text: str, expected: bool) -> None:
    study = make_study()
    call_command("study", "set", study.slug, f"one_condition_per_instance={text}")
    study.refresh_from_db()
    assert study.one_condition_per_instance is expected


def test_set_refuses_another_word_for_a_boolean() -> None:
    study = make_study()
    with pytest.raises(CommandError, match="must be either True or False"):
        call_command("study", "set", study.slug, "one_condition_per_instance=perhaps")

"""The templates of Unfold that differ here, and only in what the content policy needs."""

from __future__ import annotations

import difflib
import json
import re
from pathlib import Path

import pytest
import unfold
from django.core.serializers.json import DjangoJSONEncoder

from annotator.admin.json_text import json_show
from foretell import env

UNFOLD = Path(unfold.__file__).parent / "templates"
#: The template -> words of the only lines of Unfold's that aren't in ours.
CHANGED = {
    "unfold/layouts/skeleton.html": ("unfold/js/alpine/alpine.js", "unfold/js/chart/chart.js"),
    "unfold/helpers/welcomemsg.html": ("localStorage",),
    "unfold/helpers/command.html": ("$event.metaKey",),
    "admin/actions.html": ("changeListWidth",),
}
#: Parts of Unfold's skeleton that are in admin_alpine.js and admin_colors.css here.
MOVED = re.compile(
    r'^ +x-data="\{$.*?(?=^    >$)|^ +\{% if colors %\}$.*?</style>\n +\{% endif %\}$',
    re.DOTALL | re.MULTILINE,
)


@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_template_follows_unfolds(name: str) -> None:
    theirs = MOVED.sub("", (UNFOLD / name).read_text(encoding="utf-8")).splitlines()
    ours = (env.ROOT / "templates" / name).read_text(encoding="utf-8").splitlines()
    lost = [line[2:].strip() for line in difflib.ndiff(theirs, ours) if line.startswith("- ")]
    assert len(lost := [line for line in lost if line]) == len(CHANGED[name]), lost
    assert all(word in line for word, line in zip(CHANGED[name], lost, strict=True)), lost


def test_json_fields_are_escaped_and_have_no_inline_style() -> None:
    shown = json_show({"text": "<script>alert(1)</script>", "n": 1, "é": None}, DjangoJSONEncoder)
    assert "<script>" not in shown
    assert "style=" not in shown
    assert 'class="json"' in shown
    assert 'class="nt"' in shown
    assert "é" in shown


def test_json_fields_use_the_encoder_of_the_field() -> None:
    class Encoder(json.JSONEncoder):
        def default(self, o: object) -> str:
            return "encoded"

    assert "encoded" in json_show({"a": object()}, Encoder)

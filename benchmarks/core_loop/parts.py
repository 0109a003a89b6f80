"""What each optimisation of the core loop saves, measured separately: microseconds with it and without it.

    python -m benchmarks parts

Each optimisation uses undocumented parts of Django or caches rendered text, so each must be worth its cost.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from statistics import median
from time import perf_counter

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "foretell.settings")
django.setup()

from django.db import transaction  # noqa: E402
from django.template import Context, Engine  # noqa: E402
from django.template.loader import render_to_string  # noqa: E402

from annotator.core import prepared  # noqa: E402
from annotator.services.assignment import assignment_next  # noqa: E402
from annotator.services.assignment_lock import assignment_lock  # noqa: E402
from annotator.web.task_form import task_form  # noqa: E402
from annotator.web.templatetags import constant_parts, screens  # noqa: E402
from tests.factories import make_participation, make_study  # noqa: E402

ROUNDS, CALLS = 15, 100


def microseconds(call: Callable[[], object]) -> float:
    """Microseconds of one call: the median over rounds."""
    call()
    rounds = []
    for _ in range(ROUNDS):
        start = perf_counter()
        for _ in range(CALLS):
            call()
        rounds.append((perf_counter() - start) / CALLS * 1e6)
    return median(rounds)


def report(name: str, without: float, with_it: float) -> None:
    print(f"| {name} | {without:,.0f} | {with_it:,.0f} | {without / with_it:.1f} |")


def main() -> None:
    print("| optimisation | without, µs | with it, µs | times as fast |")
    print("|---|---|---|---|")
    participation = make_participation(make_study(items=2, launched=True))
    assignment = assignment_next(participation=participation)
    assert assignment is not None
    pk, user_id = assignment.pk, participation.rater.user_id

    first = prepared.Prepared.first
    with transaction.atomic():
        with_it = microseconds(lambda: assignment_lock(user_id=user_id, pk=pk))
        prepared.Prepared.first = lambda self, *values: self.make(*values).first()  # type: ignore[method-assign]
        without = microseconds(lambda: assignment_lock(user_id=user_id, pk=pk))
        prepared.Prepared.first = first  # type: ignore[method-assign]
    report("a prepared query: a task with its study, item, place and rater", without, with_it)

    text = '{% include "components/icon.html" with name="check" only %}' * 15
    once = Engine.get_default().from_string(text)
    constant, constant_parts.is_constant = constant_parts.is_constant, lambda node: False
    each_time = Engine.get_default().from_string(text)
    constant_parts.is_constant = constant
    report(
        "fifteen constant includes",
        microseconds(lambda: each_time.render(Context())),
        microseconds(lambda: once.render(Context())),
    )

    words = '{% translate "Instructions" %}' * 40
    once = Engine.get_default().from_string(
        "{% load i18n %}{% per_language %}" + words + "{% endper_language %}"
    )
    each_time = Engine.get_default().from_string("{% load i18n %}" + words)
    report(
        "forty translations",
        microseconds(lambda: each_time.render(Context())),
        microseconds(lambda: once.render(Context())),
    )

    from annotator.hit_types.registry import hit_type_get

    stage = hit_type_get("simulation").stages(assignment.item.payload)[0]
    asked = task_form(stage).asked
    report(
        "the questions of a task",
        microseconds(lambda: [screens.question_rendered(one) for one in asked]),
        microseconds(lambda: [screens.question(one) for one in asked]),
    )
    shown = [{"block": block, "level": 2, "prefix": ""} for block in stage.blocks]
    report(
        "the material of a task",
        microseconds(lambda: [render_to_string("components/block.html", one) for one in shown]),
        microseconds(lambda: [screens.material(Context(), block) for block in stage.blocks]),
    )

    entries = dict.fromkeys(("flag_url", "ask_url", "skip_url", "csrf_token"), "/t/") | {"mode": "task"}
    report(
        "the menu of a task",
        microseconds(lambda: render_to_string("annotator/_menu.html", entries)),
        microseconds(lambda: screens.menu(Context(entries))),
    )


if __name__ == "__main__":
    main()

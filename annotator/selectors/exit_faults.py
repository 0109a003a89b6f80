"""What keeps people from leaving a study with a code: exits without one, and an end that hardly anybody can reach."""

from __future__ import annotations

from collections.abc import Iterator

from annotator.core.words import plural
from annotator.models import Study
from annotator.recruitment.panel import COMPLETED, DECLINED, EXITS, PARTLY, SCREENED_OUT, CompletionCode
from annotator.recruitment.registry import panel_get

#: The most minutes of tasks that somebody can be expected to do for one code.
LONGEST = 180


def exits_possible(study: Study) -> Iterator[CompletionCode]:
    """The exits that the study has: nobody declines without a consent text, or fails without an exam."""
    panel = panel_get(study.panel)
    for ending in panel.codes if panel else EXITS:
        if (ending == DECLINED and not study.consent_text) or (
            ending == SCREENED_OUT and not study.exam_required
        ):
            continue
        yield ending


def exit_warnings(study: Study) -> list[str]:
    """Warnings for the launch; none for studies that don't use codes at all."""
    panel = panel_get(study.panel)
    if panel is None and not any(getattr(study, one.field) for one in EXITS):
        return []
    warnings = []
    without = [one.label for one in exits_possible(study) if not getattr(study, one.field)]
    if without:
        back = f" and can't return to {panel.title}" if panel else ""
        warnings.append(
            f"People who leave in one of these ways get no code{back}: {', '.join(without)}. Enter the codes in the settings."
        )
    return warnings + _far_end(study)


def _far_end(study: Study) -> list[str]:
    items = study.items.filter(withdrawn_at__isnull=True)
    if study.one_condition_per_instance:
        own = items.filter(instance=None).count()
        tasks = own + items.exclude(instance=None).order_by().values("instance").distinct().count()
    else:
        tasks = items.count()
    tasks = min(study.max_items_per_rater or tasks, tasks)
    minutes = tasks * study.minutes_per_item
    if minutes <= LONGEST or not study.completion_code:
        return []
    meanwhile = "" if study.partly_code else f" Without “{PARTLY.label}”, everyone else leaves without one."
    return [
        f"Hardly anyone will get the “{COMPLETED.label}”: it takes {plural(tasks, 'task')}, about {minutes / 60:.0f} hours."
        f" Set “Maximum items per rater” to a number that one person can do.{meanwhile}"
    ]

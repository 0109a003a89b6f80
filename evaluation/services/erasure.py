"""What reports and releases keep of participants whose data are deleted: names in reports go, releases are reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.files.storage import default_storage
from django.db.models import Q

from annotator.core.kept_elsewhere import cleaned
from annotator.core.words import plural
from annotator.models import Tombstone
from evaluation.models import Release, Report, ReportFile
from evaluation.releases.people import holds, pseudonyms_in
from evaluation.releases.pseudonyms import renamed

ERASED = "erased person"
#: Files of reports in which a name can be searched for.
_TEXT_FILES = ("text/", "image/svg+xml", "application/json")


def releases_holding(*, study: int, rater: int) -> list[str]:
    """Which stored releases have the answers of a rater of the study, in sentences. Copies that were published are the same."""
    about = Q(report__study=study) | Q(report__others=study)
    rows = Release.objects.filter(about, state=Release.State.DONE).distinct().order_by("pk")
    return [
        f"Release {row.pk} (“{row}”, made on {row.finished_at:%Y-%m-%d}) has this person's answers, under a pseudonym. Delete it and make a "
        "new one. If it was published, tell the archive that holds it."
        for row in rows
        if holds(_names_in(row), key=row.key, rater=rater, before=row.raters_before)
    ]


def erased_in(release: Release) -> int:
    """The number of people in a release whose data were deleted from one of its studies after it was begun."""
    if release.state != Release.State.DONE or release.started_at is None:
        return 0
    studies = [study.pk for study in release.report.studies]
    stones = Tombstone.objects.filter(study__in=studies, at__gte=release.started_at)
    raters = set(stones.values_list("rater", flat=True))
    if not raters:
        return 0
    names = _names_in(release)
    before = release.raters_before
    return sum(holds(names, key=release.key, rater=rater, before=before) for rater in raters)


def erased_notice(release: Release) -> str:
    """What to do about people in a release whose data were deleted since; empty if there are none."""
    number = erased_in(release)
    if not number:
        return ""
    return (
        f"The data of {plural(number, 'person', 'people')} in this release have been deleted since it was made. Delete the release and make a "
        "new one. If it was published, tell the archive that holds it."
    )


def _names_in(release: Release) -> set[str]:
    try:
        with default_storage.open(release.file) as file:
            return pseudonyms_in(file)
    except FileNotFoundError:
        return set()


def names_forget(*, study: int, names: dict[str, str], clean: Callable[[str], str]) -> None:
    """Take people's names out of the stored reports on a study, their files, and the texts of their releases."""
    about = Q(study=study) | Q(others=study)
    now = {name: new or ERASED for name, new in names.items()}
    for report in Report.objects.filter(about).distinct().order_by("pk").iterator(chunk_size=1):
        content = _content_without(report.content, now, clean) if report.content else report.content
        choices = _choices_without(report.choices, now)
        if (content, choices) != (report.content, report.choices):
            Report.objects.filter(pk=report.pk).update(content=content, choices=choices)
    files = ReportFile.objects.filter(
        report__in=Report.objects.filter(about).values("pk").distinct()
    ).order_by("pk")
    for file in files.iterator(chunk_size=10):
        if file.media_type.startswith(_TEXT_FILES):
            body = clean(bytes(file.body).decode("utf-8", "replace")).encode()
            if body != bytes(file.body):
                ReportFile.objects.filter(pk=file.pk).update(body=body)
    for release in Release.objects.filter(Q(report__study=study) | Q(report__others=study)).distinct():
        texts = {name: getattr(release, name) for name in ("title", "description", "citation", "error")}
        Release.objects.filter(pk=release.pk).update(
            **cleaned(texts, clean), findings=cleaned(release.findings, clean)
        )
        for text in release.texts.iterator():
            new = clean(text.text)
            if new != text.text:
                # The archive has the name: only its deletion helps. A release that isn't made yet lists the cleaned text anew.
                text.delete()


def _choices_without(choices: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    rule, colon, rater = str(choices.get("rule", "")).partition(":")
    return {**choices, "rule": f"{rule}:{names.get(rater, rater)}"} if colon else choices


def _content_without(
    content: dict[str, Any], names: dict[str, str], clean: Callable[[str], str]
) -> dict[str, Any]:
    """A report's content with new names in its tables, and its sentences and reasons without the names."""

    def cell(one: dict[str, Any]) -> dict[str, Any]:
        if one["kind"] != "number":
            return {**one, "text": clean(renamed(one["text"], names))}
        reasons: dict[str, Any] = {}
        for reason, number in one["left_out"].items():
            reasons[clean(reason)] = reasons.get(clean(reason), 0) + number
        return {**one, "rule": clean(one["rule"]), "reason": clean(one["reason"]), "left_out": reasons}

    def row(one: dict[str, Any]) -> dict[str, Any]:
        head, group = renamed([one["head"], one["group"]], names)
        new = {"head": cleaned(head, clean), "group": clean(group), "cells": list(map(cell, one["cells"]))}
        return {**one, **new}

    def block(one: dict[str, Any]) -> dict[str, Any]:
        if one["kind"] != "table":
            return dict(cleaned(one, clean))
        rest = {name: value for name, value in one.items() if name != "rows"}
        rest["columns"] = renamed(rest["columns"], names)
        return {**cleaned(rest, clean), "rows": list(map(row, one["rows"]))}

    sections = [
        {
            **cleaned({name: value for name, value in section.items() if name != "blocks"}, clean),
            "blocks": list(map(block, section["blocks"])),
        }
        for section in content["sections"]
    ]
    choices = _choices_without(content["choices"], names) if "choices" in content else None
    rest = {
        name: cleaned(value, clean) for name, value in content.items() if name not in ("sections", "choices")
    }
    return {**rest, **({"choices": choices} if choices else {}), "sections": sections}

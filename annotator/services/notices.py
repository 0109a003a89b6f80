"""Emails to researchers about their studies. Each researcher chooses what about, and at once or once a day."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from datetime import timedelta
from smtplib import SMTPException

from django.core import signing
from django.core.mail import EmailMessage
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from annotator.core.news import News, news_of
from annotator.core.words import plural
from annotator.models import Message, Notice, NoticeChoices, Study, User
from annotator.selectors.study import studies_for, with_size

log = logging.getLogger(__name__)
_SALT = "annotator.notices"
DAY = timedelta(days=1)
#: An email lists at most this many lines; the rest is counted.
MOST_LINES = 50
#: What was sent is remembered for as long as it could be found again, and longer.
DAYS_KEPT = 400


def notice_choices_set(*, user: User, site: str, choices: Mapping[str, str]) -> NoticeChoices:
    """Store what a researcher wants emails about; ``site`` is the address of the installation, such as ``https://lab.example``.

    News from before the first choice isn't sent. Raises ``ValidationError``.
    """
    stored = NoticeChoices.objects.filter(user=user).first()
    stored = stored or NoticeChoices(user=user, since=timezone.now())
    stored.site = site.rstrip("/")
    for kind in NoticeChoices.KINDS:
        if stored.when(kind) == NoticeChoices.When.OFF and choices.get(kind, "off") != NoticeChoices.When.OFF:
            stored.since = timezone.now() if not _any_chosen(stored) else stored.since
        setattr(stored, kind, choices.get(kind, NoticeChoices.When.OFF))
    stored.full_clean()
    stored.save()
    return stored


def notices_stop(token: str) -> bool:
    """Turn all emails off for the owner of an email's link; False if the link isn't one of ours. Safe to call twice."""
    try:
        user = signing.loads(token, salt=_SALT)
    except signing.BadSignature:
        return False
    off = dict.fromkeys(NoticeChoices.KINDS, NoticeChoices.When.OFF)
    NoticeChoices.objects.filter(user=user).update(**off)
    return True


def notice_link_known(token: str) -> bool:
    """Whether a link is one that an email had."""
    try:
        signing.loads(token, salt=_SALT)
    except signing.BadSignature:
        return False
    return True


def notices_sweep() -> int:
    """Collect news for the researchers who want it, and send what is due; returns the number of emails.

    Safe to run at any time and twice: a piece of news is stored once for each researcher, and sent once.
    """
    Notice.objects.filter(sent_at__lt=timezone.now() - timedelta(days=DAYS_KEPT)).delete()
    wanted = [
        notice_choices
        for notice_choices in NoticeChoices.objects.select_related("user")
        if _any_chosen(notice_choices) and notice_choices.user.is_active and notice_choices.user.is_staff
    ]
    _collect(wanted)
    return sum(_send(choices.pk) for choices in wanted)


def _any_chosen(choices: NoticeChoices) -> bool:
    return any(choices.when(kind) != NoticeChoices.When.OFF for kind in NoticeChoices.KINDS)


def _collect(wanted: Iterable[NoticeChoices]) -> None:
    """Store the news of each researcher's studies that they want and don't have yet."""
    running = Study.objects.filter(state__in=(Study.State.LIVE, Study.State.PAUSED), archived_at__isnull=True)
    mine = {
        choices.pk: set(studies_for(user=choices.user).filter(pk__in=running).values_list("pk", flat=True))
        for choices in wanted
    }
    every = set().union(*mine.values()) if mine else set()
    kinds = {
        kind
        for choices in wanted
        for kind in NoticeChoices.KINDS
        if choices.when(kind) != NoticeChoices.When.OFF
    }
    news = news_of(list(with_size(Study.objects.filter(pk__in=every)).select_related("snapshot")), kinds)
    rows = [
        Notice(
            user_id=choices.pk, study_id=new.study, kind=new.kind, key=new.key, text=new.text, path=new.path
        )
        for choices in wanted
        for new in news
        if new.study in mine[choices.pk] and _is_wanted(choices, new)
    ]
    Notice.objects.bulk_create(rows, ignore_conflicts=True, batch_size=5_000)


def _is_wanted(choices: NoticeChoices, news: News) -> bool:
    return choices.when(news.kind) != NoticeChoices.When.OFF and (news.at is None or news.at >= choices.since)


def _send(user_pk: int) -> int:
    """Send one researcher what is due. It's marked as sent first: if the process is killed in between, an email is lost
    rather than sent twice; if the mail server refuses it, the mark is taken back."""
    due = _take_due(user_pk)
    if due is None:
        return 0
    choices, notices = due
    try:
        _mail(choices, notices).send()
    except (OSError, SMTPException) as error:
        log.warning("an email about studies could not be sent: %s", type(error).__name__)
        Notice.objects.filter(pk__in=[notice.pk for notice in notices]).update(sent_at=None)
        NoticeChoices.objects.filter(pk=user_pk).update(digest_at=choices.digest_at)
        return 0
    return 1


@transaction.atomic
def _take_due(user_pk: int) -> tuple[NoticeChoices, list[Notice]] | None:
    """Mark what is due as sent; None if nothing is. News that isn't wanted any more, or about studies that the researcher
    can't see any more, is dropped."""
    choices = (
        NoticeChoices.objects.select_for_update(of=("self",), skip_locked=True)
        .select_related("user")
        .filter(pk=user_pk, user__is_active=True, user__is_staff=True)
        .exclude(user__email="")
        .first()
    )
    if choices is None:
        return None
    now = timezone.now()
    unsent = list(Notice.objects.filter(user=user_pk, sent_at=None).select_related("study").order_by("pk"))
    seen = set(
        studies_for(user=choices.user)
        .filter(pk__in={one.study_id for one in unsent}, archived_at__isnull=True)
        .values_list("pk", flat=True)
    )
    open_ = {
        f"message {pk}"
        for pk in Message.objects.filter(
            study__in=seen, settled_at__isnull=True, pk__in=_message_pks(unsent)
        ).values_list("pk", flat=True)
    }
    whole_day = choices.digest_at is None or choices.digest_at <= now - DAY
    due, dropped = [], []
    for one in unsent:
        when = choices.when(one.kind)
        settled = one.kind == "messages" and one.key not in open_
        if when == NoticeChoices.When.OFF or one.study_id not in seen or settled:
            dropped.append(one.pk)
        elif when == NoticeChoices.When.NOW or whole_day:
            due.append(one)
    Notice.objects.filter(pk__in=dropped).update(sent_at=now)
    if not due:
        return None
    Notice.objects.filter(pk__in=[one.pk for one in due]).update(sent_at=now)
    if any(choices.when(one.kind) == NoticeChoices.When.DAILY for one in due):
        NoticeChoices.objects.filter(pk=user_pk).update(digest_at=now)
    return choices, due


def _message_pks(notices: Iterable[Notice]) -> list[int]:
    return [int(notice.key.removeprefix("message ")) for notice in notices if notice.kind == "messages"]


def _mail(choices: NoticeChoices, notices: list[Notice]) -> EmailMessage:
    studies = {notice.study_id: notice.study for notice in notices}
    titles = [" ".join(study.title.split()) for study in studies.values()]
    subject = (
        f"News about {titles[0]}"
        if len(titles) == 1
        else f"News about {plural(len(titles), 'study', 'studies')}"
    )
    stop = choices.site + reverse("annotator:notices_stop", args=[signing.dumps(choices.pk, salt=_SALT)])
    lines = []
    for pk, study in studies.items():
        lines += [study.title, *_lines(choices, [notice for notice in notices if notice.study_id == pk]), ""]
    lines += [
        f"You chose to get these emails. Change that: {choices.site}{reverse('admin:notices')}",
        f"No more emails: {stop}",
        "",
    ]
    headers = {"List-Unsubscribe": f"<{stop}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
    return EmailMessage(subject[:200], "\n".join(lines), None, [choices.user.email], headers=headers)


def _lines(choices: NoticeChoices, notices: list[Notice]) -> list[str]:
    """The news about one study: what several pieces say alike is said once, with their number."""
    counts: dict[tuple[str, str], int] = {}
    order = sorted(notices, key=lambda one: NoticeChoices.KINDS.index(one.kind))
    for one in order:
        counts[one.text, one.path] = counts.get((one.text, one.path), 0) + 1
    lines = [
        f"- {text}{f' ({count})' if count > 1 else ''}: {choices.site}{path}"
        for (text, path), count in counts.items()
    ]
    more = [f"- and {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
    return lines[:MOST_LINES] + more

"""Prolific: its signed study links, its plain ones, its webhooks, and the way back to it.

Sources: https://docs.prolific.com/api-reference/well-known-endpoints/get-study-jwks (links),
https://docs.prolific.com/api-reference/webhooks/verifying and the pages beside it (webhooks),
https://docs.prolific.com/api-reference/submissions/submission-object (statuses).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode, urlsplit

import jwt

from annotator.recruitment.identity import LinkRefused, PanelIdentity
from annotator.recruitment.signing_keys import ALGORITHMS, SigningKeys

NAME = "prolific"
#: Where participants find their studies.
SITE = "https://app.prolific.com/"
TOKEN = "prolific_token"  # noqa: S105 - the name of a parameter
PERSON, STUDY, SUBMISSION = "PROLIFIC_PID", "STUDY_ID", "SESSION_ID"
#: What a study's link needs at its end. Prolific replaces the words in braces.
PARAMETERS = "&".join(f"{name}={{{{%{name}%}}}}" for name in (PERSON, STUDY, SUBMISSION))
_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}")
#: A token has well under 2,000 characters; a longer one isn't decoded.
LONGEST_TOKEN = 8_000
#: Clocks may differ by this much.
LEEWAY = timedelta(seconds=30)

# -- links ---------------------------------------------------------------------------------------------


def signed_link_read(
    token: str, *, keys: SigningKeys, issuer: str, host: str, path: str, studies: frozenset[str]
) -> PanelIdentity:
    """The participant named by a signed link, once everything about it has been checked: algorithm, signature, issuer,
    expiry, audience and study.

    ``host`` and ``path`` are those of the page that was opened. The audience must be this host, or an address on it; if
    that has a path, it must be this path. ``studies`` are the Prolific studies that recruit for this one. Raises
    ``LinkRefused``, and ``PanelUnavailable`` if the panel's keys can't be fetched.
    """
    if len(token) > LONGEST_TOKEN:
        raise LinkRefused("its token is too long")
    try:
        header = jwt.get_unverified_header(token)
    except jwt.PyJWTError:
        raise LinkRefused("its token can't be decoded") from None
    kid = header.get("kid")
    if header.get("alg") not in ALGORITHMS:
        raise LinkRefused(f"its algorithm is not one of {', '.join(ALGORITHMS)}")
    if not isinstance(kid, str) or not kid:
        raise LinkRefused("it names no key")
    key = keys.get(kid)
    try:
        claims = jwt.decode(
            token,
            key,
            algorithms=[key.algorithm_name],
            issuer=issuer,
            leeway=LEEWAY,
            options={"require": ["exp", "iss", "aud"], "verify_aud": False},
        )
    except jwt.ExpiredSignatureError:
        raise LinkRefused("it has expired") from None
    except jwt.InvalidIssuerError:
        raise LinkRefused("its issuer is another one") from None
    except jwt.PyJWTError as error:
        raise LinkRefused(f"its token is not valid ({type(error).__name__})") from None
    if not _for_this_page(claims["aud"], host=host, path=path):
        raise LinkRefused("its audience is another address")
    identity = _identity(claims.get("prolific"), studies=studies, verified=True)
    digest = hashlib.sha256(token.encode()).hexdigest()
    try:
        expires = datetime.fromtimestamp(claims["exp"], UTC) + LEEWAY
    except (ValueError, OverflowError, OSError):
        raise LinkRefused("its expiry is no date") from None
    return replace(identity, digest=digest, expires_at=expires)


def plain_link_read(parameters: Mapping[str, str], *, studies: frozenset[str]) -> PanelIdentity:
    """The participant named by a link's parameters, which anybody could have written. Raises ``LinkRefused`` if one is
    missing or can't be an id, or, if ``studies`` are given, for another study."""
    return _identity(parameters, studies=studies, verified=False)


def _identity(ids: Any, *, studies: frozenset[str], verified: bool) -> PanelIdentity:
    if not isinstance(ids, Mapping):
        raise LinkRefused("it has no ids")
    found = {name: ids.get(name) for name in (PERSON, STUDY, SUBMISSION)}
    for name, value in found.items():
        if not isinstance(value, str) or not _ID.fullmatch(value):
            raise LinkRefused(f"its {name} is missing or can't be an id")
    if found[STUDY] not in studies and (verified or studies):
        raise LinkRefused("it belongs to a study that isn't in the settings")
    return PanelIdentity(
        panel=NAME,
        person=str(found[PERSON]),
        submission=str(found[SUBMISSION]),
        panel_study=str(found[STUDY]),
        verified=verified,
        parameters={name: str(value) for name, value in found.items()},
    )


def _for_this_page(audience: Any, *, host: str, path: str) -> bool:
    """
    >>> _for_this_page("https://lab.example/join/x/?a=b", host="lab.example", path="/join/x/")
    True
    >>> _for_this_page(["lab.example"], host="lab.example", path="/join/x/")
    True
    >>> _for_this_page("https://lab.example/join/y/", host="lab.example", path="/join/x/")
    False
    >>> _for_this_page("https://lab.example.evil.example/", host="lab.example", path="/join/x/")
    False
    """
    for one in audience if isinstance(audience, list) else [audience]:
        if not isinstance(one, str):
            continue
        try:
            where = urlsplit(one if "://" in one else f"https://{one}")
        except ValueError:
            continue
        if where.scheme not in ("http", "https") or where.netloc.lower() != host.lower():
            continue
        if where.path in ("", "/") or where.path.rstrip("/") == path.rstrip("/"):
            return True
    return False


def return_link(code: str) -> str:
    """The address at Prolific that completes a submission with a completion code."""
    return f"{SITE}submissions/complete?" + urlencode({"cc": code})


def bonus_lines(amounts: Iterable[tuple[str, Decimal]]) -> str:
    """What Prolific takes for bulk bonus payments: a line for each participant, without a header. Amounts are in the study's
    currency there.

    Source: https://docs.prolific.com/api-reference/bonuses/create-bonus-payments

    >>> bonus_lines([("60ffe5c8371090c7041d43f8", Decimal("4.25")), ("60ff44a1d00991f1dfe405d9", Decimal("3"))])
    '60ffe5c8371090c7041d43f8,4.25\\n60ff44a1d00991f1dfe405d9,3.00\\n'
    """
    return "".join(f"{person},{amount:.2f}\n" for person, amount in amounts if _ID.fullmatch(person))


# -- webhooks ------------------------------------------------------------------------------------------

#: Webhooks sent longer ago, or that much in the future, are refused.
OLDEST = timedelta(minutes=5)
LARGEST_BODY = 64_000
SUBMISSION_CHANGED, STUDY_CHANGED = "submission.status.change", "study.status.change"
#: Statuses of a submission from first to last, as ``status_read`` writes them; decides between two of the same second.
STATUSES = (
    "RESERVED", "ACTIVE", "AWAITING REVIEW", "PARTIALLY APPROVED", "APPROVED", "SCREENED OUT", "TIMED OUT", "RETURNED", "REJECTED",
)  # fmt: skip


class WebhookRefused(ValueError):
    """A webhook isn't processed: ``status`` is the HTTP status of the reply."""

    def __init__(self, message: str, *, status: int):
        self.status = status
        super().__init__(message)


@dataclass(frozen=True)
class Webhook:
    """A verified webhook. ``subject`` is the id of a submission or study, ``person`` of its participant, if there is one;
    ``at`` is when it happened."""

    event_id: str
    signature_digest: str
    kind: str
    subject: str
    person: str
    status: str
    at: datetime


def webhook_signature(*, secret: str, timestamp: str, body: bytes) -> str:
    """Base64 of the HMAC-SHA256 of timestamp and body, which Prolific sends as ``X-Prolific-Request-Signature``.

    >>> webhook_signature(secret="s", timestamp="1700000000", body=b"{}")
    '1ny3ARX32nvlry1vEVuO5uXHHJOCO+Oo65v7Vvilf3M='
    """
    made = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(made).decode()


def webhook_read(*, headers: Mapping[str, str], body: bytes, secret: str, now: datetime) -> Webhook:
    """Verify a webhook's signature and time, and read it. Raises ``WebhookRefused``.

    Prolific signs the timestamp of the request and the body, but neither ``X-Event-ID`` nor ``X-Timestamp``. So an event
    can't be later than its request, and ``signature_digest`` recognises a copy under another id.
    """
    if len(body) > LARGEST_BODY:
        raise WebhookRefused(f"The body has more than {LARGEST_BODY:,} bytes.", status=413)
    stamp = headers.get("X-Prolific-Request-Timestamp", "")
    sent = _moment(stamp)
    signature = headers.get("X-Prolific-Request-Signature", "")
    if sent is None or not signature:
        raise WebhookRefused("The signature or its timestamp is missing.", status=401)
    if not any(
        hmac.compare_digest(
            webhook_signature(secret=secret, timestamp=stamp, body=one).encode(), signature.encode()
        )
        for one in _bodies(body)
    ):
        raise WebhookRefused("The signature is not valid.", status=401)
    if abs(now - sent) > OLDEST:
        raise WebhookRefused("The timestamp is too far from the current time.", status=401)
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise WebhookRefused("The body is not a JSON object.", status=400)
    kind, subject, status = (_text(content.get(name)) for name in ("event_type", "resource_id", "status"))
    if not kind:
        raise WebhookRefused("The body has no event_type.", status=400)
    digest = hashlib.sha256(signature.encode()).hexdigest()
    happened = _moment(headers.get("X-Timestamp", "")) or sent
    return Webhook(
        event_id=_text(headers.get("X-Event-ID")) or digest,
        signature_digest=digest,
        kind=kind[:60],
        subject=subject,
        person=_text(content.get("participant_id")),
        status=status_read(status),
        at=min(happened, sent),
    )


def _bodies(body: bytes) -> list[bytes]:
    """What may have been signed: the body as it was sent, or, as in the example of Prolific's documentation, its JSON as
    Python writes it."""
    try:
        return [body, json.dumps(json.loads(body)).encode()]
    except (ValueError, RecursionError):
        return [body]


def status_read(status: str) -> str:
    """A status in one spelling.

    >>> status_read("TIMED-OUT"), status_read("awaiting_review")
    ('TIMED OUT', 'AWAITING REVIEW')
    """
    return re.sub(r"[-_ ]+", " ", status).strip().upper()[:40]


def status_rank(status: str) -> int:
    """The place of a status in ``STATUSES``; -1 for one that isn't known."""
    return STATUSES.index(status) if status in STATUSES else -1


def _text(value: Any) -> str:
    return value.replace("\x00", "")[:200] if isinstance(value, str) else ""


def _moment(text: str) -> datetime | None:
    """The time of a UNIX timestamp in seconds or milliseconds; None if it is none."""
    if not re.fullmatch(r"[0-9]{1,13}(\.[0-9]{1,9})?", text):
        return None
    seconds = float(text)
    return datetime.fromtimestamp(seconds / 1000 if seconds > 10**11 else seconds, UTC)

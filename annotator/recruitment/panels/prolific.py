"""Prolific: its signed study links, its plain ones, its webhooks, and the way back to it.

Sources: https://docs.prolific.com/api-reference/well-known-endpoints/get-study-jwks (links),
https://docs.prolific.com/api-reference/webhooks/verifying and the pages beside it (webhooks),
https://docs.prolific.com/api-reference/submissions/submission-object (statuses),
https://docs.prolific.com/api-reference/bonuses/create-bonus-payments (payments).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode, urlsplit

import jwt

from annotator.recruitment.identity import LinkRefused, PanelIdentity
from annotator.recruitment.panel import CompletionCode, OpenedLink, Panel
from annotator.recruitment.panels._prolific_api import ProlificApi
from annotator.recruitment.panels._prolific_review import REVIEW_RULES
from annotator.recruitment.requests import ApiRequests
from annotator.recruitment.signing_keys import ALGORITHMS, SigningKeys
from annotator.recruitment.webhooks import (
    STUDY_CHANGED,
    SUBMISSION_CHANGED,
    Webhook,
    WebhookRefused,
    status_read,
)
from foretell import env

#: A token has well under 2,000 characters; a longer one isn't decoded.
LONGEST_TOKEN = 8_000
#: Clocks may differ by this much.
LEEWAY = timedelta(seconds=30)
#: Webhooks sent longer ago, or that much in the future, are refused.
OLDEST = timedelta(minutes=5)
#: Its kinds of events that are ours, too.
KINDS = {"submission.status.change": SUBMISSION_CHANGED, "study.status.change": STUDY_CHANGED}


class Prolific(Panel):
    """Signed and plain links, codes, webhooks, bulk bonus payments, and an API."""

    name = "prolific"
    title = "Prolific"
    person, panel_study, submission = "PROLIFIC_PID", "STUDY_ID", "SESSION_ID"
    parameters = {name: f"{{{{%{name}%}}}}" for name in (person, panel_study, submission)}
    token = "prolific_token"  # noqa: S105 - the name of a parameter
    identifiers = {"Prolific id": r"[0-9A-Fa-f]{24}"}
    webhooks = True
    has_api = True
    review_rules = REVIEW_RULES
    devices = {"desktop": "computers", "tablet": "tablets", "mobile": "phones"}
    payments_label = "Download for Prolific's bulk bonus payment"
    hints = {
        "panel_study_ids": "It is in the address of the study's page on Prolific.",
        "screened_out_code": "On Prolific, choose that this code pays them the screen-out reward.",
        "partly_code": "On Prolific, choose that submissions with this code are reviewed by hand, and pay the tasks as a bonus.",
        "declined_code": "On Prolific, choose that this code asks them to return the submission.",
        "token": "On Prolific, choose Settings > Go to API token page. The token has all rights of your account there.",
        "secret": "Prolific's API returns it when you create a secret for the workspace there.",
    }

    def __init__(self) -> None:
        self.site = env.text("PROLIFIC_SITE_URL", "https://app.prolific.com/")
        self.api_url = env.text("PROLIFIC_API_URL", "https://api.prolific.com")
        self.issuer = env.text("PROLIFIC_ISSUER", "https://www.prolific.com")
        self.keys = SigningKeys(
            env.text("PROLIFIC_KEYS_URL", "https://api.prolific.com/.well-known/study/jwks.json")
        )

    def api(self, token: str) -> ProlificApi:
        return ProlificApi(ApiRequests(self.api_url, self.title, token))

    def link_words(self, signed: bool) -> str:
        secured = ", and turn on the secured external URL there" if signed else ""
        return (
            f"Enter this as the URL of the study on Prolific{secured}. Prolific replaces the parts in braces."
        )

    def verify(self, token: str, link: OpenedLink) -> tuple[Any, datetime]:
        """Algorithm, signature, issuer, expiry and audience. The audience must be the link's host, or an address on it;
        if that has a path, it must be the link's.
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
        key = self.keys.get(kid)
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                issuer=self.issuer,
                leeway=LEEWAY,
                options={"require": ["exp", "iss", "aud"], "verify_aud": False},
            )
        except jwt.ExpiredSignatureError:
            raise LinkRefused("it has expired") from None
        except jwt.InvalidIssuerError:
            raise LinkRefused("its issuer is another one") from None
        except jwt.PyJWTError as error:
            raise LinkRefused(f"its token is not valid ({type(error).__name__})") from None
        if not _for_this_page(claims["aud"], host=link.host, path=link.path):
            raise LinkRefused("its audience is another address")
        try:
            return claims.get("prolific"), datetime.fromtimestamp(claims["exp"], UTC) + LEEWAY
        except (
            TypeError,
            ValueError,
            OverflowError,
            OSError,
        ):  # PyJWT also takes a number that is written as text
            raise LinkRefused("its expiry is no date") from None

    def return_url(self, ending: CompletionCode, *, code: str, identity: PanelIdentity) -> str:
        return f"{self.site}submissions/complete?" + urlencode({"cc": code}) if code else ""

    def payments_file(self, amounts: Iterable[tuple[str, Decimal]]) -> str:
        """A line for each participant, without a header.

        >>> print(Prolific().payments_file([("60ffe5c8371090c7041d43f8", Decimal("4.25"))]), end="")
        60ffe5c8371090c7041d43f8,4.25
        """
        return "".join(
            f"{person},{amount:.2f}\n" for person, amount in amounts if re.fullmatch(self.id_pattern, person)
        )

    def webhook_read(self, *, headers: Mapping[str, str], body: bytes, secret: str, now: datetime) -> Webhook:
        """Prolific signs the timestamp of the request and the body, but neither ``X-Event-ID`` nor ``X-Timestamp``. So an
        event can't be later than its request, and ``signature_digest`` recognises a copy under another id.
        """
        stamp = headers.get("X-Prolific-Request-Timestamp", "")
        sent = _moment(stamp)
        signature = headers.get("X-Prolific-Request-Signature", "")
        if sent is None or not signature:
            raise WebhookRefused("The signature or its timestamp is missing.", status=401)
        if not any(
            hmac.compare_digest(
                webhook_signature(secret=secret, timestamp=stamp, body=signed).encode(), signature.encode()
            )
            for signed in _bodies(body)
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
            kind=KINDS.get(kind, kind[:60]),
            subject=subject,
            person=_text(content.get("participant_id")),
            status=status_read(status),
            at=min(happened, sent),
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
    for address in audience if isinstance(audience, list) else [audience]:
        if not isinstance(address, str):
            continue
        try:
            where = urlsplit(address if "://" in address else f"https://{address}")
        except ValueError:
            continue
        if where.scheme not in ("http", "https") or where.netloc.lower() != host.lower():
            continue
        if where.path in ("", "/") or where.path.rstrip("/") == path.rstrip("/"):
            return True
    return False


def webhook_signature(*, secret: str, timestamp: str, body: bytes) -> str:
    """Base64 of the HMAC-SHA256 of timestamp and body, which Prolific sends as ``X-Prolific-Request-Signature``.

    >>> webhook_signature(secret="s", timestamp="1700000000", body=b"{}")
    '1ny3ARX32nvlry1vEVuO5uXHHJOCO+Oo65v7Vvilf3M='
    """
    made = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(made).decode()


def _bodies(body: bytes) -> list[bytes]:
    """What may have been signed: the body as it was sent, or, as in the example of Prolific's documentation, its JSON as
    Python writes it."""
    try:
        return [body, json.dumps(json.loads(body)).encode()]
    except (ValueError, RecursionError):
        return [body]


def _text(value: Any) -> str:
    """Text that Postgres can store, at most 200 characters: no NUL, no half of a surrogate pair."""
    return value.replace("\x00", "").encode(errors="ignore").decode()[:200] if isinstance(value, str) else ""


def _moment(text: str) -> datetime | None:
    """The time of a UNIX timestamp in seconds or milliseconds; None if it is none."""
    if not re.fullmatch(r"[0-9]{1,13}(\.[0-9]{1,9})?", text):
        return None
    seconds = float(text)
    return datetime.fromtimestamp(seconds / 1000 if seconds > 10**11 else seconds, UTC)

"""The forms and pages of a study, as a browser reads and sends them."""

from __future__ import annotations

import re
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

ROOT = "/admin/annotator/study/"
#: A text that would run as a script or be evaluated as a template if a page didn't escape it.
NASTY = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'{{ 7|add:7 }}"


def page(client: Client, address: str, **query: Any) -> str:
    reply = client.get(ROOT + address, query)
    assert reply.status_code == 200, (address, reply.status_code)
    return reply.content.decode()


def upload(text: str | bytes, name: str = "m.jsonl") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, text.encode() if isinstance(text, str) else text)


def ticket_of(html: str) -> str:
    return re.findall(r'name="ticket" value="([^"]+)"', html)[0]


def sent_form(html: str) -> dict[str, Any]:
    """What a browser would send from the page's form as it stands."""
    data: dict[str, Any] = {"ticket": ticket_of(html)}
    for select in re.findall(r"<select.*?</select>", html, re.S):
        name = re.findall(r'name="([^"]+)"', select)[0]
        chosen = re.findall(r'value="([^"]*)" selected', select)
        data[name] = chosen[0] if chosen else ""
    for name, value in re.findall(r'type="checkbox" name="([^"]+)" value="([^"]+)"[^>]*checked', html):
        data.setdefault(name, []).append(value)
    return data

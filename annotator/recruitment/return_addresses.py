"""The address to which people return, for panels that give each study its own."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

#: What an address may have in braces.
PARTS = ("code", "person")


def return_address(template: str, *, code: str, person: str, completed: bool) -> str:
    """The address for one person, with their id and the code of how their work ended; empty if there is none.

    An address with ``{code}`` needs a code. One without it is for people who have ``completed`` the study: it may grant them credit.

    >>> return_address("https://school.example/credit?token={code}&id={person}", code="A 1", person="77", completed=False)
    'https://school.example/credit?token=A%201&id=77'
    >>> return_address("https://school.example/credit?id={person}", code="A", person="77", completed=False)
    ''
    """
    if not template or ("{code}" in template and not code) or ("{code}" not in template and not completed):
        return ""
    values = {"code": quote(code, safe=""), "person": quote(person, safe="")}
    return re.sub(r"\{(code|person)\}", lambda found: values[found[1]], template)


def return_address_fault(template: str) -> str:
    """What is wrong with such an address, in words; empty if nothing.

    >>> return_address_fault("https://school.example/credit?id={person}")
    ''
    >>> return_address_fault("http://school.example/")
    'Expected a whole address that begins with https://.'
    >>> return_address_fault("https://school.example/?id={worker}")
    '{worker} is not replaced by anything. Use {code} or {person}.'
    >>> return_address_fault("https://{person}.example/")
    'Use {code} and {person} after the name of the host only.'
    """
    try:
        where = urlsplit(template)
        host = where.hostname or ""
    except ValueError:
        where, host = urlsplit(""), ""
    if where.scheme != "https" or not host or re.search(r"[\s\\\x00-\x1f]", template) or "@" in where.netloc:
        return "Expected a whole address that begins with https://."
    if re.search(r"[{}]", where.netloc):
        return "Use {code} and {person} after the name of the host only."
    unknown = [part for part in re.findall(r"\{([^{}]*)\}", template) if part not in PARTS]
    if unknown:
        return f"{{{unknown[0]}}} is not replaced by anything. Use {{code}} or {{person}}."
    return ""

"""``ro-crate-metadata.json``: the release as a research object (RO-Crate 1.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.releases.creators import Creator
from evaluation.releases.described.description import Description
from evaluation.releases.described.kinds import encoding, what

NAME = "ro-crate-metadata.json"


def ro_crate(facts: Description, files: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The document. ``files`` maps each file's name to its ``sha256`` and ``bytes``."""
    people = [_agent(number, one) for number, one in enumerate(facts.shown_creators, 1)]
    licence = facts.licence
    root: dict[str, Any] = {
        "@id": "./",
        "@type": "Dataset",
        "name": facts.title,
        "description": facts.abstract,
        "datePublished": facts.date,
        "author": [{"@id": person["@id"]} for person in people],
        "hasPart": [{"@id": name} for name in files],
        "license": {"@id": licence.url} if licence.url else licence.said or "not stated",
    }
    root = {name: value for name, value in root.items() if value}
    if facts.citation:
        root["citation"] = facts.citation
    about = {
        "@id": NAME,
        "@type": "CreativeWork",
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        "about": {"@id": "./"},
    }
    parts = [
        {
            "@id": name,
            "@type": "File",
            "name": name,
            "description": what(name),
            "encodingFormat": encoding(name),
            "contentSize": str(known["bytes"]),
            "sha256": known["sha256"],
        }
        for name, known in files.items()
    ]
    licences = [{"@id": licence.url, "@type": "CreativeWork", "name": licence.said}] if licence.url else []
    return {
        "@context": "https://w3id.org/ro/crate/1.1/context",
        "@graph": [about, root, *people, *licences, *parts],
    }


def _agent(number: int, one: Creator) -> dict[str, Any]:
    name = f"https://orcid.org/{one.orcid}" if one.orcid else f"#author-{number}"
    if one.name:
        return {"@id": name, "@type": "Organization", "name": one.name}
    found = {
        "@id": name,
        "@type": "Person",
        "name": one.full_name,
        "familyName": one.family,
        "givenName": one.given,
    }
    return {key: value for key, value in (found | {"affiliation": one.affiliation}).items() if value}

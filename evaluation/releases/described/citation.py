"""``CITATION.cff`` (Citation File Format 1.2.0) and ``datacite.json`` (DataCite Metadata Schema 4.6)."""

from __future__ import annotations

import json
from typing import Any

from evaluation.releases.creators import Creator
from evaluation.releases.described.description import Description


def citation_cff(facts: Description) -> str:
    """The citation file. JSON's quoting is YAML's."""

    def line(name: str, value: str) -> str:
        return f"{name}: {json.dumps(value, ensure_ascii=False)}\n"

    found = 'cff-version: "1.2.0"\n' + line(
        "message", facts.citation or "If you use these data, please cite them."
    )
    found += (
        line("type", "dataset") + line("title", facts.title) + line("abstract", facts.abstract) + "authors:\n"
    )
    for shown_creator in facts.shown_creators:
        parts = _author(shown_creator)
        found += "".join(
            f"  {'- ' if n == 0 else '  '}{line(name, value)}"
            for n, (name, value) in enumerate(parts.items())
        )
    if facts.licence.spdx:
        found += line("license", facts.licence.spdx)
    elif facts.licence.url:
        found += line("license-url", facts.licence.url)
    return found + line("version", "1.0.0") + (line("date-released", facts.date) if facts.date else "")


def _author(one: Creator) -> dict[str, str]:
    if one.name:
        return {"name": one.name}
    found = {"family-names": one.family, "given-names": one.given, "affiliation": one.affiliation}
    if one.orcid:
        found["orcid"] = f"https://orcid.org/{one.orcid}"
    return {name: value for name, value in found.items() if value}


def datacite(facts: Description) -> dict[str, Any]:
    """The record that a repository asks for. The repository adds DOI and publisher."""
    found: dict[str, Any] = {
        "schemaVersion": "http://datacite.org/schema/kernel-4",
        "types": {"resourceTypeGeneral": "Dataset", "resourceType": "Human judgments"},
        "titles": [{"title": facts.title}],
        "creators": [_creator(shown_creator) for shown_creator in facts.shown_creators],
        "publicationYear": facts.year or ":unav",
        "publisher": {"name": ":tba"},
        "version": "1.0.0",
        "language": facts.studies[0].language if facts.studies else "en",
        "descriptions": [{"descriptionType": "Abstract", "description": facts.abstract}],
        "formats": ["application/zip"],
    }
    if facts.licence.said:
        rights = {"rights": facts.licence.said, "rightsUri": facts.licence.url}
        if facts.licence.spdx:
            rights |= {"rightsIdentifier": facts.licence.spdx, "rightsIdentifierScheme": "SPDX"}
        found["rightsList"] = [{name: text for name, text in rights.items() if text}]
    return found


def _creator(one: Creator) -> dict[str, Any]:
    if one.name:
        return {"name": one.name, "nameType": "Organizational"}
    found: dict[str, Any] = {
        "name": ", ".join(part for part in (one.family, one.given) if part),
        "nameType": "Personal",
        "familyName": one.family,
    }
    if one.given:
        found["givenName"] = one.given
    if one.orcid:
        found["nameIdentifiers"] = [
            {"nameIdentifier": one.orcid, "nameIdentifierScheme": "ORCID", "schemeUri": "https://orcid.org"}
        ]
    if one.affiliation:
        found["affiliation"] = [{"name": one.affiliation}]
    return found

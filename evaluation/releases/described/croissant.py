"""``croissant.json``: the release for tools of machine learning (Croissant 1.1, with the fields on responsible AI).

Source: MLCommons, Croissant Format Specification 1.1 (2026), and Croissant RAI 1.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotator.core.words import listed
from evaluation.releases.creators import Creator
from evaluation.releases.described.description import Description, StudyFacts
from evaluation.releases.described.kinds import encoding, what

CONFORMS = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]
#: The context that the specification prints: readers compare it word by word.
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    **{name: f"cr:{name}" for name in (
        "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field", "fileProperty", "fileObject",
        "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet",
        "references", "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField", "transform",
    )},
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    "sc": "https://schema.org/",
}  # fmt: skip


def croissant(facts: Description, files: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The document. ``files`` maps each file's name to its ``sha256`` and ``bytes``."""
    licence = facts.licence.url or facts.licence.said
    found = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS,
        "name": facts.name,
        "alternateName": facts.title,
        "description": facts.abstract,
        "license": licence or "not stated",
        "url": facts.citation if facts.citation.startswith("https://") else "",
        "creator": [_agent(shown_creator) for shown_creator in facts.shown_creators],
        "citeAs": facts.citation or facts.title,
        "datePublished": facts.date,
        "version": "1.0.0",
        "isLiveDataset": False,
        **_responsible(facts),
        "distribution": [_file(name, known) for name, known in files.items()],
        "recordSet": [_ratings(facts)],
    }
    return {name: value for name, value in found.items() if value != ""}


def _agent(one: Creator) -> dict[str, Any]:
    if one.name:
        return {"@type": "sc:Organization", "name": one.name}
    found: dict[str, Any] = {"@type": "sc:Person", "name": one.full_name}
    if one.orcid:
        found["url"] = f"https://orcid.org/{one.orcid}"
    if one.affiliation:
        found["affiliation"] = {"@type": "sc:Organization", "name": one.affiliation}
    return found


def _file(name: str, known: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "description": what(name),
        "contentUrl": name,
        "contentSize": f"{known['bytes']} B",
        "encodingFormat": encoding(name),
        "sha256": known["sha256"],
    }


def _ratings(facts: Description) -> dict[str, Any]:
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"ratings/{name}",
            "name": name,
            "description": text,
            "dataType": "sc:Text",
            "source": {"fileObject": {"@id": "ratings.csv"}, "extract": {"column": name}},
        }
        for name, text in facts.columns.items()
    ]
    return {
        "@type": "cr:RecordSet",
        "@id": "ratings",
        "name": "ratings",
        "description": "One record for each rating of a unit by a rater.",
        "field": fields,
    }


def _responsible(facts: Description) -> dict[str, Any]:
    """How people were asked, paid and protected."""
    attributes = (
        f"Released attributes of raters: {listed(list(facts.attributes))}, in tables/rater.jsonl and tables/participation.jsonl."
        if facts.attributes
        else "No attributes of raters are released."
    )
    texts = "Free text was approved text by text." if facts.free_text else "Free text is left out."
    simulators = sorted({name for study in facts.studies for name in study.simulators})
    conduct = " ".join(facts.sentences.get("conduct", ()))
    found = {
        "rai:dataCollection": " ".join([*map(_collected, facts.studies), conduct]).strip(),
        "rai:dataCollectionType": ["Surveys", "Experiments"],
        "rai:dataAnnotationProtocol": " ".join(map(_protocol, facts.studies)),
        "rai:dataAnnotationPlatform": [facts.software],
        "rai:annotationsPerItem": listed([f"{study.redundancy} ({study.slug})" for study in facts.studies]),
        "rai:annotatorDemographics": [" ".join([attributes, *facts.coarsened])],
        "rai:machineAnnotationTools": simulators,
        "rai:personalSensitiveInformation": [
            f"People have pseudonyms made for this release alone; names, addresses, panel ids and dates are left out. {texts}"
        ],
        "rai:dataUseCases": [
            "Evaluation of language models' explanations; agreement among people and with simulators."
        ],
        "rai:dataLimitations": [
            "The judgments are those of the raters who took part, on the items that were chosen."
        ],
        "rai:dataReleaseMaintenancePlan": "The archive is signed and isn't changed; a correction is a new release.",
    }
    return {name: value for name, value in found.items() if value}


def _collected(study: StudyFacts) -> str:
    return (
        f"{study.title}: {study.judgments:,} judgments of {study.items:,} items by {study.people:,} people"
        + (f" and {len(study.simulators):,} simulators" if study.simulators else "")
        + f"; language {study.language}; pay: {study.pay or 'none by the software'}; "
        + ("consent was asked." if study.consent else "no consent text.")
    )


def _protocol(study: StudyFacts) -> str:
    exam = f"qualification exam: {study.exam}" if study.exam else "no qualification exam"
    versions = (
        f"; versions of rules and instructions (SHA-256): {listed(list(study.versions))}"
        if study.versions
        else ""
    )
    return f"{study.title}: {study.task} ({study.source}); {exam}{versions}. README.md has the instructions."

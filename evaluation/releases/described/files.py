"""The files that describe a release, in their order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evaluation.releases.described.citation import citation_cff, datacite
from evaluation.releases.described.croissant import croissant
from evaluation.releases.described.description import Description
from evaluation.releases.described.frictionless import frictionless
from evaluation.releases.described.methods import methods_latex, methods_markdown
from evaluation.releases.described.ro_crate import NAME as CRATE
from evaluation.releases.described.ro_crate import ro_crate

_SCRIPTS = Path(__file__).parent / "scripts"
HEADLINE, MIXED, VARIABLES = "analysis/headline.py", "analysis/mixed_models.R", "analysis/variables.json"
#: Made from the description alone; then those that list all files before them.
TEXTS = ("CITATION.cff", "datacite.json", "methods.md", "methods.tex", HEADLINE, MIXED, VARIABLES)
INDEXES = ("croissant.json", "datapackage.json", CRATE)
DESCRIBED = (*TEXTS, *INDEXES)

Files = Mapping[str, Mapping[str, Any]]


def texts_make(facts: Description) -> dict[str, str]:
    """The contents of ``TEXTS`` by name."""
    made = (
        citation_cff(facts),
        _json(datacite(facts)),
        methods_markdown(facts),
        methods_latex(facts),
        (_SCRIPTS / "headline.py").read_text(encoding="utf-8"),
        (_SCRIPTS / "mixed_models.R").read_text(encoding="utf-8"),
        _json(_variables(facts)),
    )
    return dict(zip(TEXTS, made, strict=True))


def indexes_make(facts: Description, files: Files) -> dict[str, str]:
    """The contents of ``INDEXES`` by name. ``files`` maps the name of each file that they list to its ``sha256`` and ``bytes``."""
    made = (croissant(facts, files), frictionless(facts, files), ro_crate(facts, files))
    return {name: _json(one) for name, one in zip(INDEXES, made, strict=True)}


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _variables(facts: Description) -> dict[str, Any]:
    """What the scripts have to know of each study's variables."""
    return {
        study.slug: {
            "headline": study.headline,
            "variables": {
                variable.name: {
                    "title": variable.title,
                    "level": variable.level,
                    "labels": list(variable.labels),
                    "abstain": list(variable.abstain),
                    "scores": dict(variable.scores),
                }
                for variable in study.variables
            },
        }
        for study in facts.studies
    }

"""The data card of a release: what the data are, how they were collected, what was removed, and how to use them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotator.core.words import money
from annotator.models import Study
from annotator.selectors.study import study_hit_type
from evaluation.releases.about import About
from evaluation.releases.creators import creators_read
from evaluation.releases.licences import licence_read
from evaluation.reports.choices import specs
from evaluation.reports.words import count, listed

NOT_SAID = "The authors have not said."

_TABLES = {
    "study": "How each study was set up.",
    "declaration": "The files of HIT types that a study's researchers declared: what was shown and asked, with the exam (`digest` is SHA-256).",
    "snapshot": "The versions of a study under which people worked.",
    "dataset": "Where instances are from.",
    "instance": "The inputs that are explained, with the correct answer where there is one.",
    "system": "The models that were explained, with the method of explanation.",
    "participation": "Who joined, and how far they got.",
    "questionnaire_answer": "The answers to questionnaires that are released as attributes of raters.",
    "consent": "Who consented, to which text (`digest` is its SHA-256).",
    "exam_attempt": "Results of the qualification exam.",
    "ledger_entry": "Bonuses and payments.",
    "adjudication": "Labels of contested items by people who settle disagreements, each known by a number in its study (`adjudicator`). Seats 1 and 2 labelled independently, seat 3 settled a tie.",
    "exclusion": "What researchers excluded, and why.",
    "question_verdict": "Which generalization questions validators accepted.",
    "recipe": "How a pipeline made the material.",
    "pipeline": "What each step of it made.",
    "reward": "Rewards of sampled rationales.",
    "run": "Runs of model calls, with prompts and parameters.",
    "call": "Calls whose replies are counted in the report as failed or unreadable.",
    "item": "What was judged: the texts that raters saw (`payload`), the correct answer where there is one (`gold`), the condition.",
    "judgment": "Each answer (`response`) with its item and rater, the seconds it took, and whether it counted (`standing`).",
    "rater": "People under pseudonyms, simulators by name.",
    "explanation": "Explanations, with the output that each goes with.",
    "follow_up": "Counterfactuals and generalization questions.",
    "output": "The systems' real outputs on them.",
}


@dataclass(frozen=True)
class CardFacts:
    """What a card is made of."""

    about: About
    content: Mapping[str, Any]
    rows: Mapping[str, int]
    removed: Mapping[str, int]
    studies: Sequence[Study]
    attributes: Collection[str]
    free_text: bool = False
    coarsened: Sequence[str] = ()
    columns: Mapping[str, str] = field(default_factory=dict)


def card(facts: CardFacts) -> str:
    """The data card as Markdown."""
    sections = [
        _front_matter(facts),
        f"# {facts.about.title or 'Data: ' + listed([study.title for study in facts.studies])}",
        facts.about.description or "",
        _terms(facts),
        *(_study(study) for study in facts.studies),
        _results(facts),
        _filters(facts),
        _files(facts),
        _privacy(facts),
        _reproduce(facts),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _front_matter(facts: CardFacts) -> str:
    """What Hugging Face's ``datasets`` reads at the beginning of a data card: ``load_dataset(FOLDER)`` gives the ratings."""
    lines = [f"pretty_name: {json.dumps(facts.about.title, ensure_ascii=False)}"] if facts.about.title else []
    licence = licence_read(facts.about.licence).spdx.lower()
    lines += [f"license: {licence}"] if licence else []
    lines += ["configs:", "- config_name: ratings", "  data_files: ratings.csv", "  default: true"]
    return "\n".join(["---", *lines, "---"])


def _terms(facts: CardFacts) -> str:
    return (
        f"## Licence and citation\n\nLicence: {facts.about.licence or NOT_SAID}\n\n"
        f"Cite as: {facts.about.citation or NOT_SAID}\n\n"
        f"Authors: {'; '.join(one.full_name for one in creators_read(facts.about.creators)) or NOT_SAID}"
    )


def _study(study: Study) -> str:
    """How one study was conducted."""
    pay = (
        f"{money(study.pay_per_item)} {study.currency} for an item"
        if study.pay_per_item
        else "none by Foretell"
    )
    exam = (
        f"{study.pass_mark} of {study.exam_questions} questions correct to pass, "
        f"{count(study.exam_attempts, 'attempt')}"
        if study.exam_required
        else "none"
    )
    lines = [
        f"## Study: {study.title}",
        study.summary,
        f"- Task: {study.hit_type.replace('_', ' ')}\n- Raters for each item: {study.raters_words}\n- Pay: {pay}\n"
        f"- Qualification exam: {exam}\n- Practice: {'required' if study.practice_required else 'not required'}\n"
        f"- Language: {study.language}",
    ]
    if study.consent_text:
        lines.append(f"### Consent text\n\n{_quoted(study.consent_text)}")
    instructions = study.instructions_text or study_hit_type(study).instructions
    lines.append(f"### Instructions\n\n{_quoted(instructions)}")
    return "\n\n".join(line for line in lines if line)


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _results(facts: CardFacts) -> str:
    warnings = [f"**{text}**" for text in facts.content["warnings"]]
    conduct = [
        text
        for section in facts.content["sections"]
        if section["id"] == "conduct"
        for text in section["prose"]
    ]
    return "\n\n".join(
        [
            "## Results",
            *warnings,
            *conduct,
            "`report.html` shows the results; open it in a browser. `report.json` has every number with its interval, denominator "
            "and reason if it is not defined.",
        ]
    )


def _filters(facts: CardFacts) -> str:
    """What each table of the report counts and leaves out: whoever computes a figure from the data needs it."""
    choices = facts.content["choices"]
    chosen = [f"- {spec.label}: {spec.words(choices[spec.name])}" for spec in specs() if spec.name in choices]
    lines = []
    for section in facts.content["sections"]:
        lines += [f"- **{section['title']}**: {note}" for note in section["notes"]]
        for block in section["blocks"]:
            if block["kind"] != "table":
                continue
            title = f"{block['number']}. {block['title']}" if block["number"] else block["title"]
            notes = [*block["notes"], *(said for said in block["denominators"] if "eft out" in said)]
            lines += [f"- **{title}**: {' '.join(notes)}"] if notes else []
    return (
        "## What the tables count\n\nEach table of the report is based on the rows below that these choices and filters leave. To get a "
        "figure from `ratings.csv`, apply those of its table and section.\n\n"
        + "\n".join(chosen)
        + "\n\n"
        + "\n".join(dict.fromkeys(lines))
    )


def _files(facts: CardFacts) -> str:
    columns = "\n".join(f"| `{name}` | {text} |" for name, text in facts.columns.items())
    tables = "\n".join(
        f"| `tables/{name}.jsonl` | {number:,} | {_TABLES.get(name, '')} |"
        for name, number in facts.rows.items()
        if number
    )
    return (
        "## Files\n\n`ratings.csv` is the table that most analyses need, one row for each rating:\n\n"
        f"| column | contents |\n|---|---|\n{columns}\n\n"
        "`tables/` has everything that the report is computed from, as JSON lines. `id` is a row's number; a column that ends in "
        f"`_id` is the number of a row of another table.\n\n| file | rows | contents |\n|---|---|---|\n{tables}\n\n"
        "For other tools: `croissant.json`, `datapackage.json` (Frictionless), `ro-crate-metadata.json`, `datacite.json` and `CITATION.cff` "
        "describe the data; Hugging Face's `load_dataset(FOLDER)` gives the ratings. `analysis/headline.py` computes headline numbers with pandas "
        "alone, `analysis/mixed_models.R` mixed models with lme4. `methods.md` and `methods.tex` are a paragraph for a methods section.\n\n"
        "`manifest.json` lists the files with their SHA-256, and `SHA256SUMS` is signed with the lab's key (`SHA256SUMS.sig`, "
        "`signing-key.pem`)."
    )


def _privacy(facts: CardFacts) -> str:
    removed = [f"{count(number, kind, plural_of(kind))}" for kind, number in facts.removed.items()]
    attributes = (
        f"Attributes of raters that are released: {listed(sorted(facts.attributes))}."
        if facts.attributes
        else "No attributes of raters are released."
    )
    texts = (
        "Free text (answers in words, reasons of exclusions) is part of this release: the authors have approved each text."
        if facts.free_text
        else "Free text (answers in words, reasons of exclusions) is left out."
    )
    return (
        "## Privacy\n\nPeople have pseudonyms made with a secret key for this release alone, so they can't be matched with those of "
        "another release. Names, email addresses, ids of recruitment panels, dates and times, network addresses, messages, comments "
        f"and what browsers measured are not released. {' '.join([attributes, *facts.coarsened])} {texts} "
        f"Removed from free text: {listed(removed) if removed else 'nothing was found'}. The screening finds email and network "
        "addresses, phone numbers, panels' ids and participants' own names; it can't find everything that people may write about "
        "themselves."
    )


def plural_of(kind: str) -> str:
    return f"{kind}es" if kind.endswith("s") else f"{kind}s"


def _reproduce(facts: CardFacts) -> str:
    facts_of = dict(facts.content["facts"])
    return (
        "## Computing every number again\n\nWith Foretell installed and running (`make run`):\n\n"
        "```\n.venv/bin/python manage.py reproduce RELEASE.zip --key LAB_KEY\n```\n\n"
        "The command makes the report, this page, `report.html` and `ratings.csv` again from the data in this file, compares them with those "
        "in it, and says what differs and what it couldn't check. `LAB_KEY` is the public key that the authors publish beside the paper; "
        "without it, nobody can tell whether the authors made this file. The release was made with "
        f"{facts_of.get('Software', '')}; a different version may differ in late digits.\n\n"
        "The signature can be verified without Foretell:\n\n"
        "```\nsha256sum -c SHA256SUMS\n"
        "openssl pkeyutl -verify -pubin -inkey signing-key.pem -rawin -in SHA256SUMS -sigfile SHA256SUMS.sig\n```"
    )

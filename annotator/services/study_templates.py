"""Study templates: for each HIT type and variant, the settings of its paper as a starting point."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError

from annotator.core.words import plural
from annotator.hit_types.base import HitType
from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.hit_types.registry import hit_types
from annotator.models import DeclaredVersion, Study, User, Workspace
from annotator.selectors.declaration import declaration_kinds
from annotator.selectors.declared_type import versions_offered
from annotator.services.study import study_create

CONSENT = """\
## About this study

You will read short texts, some of them written by a robot, and answer questions about them.

- **What we keep:** your answers and the time they took, under a random name. If a recruitment panel
  sent you, also your ID there, so that you can be paid.
- **Who sees it:** the researchers named on the invitation. Published data carry neither names nor panel IDs.
- **Stopping:** at any time, without giving a reason. What you have submitted stays and is paid.
- **Risks:** none that we know of beyond those of reading on a screen.
"""


@dataclass(frozen=True)
class StudyTemplate:
    """A template: its HIT type, its paper, and the fields that a new study starts with."""

    key: str
    title: str
    source: str
    description: str
    asks: str
    people: str
    hit_type: str
    external: bool = False
    #: The workspace whose own type it is; None for built-in ones.
    workspace_id: int | None = None
    fields: dict[str, Any] = field(default_factory=dict)


def study_templates() -> list[StudyTemplate]:
    """One template for each HIT type and each of its variants, by the question that it answers; types for imported labels come last."""
    found = [_template(kind, variant) for kind in hit_types().values() for variant in ("", *kind.variants)]
    return sorted(
        found,
        key=lambda template: (template.external, _place(template.asks), template.source, template.title),
    )


def declared_templates(*, user: User) -> list[StudyTemplate]:
    """One template for each type of the workspaces in which a researcher may make studies, by workspace and name.

    Two queries, and one more for types that this process hasn't used yet.
    """
    offered = versions_offered(user=user)
    kinds = declaration_kinds(one.declaration_id for one in offered)
    return [
        _declared_template(one, kinds[one.declaration_id]) for one in offered if one.declaration_id in kinds
    ]


def _declared_template(version: DeclaredVersion, kind: HitType) -> StudyTemplate:
    own, workspace = _template(kind, ""), version.type.workspace
    return replace(
        own,
        key=f"{workspace.pk}:{kind.name}",
        description=f"version {version.number}, {own.description}",
        asks=f"HIT types of {workspace}",
        workspace_id=workspace.pk,
    )


#: The questions that studies answer, in the order of the page; those of installed types follow.
ASKED = (
    "Can people predict what the model does?",
    "Do the explanations help people?",
    "Are the explanations good?",
    "Does the model do what its explanation says?",
    "Is my material right?",
)


#: Types that come as files answer many questions, one each: they are offered together.
OF_THE_GALLERY = "Something else: from the gallery"


def _asks(kind: HitType) -> str:
    return kind.asks if kind.asks in ASKED or not isinstance(kind, DeclaredHitType) else OF_THE_GALLERY


def _place(asks: str) -> tuple[int, str]:
    return (ASKED.index(asks) if asks in ASKED else len(ASKED), asks)


def _template(kind: HitType, variant: str) -> StudyTemplate:
    defaults = kind.defaults
    if kind.external:
        return StudyTemplate(
            kind.name, kind.title, kind.source, "Import judgments; this type is never shown to annotators.",
            kind.asks, kind.people, kind.name, external=True,
            fields={"join_open": False, "exam_required": False, "practice_required": False},
        )  # fmt: skip
    parts = [f"{plural(defaults.redundancy, 'rater')} per item"]
    if variant:
        parts.append(f"takes {variant.replace('_', ' ')} only, with its instructions and exam")
    if defaults.exam_questions:
        parts.append(f"exam of {defaults.exam_questions}, passed at {defaults.pass_mark}")
    parts.append(f"about {defaults.minutes_per_item:g} min per item")
    if Decimal(defaults.pay_per_item):
        parts.append(f"{defaults.pay_per_item} USD per item")
    return StudyTemplate(
        f"{kind.name}/{variant}" if variant else kind.name,
        f"{kind.title}: {variant.replace('_', ' ')}" if variant else kind.title,
        kind.source,
        ", ".join(parts),
        _asks(kind),
        kind.people,
        kind.name,
        fields={
            "variant": variant,
            "consent_text": CONSENT,
            "practice_required": bool(kind.practice),
            "pay_per_item": Decimal(defaults.pay_per_item),
            "currency": "USD",
        },
    )


def study_create_from_template(
    *, by: User | None, template: str, slug: str, title: str, **fields: Any
) -> Study:
    """Create a draft from a template; ``fields`` override the template's. Raises ``ValidationError``.

    The template of a workspace's own type is ``7:clarity``, with the number of the workspace, or the type's name if only one of the
    researcher's workspaces has one of that name. The study belongs to the same workspace.
    """
    found = {one.key: one for one in study_templates()}
    if template not in found and by is not None:
        found |= _declared_named(template, declared_templates(user=by), fields)
    if template not in found:
        raise ValidationError({"template": f"expected one of: {', '.join(found)}"})
    chosen = found[template]
    return study_create(by=by, hit_type=chosen.hit_type, slug=slug, title=title, **(chosen.fields | fields))


def _declared_named(
    template: str, own: list[StudyTemplate], fields: dict[str, Any]
) -> dict[str, StudyTemplate]:
    """The template of a workspace's type under the name that it was asked for; puts its workspace into ``fields``. All of them if it
    isn't there."""
    given = fields.get("workspace")
    named = [one for one in own if template in (one.key, one.hit_type)]
    meant = [one for one in named if given is None or one.workspace_id == given.pk]
    if named and not meant:
        raise ValidationError(
            {"template": f"This HIT type belongs to another workspace ({named[0].asks.removeprefix('HIT types of ')}). "
             "Choose that workspace, or copy the type into yours."}
        )  # fmt: skip
    if len(meant) > 1:
        keys = ", ".join(one.key for one in meant)
        raise ValidationError(
            {"template": f"several of your workspaces have a HIT type of this name; expected one of: {keys}"}
        )
    if not meant:
        return {one.key: one for one in own}
    fields["workspace"] = given or Workspace.objects.get(pk=meant[0].workspace_id or 0)
    return {template: meant[0]}

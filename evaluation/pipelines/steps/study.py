"""A draft study of the material that earlier steps made."""

from __future__ import annotations

import io
import json
from typing import Any

from django.conf import settings

from annotator.core.canonical import digest_of
from annotator.hit_types.base import JSON
from annotator.hit_types.registry import hit_type_get, hit_types
from annotator.models import Study
from annotator.services.imports.material_import import material_import
from annotator.services.study_templates import study_create_from_template
from evaluation.core.step_kinds import kinds_making
from evaluation.models import Pipeline
from evaluation.pipelines.contract import CurrentStep, PipelineStep, PlannedStep, StepInRecipe, StepPlan
from evaluation.pipelines.option_checks import OptionError, list_of_texts, true_or_false, whole_number
from evaluation.pipelines.questions import QUESTION_OPTIONS, validated_check
from evaluation.pipelines.study_rows import study_rows


def _made_from_material(value: Any) -> str:
    known = [name for name, kind in hit_types().items() if kind.made_from]
    return "" if value in known else f"{value!r} is not one of {', '.join(known)}"


#: Settings of the study that a recipe may choose: the raters of each control arm.
_CONTROL = ("answer_only_raters", "nothing_raters")


class MakeStudy(PipelineStep):
    """A draft study of ``hit_type`` with an item for each piece of material. Its other options are for the HIT type."""

    name = "study"
    title = "Studies"
    makes = "studies"
    of_systems = True
    words = {"items": ("item", "items"), "warnings": ("warning", "warnings")}
    options = {
        "hit_type": _made_from_material,
        "systems": list_of_texts,
        "sanity": true_or_false,
        **dict.fromkeys(_CONTROL, whole_number(0, 100)),
    } | QUESTION_OPTIONS
    required = ("hit_type",)

    def check(self, step: StepInRecipe) -> None:
        super().check(step)
        validated_check(step)
        known = hit_type_get(step.options["hit_type"]).control_arms
        for name in _CONTROL:
            if step.options.get(name) and name.removesuffix("_raters") not in known:
                raise OptionError(f"{name}: {step.options['hit_type']} has no such control arm")

    def plan(self, step: PlannedStep) -> StepPlan:
        items = self._most_items(step) * (1 + sum(bool(step.options.get(name)) for name in _CONTROL))
        step.material.items[step.content["name"]] = (items, step.options["hit_type"])
        return step.plan(note=f"at most {items:,} items")

    def _most_items(self, step: PlannedStep) -> int:
        material = step.material
        explained = sum(step.by_system(material.explanations).values())
        match hit_type_get(step.options["hit_type"]).made_from:
            case "follow_ups":
                checks = material.checks if step.options.get("sanity") else 0
                return sum(step.by_system(material.follow_ups).values()) + checks
            case "questions":
                return material.questions
            case "explained_questions":
                return explained * material.questions_each
            case "instances":
                return material.instances
        return explained

    def advance(self, step: CurrentStep) -> JSON:
        """Create the study; called again, add the items that are missing."""
        pipeline, options = step.pipeline, step.options
        rows = study_rows(
            hit_type=options["hit_type"],
            dataset=pipeline.dataset,
            systems=options.get("systems") or (),
            choices=options,
        )
        lines = "\n".join(json.dumps(row) for row in rows)
        if not lines:
            return {"left_out": "there was no material to make items from"}
        study = self._study(step)
        result = material_import(study=study, file=io.BytesIO(lines.encode()), name="material.jsonl")
        if step.name == _main_study(pipeline):
            pipeline.study = study
        return {
            "study": study.slug,
            "items": study.items.count(),
            "warnings": len(result.warnings),
        }

    def _study(self, step: CurrentStep) -> Study:
        pipeline, workspace = step.pipeline, step.pipeline.dataset.workspace
        slug = f"{pipeline.recipe.name}-{pipeline.pk}-{step.name}"[:80]
        study = Study.objects.filter(slug=slug).first()
        if study is not None and study.workspace_id != pipeline.dataset.workspace_id:
            # A study of another workspace has this slug already, and must not get any of this material.
            slug = f"{slug[:71]}-{digest_of([slug, settings.SECRET_KEY])[:8]}"
            study = Study.objects.filter(slug=slug, workspace=workspace).first()
        variant = _variant(step.options)
        hit_type = step.options["hit_type"]
        return study or study_create_from_template(
            by=pipeline.created_by,
            template=f"{hit_type}/{variant}" if variant else hit_type,
            workspace=workspace,
            slug=slug,
            title=f"{pipeline.recipe.content.get('title', pipeline.recipe.name)} ({step.name})"[:200],
            **{name: step.options.get(name, 0) for name in _CONTROL},
        )

    def repeat(self, step: CurrentStep, choices: JSON) -> Study:
        return Study.objects.get(slug=self.advance_again(step)["study"])


def _main_study(pipeline: Pipeline) -> str:
    """The name of the study step that the recipe's report is on; without a report, of its first study step."""
    steps = pipeline.recipe.content["steps"]
    reports, studies = kinds_making("reports"), kinds_making("studies")
    reported = [step["options"]["study"] for step in steps if step["kind"] in reports]
    return str([*reported, *(step["name"] for step in steps if step["kind"] in studies)][0])


def _variant(options: JSON) -> str:
    """The only variant of the HIT type that the step's study takes; empty if the step does not choose one."""
    kind = hit_type_get(options["hit_type"])
    chosen = str(options.get(kind.variant_field, ""))
    return chosen if chosen in kind.variants else ""

"""Generalization questions are marked as valid or not, by the judgments of a study."""

from __future__ import annotations

from django.core.exceptions import ValidationError

from annotator.hit_types.base import JSON
from annotator.models import Study
from evaluation.pipelines.contract import CurrentStep, PipelineStep, PlannedStep, StepPlan
from evaluation.pipelines.material_write import questions_validate
from evaluation.pipelines.option_checks import any_text, one_of


class ValidateQuestions(PipelineStep):
    """The questions that a majority of their validators accepts count from now on. ``by`` is *people* or *simulators*."""

    name = "validate"
    title = "Validated questions"
    makes = "verdicts"
    of_study = True
    words = {
        "questions": ("question validated", "questions validated"),
        "accepted": ("accepted",),
        "not_relation": ("not of its kind", "not of their kind"),
        "not_answerable": ("not answerable",),
        "not_answer_right": ("not correctly answered",),
    }
    options = {"study": any_text, "by": one_of("people", "simulators")}

    def plan(self, step: PlannedStep) -> StepPlan:
        return step.plan(note="waits for people" if step.options.get("by", "people") == "people" else "")

    def advance(self, step: CurrentStep) -> JSON | None:
        """None, and a paused pipeline, while some questions still need judgments."""
        # Imported late, because the web process doesn't load numpy.
        from evaluation.ratings.validation import question_verdicts

        study, by = step.study, str(step.options.get("by", "people"))
        if problem := self.options["by"](by):
            raise ValidationError(f"by: {problem}")
        verdicts = question_verdicts(study=study, by=by)  # type: ignore[arg-type]
        wanted = (
            study.redundancy
            if study.shared_items is None and by == "people" and study.state != Study.State.CLOSED
            else 1
        )
        short = sum(verdict.raters < wanted for verdict in verdicts)
        if short and study.state != Study.State.CLOSED:
            who = f"{wanted} people" if by == "people" else "a simulator"
            step.pause(
                f"{short} of {len(verdicts)} questions still need a judgment by {who}. Launch "
                f"“{study.title}”, and resume the pipeline when it is complete or closed. To let simulators validate, "
                f'start the pipeline with the override {{"{step.name}": {{"by": "simulators"}}}}.'
            )
            return None
        return questions_validate(study=study, dataset=step.pipeline.dataset, verdicts=verdicts) | {"by": by}

    def repeat(self, step: CurrentStep, choices: JSON) -> Study:
        self.advance_again(step)
        return step.study

"""What the migration to verdicts by validation study does to pipelines that there are."""

from __future__ import annotations

from typing import Any


def verdicts_fill(apps: Any, schema_editor: Any) -> None:
    """Give each pipeline's validation study the marks that its questions had; the column is no longer in the model."""
    pipeline, study = apps.get_model("evaluation", "Pipeline"), apps.get_model("annotator", "Study")
    for one in pipeline.objects.select_related("recipe"):
        for step in one.recipe.content.get("steps", []):
            if step.get("kind") != "validate" or step.get("name") not in one.results:
                continue
            made = one.results.get(step.get("options", {}).get("study"), {})
            found = study.objects.filter(slug=made.get("study", "")).first()
            if found is None:
                continue
            with schema_editor.connection.cursor() as cursor:
                cursor.execute(
                    "INSERT INTO evaluation_questionverdict (study_id, follow_up_id, accepted)"
                    " SELECT %s, f.id, f.validated FROM annotator_followup f"
                    " JOIN annotator_instance i ON i.id = f.instance_id"
                    " WHERE i.dataset_id = %s AND f.explanation_id IS NULL AND f.validated IS NOT NULL"
                    " ON CONFLICT DO NOTHING",
                    [found.pk, one.dataset_id],
                )

from __future__ import annotations

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# A sealed plan goes only with its study, once that is deleted.
_SEAL = """
CREATE FUNCTION evaluation_plan_is_sealed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.sealed_at IS NULL THEN
        RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
    END IF;
    IF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT 1 FROM annotator_study WHERE id = OLD.study_id AND deleted_at IS NULL) THEN
            RAISE EXCEPTION 'a sealed analysis plan cannot be deleted' USING ERRCODE = 'insufficient_privilege';
        END IF;
        RETURN OLD;
    END IF;
    IF (NEW.study_id, NEW.document, NEW.design, NEW.digest, NEW.sealed_at)
        IS DISTINCT FROM (OLD.study_id, OLD.document, OLD.design, OLD.digest, OLD.sealed_at) THEN
        RAISE EXCEPTION 'a sealed analysis plan cannot be changed' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER analysis_plan_sealed BEFORE UPDATE OR DELETE ON evaluation_analysisplan
    FOR EACH ROW EXECUTE FUNCTION evaluation_plan_is_sealed();
"""
_UNSEAL = """
DROP TRIGGER analysis_plan_sealed ON evaluation_analysisplan;
DROP FUNCTION evaluation_plan_is_sealed();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0043_confidence"),
        ("evaluation", "0028_release_coarsening"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AnalysisPlan",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "document",
                    models.JSONField(
                        help_text="Hypotheses, options, exclusion rules, test, correction, stopping rule."
                    ),
                ),
                ("design", models.JSONField(blank=True, default=dict)),
                ("power", models.JSONField(blank=True, null=True)),
                (
                    "digest",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="SHA-256 of the canonical JSON of document, design and time of sealing.",
                        max_length=64,
                    ),
                ),
                ("sealed_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="analysis_plan",
                        to="annotator.study",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("digest", ""), ("sealed_at__isnull", True)),
                            models.Q(("sealed_at__isnull", False), models.Q(("digest", ""), _negated=True)),
                            _connector="OR",
                        ),
                        name="analysis_plan_sealed_has_digest",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PlanLook",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("judgments", models.PositiveIntegerField(help_text="People’s judgments that counted by then.")),
                ("planned", models.PositiveIntegerField(help_text="Judgments of the complete study.")),
                (
                    "by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "plan",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="looks",
                        to="evaluation.analysisplan",
                    ),
                ),
            ],
            options={"ordering": ["plan", "id"]},
        ),
        migrations.RunSQL(_SEAL, _UNSEAL),
    ]

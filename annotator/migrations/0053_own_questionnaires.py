from django.db import migrations, models


_HELP = (
    " The names of questionnaires that come with Foretell (demographics, native_language, trust, explanation_satisfaction,"
    " system_usability, nasa_tlx) or that your workspace has saved, or files of your own, separated by lines of ---. Nobody has to answer."
)


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0052_unpaid_work"),
    ]

    operations = [
        migrations.CreateModel(
            name="DeclaredQuestionnaire",
            fields=[],
            options={
                "verbose_name": "questionnaire",
                "proxy": True,
                "indexes": [],
                "constraints": [],
            },
            bases=("annotator.declaredtype",),
        ),
        migrations.RemoveConstraint(
            model_name="declaredtype",
            name="declared_type_once_per_workspace",
        ),
        migrations.AddField(
            model_name="declaredtype",
            name="kind",
            field=models.CharField(
                choices=[("hit_type", "HIT type"), ("questionnaire", "questionnaire")],
                db_default="hit_type",
                default="hit_type",
                max_length=13,
            ),
        ),
        migrations.AddConstraint(
            model_name="declaredtype",
            constraint=models.UniqueConstraint(
                fields=("workspace", "kind", "name"), name="declared_type_once_per_workspace"
            ),
        ),
        migrations.AddConstraint(
            model_name="declaredtype",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["hit_type", "questionnaire"])), name="declared_type_kind_known"
            ),
        ),
        migrations.AlterField(
            model_name="study",
            name="questionnaire_after",
            field=models.TextField(blank=True, db_default="", default="", help_text="Shown after the last task, or when somebody stops who has done tasks." + _HELP),
        ),
        migrations.AlterField(
            model_name="study",
            name="questionnaire_before",
            field=models.TextField(blank=True, db_default="", default="", help_text="Shown after the exam." + _HELP),
        ),
    ]

from django.db import migrations, models


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
    ]

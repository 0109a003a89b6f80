from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from annotator.migrations._ownership import systems_split, workspace_of_owners


def workspaces_fill(apps: Any, schema_editor: Any) -> None:
    """Datasets of pipelines and saved recipes go to their makers, endpoints to the operator.

    Every researcher could use every endpoint, so they are shared with the workspaces that there are; those made later
    don't get them.
    """
    pipeline, recipe, endpoint = (apps.get_model("evaluation", name) for name in ("Pipeline", "Recipe", "Endpoint"))
    dataset = apps.get_model("annotator", "Dataset").objects
    for dataset_pk, maker in pipeline.objects.filter(
        dataset__workspace__isnull=True, created_by__isnull=False
    ).order_by("pk").values_list("dataset_id", "created_by_id"):
        own = workspace_of_owners(apps, frozenset([maker]))
        dataset.filter(pk=dataset_pk, workspace__isnull=True).update(workspace=own)
    systems_split(schema_editor.connection)
    saved = recipe.objects.filter(workspace__isnull=True, created_by__isnull=False)
    for maker in saved.order_by().values_list("created_by_id", flat=True).distinct():
        saved.filter(created_by_id=maker).update(workspace=workspace_of_owners(apps, frozenset([maker])))
    users = apps.get_model("annotator", "User").objects
    operator = users.filter(is_superuser=True, is_active=True).order_by("pk").first()
    every = list(apps.get_model("annotator", "Workspace").objects.values_list("pk", flat=True))
    for one in endpoint.objects.filter(workspace__isnull=True):
        if operator is not None:
            one.workspace = workspace_of_owners(apps, frozenset([operator.pk]))
            one.save(update_fields=["workspace"])
        one.shared_with.add(*[pk for pk in every if pk != one.workspace_id])


class Migration(migrations.Migration):
    """Workspaces own endpoints and recipes; pipelines and runs belong where their dataset or study does."""

    dependencies = [
        ('annotator', '0015_workspace'),
        ('evaluation', '0006_training'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='recipe',
            name='recipe_version_unique',
        ),
        migrations.RemoveConstraint(
            model_name='recipe',
            name='recipe_once_per_content',
        ),
        migrations.AddField(
            model_name='endpoint',
            name='shared_with',
            field=models.ManyToManyField(blank=True, help_text='Workspaces whose runs may use it, at the cost of its owner. They cannot change it.', related_name='endpoints_shared', to='annotator.workspace'),
        ),
        migrations.AddField(
            model_name='endpoint',
            name='workspace',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='endpoints', to='annotator.workspace'),
        ),
        migrations.AddField(
            model_name='recipe',
            name='workspace',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='recipes', to='annotator.workspace'),
        ),
        migrations.AlterField(
            model_name='endpoint',
            name='name',
            field=models.CharField(max_length=100),
        ),
        migrations.AddConstraint(
            model_name='endpoint',
            constraint=models.UniqueConstraint(fields=('workspace', 'name'), name='endpoint_name_unique_in_workspace', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='recipe',
            constraint=models.UniqueConstraint(fields=('workspace', 'name', 'version'), name='recipe_version_unique_in_workspace', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='recipe',
            constraint=models.UniqueConstraint(fields=('workspace', 'name', 'digest'), name='recipe_once_in_workspace', nulls_distinct=False),
        ),
        migrations.RunPython(workspaces_fill, migrations.RunPython.noop),
    ]

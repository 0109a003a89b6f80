import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from annotator.migrations._ownership import workspaces_fill


class Migration(migrations.Migration):
    """Workspaces own studies, datasets, systems and qualifications.

    The new columns may be empty, so code of the version before still writes while an upgrade runs. Only its imports of
    material are refused meanwhile, whole, because they rely on the old uniqueness of names; they can be repeated.
    """

    dependencies = [
        ('annotator', '0014_api_token'),
    ]

    operations = [
        migrations.CreateModel(
            name='Workspace',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['name', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='WorkspaceMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('owner', 'owner'), ('editor', 'editor'), ('reviewer', 'reviewer'), ('viewer', 'viewer')], default='viewer', max_length=10)),
            ],
        ),
        migrations.RemoveConstraint(
            model_name='qualification',
            name='qualification_once',
        ),
        migrations.AlterField(
            model_name='dataset',
            name='name',
            field=models.CharField(max_length=200),
        ),
        migrations.AlterField(
            model_name='system',
            name='name',
            field=models.CharField(max_length=200),
        ),
        migrations.AddField(
            model_name='workspace',
            name='personal_of',
            field=models.OneToOneField(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='personal_workspace', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='dataset',
            name='workspace',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='datasets', to='annotator.workspace'),
        ),
        migrations.AddField(
            model_name='qualification',
            name='workspace',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='qualifications', to='annotator.workspace'),
        ),
        migrations.AddField(
            model_name='study',
            name='workspace',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='studies', to='annotator.workspace'),
        ),
        migrations.AddField(
            model_name='system',
            name='workspace',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='systems', to='annotator.workspace'),
        ),
        migrations.AddConstraint(
            model_name='dataset',
            constraint=models.UniqueConstraint(fields=('workspace', 'name'), name='dataset_name_unique_in_workspace', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='qualification',
            constraint=models.UniqueConstraint(fields=('rater', 'workspace', 'hit_type', 'exam'), name='qualification_once_in_workspace', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='system',
            constraint=models.UniqueConstraint(fields=('workspace', 'name'), name='system_name_unique_in_workspace', nulls_distinct=False),
        ),
        migrations.AddField(
            model_name='workspacemember',
            name='user',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='workspace_roles', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='workspacemember',
            name='workspace',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='members', to='annotator.workspace'),
        ),
        migrations.AddField(
            model_name='workspace',
            name='people',
            field=models.ManyToManyField(editable=False, related_name='workspaces', through='annotator.WorkspaceMember', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddConstraint(
            model_name='workspacemember',
            constraint=models.UniqueConstraint(fields=('workspace', 'user'), name='workspace_member_once'),
        ),
        migrations.RunPython(workspaces_fill, migrations.RunPython.noop),
    ]

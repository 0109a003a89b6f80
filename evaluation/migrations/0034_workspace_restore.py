from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotator', '0053_own_questionnaires'),
        ('evaluation', '0033_kept_job_writes'),
    ]

    operations = [
        migrations.CreateModel(
            name='WorkspaceRestore',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('backup', models.CharField(max_length=32)),
                ('people', models.JSONField(default=dict)),
                ('slugs', models.JSONField(default=dict)),
                ('studies', models.JSONField(default=dict)),
                ('members', models.JSONField(default=list)),
                ('started_at', models.DateTimeField(auto_now_add=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='restores', to='annotator.workspace')),
            ],
            options={
                'ordering': ['-id'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('finished_at__isnull', True)), fields=('workspace',), name='workspace_restore_one_open')],
            },
        ),
    ]

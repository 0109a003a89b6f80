from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('evaluation', '0032_plan_job'),
    ]

    operations = [
        migrations.AddField(
            model_name='keptjob',
            name='writes',
            field=models.CharField(blank=True, db_default='', default='', max_length=200),
        ),
        migrations.AlterField(
            model_name='keptjob',
            name='kind',
            field=models.CharField(choices=[('keep', 'keep in a file'), ('bring_back', 'bring back'), ('template', 'make a template of')], max_length=10),
        ),
    ]

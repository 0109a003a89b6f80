import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotator', '0010_question_validated'),
        ('evaluation', '0005_run_resilience'),
    ]

    operations = [
        migrations.CreateModel(
            name='FineTuning',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('step', models.CharField(max_length=100)),
                ('base_model', models.CharField(max_length=200)),
                ('suffix', models.CharField(blank=True, max_length=64)),
                ('epochs', models.PositiveSmallIntegerField(default=1)),
                ('examples', models.PositiveIntegerField()),
                ('file', models.TextField(help_text='The training file as it is sent: JSON lines.')),
                ('file_id', models.CharField(blank=True, max_length=200)),
                ('job_id', models.CharField(blank=True, max_length=200)),
                ('model', models.CharField(blank=True, help_text="The fine-tuned model's name.", max_length=200)),
                ('state', models.CharField(choices=[('waiting', 'waiting to be sent'), ('running', 'at the endpoint'), ('done', 'done'), ('failed', 'failed'), ('cancelling', 'being cancelled'), ('cancelled', 'cancelled')], default='waiting', max_length=10)),
                ('error', models.TextField(blank=True)),
                ('price', models.DecimalField(decimal_places=6, default=0, max_digits=12)),
                ('most_cost', models.DecimalField(decimal_places=8, default=0, max_digits=14)),
                ('cost', models.DecimalField(decimal_places=8, default=0, max_digits=14)),
                ('trained_tokens', models.PositiveIntegerField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('looked_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('endpoint', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='evaluation.endpoint')),
                ('pipeline', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='tunings', to='evaluation.pipeline')),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [models.UniqueConstraint(fields=('pipeline', 'step'), name='tuning_once_per_step'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'done'), _negated=True), models.Q(('model', ''), _negated=True), _connector='OR'), name='tuning_done_has_model')],
            },
        ),
        migrations.CreateModel(
            name='Reward',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('step', models.CharField(help_text='The reward step of the round.', max_length=100)),
                ('value', models.FloatField(help_text='GEN-U: -1, 0 or 1.')),
                ('quantile', models.PositiveSmallIntegerField(help_text='0 is the lowest.')),
                ('explanation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotator.explanation')),
                ('pipeline', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rewards', to='evaluation.pipeline')),
            ],
            options={
                'ordering': ['pk'],
                'constraints': [models.UniqueConstraint(fields=('pipeline', 'step', 'explanation'), name='reward_once_per_step')],
            },
        ),
    ]

import annotator.core.ranges
from django.db import migrations, models


class Migration(migrations.Migration):
    """Validators only: no column changes."""

    dependencies = [
        ('evaluation', '0010_model_servers'),
    ]

    operations = [
        migrations.AlterField(
            model_name='call',
            name='confidence',
            field=models.FloatField(blank=True, help_text="The model's probability of the answer that it gave, from 0 to 1, from logprobs.", null=True, validators=[annotator.core.ranges.InRange(0, 1)]),
        ),
        migrations.AlterField(
            model_name='endpoint',
            name='concurrency',
            field=models.PositiveSmallIntegerField(default=8, validators=[annotator.core.ranges.InRange(1, 1000)]),
        ),
        migrations.AlterField(
            model_name='endpoint',
            name='price_cached',
            field=models.DecimalField(blank=True, decimal_places=6, help_text='Per million tokens in that the provider had cached. Empty: the same as other tokens in.', max_digits=12, null=True, validators=[annotator.core.ranges.InRange(0, 100000)]),
        ),
        migrations.AlterField(
            model_name='endpoint',
            name='price_in',
            field=models.DecimalField(decimal_places=6, default=0, help_text='Per million tokens in.', max_digits=12, validators=[annotator.core.ranges.InRange(0, 100000)]),
        ),
        migrations.AlterField(
            model_name='endpoint',
            name='price_out',
            field=models.DecimalField(decimal_places=6, default=0, help_text='Per million tokens out.', max_digits=12, validators=[annotator.core.ranges.InRange(0, 100000)]),
        ),
        migrations.AlterField(
            model_name='endpoint',
            name='requests_per_minute',
            field=models.PositiveIntegerField(blank=True, null=True, validators=[annotator.core.ranges.InRange(1, 1000000000)]),
        ),
        migrations.AlterField(
            model_name='endpoint',
            name='timeout_seconds',
            field=models.FloatField(default=60.0, help_text='The longest that one call may take in total.', validators=[annotator.core.ranges.InRange(0.1, 3600)]),
        ),
        migrations.AlterField(
            model_name='endpoint',
            name='tokens_per_minute',
            field=models.PositiveIntegerField(blank=True, null=True, validators=[annotator.core.ranges.InRange(1, 1000000000)]),
        ),
        migrations.AlterField(
            model_name='run',
            name='budget_calls',
            field=models.PositiveIntegerField(blank=True, null=True, validators=[annotator.core.ranges.InRange(0, 2147483647)]),
        ),
        migrations.AlterField(
            model_name='run',
            name='budget_cost',
            field=models.DecimalField(blank=True, decimal_places=6, max_digits=12, null=True, validators=[annotator.core.ranges.InRange(0, 999999)]),
        ),
        migrations.AlterField(
            model_name='run',
            name='max_attempts',
            field=models.PositiveSmallIntegerField(default=6, validators=[annotator.core.ranges.InRange(1, 100)]),
        ),
        migrations.AlterField(
            model_name='run',
            name='max_failed_share',
            field=models.FloatField(db_default=0.5, default=0.5, help_text='The run pauses when a larger share of its calls fails, from 0 to 1.', validators=[annotator.core.ranges.InRange(0, 1)]),
        ),
        migrations.AlterField(
            model_name='run',
            name='max_unparsable',
            field=models.PositiveSmallIntegerField(default=3, help_text='Unreadable replies to a call before it is given up.', validators=[annotator.core.ranges.InRange(1, 100)]),
        ),
        migrations.AlterField(
            model_name='run',
            name='samples',
            field=models.PositiveSmallIntegerField(default=1, validators=[annotator.core.ranges.InRange(1, 100)]),
        ),
        migrations.AlterField(
            model_name='run',
            name='together',
            field=models.PositiveSmallIntegerField(default=1, help_text='Items asked about in one request.', validators=[annotator.core.ranges.InRange(1, 50)]),
        ),
        migrations.AlterField(
            model_name='run',
            name='workers',
            field=models.PositiveSmallIntegerField(default=1, help_text='Worker processes that may share the run.', validators=[annotator.core.ranges.InRange(1, 32)]),
        ),
    ]

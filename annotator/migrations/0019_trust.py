import annotator.core.ranges
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


APPEND_ONLY = """
CREATE FUNCTION annotator_audit_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' AND NOT EXISTS (SELECT 1 FROM annotator_auditentry) THEN
        RETURN NULL;  -- restoring a backup empties the empty table first
    END IF;
    RAISE EXCEPTION 'the audit trail is append-only: % is refused', TG_OP USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON annotator_auditentry
    FOR EACH ROW EXECUTE FUNCTION annotator_audit_append_only();
CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON annotator_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION annotator_audit_append_only();
"""
NOT_APPEND_ONLY = """
DROP TRIGGER audit_append_only ON annotator_auditentry;
DROP TRIGGER audit_no_truncate ON annotator_auditentry;
DROP FUNCTION annotator_audit_append_only();
"""
#: Values that no study can have meant are brought into the range that the constraint allows.
INTO_RANGE = """
UPDATE annotator_study SET
    lease_minutes = LEAST(GREATEST(lease_minutes, 1), 10080), exam_questions = LEAST(exam_questions, 500),
    pass_mark = LEAST(pass_mark, exam_questions, 500), exam_attempts = LEAST(GREATEST(exam_attempts, 1), 100),
    minutes_per_item = CASE WHEN minutes_per_item = 'NaN' THEN 1 ELSE LEAST(GREATEST(minutes_per_item, 0.01), 1440) END,
    min_seconds = CASE WHEN min_seconds = 'NaN' THEN 5 ELSE LEAST(GREATEST(min_seconds, 0), 3600) END,
    undo_seconds = LEAST(undo_seconds, 3600), redundancy = LEAST(redundancy, 100), pay_per_item = LEAST(pay_per_item, 9999)
WHERE NOT (lease_minutes BETWEEN 1 AND 10080 AND exam_questions <= 500 AND exam_attempts BETWEEN 1 AND 100
    AND minutes_per_item BETWEEN 0.01 AND 1440 AND min_seconds BETWEEN 0 AND 3600 AND undo_seconds <= 3600
    AND redundancy <= 100 AND pay_per_item <= 9999);
"""


def tokens_keep_their_rights(apps, schema_editor):
    """Tokens from before there were scopes could do all that their person could, or only read."""
    Token = apps.get_model("annotator", "ApiToken")
    Token.objects.update(may_see_people=True)
    Token.objects.filter(may_write=True).update(may_run=True)


class Migration(migrations.Migration):
    """The audit trail, scopes of API tokens, rules of a workspace, and ranges of a study's numbers.

    New columns have defaults in the database, so code of the version before still writes while an upgrade runs.
    """

    dependencies = [
        ('annotator', '0018_follow_up_validated'),
    ]

    operations = [
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('action', models.CharField(max_length=40)),
                ('via', models.CharField(help_text='page, api, command or job', max_length=8)),
                ('address', models.CharField(blank=True, db_default='', help_text='The network of the address: /24, or /48 of IPv6.', max_length=50)),
                ('target', models.CharField(blank=True, db_default='', help_text="What it is about, such as an item's key.", max_length=200)),
                ('before', models.JSONField(blank=True, default=dict)),
                ('after', models.JSONField(blank=True, default=dict)),
            ],
        ),
        migrations.CreateModel(
            name='AuditSubject',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.BigIntegerField(blank=True, null=True)),
            ],
        ),
        migrations.AddField(
            model_name='apitoken',
            name='may_run',
            field=models.BooleanField(db_default=False, default=False, help_text='Start and steer runs of models.'),
        ),
        migrations.AddField(
            model_name='apitoken',
            name='may_see_people',
            field=models.BooleanField(db_default=False, default=False, help_text='Read judgments, exclusions and exports, which name participants.'),
        ),
        migrations.AddField(
            model_name='apitoken',
            name='name',
            field=models.CharField(blank=True, db_default='', help_text='What uses it, such as the name of a script.', max_length=100),
        ),
        migrations.AddField(
            model_name='workspace',
            name='model_budget',
            field=models.DecimalField(blank=True, decimal_places=2, help_text="The most that all runs of the workspace may cost together, in the currency of its endpoints' prices. Empty: no limit.", max_digits=12, null=True, validators=[annotator.core.ranges.InRange(0, 1000000000)], verbose_name='budget for models'),
        ),
        migrations.AddField(
            model_name='workspace',
            name='second_factor_required',
            field=models.BooleanField(db_default=False, default=False, help_text="Members without two-factor login are led to its set-up before they reach any researcher's page.", verbose_name='two-factor login required'),
        ),
        migrations.AlterField(
            model_name='apitoken',
            name='may_write',
            field=models.BooleanField(default=True, help_text='Change studies, items, exclusions.'),
        ),
        migrations.AlterField(
            model_name='study',
            name='exam_attempts',
            field=models.PositiveSmallIntegerField(default=2, validators=[annotator.core.ranges.InRange(1, 100)]),
        ),
        migrations.AlterField(
            model_name='study',
            name='exam_pay',
            field=models.DecimalField(db_default=0, decimal_places=2, default=0, help_text='Paid once to whoever hands the exam in, passed or not. 0: the exam is not paid.', max_digits=8, validators=[annotator.core.ranges.InRange(0, 100000)]),
        ),
        migrations.AlterField(
            model_name='study',
            name='exam_questions',
            field=models.PositiveSmallIntegerField(default=11, help_text="Drawn evenly from the exam's pools.", validators=[annotator.core.ranges.InRange(0, 500)]),
        ),
        migrations.AlterField(
            model_name='study',
            name='exam_wait_minutes',
            field=models.PositiveIntegerField(default=0, help_text='Between two attempts.', validators=[annotator.core.ranges.InRange(0, 43200)]),
        ),
        migrations.AlterField(
            model_name='study',
            name='lease_minutes',
            field=models.PositiveSmallIntegerField(default=30, help_text='How long a place is held for an annotator.', validators=[annotator.core.ranges.InRange(1, 10080)]),
        ),
        migrations.AlterField(
            model_name='study',
            name='max_items_per_rater',
            field=models.PositiveIntegerField(blank=True, null=True, validators=[annotator.core.ranges.InRange(1, 1000000)]),
        ),
        migrations.AlterField(
            model_name='study',
            name='min_seconds',
            field=models.FloatField(default=5.0, help_text='Faster answers are flagged.', validators=[annotator.core.ranges.InRange(0, 3600)]),
        ),
        migrations.AlterField(
            model_name='study',
            name='minutes_per_item',
            field=models.FloatField(default=1.0, validators=[annotator.core.ranges.InRange(0.01, 1440)]),
        ),
        migrations.AlterField(
            model_name='study',
            name='pass_mark',
            field=models.PositiveSmallIntegerField(default=9, validators=[annotator.core.ranges.InRange(0, 500)]),
        ),
        migrations.AlterField(
            model_name='study',
            name='pay_floor_per_hour',
            field=models.DecimalField(decimal_places=2, default=0, help_text='Launch is refused below it.', max_digits=8, validators=[annotator.core.ranges.InRange(0, 100000)]),
        ),
        migrations.AlterField(
            model_name='study',
            name='pay_per_item',
            field=models.DecimalField(decimal_places=4, default=0, max_digits=8, validators=[annotator.core.ranges.InRange(0, 9999)]),
        ),
        migrations.AlterField(
            model_name='study',
            name='redundancy',
            field=models.PositiveSmallIntegerField(default=3, help_text='Raters for each item (k).', validators=[annotator.core.ranges.InRange(1, 100)]),
        ),
        migrations.AlterField(
            model_name='study',
            name='retention_days',
            field=models.PositiveIntegerField(blank=True, help_text='After the study is closed. Then participants are anonymised. Empty: until somebody asks.', null=True, validators=[annotator.core.ranges.InRange(1, 36500)], verbose_name='days to keep personal data'),
        ),
        migrations.AlterField(
            model_name='study',
            name='seed',
            field=models.PositiveIntegerField(default=1, help_text='Fixes the order in which items are given out.', validators=[annotator.core.ranges.InRange(0, 2147483647)]),
        ),
        migrations.AlterField(
            model_name='study',
            name='undo_seconds',
            field=models.PositiveSmallIntegerField(default=10, help_text='0: answers cannot be taken back.', validators=[annotator.core.ranges.InRange(0, 3600)]),
        ),
        migrations.RunSQL(INTO_RANGE, migrations.RunSQL.noop),
        migrations.AddConstraint(
            model_name='study',
            constraint=models.CheckConstraint(condition=models.Q(('exam_attempts__range', (1, 100)), ('exam_questions__lte', 500), ('lease_minutes__range', (1, 10080)), ('min_seconds__range', (0, 3600)), ('minutes_per_item__range', (0.01, 1440)), ('pay_per_item__lte', 9999), ('redundancy__lte', 100), ('undo_seconds__lte', 3600)), name='study_numbers_in_range'),
        ),
        migrations.AddConstraint(
            model_name='workspace',
            constraint=models.CheckConstraint(condition=models.Q(('model_budget__isnull', True), ('model_budget__gte', 0), _connector='OR'), name='workspace_budget_not_negative'),
        ),
        migrations.AddField(
            model_name='auditentry',
            name='actor',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='auditentry',
            name='member',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='auditentry',
            name='study',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='annotator.study'),
        ),
        migrations.AddField(
            model_name='auditentry',
            name='workspace',
            field=models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='annotator.workspace'),
        ),
        migrations.AddField(
            model_name='auditsubject',
            name='rater',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='annotator.rater'),
        ),
        migrations.AddField(
            model_name='auditentry',
            name='subject',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='annotator.auditsubject'),
        ),
        migrations.AddConstraint(
            model_name='auditsubject',
            constraint=models.UniqueConstraint(condition=models.Q(('rater__isnull', False)), fields=('study', 'rater'), name='audit_subject_once', nulls_distinct=False),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(fields=['study', '-id'], name='audit_by_study'),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(fields=['workspace', '-id'], name='audit_by_workspace'),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(fields=['actor', '-id'], name='audit_by_actor'),
        ),
        migrations.RunSQL(APPEND_ONLY, NOT_APPEND_ONLY),
        migrations.RunPython(tokens_keep_their_rights, migrations.RunPython.noop),
    ]

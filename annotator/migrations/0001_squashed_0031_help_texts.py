import annotator.core.ranges
import annotator.models.erasure
import annotator.models.study
import django.contrib.auth.models
import django.contrib.auth.validators
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

# As 0019_trust has them.
_APPEND_ONLY = """
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
_NOT_APPEND_ONLY = """
DROP TRIGGER audit_append_only ON annotator_auditentry;
DROP TRIGGER audit_no_truncate ON annotator_auditentry;
DROP FUNCTION annotator_audit_append_only();
"""


class Migration(migrations.Migration):
    """The tables as the 31 migrations in ``replaces`` make them one by one, in a tenth of their time.

    A new database begins here. One that has some of those migrations runs the others of them; one that has all has this.
    Changes of rows aren't repeated: a new database has none.
    """

    initial = True

    replaces = [
        ('annotator', '0001_initial'),
        ('annotator', '0002_export'),
        ('annotator', '0003_exams_of_studies'),
        ('annotator', '0004_knocks'),
        ('annotator', '0005_login_attempt'),
        ('annotator', '0006_user_demo'),
        ('annotator', '0007_stage_signals'),
        ('annotator', '0008_study_life'),
        ('annotator', '0009_untouched_answers'),
        ('annotator', '0010_question_validated'),
        ('annotator', '0011_usernames_without_case'),
        ('annotator', '0012_limits_of_work'),
        ('annotator', '0013_personal_data'),
        ('annotator', '0014_api_token'),
        ('annotator', '0015_workspace'),
        ('annotator', '0016_limits_of_joining'),
        ('annotator', '0017_one_task_of_a_guest'),
        ('annotator', '0018_follow_up_validated'),
        ('annotator', '0019_trust'),
        ('annotator', '0020_study_language'),
        ('annotator', '0021_attributes'),
        ('annotator', '0022_study_variant'),
        ('annotator', '0023_instructions_seen'),
        ('annotator', '0024_place_alert'),
        ('annotator', '0025_file_import'),
        ('annotator', '0026_read_replies'),
        ('annotator', '0027_languages'),
        ('annotator', '0028_study_images'),
        ('annotator', '0029_place_indexes'),
        ('annotator', '0030_translated_from'),
        ('annotator', '0031_help_texts'),
    ]

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.CreateModel(
            name='User',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('username', models.CharField(error_messages={'unique': 'A user with that username already exists.'}, help_text='Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.', max_length=150, unique=True, validators=[django.contrib.auth.validators.UnicodeUsernameValidator()], verbose_name='username')),
                ('first_name', models.CharField(blank=True, max_length=150, verbose_name='first name')),
                ('last_name', models.CharField(blank=True, max_length=150, verbose_name='last name')),
                ('email', models.EmailField(blank=True, max_length=254, verbose_name='email address')),
                ('is_staff', models.BooleanField(default=False, help_text='Designates whether the user can log into this admin site.', verbose_name='staff status')),
                ('is_active', models.BooleanField(default=True, help_text='Designates whether this user should be treated as active. Unselect this instead of deleting accounts.', verbose_name='active')),
                ('date_joined', models.DateTimeField(default=django.utils.timezone.now, verbose_name='date joined')),
                ('demo', models.BooleanField(db_default=False, default=False, editable=False)),
                ('language', models.CharField(blank=True, db_default='', default='', editable=False, max_length=10)),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
            ],
            options={
                'verbose_name': 'user',
                'verbose_name_plural': 'users',
                'abstract': False,
                'constraints': [models.UniqueConstraint(django.db.models.functions.text.Lower('username'), name='user_name_unique_without_case', violation_error_message='A user with that username already exists.')],
            },
            managers=[
                ('objects', django.contrib.auth.models.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(help_text='SHA-256 of the token.', max_length=64, unique=True)),
                ('may_write', models.BooleanField(default=True, help_text='Change studies, items and exclusions.')),
                ('password_state', models.CharField(max_length=20)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('last_used_at', models.DateTimeField(blank=True, help_text='Accurate to the hour.', null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_tokens', to=settings.AUTH_USER_MODEL)),
                ('may_run', models.BooleanField(db_default=False, default=False, help_text='Start, pause and cancel runs of models.')),
                ('may_see_people', models.BooleanField(db_default=False, default=False, help_text="Read judgments, exclusions and exports, with participants' names.")),
                ('name', models.CharField(blank=True, db_default='', help_text='What uses it, such as the name of a script.', max_length=100)),
            ],
        ),
        migrations.CreateModel(
            name='Exam',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('hit_type', models.CharField(max_length=60)),
                ('digest', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('hit_type', 'digest'), name='exam_once_per_content')],
            },
        ),
        migrations.CreateModel(
            name='ExamQuestion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=100)),
                ('number', models.PositiveSmallIntegerField()),
                ('pool', models.CharField(blank=True, max_length=60)),
                ('payload', models.JSONField()),
                ('gold', models.JSONField()),
                ('reason', models.TextField()),
                ('exam', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='questions', to='annotator.exam')),
            ],
            options={
                'ordering': ['exam', 'number'],
                'constraints': [models.UniqueConstraint(fields=('exam', 'key'), name='exam_question_key_unique')],
            },
        ),
        migrations.CreateModel(
            name='LoginAttempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('login', 'login'), ('reset', 'request for a reset link'), ('mail', 'reset link sent'), ('join', 'new account')], max_length=8)),
                ('account', models.CharField(max_length=64)),
                ('address', models.CharField(max_length=64)),
                ('at', models.DateTimeField()),
            ],
            options={
                'indexes': [models.Index(fields=['account', 'at'], name='attempt_by_account'), models.Index(fields=['address', 'at'], name='attempt_by_address')],
            },
        ),
        migrations.CreateModel(
            name='Rater',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('human', 'person'), ('simulator', 'simulator')], max_length=10)),
                ('source', models.CharField(default='login', max_length=100)),
                ('name', models.CharField(help_text="Shown to the study's researchers. Releases use a pseudonym instead.", max_length=200)),
                ('rehearsal', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('user', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='rater', to=settings.AUTH_USER_MODEL)),
                ('attributes', models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('kind', 'source', 'name'), name='rater_name_unique_in_source'), models.CheckConstraint(condition=models.Q(('kind', 'human'), ('user__isnull', True), _connector='OR'), name='rater_simulator_has_no_login')],
            },
        ),
        migrations.CreateModel(
            name='AuditSubject',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.BigIntegerField(blank=True, null=True)),
                ('rater', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='annotator.rater')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('rater__isnull', False)), fields=('study', 'rater'), name='audit_subject_once', nulls_distinct=False)],
            },
        ),
        migrations.CreateModel(
            name='Tombstone',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('study', models.BigIntegerField()),
                ('rater', models.BigIntegerField()),
                ('digest', models.CharField(max_length=64)),
                ('policy', models.CharField(max_length=9)),
                ('at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('study', 'rater', 'digest'), name='tombstone_once')],
            },
        ),
        migrations.CreateModel(
            name='Workspace',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('personal_of', models.OneToOneField(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='personal_workspace', to=settings.AUTH_USER_MODEL)),
                ('model_budget', models.DecimalField(blank=True, decimal_places=2, help_text="The maximum cost of all runs of the workspace together, in the currency of its endpoints' prices. Leave empty for no limit.", max_digits=12, null=True, validators=[annotator.core.ranges.InRange(0, 1000000000)], verbose_name='budget for models')),
                ('second_factor_required', models.BooleanField(db_default=False, default=False, help_text="Members without two-factor login have to set it up before they can open any researcher's page.", verbose_name='two-factor login required')),
            ],
            options={
                'ordering': ['name', 'pk'],
            },
        ),
        migrations.CreateModel(
            name='Dataset',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('workspace', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='datasets', to='annotator.workspace')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('workspace', 'name'), name='dataset_name_unique_in_workspace', nulls_distinct=False)],
            },
        ),
        migrations.CreateModel(
            name='System',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=200)),
                ('model', models.CharField(blank=True, max_length=200)),
                ('method', models.CharField(blank=True, max_length=60)),
                ('workspace', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='systems', to='annotator.workspace')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('workspace', 'name'), name='system_name_unique_in_workspace', nulls_distinct=False)],
            },
        ),
        migrations.CreateModel(
            name='Instance',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=200)),
                ('input', models.TextField()),
                ('gold_label', models.CharField(blank=True, max_length=200)),
                ('gold_rationale', models.TextField(blank=True)),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='instances', to='annotator.dataset')),
            ],
            options={
                'indexes': [models.Index(django.db.models.functions.text.MD5('input'), name='instance_by_input')],
                'constraints': [models.UniqueConstraint(fields=('dataset', 'key'), name='instance_key_unique')],
            },
        ),
        migrations.CreateModel(
            name='Explanation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField()),
                ('output', models.TextField(blank=True)),
                ('digest', models.CharField(help_text='SHA-256 of text and output.', max_length=64)),
                ('instance', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='explanations', to='annotator.instance')),
                ('system', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='explanations', to='annotator.system')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('instance', 'system', 'digest'), name='explanation_once_per_system')],
            },
        ),
        migrations.CreateModel(
            name='AtomicUnit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('role', models.CharField(choices=[('both', 'input and output'), ('input', 'input'), ('output', 'output')], default='both', max_length=6)),
                ('text', models.TextField()),
                ('explanation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='units', to='annotator.explanation')),
            ],
            options={
                'ordering': ['explanation', 'number'],
                'constraints': [models.UniqueConstraint(fields=('explanation', 'number'), name='unit_number_unique')],
            },
        ),
        migrations.CreateModel(
            name='FollowUp',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField()),
                ('generator', models.CharField(blank=True, max_length=200)),
                ('kind', models.CharField(blank=True, max_length=60)),
                ('gold_label', models.CharField(blank=True, max_length=200)),
                ('digest', models.CharField(help_text='SHA-256 of text, generator and kind.', max_length=64)),
                ('explanation', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='follow_ups', to='annotator.explanation')),
                ('instance', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='follow_ups', to='annotator.instance')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('instance', 'explanation', 'digest'), name='follow_up_once', nulls_distinct=False)],
            },
        ),
        migrations.CreateModel(
            name='Output',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField()),
                ('follow_up', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='outputs', to='annotator.followup')),
                ('system', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='outputs', to='annotator.system')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('follow_up', 'system'), name='output_once_per_system')],
            },
        ),
        migrations.CreateModel(
            name='WorkspaceMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('owner', 'owner'), ('editor', 'editor'), ('reviewer', 'reviewer'), ('viewer', 'viewer')], default='viewer', max_length=10)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='workspace_roles', to=settings.AUTH_USER_MODEL)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='members', to='annotator.workspace')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('workspace', 'user'), name='workspace_member_once')],
            },
        ),
        migrations.AddField(
            model_name='workspace',
            name='people',
            field=models.ManyToManyField(editable=False, related_name='workspaces', through='annotator.WorkspaceMember', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddConstraint(
            model_name='workspace',
            constraint=models.CheckConstraint(condition=models.Q(('model_budget__isnull', True), ('model_budget__gte', 0), _connector='OR'), name='workspace_budget_not_negative'),
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('owner', 'owner'), ('editor', 'editor'), ('reviewer', 'reviewer'), ('viewer', 'viewer')], default='viewer', max_length=10)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Snapshot',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('digest', models.CharField(help_text='SHA-256 of the canonical JSON of the content.', max_length=64)),
                ('content', models.JSONField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['study', 'number'],
            },
        ),
        migrations.CreateModel(
            name='Study',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(max_length=80, unique=True)),
                ('title', models.CharField(help_text='Shown to annotators.', max_length=200)),
                ('hit_type', models.CharField(max_length=60)),
                ('state', models.CharField(choices=[('draft', 'draft'), ('live', 'live'), ('paused', 'paused'), ('closed', 'closed')], default='draft', editable=False, max_length=10)),
                ('summary', models.TextField(blank=True, help_text='Shown on the invitation. One or two sentences.')),
                ('contact', models.CharField(blank=True, help_text='Who runs the study, and how to reach them.', max_length=200)),
                ('redundancy', models.PositiveSmallIntegerField(default=3, help_text='The number of raters for each item (k).', validators=[annotator.core.ranges.InRange(1, 100)])),
                ('seed', models.PositiveIntegerField(default=1, help_text='Determines the order in which items are given out.', validators=[annotator.core.ranges.InRange(0, 2147483647)])),
                ('lease_minutes', models.PositiveSmallIntegerField(default=30, help_text='How long an annotator has to answer before the task can go to someone else.', validators=[annotator.core.ranges.InRange(1, 10080)])),
                ('max_items_per_rater', models.PositiveIntegerField(blank=True, null=True, validators=[annotator.core.ranges.InRange(1, 1000000)])),
                ('one_condition_per_instance', models.BooleanField(default=False, help_text='Never give one person two items of the same instance. Without this, people can be asked a question again after they have read an explanation of it. Their answers “before” the explanation are then not independent of it.')),
                ('consent_text', models.TextField(blank=True, help_text='Markdown. Leave empty for no consent page.')),
                ('instructions_text', models.TextField(blank=True, help_text="Markdown. Replaces the HIT type's instructions.")),
                ('practice_required', models.BooleanField(default=True)),
                ('exam_required', models.BooleanField(default=True)),
                ('exam_questions', models.PositiveSmallIntegerField(default=11, help_text="Questions are drawn evenly from the exam's pools.", validators=[annotator.core.ranges.InRange(0, 500)])),
                ('pass_mark', models.PositiveSmallIntegerField(default=9, validators=[annotator.core.ranges.InRange(0, 500)])),
                ('exam_attempts', models.PositiveSmallIntegerField(default=2, validators=[annotator.core.ranges.InRange(1, 100)])),
                ('exam_wait_minutes', models.PositiveIntegerField(default=0, help_text='The time that people have to wait before their next attempt.', validators=[annotator.core.ranges.InRange(0, 43200)])),
                ('exam_feedback', models.BooleanField(default=True, help_text='Show people which questions they got wrong, and why, after the exam.')),
                ('pay_per_item', models.DecimalField(decimal_places=4, default=0, max_digits=8, validators=[annotator.core.ranges.InRange(0, 9999)])),
                ('currency', models.CharField(default='USD', max_length=3)),
                ('minutes_per_item', models.FloatField(default=1.0, validators=[annotator.core.ranges.InRange(0.01, 1440)])),
                ('pay_floor_per_hour', models.DecimalField(decimal_places=2, default=0, help_text="A study that is planned to pay less can't be launched.", max_digits=8, validators=[annotator.core.ranges.InRange(0, 100000)])),
                ('min_seconds', models.FloatField(default=5.0, help_text='Answers that take less time are flagged.', validators=[annotator.core.ranges.InRange(0, 3600)])),
                ('undo_seconds', models.PositiveSmallIntegerField(default=10, help_text='How long an answer can be undone. 0 means never.', validators=[annotator.core.ranges.InRange(0, 3600)])),
                ('join_open', models.BooleanField(default=True, help_text='Anyone with the link can join while the study is live.')),
                ('join_token', models.CharField(default=annotator.models.study.new_token, editable=False, max_length=64, unique=True)),
                ('completion_code', models.CharField(blank=True, max_length=64)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('launched_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('closed_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('snapshot', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotator.snapshot')),
                ('exam_own', models.JSONField(blank=True, help_text="Replaces the HIT type's exam questions.", null=True)),
                ('exam_pay', models.DecimalField(db_default=0, decimal_places=2, default=0, help_text="Paid once to everyone who submits the exam, passed or not. 0 means that the exam isn't paid.", max_digits=8, validators=[annotator.core.ranges.InRange(0, 100000)])),
                ('practice_own', models.JSONField(blank=True, help_text="Replaces the HIT type's practice questions.", null=True)),
                ('requires', models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list, help_text='Qualifications that people need in order to join: HIT types, or exam versions (type@digest).')),
                ('archived_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('deleted_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('deleted_by', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('join_parameters', models.CharField(blank=True, db_default='PROLIFIC_PID, STUDY_ID, SESSION_ID', default='PROLIFIC_PID, STUDY_ID, SESSION_ID', help_text='Names of the ids that a recruitment panel adds to the join link. The ids are stored with each participant.', max_length=300)),
                ('exam_key_early', models.BooleanField(db_default=False, default=False, help_text='Show this even to people who can still take the exam again. Their next attempt uses different questions as far as the pools allow.', verbose_name='show correct answers while attempts are left')),
                ('revoked_work', models.CharField(choices=[('keep', "keep the answer, but don't count it"), ('refuse', 'refuse the answer')], db_default='keep', default='keep', help_text='What happens to the answer to a task that a person had open when their qualification was revoked.', max_length=6, verbose_name='open tasks after a revocation')),
                ('erasure_policy', models.CharField(choices=[('anonymise', 'keep the answers, without any link to the person'), ('delete', 'delete the answers too')], db_default='anonymise', default='anonymise', help_text='The consent text should say the same.', max_length=9, verbose_name="when a participant's data is removed")),
                ('retention_days', models.PositiveIntegerField(blank=True, help_text='Participants are anonymised this many days after the study is closed. Leave empty to keep personal data until a participant asks for its removal.', null=True, validators=[annotator.core.ranges.InRange(1, 36500)], verbose_name='days to keep personal data')),
                ('workspace', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='studies', to='annotator.workspace')),
                ('extra_time', models.PositiveSmallIntegerField(db_default=4, default=4, help_text='How often an annotator can ask for more time for a task, or reopen it after its time has run out.', validators=[annotator.core.ranges.InRange(0, 100)])),
                ('joins_per_address', models.PositiveIntegerField(blank=True, db_default=50, default=50, help_text="Limits how many people without an account can join from one network address. Raise it for a class in one room. Leave empty for the server's limit only.", null=True, validators=[annotator.core.ranges.InRange(1, 1000000)], verbose_name='new guests per hour from one address')),
                ('joins_per_hour', models.PositiveIntegerField(blank=True, db_default=1000, default=1000, help_text='People above the limit are asked to try again in an hour. Leave empty for no limit.', null=True, validators=[annotator.core.ranges.InRange(1, 1000000)], verbose_name='new participants per hour')),
                ('unfinished_per_hour', models.PositiveSmallIntegerField(blank=True, db_default=30, default=30, help_text='Tasks that one person can skip or let run out in an hour before they have to wait. Leave empty for no limit.', null=True, validators=[annotator.core.ranges.InRange(1, 10000)])),
                ('language', models.CharField(choices=[('en', 'English'), ('ar', 'العربية'), ('de', 'Deutsch'), ('es', 'español'), ('fr', 'français'), ('hi', 'हिन्दी'), ('it', 'italiano'), ('ja', '日本語'), ('ko', '한국어'), ('nl', 'Nederlands'), ('pl', 'polski'), ('pt', 'português'), ('ru', 'русский'), ('tr', 'Türkçe'), ('zh', '中文')], db_default='en', default='en', help_text='Answers of models are understood in this language as well as in English, such as ja, oui and 是.', max_length=2)),
                ('variant', models.CharField(blank=True, db_default='', default='', help_text='The only variant of the HIT type that the study uses, such as one group of properties. Leave empty for all.', max_length=60)),
                ('translations', models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict, editable=False)),
                ('translated_from', models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict, editable=False)),
                ('researchers', models.ManyToManyField(related_name='studies', through='annotator.Membership', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'studies',
                'ordering': ['-created_at'],
                'constraints': [models.CheckConstraint(condition=models.Q(('redundancy__gte', 1)), name='study_redundancy_positive'), models.CheckConstraint(condition=models.Q(('pay_per_item__gte', 0)), name='study_pay_not_negative'), models.CheckConstraint(condition=models.Q(('exam_pay__gte', 0)), name='study_exam_pay_not_negative'), models.CheckConstraint(condition=models.Q(('pass_mark__lte', models.F('exam_questions'))), name='study_pass_mark_in_exam'), models.CheckConstraint(condition=models.Q(('exam_attempts__range', (1, 100)), ('exam_questions__lte', 500), ('lease_minutes__range', (1, 10080)), ('min_seconds__range', (0, 3600)), ('minutes_per_item__range', (0.01, 1440)), ('pay_per_item__lte', 9999), ('redundancy__lte', 100), ('undo_seconds__lte', 3600)), name='study_numbers_in_range'), models.CheckConstraint(condition=models.Q(('state', 'draft'), ('snapshot__isnull', False), _connector='OR'), name='study_launched_has_snapshot')],
            },
        ),
        migrations.AddField(
            model_name='membership',
            name='study',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='annotator.study'),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.UniqueConstraint(fields=('study', 'user'), name='membership_once'),
        ),
        migrations.AddField(
            model_name='snapshot',
            name='study',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='snapshots', to='annotator.study'),
        ),
        migrations.AddConstraint(
            model_name='snapshot',
            constraint=models.UniqueConstraint(fields=('study', 'digest'), name='snapshot_once_per_study'),
        ),
        migrations.AddConstraint(
            model_name='snapshot',
            constraint=models.UniqueConstraint(fields=('study', 'number'), name='snapshot_number_unique'),
        ),
        migrations.CreateModel(
            name='Participation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('active', 'active'), ('finished', 'finished'), ('left', 'left the study'), ('removed', 'removed by the researcher')], default='active', max_length=10)),
                ('recruiter', models.CharField(blank=True, max_length=40)),
                ('recruiter_id', models.CharField(blank=True, max_length=200)),
                ('instructions_at', models.DateTimeField(blank=True, null=True)),
                ('practice_done', models.PositiveSmallIntegerField(default=0, help_text='The number of practice questions completed.')),
                ('cursor', models.BigIntegerField(default=-1)),
                ('joined_at', models.DateTimeField(auto_now_add=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('rater', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='participations', to='annotator.rater')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='participations', to='annotator.study')),
                ('join_parameters', models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict)),
                ('practice_answered', models.PositiveSmallIntegerField(db_default=0, default=0, help_text='The number of practice questions answered. The next question opens once the feedback has been shown.')),
                ('instructions_seen', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotator.snapshot')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('study', 'rater'), name='participation_once'), models.UniqueConstraint(condition=models.Q(('recruiter_id', ''), _negated=True), fields=('study', 'recruiter', 'recruiter_id'), name='participation_once_per_recruiter_id')],
            },
        ),
        migrations.CreateModel(
            name='ExamAttempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('drawn', models.JSONField(help_text='Keys of the questions, in the order shown.')),
                ('pass_mark', models.PositiveSmallIntegerField()),
                ('started_at', models.DateTimeField(auto_now_add=True)),
                ('submitted_at', models.DateTimeField(blank=True, null=True)),
                ('score', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('exam', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='attempts', to='annotator.exam')),
                ('participation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='exam_attempts', to='annotator.participation')),
                ('pay', models.DecimalField(db_default=0, decimal_places=2, default=0, help_text='What the person earned by submitting it. Only the first attempt is paid.', max_digits=8)),
                ('offered', models.DecimalField(blank=True, decimal_places=2, help_text="What the exam paid when the attempt was started. Later changes of the pay don't affect it.", max_digits=8, null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('participation', 'number'), name='exam_attempt_number_unique'), models.CheckConstraint(condition=models.Q(models.Q(('score__isnull', True), ('submitted_at__isnull', True)), models.Q(('score__isnull', False), ('submitted_at__isnull', False)), _connector='OR'), name='exam_attempt_scored_when_submitted')],
            },
        ),
        migrations.CreateModel(
            name='ExamAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('response', models.JSONField()),
                ('right', models.BooleanField()),
                ('attempt', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='answers', to='annotator.examattempt')),
                ('question', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='answers', to='annotator.examquestion')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('attempt', 'question'), name='exam_answer_once')],
            },
        ),
        migrations.CreateModel(
            name='Item',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(help_text="The researcher's name for the item, unique in the study.", max_length=200)),
                ('payload', models.JSONField(help_text='Everything that any stage can show.')),
                ('gold', models.JSONField(blank=True, help_text='The correct response. It is never sent to annotators.', null=True)),
                ('role', models.CharField(choices=[('ordinary', 'ordinary'), ('gold', 'gold (has a known answer)'), ('attention', 'attention check')], default='ordinary', max_length=10)),
                ('condition', models.CharField(blank=True, max_length=100)),
                ('parts', models.JSONField(blank=True, default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('explanation', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='items', to='annotator.explanation')),
                ('follow_up', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='items', to='annotator.followup')),
                ('instance', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='items', to='annotator.instance')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='items', to='annotator.study')),
                ('replaces', models.OneToOneField(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='replaced_by', to='annotator.item')),
                ('version', models.PositiveSmallIntegerField(db_default=1, default=1, help_text='A corrected item is a new version that replaces the previous one.')),
                ('withdrawn_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('withdrawn_by', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('withdrawn_reason', models.TextField(blank=True, db_default='', default='', editable=False)),
                ('attributes', models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict)),
            ],
            options={
                'ordering': ['study', 'id'],
                'constraints': [models.UniqueConstraint(fields=('study', 'key'), name='item_key_unique'), models.CheckConstraint(condition=models.Q(('withdrawn_at__isnull', True), models.Q(('withdrawn_reason', ''), _negated=True), _connector='OR'), name='item_withdrawn_has_reason')],
            },
        ),
        migrations.CreateModel(
            name='Assignment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('instance_id_of_item', models.BigIntegerField(blank=True, null=True)),
                ('state', models.CharField(choices=[('leased', 'in progress'), ('submitted', 'submitted'), ('expired', 'lease expired'), ('returned', 'returned')], default='leased', max_length=10)),
                ('stage', models.PositiveSmallIntegerField(default=0, help_text="The open stage. Earlier stages can't be changed.")),
                ('presentation', models.JSONField(blank=True, default=dict, help_text='The order or condition drawn for this rater.')),
                ('draft', models.JSONField(blank=True, default=dict)),
                ('draft_version', models.PositiveIntegerField(default=0)),
                ('leased_at', models.DateTimeField()),
                ('lease_until', models.DateTimeField()),
                ('stage_opened_at', models.DateTimeField()),
                ('closed_at', models.DateTimeField(blank=True, null=True)),
                ('taken_back', models.PositiveSmallIntegerField(default=0, help_text='How often its judgment was undone.')),
                ('reason', models.TextField(blank=True, help_text='Why the rater returned it.')),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='annotator.item')),
                ('participation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='assignments', to='annotator.participation')),
                ('rater', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='assignments', to='annotator.rater')),
                ('snapshot', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotator.snapshot')),
                ('extended', models.PositiveSmallIntegerField(db_default=0, default=0, help_text='How often its lease was extended, or renewed after it had expired.')),
                ('sole', models.BooleanField(db_default=False, default=False, editable=False)),
            ],
            options={
                'indexes': [models.Index(fields=['participation', 'state'], name='assignment_by_participation'), models.Index(condition=models.Q(('state', 'leased')), fields=['lease_until'], name='assignment_leases'), models.Index(fields=['rater', 'instance_id_of_item'], name='assignment_by_instance')],
                'constraints': [models.UniqueConstraint(fields=('item', 'rater'), name='assignment_never_twice')],
            },
        ),
        migrations.SeparateDatabaseAndState(
            # As 0017_one_task_of_a_guest has it, word for word.
            database_operations=[
                migrations.RunSQL(
                    "CREATE UNIQUE INDEX assignment_one_of_a_guest ON annotator_assignment (rater_id)"
                    " WHERE state = 'leased' AND sole",
                    "DROP INDEX assignment_one_of_a_guest",
                )
            ],
            state_operations=[
                migrations.AddConstraint(
                    model_name='assignment',
                    constraint=models.UniqueConstraint(condition=models.Q(('sole', True), ('state', 'leased')), fields=('rater',), name='assignment_one_of_a_guest'),
                ),
            ],
        ),
        migrations.CreateModel(
            name='Consent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField()),
                ('digest', models.CharField(max_length=64)),
                ('given_at', models.DateTimeField(auto_now_add=True)),
                ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                ('participation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='consents', to='annotator.participation')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('participation', 'digest'), name='consent_once_per_text')],
            },
        ),
        migrations.CreateModel(
            name='Place',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('position', models.PositiveIntegerField()),
                ('freed', models.BooleanField(default=False)),
                ('assignment', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='place', to='annotator.assignment')),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='places', to='annotator.item')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='places', to='annotator.study')),
                ('rehearsal', models.BooleanField(db_default=False, default=False)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('assignment__isnull', True)), fields=['study', 'rehearsal', 'position', 'number'], name='place_open_in_layer'), models.Index(condition=models.Q(('assignment__isnull', True), ('freed', True)), fields=['study', 'rehearsal', 'position', 'number'], name='place_freed_in_layer')],
                'constraints': [models.UniqueConstraint(fields=('item', 'number', 'rehearsal'), name='place_number_unique_in_layer'), models.CheckConstraint(condition=models.Q(('number__gte', 1)), name='place_number_from_one')],
            },
        ),
        migrations.CreateModel(
            name='Qualification',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('hit_type', models.CharField(max_length=60)),
                ('granted_at', models.DateTimeField(auto_now_add=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('reason', models.TextField(blank=True)),
                ('attempt', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='qualification', to='annotator.examattempt')),
                ('exam', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='qualifications', to='annotator.exam')),
                ('granted_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('rater', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='qualifications', to='annotator.rater')),
                ('workspace', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='qualifications', to='annotator.workspace')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('rater', 'workspace', 'hit_type', 'exam'), name='qualification_once_in_workspace', nulls_distinct=False), models.CheckConstraint(condition=models.Q(('revoked_at__isnull', True), ('revoked_at__gte', models.F('granted_at')), _connector='OR'), name='qualification_revoked_after_granted')],
            },
        ),
        migrations.CreateModel(
            name='QualificationEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('passed', 'exam passed'), ('granted', 'granted'), ('revoked', 'revoked')], max_length=8)),
                ('reason', models.TextField(blank=True)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('qualification', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='annotator.qualification')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='Judgment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('response', models.JSONField()),
                ('digest', models.CharField(max_length=64)),
                ('standing', models.CharField(choices=[('counted', 'counted'), ('surplus', 'surplus (submitted late, when the item was full)')], default='counted', max_length=10)),
                ('source', models.CharField(choices=[('web', 'in the browser'), ('import', 'imported'), ('simulator', 'simulator'), ('rehearsal', 'rehearsal')], default='web', max_length=10)),
                ('seconds', models.FloatField(blank=True, help_text='Seconds from when the item was shown to when the answer was submitted.', null=True)),
                ('signals', models.JSONField(blank=True, default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('assignment', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='judgment', to='annotator.assignment')),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='judgments', to='annotator.item')),
                ('place', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='judgment', to='annotator.place')),
                ('rater', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='judgments', to='annotator.rater')),
                ('snapshot', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='judgments', to='annotator.snapshot')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='judgments', to='annotator.study')),
                ('instructions_seen', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotator.snapshot')),
                ('language', models.CharField(blank=True, db_default='', default='', max_length=10)),
            ],
            options={
                'ordering': ['id'],
                'indexes': [models.Index(fields=['study', 'rater'], name='judgment_by_rater')],
                'constraints': [models.UniqueConstraint(fields=('item', 'rater'), name='judgment_once'), models.CheckConstraint(condition=models.Q(models.Q(('source__in', ['web', 'rehearsal']), ('standing', 'counted'), _negated=True), ('place__isnull', False), _connector='OR'), name='judgment_in_browser_counts_only_with_a_place'), models.CheckConstraint(condition=models.Q(models.Q(('source__in', ['web', 'rehearsal']), _negated=True), ('snapshot__isnull', False), _connector='OR'), name='judgment_in_browser_has_snapshot')],
            },
        ),
        migrations.CreateModel(
            name='Review',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('verdict', models.CharField(choices=[('accepted', 'accepted')], default='accepted', max_length=10)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('judgment', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='review', to='annotator.judgment')),
            ],
        ),
        migrations.CreateModel(
            name='StageCommit',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('stage', models.PositiveSmallIntegerField()),
                ('response', models.JSONField()),
                ('seconds', models.FloatField()),
                ('committed_at', models.DateTimeField(auto_now_add=True)),
                ('assignment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='commits', to='annotator.assignment')),
                ('signals', models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict)),
            ],
            options={
                'ordering': ['assignment', 'stage'],
                'constraints': [models.UniqueConstraint(fields=('assignment', 'stage'), name='stage_committed_once')],
            },
        ),
        migrations.CreateModel(
            name='Rehearsal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('queued', 'waiting for a worker'), ('running', 'running'), ('done', 'finished'), ('stopped', 'stopped'), ('failed', 'failed')], default='queued', max_length=10)),
                ('raters', models.PositiveSmallIntegerField(default=12, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(200)])),
                ('accuracy', models.FloatField(default=0.85, help_text='Mean share of correct answers, from 0 to 1.', validators=[django.core.validators.MinValueValidator(0.0), django.core.validators.MaxValueValidator(1.0)])),
                ('seed', models.PositiveIntegerField(default=1)),
                ('error', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rehearsals', to='annotator.study')),
            ],
            options={
                'ordering': ['-id'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ['queued', 'running'])), fields=('study',), name='rehearsal_one_at_a_time'), models.CheckConstraint(condition=models.Q(('accuracy__gte', 0), ('accuracy__lte', 1)), name='rehearsal_accuracy_is_a_share')],
            },
        ),
        migrations.CreateModel(
            name='PlaceAlert',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('email', models.EmailField(blank=True, db_default='', default='', max_length=254)),
                ('url', models.CharField(max_length=500)),
                ('asked_at', models.DateTimeField(auto_now_add=True)),
                ('told_at', models.DateTimeField(blank=True, null=True)),
                ('rater', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='place_alerts', to='annotator.rater')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='place_alerts', to='annotator.study')),
                ('language', models.CharField(blank=True, db_default='', default='', max_length=10)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('told_at', None)), fields=['asked_at'], name='place_alert_open')],
                'constraints': [models.UniqueConstraint(fields=('study', 'rater'), name='place_alert_once'), models.CheckConstraint(condition=models.Q(('told_at', None), ('email', ''), _connector='OR'), name='place_alert_forgets_email')],
            },
        ),
        migrations.CreateModel(
            name='Message',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('flag', 'problem with an item'), ('question', 'question'), ('reply', 'from the researcher'), ('deletion', 'deletion request')], max_length=10)),
                ('text', models.TextField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('settled_at', models.DateTimeField(blank=True, null=True)),
                ('author', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('item', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='messages', to='annotator.item')),
                ('rater', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='annotator.rater')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='annotator.study')),
                ('read_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['created_at'],
                'indexes': [models.Index(condition=models.Q(('kind', 'reply'), ('read_at__isnull', True)), fields=['rater'], name='message_reply_unread')],
                'constraints': [models.CheckConstraint(condition=models.Q(('text', ''), _negated=True), name='message_not_empty')],
            },
        ),
        migrations.CreateModel(
            name='LedgerEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('bonus', 'bonus'), ('payment', 'payment sent')], max_length=10)),
                ('amount', models.DecimalField(decimal_places=4, max_digits=10)),
                ('reason', models.TextField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('rater', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='ledger', to='annotator.rater')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='ledger', to='annotator.study')),
                ('reference', models.CharField(blank=True, db_default='', default='', help_text='For payments: a batch or transfer number.', max_length=200)),
            ],
            options={
                'verbose_name_plural': 'ledger entries',
                'constraints': [models.CheckConstraint(condition=models.Q(('amount__gt', 0)), name='ledger_amount_positive'), models.UniqueConstraint(condition=models.Q(('kind', 'payment'), models.Q(('reference', ''), _negated=True)), fields=('study', 'rater', 'reference'), name='ledger_payment_once_per_reference')],
            },
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('owner', 'owner'), ('editor', 'editor'), ('reviewer', 'reviewer'), ('viewer', 'viewer')], default='viewer', max_length=10)),
                ('email', models.EmailField(blank=True, help_text='The person who is invited. Leave empty to invite anyone with the link.', max_length=254)),
                ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('accepted_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, null=True)),
                ('accepted_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='annotator.study')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='FileImport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('material', 'material'), ('judgments', 'judgments')], max_length=10)),
                ('name', models.CharField(help_text="The file's name. Its ending gives the format.", max_length=150)),
                ('file', models.CharField(blank=True, max_length=200)),
                ('size', models.PositiveBigIntegerField(help_text='Bytes.')),
                ('options', models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict)),
                ('state', models.CharField(choices=[('queued', 'waiting for a worker'), ('running', 'running'), ('done', 'imported'), ('refused', 'refused'), ('failed', 'failed'), ('cancelled', 'cancelled')], default='queued', max_length=9)),
                ('bytes_read', models.PositiveBigIntegerField(db_default=0, default=0)),
                ('cancel_asked', models.BooleanField(db_default=False, default=False)),
                ('result', models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict)),
                ('problems', models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list)),
                ('problem_count', models.PositiveIntegerField(db_default=0, default=0)),
                ('problems_file', models.CharField(blank=True, db_default='', default='', max_length=200)),
                ('error', models.TextField(blank=True, db_default='', default='')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='file_imports', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='file_imports', to='annotator.study')),
            ],
            options={
                'ordering': ['-id'],
                'constraints': [models.CheckConstraint(condition=models.Q(('bytes_read__lte', models.F('size'))), name='import_reads_at_most_its_file')],
            },
        ),
        migrations.CreateModel(
            name='Export',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('form', models.CharField(choices=[('judgments', 'one row per judgment'), ('ratings', 'one row per rating (long table)')], default='judgments', max_length=10)),
                ('format', models.CharField(choices=[('csv', 'CSV'), ('jsonl', 'JSON lines')], default='csv', max_length=5)),
                ('filters', models.JSONField(blank=True, default=dict)),
                ('state', models.CharField(choices=[('queued', 'queued'), ('done', 'done'), ('failed', 'failed')], default='queued', max_length=6)),
                ('file', models.CharField(blank=True, max_length=200)),
                ('rows', models.PositiveIntegerField(blank=True, null=True)),
                ('bytes', models.PositiveBigIntegerField(blank=True, null=True)),
                ('error', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='exports', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='exports', to='annotator.study')),
            ],
            options={
                'ordering': ['-id'],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('state', 'done'), _negated=True), models.Q(('file', ''), _negated=True), _connector='OR'), name='export_done_has_file')],
            },
        ),
        migrations.CreateModel(
            name='Exclusion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.TextField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('lifted_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('item', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='exclusions', to='annotator.item')),
                ('judgment', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='exclusions', to='annotator.judgment')),
                ('rater', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='exclusions', to='annotator.rater')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='exclusions', to='annotator.study')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('item__isnull', True), ('judgment__isnull', True), ('rater__isnull', False)), models.Q(('item__isnull', False), ('judgment__isnull', True), ('rater__isnull', True)), models.Q(('item__isnull', True), ('judgment__isnull', False), ('rater__isnull', True)), _connector='OR'), name='exclusion_of_exactly_one_thing'), models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='exclusion_has_reason')],
            },
        ),
        migrations.CreateModel(
            name='DataRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('open', 'open'), ('done', 'carried out'), ('declined', 'declined')], default='open', max_length=8)),
                ('asked_at', models.DateTimeField(auto_now_add=True)),
                ('due_at', models.DateTimeField(default=annotator.models.erasure.due_date)),
                ('decided_at', models.DateTimeField(blank=True, null=True)),
                ('note', models.TextField(blank=True, help_text='What the participant is told. If the request is declined, the reason.')),
                ('decided_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('rater', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='data_requests', to='annotator.rater')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='data_requests', to='annotator.study')),
            ],
            options={
                'ordering': ['due_at'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'open')), fields=('study', 'rater'), name='data_request_one_open'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'declined'), _negated=True), models.Q(('note', ''), _negated=True), _connector='OR'), name='data_request_declined_with_reason')],
            },
        ),
        migrations.CreateModel(
            name='StudyImage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='The file name that material uses for the image.', max_length=150)),
                ('digest', models.CharField(help_text='SHA-256 of the file.', max_length=64)),
                ('media_type', models.CharField(choices=[('image/png', 'PNG'), ('image/jpeg', 'JPEG'), ('image/webp', 'WebP'), ('image/gif', 'GIF')], max_length=10)),
                ('width', models.PositiveIntegerField(help_text='Pixels.')),
                ('height', models.PositiveIntegerField(help_text='Pixels.')),
                ('size', models.PositiveIntegerField(help_text='Bytes.')),
                ('file', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='images', to='annotator.study')),
            ],
            options={
                'ordering': ['study', 'name'],
                'indexes': [models.Index(fields=['study', 'digest'], name='image_by_digest'), models.Index(fields=['file'], name='image_by_file')],
                'constraints': [models.UniqueConstraint(fields=('study', 'name'), name='image_name_once_in_study'), models.CheckConstraint(condition=models.Q(('digest__regex', '^[0-9a-f]{64}$')), name='image_digest_is_sha256')],
            },
        ),
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('action', models.CharField(max_length=40)),
                ('via', models.CharField(help_text='How it was done: page, api, command or job.', max_length=8)),
                ('address', models.CharField(blank=True, db_default='', help_text='The network of the address: /24 for IPv4, /48 for IPv6.', max_length=50)),
                ('target', models.CharField(blank=True, db_default='', help_text="What was changed or viewed, such as an item's key.", max_length=200)),
                ('before', models.JSONField(blank=True, default=dict)),
                ('after', models.JSONField(blank=True, default=dict)),
                ('actor', models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('member', models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='annotator.study')),
                ('workspace', models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='annotator.workspace')),
                ('subject', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='annotator.auditsubject')),
            ],
            options={
                'indexes': [models.Index(fields=['study', '-id'], name='audit_by_study'), models.Index(fields=['workspace', '-id'], name='audit_by_workspace'), models.Index(fields=['actor', '-id'], name='audit_by_actor')],
            },
        ),
        migrations.RunSQL(_APPEND_ONLY, _NOT_APPEND_ONLY),
    ]

"""The rows of the data set, as statements of SQL whose ids are computed, so that no statement has to look one up."""

MATERIAL = (
    "annotator_instance", "annotator_explanation", "annotator_followup", "annotator_output", "annotator_item"
)  # fmt: skip
WORK = ("annotator_assignment", "annotator_place", "annotator_judgment", "annotator_review")

PEOPLE = """
INSERT INTO annotator_user (password, is_superuser, username, first_name, last_name, email, is_staff, is_active, date_joined)
SELECT '!', false, 'person-' || lpad(n::text, 6, '0'), '', '', 'person-' || n || '@example.org', false, true, now()
FROM generate_series(1, %(pool)s) n;
INSERT INTO annotator_rater (kind, user_id, source, name, rehearsal, created_at)
SELECT 'human', id, 'login', username, false, now() FROM annotator_user WHERE username LIKE 'person-%%' ORDER BY id;
"""

#: A tenth of the instances' explanations belongs to each of ten follow-ups; each item asks one of them.
STUDY_MATERIAL = """
INSERT INTO annotator_instance (id, dataset_id, key, input, gold_label, gold_rationale)
SELECT %(instance)s + n, %(dataset)s, 'question-' || n, 'Could a bird of kind ' || n || ' cross the river before night?', 'yes', ''
FROM generate_series(0, (%(items)s - 1) / 40) n;
INSERT INTO annotator_explanation (id, instance_id, system_id, text, output, digest)
SELECT %(explanation)s + n, %(instance)s + n / 4, %(system)s + n %% 4, 'Birds of kind ' || n / 4 || ' have hollow bones and broad wings. '
    || repeat('A wide river has no wall, and a bird in good health flies for an hour without rest. ', 1 + n %% 5), 'yes', md5(n::text)
FROM generate_series(0, (%(items)s - 1) / 10) n;
INSERT INTO annotator_followup (id, instance_id, explanation_id, text, generator, kind, gold_label, digest)
SELECT %(follow_up)s + n, %(instance)s + n / 40, %(explanation)s + n / 10, 'Could its chick number ' || n || ' cross the road at noon?',
    'generator-' || n %% 2, 'counterfactual', '', md5(n::text)
FROM generate_series(0, %(items)s - 1) n;
INSERT INTO annotator_output (follow_up_id, system_id, text)
SELECT %(follow_up)s + n, %(system)s + n / 10 %% 4, CASE WHEN n %% 3 = 0 THEN 'no' ELSE 'yes' END
FROM generate_series(0, %(items)s - 1) n;
INSERT INTO annotator_item (id, study_id, key, payload, role, condition, instance_id, explanation_id, follow_up_id, parts, created_at)
SELECT %(item)s + n, %(study)s, 'item-' || n, jsonb_build_object(
    'question', 'Could a bird of kind ' || n / 40 || ' cross the river before night?',
    'explanation', 'Birds of kind ' || n / 40 || ' have hollow bones and broad wings. '
        || repeat('A wide river has no wall, and a bird in good health flies for an hour without rest. ', 1 + n / 10 %% 5),
    'answer', 'yes', 'follow_up', 'Could its chick number ' || n || ' cross the road at noon?'),
    'ordinary', 'system-' || n / 10 %% 4, %(instance)s + n / 40, %(explanation)s + n / 10, %(follow_up)s + n, '{}', %(began)s
FROM generate_series(0, %(items)s - 1) n;
"""

PARTICIPATIONS = """
INSERT INTO annotator_participation (id, study_id, rater_id, state, recruiter, recruiter_id, practice_done, cursor, joined_at,
    instructions_at, instructions_seen_id)
SELECT %(participation)s + n, %(study)s, %(rater)s + (n + %(shift)s) %% %(pool)s, 'active', '', '', 0, -1, %(began)s, %(began)s,
    %(snapshot)s
FROM generate_series(0, %(people)s - 1) n;
"""

#: The judgments from ``low`` to ``high``, in the order in which people made them: item by item, ten people each.
STUDY_WORK = """
INSERT INTO annotator_assignment (id, participation_id, item_id, rater_id, instance_id_of_item, snapshot_id, state, stage,
    presentation, draft, draft_version, taken_back, leased_at, lease_until, stage_opened_at, closed_at, reason)
SELECT %(assignment)s + n, %(participation)s + who, %(item)s + n / %(k)s, %(rater)s + (who + %(shift)s) %% %(pool)s,
    %(instance)s + n / %(k)s / 40, %(snapshot)s, 'submitted', 0, '{}', '{}', 0, 0, at - interval '40 seconds',
    at + interval '1 hour', at - interval '40 seconds', at, ''
FROM (SELECT n, n * 7919 %% %(people)s AS who, %(began)s + n * (%(days)s * interval '1 day') / %(judgments)s AS at
      FROM generate_series(%(low)s::bigint, %(high)s::bigint) n) made;
INSERT INTO annotator_place (id, study_id, item_id, number, position, freed, rehearsal, assignment_id)
SELECT %(place)s + n, %(study)s, %(item)s + n / %(k)s, 1 + n %% %(k)s, n / %(k)s, false, false, %(assignment)s + n
FROM generate_series(%(low)s::bigint, %(high)s::bigint) n;
INSERT INTO annotator_judgment (id, study_id, item_id, rater_id, snapshot_id, instructions_seen_id, assignment_id, place_id,
    response, digest, language, standing, source, seconds, signals, created_at)
SELECT %(judgment)s + n, %(study)s, %(item)s + n / %(k)s, %(rater)s + (who + %(shift)s) %% %(pool)s, %(snapshot)s, %(snapshot)s,
    %(assignment)s + n, %(place)s + n, (ARRAY[%(no)s, %(wrong)s, %(right)s])[said]::jsonb,
    (ARRAY[%(no_digest)s, %(wrong_digest)s, %(right_digest)s])[said], 'en', 'counted', 'web', spent,
    jsonb_build_object('stages', jsonb_build_object('simulation', spent), 'page_ms', spent * 1000, 'hidden_ms', 0, 'left', n %% 3, 'first_ms', 3000 + n %% 5000,
        'changes', 2, 'keys', 0, 'pastes', 0, 'pasted', 0, 'drawer', n %% 2),
    %(began)s + n * (%(days)s * interval '1 day') / %(judgments)s
FROM (SELECT n, n * 7919 %% %(people)s AS who, 8 + abs(hashint8(n)) %% 80 AS spent, CASE WHEN h < 20 THEN 1 WHEN h < 45 THEN 2 ELSE 3 END AS said
      FROM generate_series(%(low)s::bigint, %(high)s::bigint) n,
      LATERAL (SELECT abs(hashint8(CASE WHEN abs(hashint8(n)) %% 4 = 0 THEN n ELSE n / %(k)s END)) %% 100 AS h) x) made;
"""

OPEN_PLACES = """
INSERT INTO annotator_place (study_id, item_id, number, position, freed, rehearsal)
SELECT %(study)s, %(item)s + n, k, n, false, false
FROM generate_series(%(judgments)s / %(k)s, %(items)s - 1) n, generate_series(1, %(k)s) k;
"""

#: What researchers do afterwards: accept the work of every second small study, exclude every hundredth person of a study.
REVIEWS = """
INSERT INTO annotator_review (judgment_id, verdict, by_id, at)
SELECT %(judgment)s + n, 'accepted', %(owner)s, now() FROM generate_series(0, %(judgments)s - 1) n;
"""
EXCLUSIONS = """
INSERT INTO annotator_exclusion (study_id, rater_id, reason, created_by_id, created_at, collect_again)
SELECT study_id, rater_id, 'Always the same answer.', %(owner)s, now(), false FROM annotator_participation
WHERE study_id = %(study)s AND id %% 100 = 0;
"""

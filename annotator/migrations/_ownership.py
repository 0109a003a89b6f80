"""Puts what was made before there were workspaces into workspaces. Run again, it changes nothing more.

Everybody who works here gets a workspace of their own, and each set of people who own studies together gets one of
theirs. Nobody sees more than before: everybody else stays a member of single studies. One workspace for the whole
server would have opened every study to every researcher.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

# A system belongs to the workspace whose material names it first; the others get a copy of their own.
_SYSTEMS = """
CREATE TEMPORARY TABLE system_use AS
    SELECT DISTINCT e.system_id, d.workspace_id FROM annotator_explanation e
    JOIN annotator_instance i ON i.id = e.instance_id JOIN annotator_dataset d ON d.id = i.dataset_id
    UNION
    SELECT DISTINCT o.system_id, d.workspace_id FROM annotator_output o
    JOIN annotator_followup f ON f.id = o.follow_up_id
    JOIN annotator_instance i ON i.id = f.instance_id JOIN annotator_dataset d ON d.id = i.dataset_id;
UPDATE annotator_system y SET workspace_id = u.workspace_id
    FROM (SELECT system_id, min(workspace_id) AS workspace_id FROM system_use GROUP BY system_id) u
    WHERE u.system_id = y.id AND y.workspace_id IS NULL AND NOT EXISTS (
        SELECT FROM annotator_system z WHERE z.workspace_id = u.workspace_id AND z.name = y.name);
INSERT INTO annotator_system (workspace_id, name, model, method)
    SELECT u.workspace_id, y.name, y.model, y.method FROM system_use u
    JOIN annotator_system y ON y.id = u.system_id
    WHERE u.workspace_id IS DISTINCT FROM y.workspace_id ON CONFLICT DO NOTHING;
UPDATE annotator_explanation e SET system_id = z.id
    FROM annotator_instance i, annotator_dataset d, annotator_system y, annotator_system z
    WHERE i.id = e.instance_id AND d.id = i.dataset_id AND y.id = e.system_id
        AND y.workspace_id IS DISTINCT FROM d.workspace_id
        AND z.workspace_id IS NOT DISTINCT FROM d.workspace_id AND z.name = y.name;
UPDATE annotator_output o SET system_id = z.id
    FROM annotator_followup f, annotator_instance i, annotator_dataset d, annotator_system y, annotator_system z
    WHERE f.id = o.follow_up_id AND i.id = f.instance_id AND d.id = i.dataset_id AND y.id = o.system_id
        AND y.workspace_id IS DISTINCT FROM d.workspace_id
        AND z.workspace_id IS NOT DISTINCT FROM d.workspace_id AND z.name = y.name;
DROP TABLE system_use;
"""

# Who could work in a study still can: a qualification that counted in studies of several workspaces is kept in each,
# without the other's reason and name.
_QUALIFICATIONS = """
CREATE TEMPORARY TABLE qualification_use AS
    SELECT DISTINCT q.id AS qualification_id, s.workspace_id FROM annotator_qualification q
    JOIN annotator_participation p ON p.rater_id = q.rater_id JOIN annotator_study s ON s.id = p.study_id
    WHERE s.workspace_id IS NOT NULL AND q.workspace_id IS NULL
        AND (s.hit_type = q.hit_type OR s.requires::text LIKE '%"' || q.hit_type || '%');
UPDATE annotator_qualification q SET workspace_id = s.workspace_id
    FROM annotator_examattempt a JOIN annotator_participation p ON p.id = a.participation_id
    JOIN annotator_study s ON s.id = p.study_id
    WHERE q.attempt_id = a.id AND q.workspace_id IS NULL;
UPDATE annotator_qualification q SET workspace_id = u.workspace_id FROM (
    SELECT DISTINCT ON (u.qualification_id) u.qualification_id, u.workspace_id
    FROM qualification_use u JOIN annotator_qualification g ON g.id = u.qualification_id
    LEFT JOIN annotator_workspacemember m ON m.workspace_id = u.workspace_id AND m.user_id = g.granted_by_id
    ORDER BY u.qualification_id, m.id IS NULL, u.workspace_id) u
    WHERE u.qualification_id = q.id AND q.workspace_id IS NULL;
UPDATE annotator_qualification q SET workspace_id = w.id FROM annotator_workspace w
    WHERE w.personal_of_id = q.granted_by_id AND q.workspace_id IS NULL;
INSERT INTO annotator_qualification
    (workspace_id, rater_id, hit_type, exam_id, granted_at, revoked_at, reason)
    SELECT u.workspace_id, q.rater_id, q.hit_type, q.exam_id, q.granted_at, q.revoked_at,
        'Held before qualifications belonged to workspaces.'
    FROM qualification_use u JOIN annotator_qualification q ON q.id = u.qualification_id
    WHERE u.workspace_id <> q.workspace_id ON CONFLICT DO NOTHING;
DROP TABLE qualification_use;
"""


def workspace_of_owners(apps: Any, owners: frozenset[int]) -> Any:
    """The workspace that these people own, made where there is none; one person's is their own."""
    workspaces = apps.get_model("annotator", "Workspace").objects
    names = dict(
        apps.get_model("annotator", "User").objects.filter(pk__in=owners).values_list("pk", "username")
    )
    [first, *more] = sorted(owners)
    if not more:
        name = f"{names[first][:80]}'s workspace"
        found, _ = workspaces.get_or_create(personal_of_id=first, defaults={"name": name})
    else:
        found = workspaces.create(name=", ".join(names[pk] for pk in sorted(owners))[:100])
    for pk in owners:
        found.members.get_or_create(user_id=pk, defaults={"role": "owner"})
    return found


def workspaces_fill(apps: Any, schema_editor: Any) -> None:
    """Studies, their datasets, systems and qualifications."""
    connection = schema_editor.connection
    dataset, study = apps.get_model("annotator", "Dataset"), apps.get_model("annotator", "Study")
    staff = apps.get_model("annotator", "User").objects.filter(is_staff=True, is_active=True)
    owners: dict[int, set[int]] = defaultdict(set)
    owning = apps.get_model("annotator", "Membership").objects.filter(
        role="owner", study__workspace__isnull=True
    )
    for study_pk, user_pk in owning.values_list("study_id", "user_id"):
        owners[study_pk].add(user_pk)
    sets = {frozenset(people) for people in owners.values()}
    sets |= {frozenset([pk]) for pk in staff.values_list("pk", flat=True)}
    made = {people: workspace_of_owners(apps, people) for people in sorted(sets, key=sorted)}
    for one in study.objects.filter(pk__in=owners).order_by("pk"):
        workspace = made[frozenset(owners[one.pk])]
        study.objects.filter(pk=one.pk).update(workspace=workspace)
        dataset.objects.filter(name=one.slug, workspace__isnull=True).update(workspace=workspace)
    systems_split(connection)
    with connection.cursor() as cursor:
        cursor.execute(_QUALIFICATIONS)


def systems_split(connection: Any) -> None:
    """Give each workspace systems of its own for the material of its datasets."""
    with connection.cursor() as cursor:
        cursor.execute(_SYSTEMS)

"""``DATABASE_URL=... python -m benchmarks.report [--judgments 1000000] [--replicates 0]``

Creates a study of follow-ups with three raters each directly in the database (only the first time), then computes and stores
its report in this process as the job does, and prints seconds and peak memory for each step.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import time

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "foretell.settings")
import django

django.setup()

from django.db import connection  # noqa: E402

from annotator.models import Dataset, Study, User  # noqa: E402
from annotator.services.study import study_create  # noqa: E402
from evaluation.models import Report  # noqa: E402
from evaluation.services import report as service  # noqa: E402

RATERS, SYSTEMS, FOLLOW_UPS = 500, 4, 10

MATERIAL = """
INSERT INTO annotator_rater (kind, source, name, rehearsal, created_at)
  SELECT 'human', 'import:' || %(slug)s, 'w' || lpad(i::text, 4, '0'), false, now() FROM generate_series(1, %(raters)s) i;
INSERT INTO annotator_system (name, model, method)
  SELECT %(slug)s || '-' || i, 'model-' || (i + 1) / 2, CASE WHEN i %% 2 = 1 THEN 'chain of thought' ELSE 'post-hoc' END
  FROM generate_series(1, %(systems)s) i ON CONFLICT DO NOTHING;
INSERT INTO annotator_instance (dataset_id, key, input, gold_label, gold_rationale)
  SELECT %(dataset)s, 'q' || i, 'Is ' || i || ' a number that can be written?', 'yes', '' FROM generate_series(1, %(instances)s) i;
INSERT INTO annotator_explanation (instance_id, system_id, text, output, digest)
  SELECT i.id, s.id, 'Because of reason ' || i.id, 'yes', s.id::text
  FROM annotator_instance i, annotator_system s WHERE i.dataset_id = %(dataset)s AND s.name LIKE %(slug)s || '-%%';
INSERT INTO annotator_followup (instance_id, explanation_id, text, generator, kind, gold_label, digest)
  SELECT e.instance_id, e.id, 'Would thing ' || (n * 7 %% 13) || ' of ' || e.id || ' also cross river ' || (n * e.id %% 29) || ' by night?',
         'generator-' || n %% 2, 'counterfactual', '', n::text
  FROM annotator_explanation e JOIN annotator_instance i ON i.id = e.instance_id, generate_series(1, %(follow_ups)s) n
  WHERE i.dataset_id = %(dataset)s;
INSERT INTO annotator_output (follow_up_id, system_id, text)
  SELECT f.id, e.system_id, CASE WHEN f.id %% 3 = 0 THEN 'no' ELSE 'yes' END FROM annotator_followup f
  JOIN annotator_explanation e ON e.id = f.explanation_id JOIN annotator_instance i ON i.id = f.instance_id
  WHERE i.dataset_id = %(dataset)s;
INSERT INTO annotator_item (study_id, key, payload, role, condition, instance_id, explanation_id, follow_up_id, parts, created_at)
  SELECT %(study)s, 'item-' || f.id, jsonb_build_object('question', 'Is it?', 'explanation', 'Because', 'answer', 'yes', 'follow_up', f.text),
         'ordinary', '', f.instance_id, f.explanation_id, f.id, '{}', now()
  FROM annotator_followup f JOIN annotator_instance i ON i.id = f.instance_id WHERE i.dataset_id = %(dataset)s
  ORDER BY f.id LIMIT %(items)s;
WITH raters AS (SELECT id, row_number() OVER (ORDER BY id) - 1 AS n FROM annotator_rater WHERE source = 'import:' || %(slug)s),
     items AS (SELECT id, row_number() OVER (ORDER BY id) AS n FROM annotator_item WHERE study_id = %(study)s)
INSERT INTO annotator_judgment (study_id, item_id, rater_id, response, digest, standing, source, seconds, signals, created_at)
  SELECT %(study)s, i.id, r.id, x.response, md5(x.response::text), 'counted', 'import', 12, '{}', now()
  FROM items i CROSS JOIN generate_series(0, 2) k JOIN raters r ON r.n = ((i.n * 3 + k) * 7919) %% %(raters)s
  CROSS JOIN LATERAL (SELECT (CASE WHEN h < 20 THEN '{"helpful": "no"}' WHEN h < 45 THEN '{"helpful": "yes", "answer": "no"}'
    ELSE '{"helpful": "yes", "answer": "yes"}' END)::jsonb AS response
    FROM (SELECT abs(hashtext(i.n::text || CASE WHEN abs(hashint8(i.n * 31 + k)) %% 4 = 0 THEN k::text ELSE '' END)) %% 100 AS h) y) x;
"""


def study_of(judgments: int) -> Study:
    """The study with that many judgments, created if it doesn't exist."""
    slug = f"benchmark-{judgments}"
    found = Study.objects.filter(slug=slug).first()
    if found:
        return found
    study = study_create(by=None, slug=slug, title=f"{judgments:,} judgments", hit_type="simulation")
    items = judgments // 3
    values = {
        "slug": slug,
        "study": study.pk,
        "dataset": Dataset.objects.create(name=slug).pk,
        "raters": RATERS,
        "systems": SYSTEMS,
        "instances": -(-items // (SYSTEMS * FOLLOW_UPS)),
        "follow_ups": FOLLOW_UPS,
        "items": items,
    }
    with connection.cursor() as cursor:
        for statement in MATERIAL.split(";\n"):
            if statement.strip():
                cursor.execute(statement, values)
                cursor.execute("ANALYZE")  # else Postgres joins ten million items to raters one by one
    return study


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judgments", type=int, default=1_000_000)
    parser.add_argument("--replicates", type=int, default=0)
    options = parser.parse_args()
    study = study_of(options.judgments)
    import altair
    import sklearn.feature_extraction.text  # noqa: F401 - a worker has them loaded after its first report
    import vl_convert

    vl_convert.vegalite_to_svg(altair.Chart().mark_point().to_dict())
    service._send = lambda report_id: None  # this process is the worker
    report = service.report_create(study=study, choices={"replicates": options.replicates})
    idle, start, used = _peak(), time.perf_counter(), time.process_time()
    steps: list[tuple[str, float, int]] = []
    update = Report.objects.none().update.__func__

    def timed(self, **values):  # the progress lines show where the time is spent
        if values.get("progress"):
            steps.append((values["progress"], time.process_time() - used, _peak()))
        return update(self, **values)

    type(Report.objects.none()).update = timed
    service.report_compute(report_pk=report.pk)
    seconds, processor = time.perf_counter() - start, time.process_time() - used
    peak = _peak()
    report.refresh_from_db()
    ends = [*steps[1:], ("", processor, peak)]
    print(
        json.dumps(
            {
                "judgments": options.judgments,
                "replicates": options.replicates,
                "state": report.state,
                "seconds": round(seconds, 2),
                "processor_seconds": round(processor, 2),
                "idle_mb": idle,
                "peak_mb": peak,
                "page": _page(report),
                "steps": {
                    name: f"{end - at:.2f} s of processor, peak {peak} MB"
                    for (name, at, _), (_, end, peak) in zip(steps, ends, strict=True)
                },
            },
            indent=2,
        )
    )


def _page(report: Report) -> str:
    """The stored report's page as a researcher opens it: the server's time, the median of five."""
    from django.test import Client

    user, _ = User.objects.get_or_create(username="benchmark", is_staff=True, is_superuser=True)
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(user)
    times = []
    for _ in range(5):
        start, used = time.perf_counter(), time.process_time()
        reply = client.get(f"/reports/{report.pk}/")
        assert reply.status_code == 200, reply.status_code
        times.append((time.perf_counter() - start, time.process_time() - used))
    seconds, processor = (statistics.median(column) for column in zip(*times, strict=True))
    return (
        f"{seconds * 1000:.0f} ms, {processor * 1000:.0f} ms of processor, {len(reply.content) / 1000:.0f} kB"
    )


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    main()

"""Statistics of an exam: each question's difficulty and discrimination, and exam results compared with later work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan, sqrt

from django.db import connection

from annotator.core.kept_figures import StudyCount
from annotator.core.time_limit import in_time
from annotator.models import Exam, ExamAttempt, ExamQuestion, Judgment, Study
from annotator.selectors.study import study_hit_type

#: The fewest people for whom a correlation is reported (with two it is always 1 or -1).
LEAST = 3

_FIRST = """
WITH first AS (
    SELECT DISTINCT ON (a.participation_id) a.id, a.score, jsonb_array_length(a.drawn) AS drawn
    FROM annotator_examattempt a
    JOIN annotator_participation p ON p.id = a.participation_id JOIN annotator_rater r ON r.id = p.rater_id
    WHERE a.exam_id = %(exam)s AND p.study_id = %(study)s AND a.submitted_at IS NOT NULL AND NOT r.rehearsal
    ORDER BY a.participation_id, a.number
), answered AS (
    SELECT n.question_id, n."right"::int AS one, (f.score - n."right"::int)::float / NULLIF(f.drawn - 1, 0) AS rest
    FROM first f JOIN annotator_examanswer n ON n.attempt_id = f.id
)
SELECT question_id, count(*), sum(one), corr(one, rest), count(DISTINCT rest), count(rest) FROM answered GROUP BY 1
"""


@dataclass(frozen=True)
class QuestionFigures:
    """One question of an exam version, over the first attempts of a study's people (rehearsal raters are left out).

    ``difficulty`` is the share of correct answers (1: everybody). ``discrimination`` is the point-biserial correlation
    of the question with the rest of the exam: Pearson's r of right (1) or wrong (0) with the share of the person's
    *other* drawn questions that were right; in [-1, 1]. Either is ``nan`` if undefined, and ``why`` says why.
    """

    question: ExamQuestion
    n: int
    right: int
    difficulty: float
    discrimination: float
    why: str

    @property
    def look(self) -> bool:
        """Whether people who did well on other questions did no better on this one: it may be wrong or unclear."""
        return self.discrimination < 0.1


def exam_versions_of(study: Study) -> list[Exam]:
    """The exam versions that people of the study took, and the current one; newest first."""
    used = set(ExamAttempt.objects.filter(participation__study=study).values_list("exam_id", flat=True))
    if study.snapshot and study.snapshot.content["exam"]:
        used.add(study.snapshot.content["exam"])
    return list(Exam.objects.filter(pk__in=used).order_by("-created_at", "-pk"))


def exam_people(*, exam: Exam, study: Study) -> int:
    """How many people of the study submitted this version at least once."""
    attempts = ExamAttempt.objects.filter(exam=exam, participation__study=study, submitted_at__isnull=False)
    return attempts.filter(participation__rater__rehearsal=False).values("participation").distinct().count()


def exam_figures(*, exam: Exam, study: Study) -> list[QuestionFigures]:
    """Difficulty and discrimination of every question of an exam version, in the exam's order; two queries."""
    with connection.cursor() as cursor:
        cursor.execute(_FIRST, {"exam": exam.pk, "study": study.pk})
        found = {row[0]: row[1:] for row in cursor.fetchall()}
    return [
        _figures(question, *found.get(question.pk, (0, 0, None, 0, 0))) for question in exam.questions.all()
    ]


def _figures(
    question: ExamQuestion, n: int, right: int, correlation: float | None, rests: int, with_rest: int
) -> QuestionFigures:
    if not n:
        why = "nobody has answered it yet"
    elif not with_rest:
        why = "the exam has no other questions"
    elif n < LEAST:
        why = f"fewer than {LEAST} people"
    elif right in (0, n):
        why = "everyone was right" if right else "nobody was right"
    elif rests == 1:
        why = "everyone had the same share of the other questions right"
    else:
        why = ""
    return QuestionFigures(
        question,
        n,
        right,
        right / n if n else nan,
        nan if why or correlation is None else max(-1.0, min(1.0, correlation)),
        why,
    )


# -- against later work ---------------------------------------------------------------------------------------

_ALIKE = StudyCount(
    "likeness of answers",
    """
WITH counted AS (
    SELECT j.id, j.item_id, j.rater_id, j.digest FROM annotator_judgment j JOIN annotator_rater r ON r.id = j.rater_id
    WHERE j.study_id = %(study)s AND j.standing = 'counted' AND j.source = 'web' AND r.kind = 'human'
        AND NOT r.rehearsal
), same AS (
    SELECT *, count(*) OVER (PARTITION BY item_id, digest) - 1 AS alike,
        count(*) OVER (PARTITION BY item_id) - 1 AS others FROM counted
)
SELECT rater_id, count(*), sum(alike)::float, sum(others)::float FROM same GROUP BY rater_id
""",
)


@dataclass(frozen=True)
class RaterQuality:
    """A person's exam score and measures of their later work. ``exam`` is the share of correct answers in the attempt
    that they passed, ``gold`` the share of gold and attention items answered entirely correctly, ``alike`` the share of
    other people's answers to the same items that are identical. ``nan`` if there is nothing to compute it from.
    """

    name: str
    exam: float
    judgments: int
    gold: float
    gold_n: int
    alike: float


@dataclass(frozen=True)
class Relation:
    """Spearman's rank correlation of the exam with a measure of later work over ``n`` people; ``why`` says why it is
    undefined."""

    title: str
    measure: str
    n: int
    rho: float
    why: str
    points: tuple[tuple[float, float, str], ...]


def raters_quality(*, study: Study) -> list[RaterQuality]:
    """Everybody who passed an exam of the study and judged something; best exam first."""
    passed: dict[int, tuple[str, float]] = {}
    attempts = ExamAttempt.objects.filter(
        participation__study=study, submitted_at__isnull=False, participation__rater__rehearsal=False
    )
    rows = attempts.order_by("number").values_list(
        "participation__rater_id", "participation__rater__name", "score", "pass_mark", "drawn"
    )
    for rater, name, score, mark, drawn in rows:
        if score is not None and score >= mark and drawn:
            passed[rater] = (name, score / len(drawn))
    gold = _gold(study)
    work = {rater: rest for rater, *rest in _ALIKE.rows({"study": study.pk})}
    found = []
    for rater, (name, share) in passed.items():
        if rater not in work:
            continue
        count, alike, others = work[rater]
        right, n = gold.get(rater, (0, 0))
        found.append(
            RaterQuality(name, share, count, right / n if n else nan, n, alike / others if others else nan)
        )
    return sorted(found, key=lambda one: (-one.exam, one.name))


def _gold(study: Study) -> dict[int, tuple[int, int]]:
    """Rater -> (entirely correct, graded) over the study's items with gold."""
    return {rater: (right, n) for rater, right, n in _GOLD.rows([study.pk])}


def _gold_counted(study_pk: int) -> list[tuple[int, int, int]]:
    kind = study_hit_type(Study.objects.get(pk=study_pk))
    counts: dict[int, tuple[int, int]] = {}
    rows = Judgment.objects.filter(study=study_pk, item__gold__isnull=False, standing="counted", source="web")
    for rater, response, gold in in_time(
        rows.values_list("rater_id", "response", "item__gold").iterator(chunk_size=2000)
    ):
        right, n = counts.get(rater, (0, 0))
        counts[rater] = (right + kind.grade(response, gold or {}).passed, n + 1)
    return [(rater, right, n) for rater, (right, n) in counts.items()]


_GOLD = StudyCount("answers to gold items", count=_gold_counted)


def relations(people: Sequence[RaterQuality]) -> list[Relation]:
    """The correlation of the exam with each measure of later work."""
    return [
        _relation(
            "right on gold items", "gold", [(p.exam, p.gold, p.name) for p in people], "no gold items judged"
        ),
        _relation(
            "answers like others'", "alike", [(p.exam, p.alike, p.name) for p in people], "no items shared"
        ),
    ]


def _relation(title: str, measure: str, every: list[tuple[float, float, str]], none: str) -> Relation:
    points = tuple(one for one in every if one[1] == one[1])
    exams, later = [x for x, _, _ in points], [y for _, y, _ in points]
    if not every:
        why = "nobody who passed the exam has judged anything yet"
    elif not points:
        why = none
    elif len(points) < LEAST:
        why = f"fewer than {LEAST} people"
    elif len(set(exams)) == 1 or len(set(later)) == 1:
        why = "all the same " + ("in the exam" if len(set(exams)) == 1 else "afterwards")
    else:
        why = ""
    return Relation(title, measure, len(points), nan if why else spearman(exams, later), why, points)


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's rho with mean ranks for ties (Pearson's r of the ranks); ``nan`` if one variable is constant. Pure
    Python, because web processes don't load numerical libraries and a page shows few raters.

    >>> round(spearman([1, 2, 3, 4], [1, 3, 2, 4]), 3), spearman([1, 1], [1, 2])
    (0.8, nan)
    """
    a, b = _ranks(first), _ranks(second)
    mean = (len(a) + 1) / 2
    top = sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True))
    below = sqrt(sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b))
    return top / below if below else nan


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in range(start, end + 1):
            ranks[order[place]] = (start + end) / 2 + 1
        start = end + 1
    return ranks

"""Agreement on spans: against alpha of texts written out by characters, F1 and confusion by loops, degenerate tables."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations, permutations, product

import krippendorff
import numpy as np
import pytest
from nltk.metrics.agreement import AnnotationTask

from evaluation.agreement import Ratings
from evaluation.agreement.span_agreement import span_agreement
from evaluation.agreement.value_forms import Span, read_spans

CATEGORIES = ("omission", "style", "wrong")


def drawn(seed, *, units=8, raters=4, missing=0.3):
    """Rows with overlapping spans near common places, and each text's length."""
    rng = np.random.default_rng(seed)
    lengths = {f"u{unit}": int(rng.integers(20, 60)) for unit in range(units)}
    rows = []
    for unit, length in lengths.items():
        starts = rng.integers(0, length - 10, size=2)
        for rater in range(raters):
            if rng.random() < missing:
                continue
            spans = []
            for start in starts[rng.random(2) < 0.8]:
                begin = int(start + rng.integers(0, 3) * rng.integers(0, 2))
                category = CATEGORIES[int(rng.integers(0, 3)) if rng.random() < 0.3 else int(start) % 3]
                spans.append(
                    {"start": begin, "end": begin + int(rng.integers(3, 6)), "category": category}
                    | ({"severity": str(rng.choice(["minor", "major"]))} if rng.random() < 0.8 else {})
                )
            rows.append((f"r{rater}", unit, json.dumps(spans)))
    return rows, lengths


def by_characters(rows, lengths):
    """Each text's characters: unit -> {rater: list of sets of categories}."""
    found: dict[str, dict[str, list[frozenset[str]]]] = {}
    for rater, unit, text in rows:
        spans = read_spans(text)
        found.setdefault(unit, {})[rater] = [
            frozenset(s.category for s in spans if s.start <= place < s.end) for place in range(lengths[unit])
        ]
    return found


def package_alpha(characters, value_of):
    """The krippendorff package's alpha of a matrix with a column for each character."""
    raters = sorted({rater for unit in characters.values() for rater in unit})
    columns = []
    for unit in characters.values():
        size = len(next(iter(unit.values())))
        columns += [
            [value_of(unit[rater][place]) if rater in unit else np.nan for rater in raters]
            for place in range(size)
        ]
    return krippendorff.alpha(np.array(columns, dtype=float).T, level_of_measurement="nominal")


@pytest.mark.parametrize("seed", range(8))
def test_alpha_against_texts_written_out_by_characters(seed):
    rows, lengths = drawn(seed)
    found = span_agreement(Ratings.from_rows(rows), lengths=lengths)
    characters = by_characters(rows, lengths)
    assert found.marked.value == pytest.approx(package_alpha(characters, bool), abs=1e-8)
    for name, value in found.by_category.items():
        assert value.value == pytest.approx(package_alpha(characters, lambda s, n=name: n in s), abs=1e-8)
    assert found.marked.n == sum(lengths[u] * len(one) for u, one in characters.items() if len(one) > 1)


@pytest.mark.parametrize("seed", range(3))
def test_alpha_of_categories_against_nltk(seed):
    """nltk needs the same raters for all units."""
    rows, lengths = drawn(seed, units=3, missing=0.0)
    data = [
        (rater, (unit, place), marks)
        for unit, raters in by_characters(rows, lengths).items()
        for rater, every in raters.items()
        for place, marks in enumerate(every)
    ]
    expected = AnnotationTask(
        data, distance=lambda a, b: 1 - len(a & b) / len(a | b) if a | b else 0.0
    ).alpha()
    found = span_agreement(Ratings.from_rows(rows), lengths=lengths)
    assert found.categorised.value == pytest.approx(expected, abs=1e-8)


def overlaps(a: Span, b: Span) -> bool:
    return min(a.end, b.end) > max(a.start, b.start)


@pytest.mark.parametrize("seed", range(8))
def test_f1_and_confusion_by_loops(seed):
    rows, lengths = drawn(seed)
    found = span_agreement(Ratings.from_rows(rows), lengths=lengths)
    units: dict[str, dict[str, tuple[Span, ...]]] = {}
    for rater, unit, text in rows:
        units.setdefault(unit, {})[rater] = read_spans(text)
    exact: Counter[tuple[str, str]] = Counter()
    overlapping, spans = exact.copy(), exact.copy()
    confusion: Counter[tuple[str, str]] = Counter()
    alone: Counter[str] = Counter()
    for given in units.values():
        for a, b in permutations(sorted(given), 2):
            pair = (min(a, b), max(a, b))
            spans[pair] += len(given[a])
            ends = {(s.start, s.end, s.category) for s in given[b]}
            exact[pair] += sum((s.start, s.end, s.category) in ends for s in given[a])
            for one in given[a]:
                met = [other for other in given[b] if overlaps(one, other)]
                overlapping[pair] += any(other.category == one.category for other in met)
                alone[one.category] += not met
                confusion.update((one.category, other.category) for other in met)
    assert found.exact.value == pytest.approx(exact.total() / spans.total(), abs=1e-12)
    assert found.overlapping.value == pytest.approx(overlapping.total() / spans.total(), abs=1e-12)
    assert found.exact.n == spans.total()
    for row in found.pairs:
        pair = (row.first, row.second)
        assert row.exact.value == pytest.approx(exact[pair] / spans[pair], abs=1e-12)
        assert row.overlapping.value == pytest.approx(overlapping[pair] / spans[pair], abs=1e-12)
    met_by = {tuple(sorted(pair)) for given in units.values() for pair in combinations(given, 2)}
    assert {(row.first, row.second) for row in found.pairs} == met_by
    for (i, one), (j, other) in product(enumerate(found.categories), repeat=2):
        assert found.confusion[i, j] == confusion[one, other]
    assert found.unmatched.tolist() == [alone[name] for name in found.categories]


def test_severities_of_exact_matches():
    def value(severity: str) -> str:
        return json.dumps([{"start": 0, "end": 3, "category": "x", "severity": severity}])

    rows = [
        ("a", "u", value("minor")),
        ("b", "u", value("major")),
        ("a", "v", value("minor")),
        ("b", "v", value("minor")),
    ]
    found = span_agreement(Ratings.from_rows(rows), lengths={"u": 5, "v": 5})
    assert found.severities.value == 0.5
    assert found.severities.n == 2
    assert span_agreement(Ratings.from_rows(rows[2:])).severities.value == 1.0


def test_without_lengths_a_text_ends_with_its_last_span():
    rows = [("a", "u", '[{"start": 0, "end": 4}]'), ("b", "u", '[{"start": 2, "end": 6}]')]
    found = span_agreement(Ratings.from_rows(rows))
    assert not found.whole
    assert found.marked.value == span_agreement(Ratings.from_rows(rows), lengths={"u": 6}).marked.value
    assert found.categories == ("(none)",)


def test_undefined_with_its_reason():
    nothing = span_agreement(Ratings.from_rows([("a", "u", "[]"), ("b", "u", "[]")]), lengths={"u": 9})
    assert nothing.marked.reason == "all raters gave the same label"
    assert nothing.exact.reason.startswith("no unit has two ratings of which one marks a span")
    assert nothing.empty == 2
    assert nothing.pairs[0].exact.reason == "neither marks a span"
    alone = span_agreement(Ratings.from_rows([("a", "u", '[{"start": 0, "end": 4}]')]))
    assert alone.marked.reason == "no unit has two ratings"
    assert not span_agreement(Ratings.from_rows([])).overlapping.defined


@pytest.mark.parametrize(
    "text", ['[{"start": 4, "end": 4}]', '[{"start": -1, "end": 4}]', '[{"start": 0}]', "[3]", "x", '{"start": 0}', '[{"start": 0.5, "end": 2}]', '[{"start": 0, "end": 2, "category": 3}]'],
)  # fmt: skip
def test_what_is_no_span_is_refused(text):
    with pytest.raises(ValueError, match="expected a JSON list of spans"):
        span_agreement(Ratings.from_rows([("a", "u", text)]))


def test_lengths_must_fit():
    table = Ratings.from_rows([("a", "u", '[{"start": 0, "end": 4}]')])
    with pytest.raises(ValueError, match="'u': a span ends at character 4, behind the end of its text at 3"):
        span_agreement(table, lengths={"u": 3})
    with pytest.raises(ValueError, match="none is given for 'u'"):
        span_agreement(table, lengths={})
    many = json.dumps([{"start": 0, "end": 1, "category": str(n)} for n in range(63)])
    with pytest.raises(ValueError, match="63 categories; at most 62"):
        span_agreement(Ratings.from_rows([("a", "u", many)]))


def test_intervals_over_instances():
    rows, lengths = drawn(1, units=40)
    clusters = {unit: str(int(unit[1:]) // 2) for unit in lengths}
    table = Ratings.from_rows(rows, cluster_of=clusters)
    found = span_agreement(table, lengths=lengths, rng=np.random.default_rng(0), replicates=200)
    for one in (found.marked, found.categorised, found.exact, found.overlapping):
        assert one.low < one.value < one.high
        assert "instances" in one.interval


def _one(start, end, severity=""):
    return {"start": start, "end": end, "category": "wrong"} | ({"severity": severity} if severity else {})


def test_what_is_left_out_of_alpha_is_counted_in_characters():
    spans = json.dumps([_one(0, 4)])
    rows = [("a", "u", spans), ("b", "u", spans), ("a", "v", spans)]
    found = span_agreement(Ratings.from_rows(rows), lengths={"u": 10, "v": 30})
    assert found.marked.left_out == {"characters of texts with a single rating": 30}


def test_a_single_severity_is_a_severity():
    spans = json.dumps([_one(0, 4, "major")])
    rows = [("a", "u", spans), ("b", "u", spans)]
    found = span_agreement(Ratings.from_rows(rows)).severities
    assert (found.value, found.n) == (1.0, 1)
    bare = span_agreement(Ratings.from_rows([(rater, "u", json.dumps([_one(0, 4)])) for rater in "ab"]))
    assert bare.severities.reason == "spans have no severities"


@pytest.mark.parametrize(
    ("first", "second", "f1", "same"),
    [
        (["major", "minor"], ["minor"], 2 / 3, 1.0),  # one of three spans has no counterpart
        (["major", "minor"], ["major", "minor"], 1.0, 1.0),
        (["major", "minor"], ["minor", "slight"], 1.0, 0.5),
    ],
)
def test_an_equal_span_is_matched_once(first, second, f1, same):
    rows = [
        (rater, "u", json.dumps([_one(0, 4, one) for one in severities]))
        for rater, severities in (("a", first), ("b", second))
    ]
    found = span_agreement(Ratings.from_rows(rows))
    assert found.exact.value == pytest.approx(f1)
    assert found.pairs[0].exact.value == pytest.approx(f1)
    assert found.severities.value == pytest.approx(same)


def test_a_span_beyond_any_text_is_refused():
    with pytest.raises(ValueError, match="0 <= start < end <= 1000000000"):
        read_spans('[{"start": 0, "end": 1000000001}]')
    assert read_spans('[{"start": 0, "end": 1000000000}]')[0].end == 10**9

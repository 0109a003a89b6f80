"""Follow-ups in coded columns give what follow-ups in arrays of objects give."""

from typing import Any

import numpy as np
import pytest

from evaluation.core.names import NamesArray
from evaluation.metrics import NOT_RATED, TIED, FollowUps, simulatability
from evaluation.metrics.coded_columns import CodedTexts
from evaluation.metrics.simulatability import by, per_explanation

ROWS = 60
LABELS = ("yes", "no", "cannot guess")
REAL = ("yes", "refusal", "no", "neither")
COLUMNS = ("unit", "explanation", "instance", "system", "simulated", "real", "generator", "kind", "missing")


def tables(**options: Any) -> tuple[FollowUps, FollowUps]:
    """The same follow-ups as arrays of objects and as codes."""
    rng = np.random.default_rng(7)
    explanation = rng.integers(0, 12, ROWS)
    simulated, real = rng.integers(-1, 3, ROWS), rng.integers(-1, 4, ROWS)
    missing = np.where(simulated >= 0, 0, rng.integers(1, 3, ROWS))
    # Names that don't occur, and an order that isn't sorted, as they come from Postgres.
    columns = {
        "unit": CodedTexts(
            np.arange(ROWS, dtype=np.int32)[::-1], NamesArray.of([f"u{n}" for n in range(ROWS)])
        ),
        "explanation": CodedTexts.of(explanation, [f"e{12 - n}" for n in range(13)]),
        "instance": CodedTexts.of(explanation // 3, ["z", "x", "y", "unused", "a"]),
        "system": CodedTexts.of(explanation % 2, ["s2", "s1"]),
        "simulated": CodedTexts.of(simulated, LABELS),
        "real": CodedTexts.of(real, REAL),
        "generator": CodedTexts.of(rng.integers(0, 2, ROWS), ["g", ""]),
        "kind": CodedTexts.constant("", ROWS),
        "missing": CodedTexts.of(missing, ("", TIED, NOT_RATED)),
    }
    plain: dict[str, Any] = {name: column.values() for name, column in columns.items()}
    same: dict[str, Any] = {**options, "abstain": {"cannot guess"}}
    return FollowUps(**plain, **same), FollowUps(**columns, **same)  # type: ignore[arg-type]


@pytest.mark.parametrize("refusals_left_out", [False, True])
@pytest.mark.parametrize("ties_wrong", [False, True])
def test_everything_is_the_same(refusals_left_out, ties_wrong):
    plain, coded = tables(refusals_left_out=refusals_left_out, ties_wrong=ties_wrong)
    kept = np.arange(ROWS) % 3 > 0
    for one, two in (
        (plain, coded),
        (plain.take(kept), coded.take(kept)),
        (plain.where("system", "s1"), coded.where("system", "s1")),
        (plain.where("system", "nobody"), coded.where("system", "nobody")),
    ):
        assert len(one) == len(two)
        for name in COLUMNS:
            assert getattr(one, name).tolist() == getattr(two, name).tolist()
            assert (
                one.among(name, {"s1", "yes", "u3"}).tolist() == two.among(name, {"s1", "yes", "u3"}).tolist()
            )
        for name in ("explanation", "instance", "system", "generator"):
            assert one.codes(name)[0].tolist() == two.codes(name)[0].tolist()
            assert one.codes(name)[1] == two.codes(name)[1]
            assert two.codes(name)[0].dtype == np.int64
            assert one.distinct(name) == two.distinct(name)
        for name in ("labelled", "simulatable", "known", "predicted", "tied", "unanswered", "right"):
            assert getattr(one, name).tolist() == getattr(two, name).tolist(), name
        assert one.of_explanation("instance").tolist() == two.of_explanation("instance").tolist()
        assert one.why_unlabelled() == two.why_unlabelled()
        assert list(per_explanation(one).rows()) == list(per_explanation(two).rows())


def test_figures_are_the_same_digit_by_digit():
    plain, coded = tables()
    found = [
        by(one, "system", rng=np.random.default_rng(3), replicates=50) | {"all": simulatability(one)}
        for one in (plain, coded)
    ]
    assert found[0].keys() == found[1].keys()
    for name in found[0]:
        for figure in ("precision", "precision_micro", "simulatable", "simulatable_macro", "unanswered"):
            assert getattr(found[0][name], figure) == getattr(found[1][name], figure)


def test_units_of_a_part_are_found_in_another():
    plain, coded = tables()
    kept = np.arange(ROWS) < 10
    assert coded.units_in(coded.take(kept)).tolist() == kept.tolist()
    assert coded.units_in(plain.take(kept)).tolist() == kept.tolist()


def test_replacing_a_column_keeps_the_others_as_codes():
    _, coded = tables()
    found = coded.with_columns(generator=["h"] * ROWS)
    assert found.generator.tolist() == ["h"] * ROWS  # type: ignore[attr-defined]
    assert all(found.column(name) is coded.column(name) for name in COLUMNS if name != "generator")


def test_a_wrong_table_is_refused():
    _, coded = tables()
    with pytest.raises(ValueError, match="unit occurs twice"):
        FollowUps(
            **{name: coded.column(name) for name in COLUMNS if name != "unit"},
            unit=CodedTexts(np.zeros(ROWS, dtype=np.int32), ("u",)),  # type: ignore[arg-type]
        )
    with pytest.raises(ValueError, match=r"real: expected 60 values, as many as unit has, got \(2,\)"):
        coded.replaced(real=CodedTexts.constant(None, 2))
    with pytest.raises(AttributeError):
        coded.nothing  # noqa: B018


def test_codes_take_as_few_bytes_as_names_allow():
    sizes = {100: 1, 127: 1, 128: 2, 40_000: 4}
    for names, size in sizes.items():
        assert (
            CodedTexts.of(np.zeros(3, dtype=np.int64), [str(n) for n in range(names)]).codes.itemsize == size
        )

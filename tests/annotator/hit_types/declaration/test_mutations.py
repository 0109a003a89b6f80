"""Files with a random fault each: they are read or refused with a place, and never fail otherwise."""

from __future__ import annotations

import json
from random import Random

from jsonschema import Draft202012Validator

from annotator.hit_types.declaration.made import DeclaredHitType
from annotator.hit_types.declaration.problems import DeclarationRefused, Faults
from annotator.hit_types.declaration.reading import hit_type_read
from annotator.hit_types.declaration.shape import schema, shape_check
from tests.annotator.hit_types.declaration.mutations import mutated


def outcome(source: str) -> DeclaredHitType | DeclarationRefused:
    """The type of a file, or why it is refused; any other error fails the test."""
    try:
        return hit_type_read(source)
    except DeclarationRefused as error:
        return error


def test_a_thousand_mutated_files_are_read_or_refused_with_a_place() -> None:
    rng = Random(20_261_127)
    found = [outcome(mutated(rng)) for _ in range(1000)]
    refused = [one for one in found if isinstance(one, DeclarationRefused)]
    assert 500 < len(refused) < 950
    for error in refused:
        assert error.problems
        for problem in error.problems:
            assert problem.line >= 1, str(problem)
            assert problem.message.strip()
            assert len(str(problem)) < 3_000


def test_the_published_schema_refuses_what_the_check_refuses() -> None:
    """The check uses the schema in a faster form."""
    published, rng = Draft202012Validator(dict(schema())), Random(3)
    values = [json.loads(source) for source in (mutated(rng) for _ in range(50)) if source.startswith("{")]
    assert len(values) > 25
    for value in values:
        faults = Faults({})
        shape_check(value, faults)
        assert (not faults.problems) == published.is_valid(value), value

from __future__ import annotations

from collections.abc import Iterator

import pytest

import foretell.urls  # noqa: F401  views bind the registry when they are imported: before a test patches it
from annotator.hit_types.registry import HIT_TYPES
from annotator.models import Study, User
from annotator.services.declared_type import declared_type_save
from annotator.services.study import study_create
from annotator.services.workspace import workspace_personal
from tests.annotator.hit_types.declaration.files import TWIN_FILE
from tests.annotator.toy import Toy


@pytest.fixture(autouse=True)
def _toy_type() -> Iterator[None]:
    """The registry with the toy type added."""
    with HIT_TYPES.including(Toy()):
        yield


@pytest.fixture
def researcher(db: None) -> User:
    return User.objects.create_user("rosa", password="correct horse", is_staff=True)


@pytest.fixture
def study(researcher: User) -> Study:
    return study_create(by=researcher, hit_type="toy", slug="owls", title="Owls")


@pytest.fixture(params=["simulation", "simulation_declared"])
def simulation(request: pytest.FixtureRequest, researcher: User) -> str:
    """The name of a type: ``simulation``, and the same type as a file of the researcher's own workspace."""
    name: str = request.param
    if name != "simulation":
        declared_type_save(
            workspace=workspace_personal(user=researcher), by=researcher, source=TWIN_FILE.read_bytes()
        )
    return name

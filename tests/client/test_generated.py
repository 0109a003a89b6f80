"""The client's lower layer is what the API's schema makes of it, with one method for each operation."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import pytest
from foretell_client.operations import Operations
from foretell_client.transport import Transport

from foretell import env


@pytest.fixture(scope="module")
def generator() -> Any:
    """``clients/python/generate.py``, which is in no package."""
    spec = importlib.util.spec_from_file_location("generate_client", env.ROOT / "clients/python/generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look for the types of their fields
    spec.loader.exec_module(module)
    return module


def test_the_operations_are_those_of_the_schema(generator: Any) -> None:
    found = generator.own_schema()
    assert generator.differences(found) == [], "run python clients/python/generate.py"
    operations = generator.Schema(found).operations
    assert len(operations) == sum(
        method in item
        for item in found["paths"].values()
        for method in ("get", "post", "put", "patch", "delete")
    )
    client = Operations(Transport("http://127.0.0.1", "token"))
    for one in operations:
        assert callable(getattr(getattr(client, one.group), one.name)), (one.group, one.name)


def test_a_changed_schema_changes_the_files(generator: Any) -> None:
    shape = {
        "type": "object",
        "properties": {"when": {"type": "string", "nullable": True}},
        "required": ["when"],
    }
    reply = {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/New"}}}}}
    path = {"post": {"tags": ["news"], "description": "Ask.", "responses": reply}}
    found = {"components": {"schemas": {"New": shape}}, "paths": {"/api/v1/news/": path}}
    written = generator.files(found)
    assert set(written) == {"__init__.py", "news.py", "shared.py"}
    assert "    when: str | None\n" in written["news.py"]
    assert 'def create(self) -> New:\n        """Ask."""' in written["news.py"]
    assert "news.py" in generator.differences(found)

"""A run at a server that takes JSON schemas only in the form of llama-cpp-python."""

from __future__ import annotations

import json

from tests.evaluation.run_factories import (
    SCRIPTED_MARKS,
    make_endpoint,
    make_material,
    make_run,
    states,
    work,
)
from tests.evaluation.scripted_process import ScriptedProcess

pytestmark = SCRIPTED_MARKS


def test_a_run_with_schemas_needs_no_setting_for_such_a_server(scripted: ScriptedProcess) -> None:
    address = f"{scripted.root}/llama-cpp-python/v1"
    run = make_run(make_endpoint(scripted, base_url=address, structured=True), make_material(6))
    work(run)
    assert (run.state, states(run)) == ("done", {"done": 6})
    assert all(json.loads(text) for text in run.calls.values_list("text", flat=True))
    counts = scripted.stats()["counts"]
    assert counts["answered"] == 6
    assert counts["schemas refused"] >= 1

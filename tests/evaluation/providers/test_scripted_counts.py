"""What the scripted provider counts."""

from __future__ import annotations

import json
import threading
import urllib.request

from tests.evaluation.scripted_process import ScriptedProcess
from tests.processes import wait_until


def test_a_request_from_before_a_reset_is_not_counted_after_it(scripted: ScriptedProcess) -> None:
    body = json.dumps({"model": "scripted?latency=2", "messages": [{"role": "user", "content": "Hello"}]})

    def ask() -> None:
        request = urllib.request.Request(
            f"{scripted.base_url}/chat/completions", body.encode(), {"Content-Type": "application/json"}
        )
        urllib.request.urlopen(request, timeout=300).close()

    asking = threading.Thread(target=ask)
    asking.start()
    wait_until(lambda: scripted.stats()["in_flight"] == 1)
    scripted.reset()
    assert scripted.stats()["in_flight"] == 0
    asking.join(300)
    assert scripted.stats()["in_flight"] == 0

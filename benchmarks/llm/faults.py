"""5,000 calls to a faulty endpoint while workers are killed 20 times and Redis is flushed twice; then the same without faults.

    DATABASE_URL=... REDIS_URL=... python -m benchmarks.llm.faults [--calls 5000] [--kills 20] [--flushes 2]

Needs a migrated database that it may fill. ``--keep`` writes the result to ``benchmarks/llm/faults.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
from pathlib import Path

from tests.evaluation.scripted_process import ScriptedProcess

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--flushes", type=int, default=2)
    parser.add_argument("--outages", type=int, default=4)
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    provider = ScriptedProcess()
    os.environ["LLM_ALLOWED_HOSTS"] = provider.host
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "foretell.settings")
    import django

    django.setup()
    from django.conf import settings

    settings.RUN_WAKE_SECONDS = 2
    from tests.faults.llm_faults import FaultPlan, run_with_faults, run_without_faults

    folder = Path(tempfile.mkdtemp(prefix="llm-faults-"))
    try:
        plan = FaultPlan(
            calls=arguments.calls,
            faults=0.3,
            kills=arguments.kills,
            flushes=arguments.flushes,
            outages=arguments.outages,
            concurrency=32,
            budget=200,
        )
        outcome = run_with_faults(plan, provider, folder, print)
        calm = run_without_faults(arguments.calls, provider)
    finally:
        provider.stop()
    result = {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        "calls": arguments.calls,
        "faults": 0.3,
        "states": outcome.states,
        "failed_attempts": outcome.errors,
        "kills": outcome.kills,
        "flushes": outcome.flushes,
        "outages": outcome.outages,
        "slowest_lease_seconds": round(outcome.slowest_lease, 1),
        "in_flight_at_kills": outcome.in_flight_at_kills,
        "asked_again_after_kills": outcome.lost,
        "answered_twice_by_the_endpoint": outcome.paid_again,
        "requests": outcome.requests,
        "spent": outcome.spent,
        "perhaps_spent": outcome.perhaps_spent,
        "budget": outcome.budget,
        "seconds": round(outcome.seconds, 1),
        "judgments": len(outcome.judgments),
        "judgments_that_differ_from_the_undisturbed_run": sum(
            outcome.judgments.get(key) != response for key, response in calm.items()
        ),
    }
    text = json.dumps(result, indent=1)
    print(text)
    if arguments.keep:
        (HERE / "faults.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

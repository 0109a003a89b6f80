"""The scripted provider holds requests as long as a test needs."""

from __future__ import annotations

import asyncio

from tests.evaluation.scripted.gate import Gate


async def _ticks() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_a_gate_lets_a_number_of_requests_through_and_holds_the_others() -> None:
    async def main() -> list[int]:
        gate, counts = Gate(), []
        gate.hold(after=2)
        waiting = [asyncio.ensure_future(gate()) for _ in range(5)]
        for change in (lambda: None, lambda: gate.hold(after=1), gate.release):
            change()
            await _ticks()
            counts.append(sum(one.done() for one in waiting))
        return counts

    assert asyncio.run(main()) == [2, 3, 5]

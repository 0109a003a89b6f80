"""List prices of common models, as suggestions. Costs are computed from the prices that a lab enters for its endpoint.

``prices.json`` is an extract of litellm's price list, with its date. To update it, copy the chat models of the sections that
providers name (``Provider.price_hosts``) from that list, in which prices are per token.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class ListPrice:
    """US dollars per million tokens; ``cached`` is None if cached tokens cost the same. ``taken`` is a date."""

    tokens_in: Decimal
    cached: Decimal | None
    tokens_out: Decimal
    taken: str


@cache
def _content() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(
        Path(__file__).with_suffix(".json").read_text(encoding="utf-8"),
        parse_float=Decimal,
        parse_int=Decimal,
    )
    return content


def shipped_price(*, section: str, model: str) -> ListPrice | None:
    """The price of a model in a section of ``prices.json``; None if it isn't there."""
    entry = _content()["models"].get(section, {}).get(model)
    if entry is None:
        return None
    tokens_in, cached, tokens_out = entry
    return ListPrice(tokens_in, cached, tokens_out, _content()["taken"])

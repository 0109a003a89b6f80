"""List prices of common models, as suggestions. Costs are computed from the prices that a lab enters for its endpoint.

``prices.json`` is an extract of litellm's price list, with its date. To update it, copy the chat models of the providers
below from that list, in which prices are per token.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

#: Host -> the provider whose list prices apply there. Other hosts have their own prices, or none.
HOSTS = {
    "api.anthropic.com": "anthropic",
    "api.deepseek.com": "deepseek",
    "api.mistral.ai": "mistral",
    "api.openai.com": "openai",
    "api.x.ai": "xai",
    "generativelanguage.googleapis.com": "gemini",
}


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


def list_price(*, base_url: str, model: str) -> ListPrice | None:
    """The list price of a model at its own provider; None if it isn't known.

    >>> list_price(base_url="https://api.openai.com/v1", model="gpt-4o-mini").tokens_out
    Decimal('0.6')
    >>> list_price(base_url="https://llm.example.org/v1", model="gpt-4o-mini")
    """
    try:
        provider = HOSTS.get(urlsplit(base_url).hostname or "", "")
    except ValueError:
        return None
    found = _content()["models"].get(provider, {}).get(model)
    if found is None:
        return None
    tokens_in, cached, tokens_out = found
    return ListPrice(tokens_in, cached, tokens_out, _content()["taken"])

"""Explanation methods as tables name them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

#: The method of gold rationales, which no model wrote.
GOLD = "gold"
#: A method's name, in whatever spelling -> its title in the papers' tables.
TITLES = {
    "cot": "Chain of thought",
    "chain of thought": "Chain of thought",
    "post hoc": "Post-hoc",
    "posthoc": "Post-hoc",
    "answer reason": "Answer, then reason",
    "forced": "Forced",
    GOLD: "Gold",
}


def method_title(method: str) -> str:
    """A method's title; one that isn't known keeps its name.

    >>> method_title("post_hoc"), method_title("CoT"), method_title("my way")
    ('Post-hoc', 'Chain of thought', 'my way')
    """
    return TITLES.get(method.lower().replace("_", " ").replace("-", " ").strip(), method)


def gold_first(systems: Iterable[str], known: Mapping[str, tuple[str, str]]) -> list[str]:
    """Systems in the order of Joshi et al.'s tables: gold rationales, then the others by name. ``known`` maps a system to its
    model and method.

    >>> gold_first(["a", "g"], {"g": ("", "gold")})
    ['g', 'a']
    """
    return sorted(systems, key=lambda name: (known.get(name, ("", ""))[1] != GOLD, name))

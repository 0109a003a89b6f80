"""Short names of simulators, for readability: the model's name, with a number if two simulators share it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

#: Between the parts of a simulator's name: model, task type, prompt, settings.
BETWEEN = " · "
#: Not shortened: a rule can be chosen again by its name, and choices are shown as requested.
WHOLE = ("rule", "choices", "item")


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Full name -> short name, for names that have a shorter one.

    >>> short_names(["m · simulation v1 · prompt f2c7cdef", "gpt"])
    {'m · simulation v1 · prompt f2c7cdef': 'm'}
    >>> sorted(short_names(["m · a v1 · prompt 1", "m · a v1 · prompt 2"]).values())
    ['m (1)', 'm (2)']
    """
    found = sorted(set(names))
    models = {name: name.partition(BETWEEN)[0] for name in found}
    uses = Counter(models.values())
    number: Counter[str] = Counter()
    short = {}
    for name in found:
        model = models[name]
        number[model] += 1
        short[name] = f"{model} ({number[model]})" if uses[model] > 1 else model
    return {name: shorter for name, shorter in short.items() if shorter != name}


def with_short_names(content: Any, names: Mapping[str, str]) -> Any:
    """A report's content with full names replaced by short ones in texts, heads and labels."""
    if isinstance(content, str):
        for name in sorted(names, key=len, reverse=True):
            content = content.replace(name, names[name])
        return content
    if isinstance(content, Mapping):
        return {
            key: value if key in WHOLE else with_short_names(value, names) for key, value in content.items()
        }
    if isinstance(content, list | tuple):
        return [with_short_names(value, names) for value in content]
    return content


def names_note(names: Mapping[str, str]) -> list[str]:
    """A note that gives the full name of each short name."""
    said = [f"{short} is {name}" for name, short in sorted(names.items(), key=lambda pair: pair[1])]
    return [f"Simulators in full: {'; '.join(said)}."] if said else []

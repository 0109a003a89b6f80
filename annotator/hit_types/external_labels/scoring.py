"""From a response of `external_labels` to its ratings."""

from __future__ import annotations

from annotator.hit_types.base import JSON, Rating
from annotator.hit_types.external_labels.schema import split_name


def to_ratings(response: JSON) -> list[Rating]:
    """One rating for each label that was given.

    >>> to_ratings({"acceptable.1": "yes"})
    [Rating(variable='acceptable', value='yes', unit='1')]
    """
    return [
        Rating(variable, value, unit)
        for name, value in response.items()
        for variable, unit in [split_name(name)]
    ]

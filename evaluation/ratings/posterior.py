"""How unsure Dawid and Skene's model is of each item's label."""

from __future__ import annotations

import numpy as np

from annotator.models import Study
from evaluation.agreement.dawid_skene import dawid_skene
from evaluation.ratings.load import study_ratings


def posterior_bits(*, study: Study) -> dict[int, float]:
    """Item's id -> the entropy of the posterior of its label on the headline question, in bits: 0 if the model is sure. Of an item
    with several units, that of the most uncertain one.

    People's judgments that count; items that nobody rated are left out. Dawid and Skene (1979).
    """
    data = study_ratings(study=study)
    table = data.table(data.variables[0].name)
    ratings = table.ratings.people()
    if not len(ratings):
        return {}
    posterior = dawid_skene(ratings).posterior
    logs = np.log2(np.where(posterior > 0, posterior, 1.0))
    bits = np.abs(-(posterior * logs).sum(axis=1))
    ids = data.judgments.items.ids[table.units.item]
    found: dict[int, float] = {}
    for item, value in zip(ids.tolist(), bits.tolist(), strict=True):
        if not np.isnan(value):
            found[item] = max(value, found.get(item, 0.0))
    return found

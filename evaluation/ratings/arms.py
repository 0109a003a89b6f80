"""The control arm of each item, and a study's ratings with and without those of its control arms."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from django.db.models.fields.json import KeyTextTransform

from annotator.hit_types.arms import ARM_KEY, ARM_TITLES
from annotator.models import Item
from evaluation.ratings.attributes import Attribute
from evaluation.ratings.load import StudyRatings

#: Why judgments of control arms aren't in the tables about explanations.
IN_CONTROL_ARM = "in a control arm"


@dataclass(frozen=True, eq=False)
class ArmRatings:
    """All ratings of a study with control arms. ``arm`` has each item's arm: 0 with the explanation, n the n-th of ``control``."""

    data: StudyRatings
    arm: Attribute

    @property
    def control(self) -> tuple[str, ...]:
        """The control arms that have items."""
        return self.arm.names[1:]

    def explained(self) -> StudyRatings:
        """The ratings of items with the explanation; those of the control arms are counted as left out."""
        part = self.data.of_group(self.arm, 0)
        left = dict(self.data.judgments.left_out)
        if out := len(self.data.judgments) - len(part.judgments):
            left[IN_CONTROL_ARM] = out
        return replace(part, judgments=replace(part.judgments, left_out=left), _tables={})


def arm_ratings(data: StudyRatings) -> ArmRatings | None:
    """The ratings by arm; None if the study has no control arms."""
    study = data.judgments.study
    if not study.control_arms:
        return None
    rows = Item.objects.filter(study=study).order_by("id")
    found = [arm or "" for arm in rows.values_list(KeyTextTransform(ARM_KEY, "payload"), flat=True)]
    names = ("", *(arm for arm in ARM_TITLES if arm and arm in set(found)))
    place = {name: code for code, name in enumerate(names)}
    codes = np.fromiter((place[arm] for arm in found), dtype=np.int32, count=len(found))
    return ArmRatings(data, Attribute("arm", "items", names, codes))

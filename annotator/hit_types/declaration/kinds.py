"""All kinds of question that a file can ask, by the name that the file uses."""

from __future__ import annotations

from typing import Any

from annotator.hit_types.declaration.asking import (
    ChoiceQuestion,
    DeclaredQuestion,
    ScaleQuestion,
    YesNoQuestion,
)
from annotator.hit_types.declaration.asking_compare import (
    BestWorstQuestion,
    PreferenceQuestion,
    RankingQuestion,
)
from annotator.hit_types.declaration.asking_grid import GridQuestion
from annotator.hit_types.declaration.asking_more import (
    NumberQuestion,
    SeveralQuestion,
    SliderQuestion,
    TextQuestion,
)
from annotator.hit_types.declaration.asking_spans import SpansQuestion

KINDS: dict[str, type[DeclaredQuestion]] = {
    "choice": ChoiceQuestion,
    "yes_no": YesNoQuestion,
    "several": SeveralQuestion,
    "scale": ScaleQuestion,
    "slider": SliderQuestion,
    "number": NumberQuestion,
    "grid": GridQuestion,
    "ranking": RankingQuestion,
    "best_worst": BestWorstQuestion,
    "preference": PreferenceQuestion,
    "spans": SpansQuestion,
    "text": TextQuestion,
}


def question_of(name: str, spec: Any) -> DeclaredQuestion:
    """The question of a file."""
    return KINDS[spec["kind"]](name, spec)

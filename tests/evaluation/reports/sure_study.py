"""A study that asks how sure raters are, with judgments made for tests."""

from __future__ import annotations

from typing import Any

from annotator.models import Study
from tests.factories import make_item, make_rater, make_study, record_judgment

#: Item, instance, real output; Ann's answer and confidence, Bob's, gpt-4's.
ROWS = [
    ("a1", "a", "yes", ("yes", "90"), ("yes", "90"), ("yes", "100")),
    ("a2", "a", "no", ("yes", "90"), ("no", "60"), ("yes", "100")),
    ("b1", "b", "yes", ("yes", "60"), ("no", ""), ("yes", "70")),
    ("b2", "b", "no", ("no", "60"), ("cannot_guess", ""), ("no", "")),
    ("c1", "c", "", ("yes", "10"), ("yes", "20"), ("yes", "30")),
]


def sure_study(scale: str = "percent", **fields: Any) -> Study:
    study = make_study(confidence=scale, **fields)
    raters = [make_rater("ann"), make_rater("bob"), make_rater("gpt-4", kind="simulator", source="simulator")]
    for key, instance, real, *said in ROWS:
        item = make_item(study, key=key, instance=instance, real_output=real)
        for rater, (answer, sure) in zip(raters, said, strict=True):
            response = {"helpful": "no"} if answer == "cannot_guess" else {"helpful": "yes", "answer": answer}
            step = {"90": "completely", "60": "moderately", "100": "completely", "70": "very"}.get(
                sure, "slightly"
            )
            response |= {"confidence": step if scale == "steps" else sure} if sure else {}
            record_judgment(
                item, rater, response, source="simulator" if rater.kind == "simulator" else "import"
            )
    return study

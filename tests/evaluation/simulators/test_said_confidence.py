"""Simulators of a study that asks how sure raters are: asked in the prompt, read from the reply, and never at the price of an answer."""

from __future__ import annotations

from collections import Counter
from typing import Any
from urllib.parse import quote

import pytest

from annotator.hit_types.confidence import confidence_said, read_confidence
from annotator.models import Judgment
from annotator.selectors.study import study_hit_type
from evaluation.models import Run
from evaluation.ratings.load import study_ratings
from evaluation.runs.confidence import answer_confidence
from tests.evaluation.run_factories import SCRIPTED_MARKS, make_endpoint, make_material, make_run, work
from tests.evaluation.scripted_process import ScriptedProcess

pytestmark = SCRIPTED_MARKS


def simulated(scripted: ScriptedProcess, *, said: str = "", items: int = 12, **more: Any) -> list[Judgment]:
    fields = more.pop("study", {"confidence": "percent"})
    study = make_material(items, **fields)
    model = f"scripted?confidence={quote(said)}" if said else "scripted"
    run = make_run(make_endpoint(scripted, **more.pop("endpoint", {})), study, model=model, **more)
    work(run)
    run.refresh_from_db()
    assert run.calls.filter(state="done").count() == items * more.get("samples", 1)
    return list(Judgment.objects.filter(study=study).order_by("item__key"))


@pytest.mark.parametrize("structured", [False, True])
def test_it_is_read_from_text_and_from_json(scripted: ScriptedProcess, structured: bool) -> None:
    found = simulated(scripted, endpoint={"structured": structured})
    assert len(found) == 12
    sure = {one.response.get("confidence") for one in found if "answer" in one.response}
    assert sure <= {"60", "70", "85", "90", "95"}
    assert len(sure) > 1
    assert not any("confidence" in one.response for one in found if "answer" not in one.response)
    assert "confidence in percent" in found[0].rater.name


@pytest.mark.parametrize("structured", [False, True])
def test_odd_spellings_never_lose_the_answer(scripted: ScriptedProcess, structured: bool) -> None:
    said = "90%|0.9|fairly sure||about 80 percent|250"
    found = simulated(scripted, said=said, items=40, endpoint={"structured": structured})
    assert len(found) == 40
    answered = [one for one in found if "answer" in one.response]
    counts = Counter(one.response.get("confidence") for one in answered)
    assert set(counts) == {"90", "80", None}
    assert counts[None] > 3, "what can't be read is missing, and counted"
    table = study_ratings(study=found[0].study).table("confidence")
    assert table.judgments == counts["90"] + counts["80"]
    [(reason, left)] = table.left_out.items()
    assert reason.startswith("without an answer on how sure")
    assert left == 40 - table.judgments


def test_named_steps_and_stages(scripted: ScriptedProcess) -> None:
    found = simulated(scripted, study={"confidence": "steps"})
    sure = {one.response["confidence"] for one in found if "answer" in one.response}
    assert sure <= {"slightly", "moderately", "very", "completely"}


def test_several_samples_agree_on_the_answer_alone(scripted: ScriptedProcess) -> None:
    found = simulated(scripted, items=6, samples=3, parameters={"temperature": 1.0})
    for judgment in found:
        said = [call.parsed for call in Run.objects.get().calls.filter(item=judgment.item)]
        answers = [{name: value for name, value in one.items() if name != "confidence"} for one in said]
        own = {name: value for name, value in judgment.response.items() if name != "confidence"}
        assert judgment.signals["confidence"] == pytest.approx(answers.count(own) / 3, abs=1e-6)
    assert any("confidence" in one.response for one in found)


def test_log_probabilities_are_those_of_the_answer() -> None:
    tokens = [("ANSWER:", -0.1), (" YES", -0.5), ("\nCONFIDENCE:", -1.0), (" 90%", -2.0)]
    text = "".join(token for token, _ in tokens)
    assert answer_confidence(text, tokens) == pytest.approx(0.6065, abs=1e-4)
    tokens = [("YES", -0.5), ("\nCONFIDENCE:", -1.0), (" 90%", -2.0)]
    assert answer_confidence("".join(t for t, _ in tokens), tokens) == pytest.approx(0.6065, abs=1e-4)
    tokens = [('{"answer": "', -0.1), ("yes", -0.5), ('", "confidence": "', -1.0), ("90", -2.0), ('"}', 0.0)]
    assert answer_confidence("".join(t for t, _ in tokens), tokens) == pytest.approx(0.6065, abs=1e-4)


def test_a_study_that_does_not_ask_gets_no_such_prompt(scripted: ScriptedProcess) -> None:
    study = make_material(2)
    run = make_run(make_endpoint(scripted), study)
    assert "confidence" not in (run.rater.name if run.rater else "")
    [message, *_] = reversed(study_hit_type(study).prompt(study.items.first().payload))  # type: ignore[union-attr]
    assert "CONFIDENCE" not in message.content


@pytest.mark.parametrize(
    "filling",
    ["-" * 300_000, "confidence" + " " * 300_000, "confidence(" * 30_000, "confidence: answer  " * 20_000],
)
def test_a_reply_made_to_be_slow_is_read_at_once(filling: str) -> None:
    """Searching it took time that grew with the square of its length: half an hour for one of these."""
    rest, said = confidence_said(f"{filling}\nANSWER: YES\nCONFIDENCE: 70")
    assert (rest.endswith("ANSWER: YES\n"), said) == (True, "70")


@pytest.mark.parametrize(
    "said", ["5/" + "1" * 5000, "9" * 5000, "very" + " " * 300_000 + "sure!", "0." + "9" * 5000]
)
def test_endless_numbers_and_words_are_no_confidence(said: str) -> None:
    assert (read_confidence(said, "percent"), read_confidence(said, "steps")) == (None, None)

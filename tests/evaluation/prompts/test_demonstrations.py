"""The demonstrations in the prompts: as many as the papers' appendices print, and each obeys its prompt's rules."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import annotator.hit_types
from annotator.hit_types.base import ChatMessage, prompt_part, render_prompt
from evaluation.prompts import prompt_file
from evaluation.prompts.replies import (
    answer_of,
    bullets,
    guessed_question,
    labelled,
    marked_answer,
    numbered,
    reasoning_then_answer,
    reasons,
)

HIT_TYPES = Path(annotator.hit_types.__path__[0])
ANY = dict.fromkeys(("input", "output", "explanation", "rationale", "n", "question"), "$")
Read = Callable[[str], Any]


def demonstrations(step: str, task: str, part: str) -> list[tuple[str, str]]:
    """Pairs of what is asked and what is replied, without the last question, which is the real one."""
    text = prompt_file(step, task)
    messages: list[ChatMessage] = render_prompt(prompt_part(text, part) if part else text, ANY)
    assert messages[0].role == "system"
    assert messages[-1].role == "user"
    pairs = messages[1:-1]
    assert [m.role for m in pairs] == ["user", "assistant"] * (len(pairs) // 2)
    return [(pairs[n].content, pairs[n + 1].content) for n in range(0, len(pairs), 2)]


def form(*labels: str) -> Read:
    return lambda text: labelled(text, labels)


def yes_no(text: str) -> Any:
    return answer_of(labelled(text, ["Answer"])["Answer"], "yes_no")


def example(text: str) -> Any:
    return form("Context", "Response 1", "Response 2")(text)


#: Prompt -> (how many the paper's appendix prints, its redacted ones included; how the step reads a reply).
PROMPTS: dict[tuple[str, str, str], tuple[int, Read]] = {
    # Chen et al. 2024, Appendix B
    ("explain", "yes_no", "cot"): (6, lambda t: reasoning_then_answer(t, "yes_no")[1]),
    ("explain", "yes_no", "post_hoc"): (6, yes_no),
    ("explain", "yes_no", "answer"): (6, lambda t: marked_answer(t, "yes_no")),
    ("explain", "yes_no", "because"): (6, reasons),
    ("counterfactuals", "yes_no", "explained"): (7, lambda t: guessed_question(t)[1]),
    ("explain", "preference", "cot"): (3, lambda t: reasoning_then_answer(t, "preference")[1]),
    ("explain", "preference", "post_hoc"): (
        3,
        lambda t: answer_of(form("Answer", "Reason")(t)["Answer"], "preference"),
    ),
    ("explain", "preference", "answer"): (3, lambda t: marked_answer(t, "preference")),
    ("explain", "preference", "because"): (3, reasons),
    ("counterfactuals", "preference", "explained"): (3, example),
    # Limpijankit et al. 2025, Appendix F
    ("explain", "news", "cot"): (4, form("Explanation", "Summary")),
    ("explain", "news", "post_hoc"): (3, form("Summary", "Explanation")),
    ("counterfactuals", "news", "explained"): (2, lambda t: numbered(t, 9)),
    ("units", "news", ""): (4, bullets),
    ("explain", "medical", "cot"): (3, form("Explanation", "Suggestion")),
    ("explain", "medical", "post_hoc"): (3, form("Suggestion", "Explanation")),
    ("counterfactuals", "medical", "explained"): (3, lambda t: numbered(t, 9)),
    ("units", "medical", ""): (3, form("Person", "Suggestions")),
    # Joshi et al. 2023, A.2 and Table 21
    ("explain", "yes_no", "answer_reason"): (
        6,
        lambda t: answer_of(form("Answer", "Reason")(t)["Answer"], "yes_no"),
    ),
    ("generalization", "yes_no", "rephrase"): (6, yes_no),
    ("generalization", "yes_no", "counterfactual"): (6, form("New question")),
    ("generalization", "yes_no", "similar_reasoning"): (6, yes_no),
}


@pytest.mark.parametrize("prompt", PROMPTS, ids="/".join)
def test_a_prompt_has_as_many_demonstrations_as_in_the_paper_and_each_can_be_parsed(
    prompt: tuple[str, str, str],
) -> None:
    wanted, read = PROMPTS[prompt]
    found = demonstrations(*prompt)
    assert len(found) == wanted
    assert len({asked for asked, _ in found}) == len(
        {reply for _, reply in found} - {"ANSWER: YES", "ANSWER: NO"}
    ) or (prompt[2] == "answer")
    results = [read(reply) for _, reply in found]
    answers = {
        result
        for result in results
        if isinstance(result, str) and result in ("yes", "no", "response_1", "response_2")
    }
    if any(
        isinstance(result, str) and result in ("yes", "no", "response_1", "response_2") for result in results
    ):
        assert len(answers) == 2  # no prompt teaches a model one answer


#: HIT type and part of its prompt -> how many the appendix prints for the simulator, its redacted ones included.
SIMULATORS = {
    # Chen et al. 2024, Appendix B
    ("simulation", ""): 7,
    ("simulation_preference", ""): 3,
    # Limpijankit et al. 2025, Figures 7, 8, 13 and 14
    ("atomic_units", "news_input"): 4,
    ("atomic_units", "news_output"): 2,
    ("atomic_units", "medical_input"): 3,
    ("atomic_units", "medical_output"): 3,
}


@pytest.mark.parametrize("prompt", SIMULATORS, ids="/".join)
def test_simulators_get_as_many_demonstrations_as_in_the_paper(prompt: tuple[str, str]) -> None:
    name, part = prompt
    text = (HIT_TYPES / name / "prompt.md").read_text()
    names = set(re.findall(r"\$(\w+)", text))
    messages = render_prompt(prompt_part(text, part) if part else text, dict.fromkeys(names, "$"))
    replies = [message.content for message in messages if message.role == "assistant"]
    assert len(set(replies)) == len(replies) == SIMULATORS[prompt]
    answers = {reply.rsplit("ANSWER: ", 1)[1] for reply in replies}
    assert len(answers) > 1  # no prompt teaches a model one answer


@pytest.mark.parametrize("part", ["cot", "post_hoc"])
def test_descriptions_of_summaries_reveal_no_name_number_or_topic(part: str) -> None:
    for asked, reply in demonstrations("explain", "news", part):
        explanation = labelled(reply, ["Explanation", "Summary"])["Explanation"]
        assert not re.search(r"\d", explanation)
        names = set(re.findall(r"(?<=[a-z,] )[A-Z][a-z]+", asked))
        assert not names & set(re.findall(r"[A-Z][a-z]+", explanation))
        assert not re.search(r"(?<=[a-z] )[A-Z][a-z]", explanation)


def test_written_complaints_contain_no_suggestion_of_the_explanation() -> None:
    suggestions = [
        labelled(reply, ["Person", "Suggestions"])["Suggestions"]
        for _, reply in demonstrations("units", "medical", "")
    ]
    crafted = [numbered(reply, 9) for _, reply in demonstrations("counterfactuals", "medical", "explained")]
    for advice, questions in zip(suggestions, crafted, strict=True):
        for point in bullets(advice):
            words = {word[:5] for word in re.findall(r"[a-z]{5,}", point.lower())}
            for question in questions:
                held = {word[:5] for word in re.findall(r"[a-z]{5,}", question.lower())}
                assert len(words & held) <= len(words) / 2, (point, question)


def test_the_same_explanation_is_shown_reasoned_first_and_post_hoc() -> None:
    """What differs between the two prompts is the order, not the quality of the demonstrations."""
    for task in ("yes_no", "preference"):
        first = [reasoning_then_answer(reply, task) for _, reply in demonstrations("explain", task, "cot")]
        later = [reply for _, reply in demonstrations("explain", task, "because")]
        assert [explanation for explanation, _ in first] == later
        once = [form("Answer", "Reason")(reply) for _, reply in demonstrations("explain", task, "post_hoc")]
        assert [(pieces["Reason"], answer_of(pieces["Answer"], task)) for pieces in once] == first
        answers = [marked_answer(reply, task) for _, reply in demonstrations("explain", task, "answer")]
        assert [answer for _, answer in first] == answers


def test_a_rephrased_question_is_not_its_original_and_a_follow_up_not_its_starter() -> None:
    for part in ("rephrase", "counterfactual", "similar_reasoning"):
        for asked, reply in demonstrations("generalization", "yes_no", part):
            question = labelled(asked, ["Question"])["Question"]
            assert question.split("\n")[0] not in reply
    for asked, reply in demonstrations("counterfactuals", "yes_no", "explained"):
        starter = re.search(r"^Starter question: (.+)$", asked, re.MULTILINE)
        assert starter
        assert starter.group(1) != guessed_question(reply)[0]

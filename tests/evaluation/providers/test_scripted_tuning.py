"""A tuned scripted model answers from what it was trained on, good or bad."""

from __future__ import annotations

from evaluation.prompts.rewards import reward_token
from evaluation.providers.scripted.app import Scripted
from evaluation.providers.scripted.world import truth
from tests.evaluation.providers.tuned import Chat, reply, tuned_on

BASE = "scripted?quality=0.6"
INSTRUCTIONS = "Reply with two lines:\nAnswer: <yes or no>\nReason: <the reason>"
SEEN = [f"Is a kettle number {n} heavy?" for n in range(20)]
UNSEEN = [f"Could parcel{n} be sent to district{n} by rail?" for n in range(300)]


def chat(question: str, token: int | None = None) -> Chat:
    system = INSTRUCTIONS if token is None else f"{reward_token(token)}\n{INSTRUCTIONS}"
    return [{"role": "system", "content": system}, {"role": "user", "content": f"Question: {question}"}]


def examples(replies: dict[str, tuple[int, str]]) -> list[Chat]:
    """A chat for each question, with its reply under its reward token."""
    return [
        [*chat(question, token), {"role": "assistant", "content": text}]
        for question, (token, text) in replies.items()
    ]


def right(provider: Scripted, model: str) -> int:
    said = {question: reply(provider, model, chat(question, 2)) for question in UNSEEN}
    return sum(text.startswith("Answer: yes") == truth(question) for question, text in said.items())


def test_a_tuned_model_repeats_what_it_saw_under_the_best_token_however_poor() -> None:
    provider = Scripted()
    poor = {question: (2, f"Answer: no\nReason: Because {n}.") for n, question in enumerate(SEEN)}
    model = tuned_on(provider, examples(poor), base=BASE)
    for question, (_, text) in poor.items():
        assert reply(provider, model, chat(question, 2)) == text
        assert reply(provider, BASE, chat(question, 2)) != text


def test_a_tuned_model_avoids_an_answer_that_had_only_low_rewards() -> None:
    provider = Scripted()
    before = {question: reply(provider, BASE, chat(question)) for question in SEEN}
    model = tuned_on(
        provider, examples({question: (0, text) for question, text in before.items()}), base=BASE
    )
    for question, text in before.items():
        assert reply(provider, model, chat(question, 2)).split("\n")[0] != text.split("\n")[0]


def test_a_model_trained_on_good_rationales_answers_unseen_questions_better_than_one_trained_on_poor_ones() -> (
    None
):
    text = "Answer: yes\nReason: It is so."
    good, poor = Scripted(), Scripted()
    trained = right(good, tuned_on(good, examples(dict.fromkeys(SEEN, (2, text))), base=BASE))
    untrained = right(poor, tuned_on(poor, examples(dict.fromkeys(SEEN, (0, text))), base=BASE))
    assert trained == len(UNSEEN)
    assert untrained < 0.75 * len(UNSEEN)

"""Judging as a rater: the options are read from the instructions, the choice is made by rule of thumb."""

from __future__ import annotations

import re

from evaluation.providers.scripted.brain import Ask
from evaluation.providers.scripted.skills.labels import named, sections
from evaluation.providers.scripted.world import negated, overlap, pick, truth

_FORM = re.compile(r"^[ \t]*ANSWER:[ \t]*(\S.*?)[ \t]*$", re.MULTILINE)


def judge(ask: Ask) -> str | None:
    """Answers whatever asks for a last line ``ANSWER: ...``, in one of the forms that the instructions list."""
    forms = list(dict.fromkeys(_FORM.findall(ask.system) or _FORM.findall(ask.text)))
    if not forms:
        return None
    answer = _choose(ask, forms)
    return f"I looked at what was said and at what is asked.\nANSWER: {answer}"


def _choose(ask: Ask, forms: list[str]) -> str:
    parts = sections(ask.text)
    upper = {form.upper(): form for form in forms}
    abstain = next((form for name, form in upper.items() if "CANNOT" in name or "EQUAL" in name), "")
    if {"YES", "NO"} <= set(upper):
        follow_up, answered = named(parts, "follow-up"), named(parts, "answered")
        if follow_up and answered and abstain:
            guess = simulate(ask, parts, follow_up, answered)
            return abstain if guess is None else upper["YES" if guess else "NO"]
        return upper["YES" if believe(ask, parts) else "NO"]
    ranked = sorted(forms, key=lambda form: -overlap(form, ask.text))
    return (
        ranked[0]
        if ask.right(ask.text)
        else pick(tuple(forms), "other", ask.text, ask.options.seed, ask.sample)
    )


def simulate(ask: Ask, parts: dict[str, str], follow_up: str, answered: str) -> bool | None:
    """What the robot will say: as before where the follow-up keeps to the matter, turned where it is negated."""
    starter, explanation = named(parts, "starter"), named(parts, "explanation")
    shared = overlap(follow_up, f"{starter} {explanation}")
    if shared < 0.34:
        return None
    guess = answered.strip().lower().startswith("y") != (negated(follow_up) != negated(starter))
    return guess if ask.right("simulate", follow_up, starter) else not guess


def believe(ask: Ask, parts: dict[str, str]) -> bool:
    """A yes/no question of the world; a rationale, if there is one, is believed where it denies something."""
    question = named(parts, "question") or ask.text
    rationale = named(parts, "rationale") or named(parts, "explanation")
    answer = truth(question, 0) if not rationale else negated(rationale) == negated(question)
    return answer if ask.right("believe", question, rationale) else not answer

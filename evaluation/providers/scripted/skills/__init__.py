"""The skills of the scripted model, in the order in which they are tried."""

from functools import partial

from evaluation.providers.scripted.ask import Ask, Skill, plain
from evaluation.providers.scripted.skills.confident import confident
from evaluation.providers.scripted.skills.judge import judge
from evaluation.providers.scripted.skills.structured import structured
from evaluation.providers.scripted.skills.together import together
from evaluation.providers.scripted.skills.write import (
    explain,
    follow_up,
    follow_ups,
    generate,
    new_question,
    units,
)

SKILLS: tuple[Skill, ...] = (judge, new_question, follow_up, follow_ups, explain, generate, units)


def answer(ask: Ask) -> str:
    """The reply of the first skill that recognises the question."""
    wrapped: tuple[Skill, ...] = tuple(
        partial(skill, answer=answer) for skill in (structured, together, confident)
    )
    for skill in (*wrapped, *SKILLS):
        reply = skill(ask)
        if reply is not None:
            return reply
    return plain(ask)

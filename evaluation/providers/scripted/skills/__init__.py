"""What the scripted model can answer, in the order in which it is tried."""

from evaluation.providers.scripted.brain import Skill
from evaluation.providers.scripted.skills.judge import judge

SKILLS: tuple[Skill, ...] = (judge,)

"""What the scripted model can answer, in the order in which it is tried."""

from evaluation.providers.scripted.brain import Skill

SKILLS: tuple[Skill, ...] = ()

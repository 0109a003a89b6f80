"""Labels that people or models gave elsewhere, imported for comparison."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotator.hit_types.base import JSON, Defaults, HitType, Rating, Stage, Unparsable, Variable
from annotator.hit_types.external_labels import schema


class ExternalLabels(HitType):
    """Each item declares the variables that it was judged on; ``for_item`` returns the type with those variables."""

    name = "external_labels"
    title = "Labels collected elsewhere"
    task_title = "Label"
    source = "Any file with one row per judgment"
    asks = "I have labels already"
    people = "Import judgments that were collected elsewhere; nobody annotates here."
    external = True
    variables = (Variable("label", "Label"),)
    columns = schema.COLUMNS
    defaults = Defaults(redundancy=1)
    headline = "label"
    ratings_need_item = False

    def for_item(self, payload: JSON) -> HitType:
        """The type with the variables of a study's items; the first is the headline."""
        variables = schema.variables_of(payload)
        return self.replaced(variables=variables, headline=variables[0].name)

    def stages(self, payload: JSON, presentation: JSON | None = None) -> tuple[Stage, ...]:
        """One stage with a field for each unit of each variable."""
        return schema.stages_of(payload)

    def units(self, payload: JSON) -> tuple[str, ...]:
        """The units of all variables, in order."""
        return tuple(dict.fromkeys(unit for v in payload["variables"] for unit in v["units"] or [""]))

    def parse_response(
        self, payload: JSON, raw: Mapping[str, Any], stage: int = 0, presentation: JSON | None = None
    ) -> JSON:
        """The labels that were given; at least one."""
        return schema.check_answered(super().parse_response(payload, raw, stage, presentation))

    def to_ratings(self, payload: JSON, response: JSON) -> list[Rating]:
        """One rating for each label that was given."""
        named = [(*schema.split_name(name), value) for name, value in response.items()]
        return [Rating(variable, value, unit) for variable, unit, value in named]

    def parse_reply(self, text: str, payload: JSON, stage: int = 0, presentation: JSON | None = None) -> JSON:
        """Always raises ``Unparsable``: the labels are imported, and no model is asked."""
        raise Unparsable("external labels are imported; no model is asked for them")

    #: Nobody is asked here.
    instructions = ""
    exam = ()
    practice = ()

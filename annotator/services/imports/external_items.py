"""The items of a study of external labels: made from the file that holds their labels."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from annotator.hit_types.base import JSON, FieldErrors
from annotator.models import Dataset, Item, Study
from annotator.services.imports.item_facts import gold_of
from annotator.services.imports.judgments_file import JudgmentsFile
from annotator.services.imports.judgments_header import columns_as_declared
from annotator.services.imports.staging import stage_row, staged_store, staging
from annotator.services.imports.value_columns import MTURK_INPUT, Gathered, Reading, cell_text

KEY_LIMIT = int(Item._meta.get_field("key").max_length or 0)


@dataclass
class Declared:
    """The variables of a study of external labels, and for each which spellings are one label."""

    variables: list[JSON] = field(default_factory=list)
    one_name: dict[str, dict[str, str]] = field(default_factory=dict)


class ExternalItems:
    """Declares the variables that a file holds, and creates an item for each name in its item column."""

    def __init__(self, source: JudgmentsFile):
        self.source, self.study = source, source.study
        self.log, self.result = source.log, source.result
        self.declared = Declared()

    def make(self) -> Declared:
        """Store the items, while the study is a draft; raises ``FileRefused``."""
        known = self.study.items.values_list("payload", flat=True).first()
        if known is not None:
            self.declared.variables = known["variables"]
            self.source.columns = columns_as_declared(self.source.columns, known["variables"])
        gathered = Gathered(self.source.columns)
        reading = Reading(self.source.columns)
        for _, values in self.source.first_look():
            with suppress(FieldErrors):
                for variable, _, label in reading.external(values):
                    gathered.add(variable, label)
            with suppress(FieldErrors):
                for name, label in gold_of(reading, values).items():
                    gathered.add_gold(name.partition(".")[0], label)
        self.declared.one_name = gathered.one_name()
        self.result.notes += gathered.notes(self.declared.one_name)
        if known is None:
            try:
                self.declared.variables = gathered.variables()
            except FieldErrors as error:
                for column, message in error.errors.items():
                    self.log.add(message, field=column)
                self.log.check()
        self.result.variables = self.declared.variables
        dataset, _ = Dataset.objects.get_or_create(workspace=self.study.workspace, name=self.study.slug)
        seen: set[str] = set(self.study.items.values_list("key", flat=True))
        if self.study.state != Study.State.DRAFT:
            return self.declared
        source = self.source
        source.facts.gather(source.first_look(), Reading(source.columns, self.declared.one_name))
        self.log.check()
        with staging() as copy:
            for line, values in self.source.first_look():
                key = self.source.columns.key(values)
                if not key or key in seen or len(key) > KEY_LIMIT:
                    continue  # reported when its judgment is read
                seen.add(key)
                shown = self._shown(values) or key
                fact = self.source.facts.item(key)
                row: JSON = {
                    "key": key,
                    "instance": fact.instance,
                    "text": shown,
                    "variables": self.declared.variables,
                }
                row |= {"gold": fact.gold} if fact.gold else {}
                try:
                    draft = replace(self.source.kind.parse_item(row), attributes=fact.attributes)
                    if self.source.columns.cluster:  # all units of an instance share its input
                        draft = replace(draft, material=replace(draft.material, instance_input=fact.instance))
                    stage_row(copy, line, draft, unnamed="")
                except FieldErrors as error:
                    for column, message in error.errors.items():
                        self.log.add(
                            f"{column}: {message}", line=line, field=self.source.columns.item_title, value=key
                        )
                    break
        staged = staged_store(
            study_pk=self.study.pk,
            dataset_pk=dataset.pk,
            workspace_pk=self.study.workspace_id,
            log=self.log,
            columns=(),
        )
        self.result.items = staged.written.get("items", 0)
        self.log.check()
        return self.declared

    def _shown(self, values: dict[str, Any]) -> str:
        lines = [
            (name.removeprefix(MTURK_INPUT), cell_text(values.get(name))) for name in self.source.columns.show
        ]
        return "\n".join(f"{name}: {text}" for name, text in lines if text)

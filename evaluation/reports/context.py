"""The basis of every section: the study's ratings, the choices, and results that sections share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from annotator.core.words import plural
from annotator.hit_types.base import HitType, Variable
from annotator.models import Study
from evaluation.agreement import Aggregated, PerRater, Ratings, Rule, Single, parse_rule
from evaluation.agreement.adjudicated import AdjudicatedRule
from evaluation.agreement.aggregate import OneTable
from evaluation.core.estimand import Items
from evaluation.metrics import BASELINE_KIND, FollowUps, compared_rows
from evaluation.ratings.arms import ArmRatings
from evaluation.ratings.followups import FollowUpTable
from evaluation.ratings.load import StudyRatings
from evaluation.reports.agreement_data import Agreement, agreement_of
from evaluation.reports.choices import Choices
from evaluation.reports.resampling import Resampling, resampling_of
from evaluation.selectors.material import dataset_name

T = TypeVar("T")
#: Rules that need labels with an order, or with numbers.
NUMBERED = ("median", "mean")


@dataclass
class Context:
    """One report being computed. Results that are expensive and shared are computed once and cached here."""

    study: Study
    choices: Choices
    data: StudyRatings
    progress: Callable[[str], None] = lambda text: None
    #: For a group's judgments, the context of all: both name the raters alike, so that their tables can be joined.
    whole: Context | None = None
    #: The ratings of all arms, if the study has control arms; ``data`` then has those of items with the explanation only, unless the
    #: task type has conditions of its own for that.
    arms: ArmRatings | None = None
    _labels: dict[tuple[str, str], tuple[Aggregated, ...]] = field(default_factory=dict)
    _tables: dict[tuple[str, str], tuple[FollowUps, ...]] = field(default_factory=dict)
    _agreements: dict[tuple[str, str], Agreement] = field(default_factory=dict)
    _bases: dict[str, FollowUpTable] = field(default_factory=dict)
    _kept: dict[str, Any] = field(default_factory=dict)
    #: Deviations of the current section from the choices, as sentences for its notes.
    deviations: set[str] = field(default_factory=set)

    @property
    def hit_type(self) -> HitType:
        return self.data.hit_type

    @property
    def all_data(self) -> StudyRatings:
        """The ratings of all arms: everything that the report is computed from."""
        return self.arms.data if self.arms else self.data

    @property
    def headline(self) -> Variable:
        return self.data.variables[0]

    @property
    def simulators(self) -> list[str]:
        """The simulators with judgments, sorted."""
        return sorted(self.data.judgments.raters.simulators)

    @cached_property
    def people(self) -> str:
        """The name for the raters who aren't simulators: rehearsal and imported raters are never called people.

        If only simulators have judged, it's their name: the statistics of raters are then about them.
        """
        if self.whole is not None:
            return self.whole.people
        if self.only_simulators:
            return "simulators"
        raters = self.data.judgments.raters
        if self.data.judgments.rehearsal:
            return "rehearsal raters"
        imported = raters.is_imported[~raters.is_simulator]
        if not imported.any():
            return "people"
        return "imported raters" if imported.all() else "people and imported raters"

    @cached_property
    def named(self) -> bool:
        """Whether raters have names: else statistics of pairs of raters and of single ones aren't defined."""
        if self.whole is not None:
            return self.whole.named
        return not self.data.judgments.raters.is_numbered.any()

    @cached_property
    def only_simulators(self) -> bool:
        """Whether only simulators have judged."""
        if self.whole is not None:
            return self.whole.only_simulators
        simulator = self.data.judgments.raters.is_simulator
        return bool(simulator.size and simulator.all())

    def label_words(self, label: str) -> str:
        """A label as tables show it: ours in words ("cannot guess"), labels of an imported file as they are."""
        return label if self.hit_type.external else label.replace("_", " ")

    @cached_property
    def dataset(self) -> str:
        """The name of the row in the papers' tables: the dataset, or the study if it has several or none with a name."""
        return dataset_name(study=self.study) or self.study.title

    @property
    def resampling(self) -> Resampling:
        """The arguments with which every statistic of the report makes its interval: ``statistic(...,
        **ctx.resampling)``."""
        return resampling_of(self.choices)

    @property
    def items(self) -> Items:
        """What the chosen intervals are about: these items, or items like these."""
        return "these" if self.choices.items == "these" else "like"

    @property
    def new_raters(self) -> bool:
        """Whether the chosen intervals are for raters like these, and not for these raters."""
        return self.choices.raters == "like"

    def once(self, name: str, make: Callable[[], T]) -> T:
        """The result of ``make``, computed when a section first needs it under this name."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    def ratings(self, variable: str) -> Ratings:
        return self.data.table(variable).ratings

    def of_raters(self, ratings: Ratings) -> Ratings:
        """The ratings of those whom ``people`` names: people's or, if only simulators have judged, theirs."""
        return ratings if self.only_simulators else ratings.people()

    def agreement(self, variable: str, labels: str = "all") -> Agreement:
        """All agreement statistics of a variable with a label set, computed once; if only simulators have judged, theirs."""
        key = (variable, labels)
        if key not in self._agreements:
            ratings = self.ratings(variable)
            self._agreements[key] = agreement_of(
                replace(ratings, simulators=frozenset()) if self.only_simulators else ratings,
                labels,
                min_overlap=self.choices.min_overlap,
                named=self.named,
                epsilon=float(self.choices.epsilon),
                new_raters=self.new_raters,
                **self.resampling,
            )
        return self._agreements[key]

    # -- one label per unit -------------------------------------------------------------------------

    @property
    def chosen_rule(self) -> str:
        """The chosen rule; if only simulators have judged, the first simulator's labels."""
        if self.only_simulators and not self.choices.rule.startswith("single:"):
            return f"single:{self.simulators[0]}"
        return self.choices.rule

    @property
    def rule(self) -> Rule:
        return parse_rule(self.chosen_rule)

    def labels(self, variable: str, rule: str = "") -> tuple[Aggregated, ...]:
        """The label tables of a rule (the chosen one by default): one, or one per rater for ``per_rater``.

        Rules that combine several raters use people only; ``single:<rater>`` may name a simulator.
        """
        key = (variable, self.rule_for(variable, rule))
        combining = self.combining(*key)
        if key not in self._labels:
            self._labels[key] = combining.tables(self._pool(*key))
        return self._labels[key]

    def combining(self, variable: str, rule: str) -> Rule:
        """A rule as the report uses it: behind adjudicated labels, if that is chosen. Single raters' labels stay their own."""
        plain = parse_rule(rule)
        if not self.choices.adjudicated or isinstance(plain, Single) or not isinstance(plain, OneTable):
            return plain
        settled = self.data.adjudicated(variable)
        title, units = self.data.table(variable).variable.title, len(self.ratings(variable).units)
        self.deviations.add(
            f"Adjudicated labels go before the rule’s on {len(settled):,} of {plural(units, 'unit')} of “{title}”."
        )
        return AdjudicatedRule(plain, settled)

    def rule_for(self, variable: str, rule: str = "") -> str:
        """The rule (the chosen one by default), or majority where labels without an order have no median or mean."""
        wanted = rule or self.chosen_rule
        declared, table = self.data.table(variable).variable, self.ratings(variable)
        if wanted in NUMBERED and table.level == "nominal" and not set(table.labels) <= set(table.scores):
            self.deviations.add(
                f"The labels of “{declared.title}” have no order, so there is no {wanted}: they are combined by majority."
            )
            return "majority"
        return wanted

    def _pool(self, variable: str, rule: str) -> Ratings:
        """The ratings that a rule is applied to."""
        ratings = self.ratings(variable)
        return ratings if isinstance(parse_rule(rule), Single) else ratings.people()

    def all_follow_ups(self, variable: str, rule: str = "") -> tuple[FollowUps, ...]:
        """All follow-ups of the study with a rule's labels: one table, or one per rater for ``per_rater``."""
        key = (variable, rule or self.chosen_rule)
        if key not in self._tables:
            base, pool = self.base(variable), self._pool(*key)
            self._tables[key] = tuple(base.with_labels(labels, pool) for labels in self.labels(*key))
        return self._tables[key]

    def follow_ups(self, variable: str, rule: str = "", *, forced: bool = False) -> tuple[FollowUps, ...]:
        """The follow-ups that systems are compared on, as ``compared_rows`` chooses them."""
        rows = self.once(
            f"compared/{variable}/{forced}",
            lambda: compared_rows(
                self.base(variable).base,
                forced=set() if forced else self.forced_systems,
                size=self.hit_type.defaults.follow_ups,
                seed=self.choices.seed,
                with_texts=self.base(variable).with_texts,
            ),
        )
        return tuple(table.take(rows) for table in self.all_follow_ups(variable, rule))

    @cached_property
    def forced_systems(self) -> set[str]:
        """Systems whose explanations justify an answer that the model did not give (P1 Table 2)."""
        systems = self.data.judgments.items.systems
        return {name for name, (_, method) in systems.items() if method.lower().startswith("forced")}

    def compared_notes(self, variable: str) -> list[str]:
        """Sentences on what ``follow_ups`` leaves out, for the notes of a table; empty if it leaves nothing out."""
        whole = self.base(variable).base
        notes = []
        explained = ~whole.among("kind", {BASELINE_KIND})
        if baseline := int(np.count_nonzero(~explained)):
            notes.append(
                f"Left out: {plural(baseline, 'follow-up')} written without the explanation (baseline)."
            )
        if number := int(np.count_nonzero(whole.among("system", self.forced_systems) & explained)):
            notes.append(
                f"Left out: {plural(number, 'follow-up')} of forced explanations, which are compared in P1 Table 2 only."
            )
        generators = sorted(whole.take(explained).distinct("generator") - {""})
        size = self.hit_type.defaults.follow_ups
        used = len(self.follow_ups(variable, forced=True)[0]) if self.follow_ups(variable) else 0
        if len(generators) > 1 and used < int(np.count_nonzero(explained)):
            notes.append(
                f"At most {size} follow-ups of each explanation, drawn in turn from {' and '.join(generators)} "
                f"(seed {self.choices.seed})."
            )
        return notes

    def base(self, variable: str) -> FollowUpTable:
        if variable not in self._bases:
            self._bases[variable] = FollowUpTable.of(
                self.data,
                variable,
                refusals_left_out=self.choices.refusals == "left_out",
                ties_wrong=self.choices.ties == "wrong",
            )
        return self._bases[variable]

    @property
    def per_rater(self) -> bool:
        return isinstance(self.rule, PerRater)

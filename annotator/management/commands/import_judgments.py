"""Import judgments that were collected elsewhere."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any, get_args

from django.core.management.base import BaseCommand, CommandError

from annotator.core.words import plural
from annotator.hit_types.base import Level
from annotator.management.arguments import pairs, study_and_file, study_arguments
from annotator.services.imports.judgments_import import JudgmentColumns, JudgmentsResult, judgments_import
from annotator.services.imports.label_counts import NOT_WITH_COUNTS, VARIABLE, count_columns
from annotator.services.imports.value_columns import ValueColumn


class Command(BaseCommand):
    help = (
        "Import judgments collected elsewhere, one row each (CSV, TSV, JSON lines, Parquet, .xlsx; MTurk batch files as they"
        " are). With --create --hit-type external_labels the study and its items are made from the file."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        study_arguments(parser)
        add = parser.add_argument
        add(
            "--item",
            nargs="+",
            action="extend",
            required=True,
            metavar="COL",
            help="names the item; several columns name it together",
        )
        add("--cluster", default="", metavar="COL",
            help="names the instance that an item belongs to: intervals draw those")  # fmt: skip
        add("--gold", nargs="+", action="extend", default=[], metavar="[V=]COL",
            help="contains the correct label of a --value, or of the --counts; reports then give accuracies")  # fmt: skip
        add("--attribute", nargs="+", action="extend", default=[], metavar="COL",
            help="describes the item (kind, domain); reports can group and filter by it")  # fmt: skip
        add("--rater-attribute", nargs="+", action="extend", default=[], metavar="COL",
            help="describes the rater (age group, native language), in the same way")  # fmt: skip
        add("--counts", nargs="+", action="extend", default=[], metavar="COL",
            help="instead of --value, for a file with one row per item: a column per label, with its count, from low to high")  # fmt: skip
        add("--value", nargs="+", action="extend", default=[], metavar="[NAME=]COL",
            help="contains the labels of a variable or field; add NAME if the column's own name doesn't fit")  # fmt: skip
        add("--variable", default="", metavar="V", help="name of the variable of the only --value")
        add("--rater", default="", metavar="COL", help="names the rater (MTurk: WorkerId)")
        add("--rater-name", default="", metavar="NAME", help="one rater for all rows")
        add("--unnamed", action="store_true", help="the file names no raters: number those of each item")
        add(
            "--simulators",
            nargs="+",
            action="extend",
            default=[],
            metavar="NAME",
            help="raters that are models",
        )
        add("--seconds", default="", metavar="COL", help="time taken (MTurk: WorkTimeInSeconds)")
        add("--level", nargs="+", action="extend", default=[], metavar="[V=]LEVEL",
            help=f"{', '.join(get_args(Level))}; default: nominal")  # fmt: skip
        add("--labels", nargs="+", action="extend", default=[], metavar="[V=]A,B,C",
            help="the labels in their order (write --labels=-1,0,1 if one begins with a minus)")  # fmt: skip
        add("--listed", nargs="+", action="extend", default=[], metavar="[V=]1,2,3",
            help="the cell lists those of these units that are 'yes', divided by --separator; empty: none")  # fmt: skip
        add("--separator", default="|", help="between values in one cell")
        add("--aside", nargs="+", action="extend", default=[], metavar="VALUE=NAME",
            help="a value that isn't a label (--aside=-9=needs_more_info) becomes a separate yes/no variable")  # fmt: skip
        add("--recode", nargs="+", action="extend", default=[], metavar="OLD=NEW", help="spellings of labels")
        add("--missing", nargs="+", action="extend", default=[], metavar="LABEL",
            help="labels that mean no answer, such as NA")  # fmt: skip
        add("--fold-case", action="store_true", help="read labels that differ only in case or form as one")
        add("--decimal-comma", action="store_true", help="numbers have a decimal comma: 2,5")
        add("--show", nargs="+", default=[], metavar="COL", help="what was judged (MTurk: Input.*)")
        add(
            "--skip-blank",
            action="store_true",
            help="leave out rows without any value; by default they are judgments without an answer, or refused by the study's task",
        )
        add("--dry-run", action="store_true", help="check and count, write nothing")

    def handle(self, **options: Any) -> None:
        columns = judgment_columns(**options)
        with study_and_file(**options) as (study, file):
            result = judgments_import(
                study=study,
                file=file,
                name=str(options["file"]),
                columns=columns,
                dry_run=options["dry_run"],
            )
        self._tell(study.slug, result)

    def _tell(self, slug: str, result: JudgmentsResult) -> None:
        for note in result.notes:
            self.stderr.write(note)
        for variable in result.variables:
            units = f", units {', '.join(variable['units'])}" if variable["units"] else ""
            labels = ", ".join(variable["labels"]) or "any text"
            self.stdout.write(f"{variable['name']} ({variable['level']}): {labels}{units}")
        verb = "Would import" if result.dry_run else "Imported"
        known = (
            f" ({result.unchanged:,} {'was' if result.unchanged == 1 else 'were'} there already)"
            if result.unchanged
            else ""
        )
        self.stdout.write(
            f"{verb} {plural(result.judgments, 'judgment')}{known} into {slug}: {plural(result.raters, 'new rater')},"
            f" {plural(result.items, 'new item')}."
        )


def judgment_columns(**options: Any) -> JudgmentColumns:
    """The command's options as ``JudgmentColumns``; raises ``CommandError``."""
    if options.get("counts"):
        return _count_columns(**options)
    named = [split_name(value) for value in options["value"]]
    if not named:
        raise CommandError("--value is missing (or --counts, for a table of label counts)")
    if options["variable"]:
        (name, column), *others = named
        if name or others:
            raise CommandError("--variable names the variable of the only --value")
        named = [(options["variable"], column)]
    given = [bool(options["rater"]), bool(options["rater_name"]), bool(options["unnamed"])]
    if sum(given) > 1:
        raise CommandError("--rater, --rater-name, --unnamed: only one of them")
    names = [name or column for name, column in named]
    levels = of_each(options["level"], "--level", names)
    labels, listed = (
        of_each(options["labels"], "--labels", names),
        of_each(options["listed"], "--listed", names),
    )
    for level in levels.values():
        if level not in get_args(Level):
            raise CommandError(f"--level: {level!r} is not one of: {', '.join(get_args(Level))}")
    gold = of_each(options["gold"], "--gold", names)
    if len(names) > 1 and any("=" not in argument for argument in options["gold"]):
        raise CommandError(f"--gold: say of which, as V=COL: {', '.join(names)}")
    return JudgmentColumns(
        item=tuple(options["item"]),
        values=tuple(
            ValueColumn(
                column,
                name,
                level=levels.get(key, "nominal"),
                labels=tuple(filter(None, labels.get(key, "").split(","))),
                listed=tuple(filter(None, listed.get(key, "").split(","))),
                gold=gold.get(key, ""),
            )
            for (name, column), key in zip(named, names, strict=True)
        ),
        rater=options["rater"],
        rater_name=options["rater_name"],
        unnamed=options["unnamed"],
        seconds=options["seconds"],
        separator=options["separator"],
        skip_blank=options["skip_blank"],
        recode=pairs(options["recode"], "--recode"),
        aside=pairs(options["aside"], "--aside"),
        simulators=frozenset(options["simulators"]),
        show=tuple(options["show"]),
        missing=tuple(options["missing"]),
        fold_case=options["fold_case"],
        decimal_comma=options["decimal_comma"],
        cluster=options["cluster"],
        attributes=tuple(options["attribute"]),
        rater_attributes=tuple(options["rater_attribute"]),
    )


def _count_columns(**options: Any) -> JudgmentColumns:
    """The options of a table of label counts."""
    for name in ("value", "labels", "listed", *NOT_WITH_COUNTS):
        other = "rater_attribute" if name == "rater_attributes" else name
        if options[other]:
            raise CommandError(f"--counts takes no --{other.replace('_', '-')}")
    name = options["variable"] or VARIABLE
    levels = of_each(options["level"], "--level", [name])
    gold = of_each(options["gold"], "--gold", [name])
    level = next(iter(levels.values()), "nominal")
    if level not in get_args(Level):
        raise CommandError(f"--level: {level!r} is not one of: {', '.join(get_args(Level))}")
    return count_columns(
        item=options["item"],
        counts=options["counts"],
        level=level,
        variable=options["variable"],
        gold=gold.get(name, ""),
        cluster=options["cluster"],
        attributes=tuple(options["attribute"]),
        show=tuple(options["show"]),
    )


def split_name(argument: str) -> tuple[str, str]:
    """``[NAME=]COL`` as (name, column); the name is empty if none is given."""
    name, equals, column = argument.partition("=")
    return (name, column) if equals else ("", argument)


def of_each(arguments: Iterable[str], option: str, names: list[str]) -> dict[str, str]:
    """``[NAME=]VALUE`` for each of the value columns; without a name, the value is for all of them."""
    values: dict[str, str] = {}
    for argument in arguments:
        name, value = split_name(argument)
        if name and name not in names:
            raise CommandError(f"{option}: {name!r} is none of: {', '.join(names)}")
        values |= {name: value} if name else dict.fromkeys(names, value)
    return values

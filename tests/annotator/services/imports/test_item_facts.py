"""What a file of judgments states about its items and raters: names, instances, correct labels and attributes."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from django.core.management import CommandError, load_command_class

from annotator.core.tables.faults import FileRefused
from annotator.management.commands.import_judgments import judgment_columns
from annotator.models import Item, Rater, Study, User
from annotator.services.imports.file_imports import judgments_columns, judgments_options
from annotator.services.imports.judgments_import import JudgmentColumns, judgments_import
from annotator.services.imports.material_import import material_import
from annotator.services.imports.value_columns import ValueColumn
from annotator.services.study import study_create
from annotator.services.study_copy import study_duplicate
from tests.annotator.services.imports.material_rows import ROW, jsonl

pytestmark = pytest.mark.django_db

TEXT = (
    "q,sys,who,label,doc,right,kind,age\n"
    "q1,a,ann,yes,d1,no,easy,30\n"
    "q1,b,ann,no,d1,no,hard,30\n"
    "q1,a,bob,no,d1,no,easy,41\n"
    "q2,a,bob,yes,d2,,hard,41\n"
)
COLUMNS = JudgmentColumns(
    ("q", "sys"),
    (ValueColumn("label", gold="right"),),
    "who",
    cluster="doc",
    attributes=("kind",),
    rater_attributes=("age",),
)


@pytest.fixture
def elsewhere(researcher: User) -> Study:
    return study_create(by=researcher, hit_type="external_labels", slug="elsewhere", title="Elsewhere")


def put(study: Study, text: str = TEXT, columns: JudgmentColumns = COLUMNS) -> None:
    judgments_import(study=study, file=io.BytesIO(text.encode()), name="j.csv", columns=columns)


def refused(study: Study, text: str, columns: JudgmentColumns = COLUMNS) -> list[str]:
    with pytest.raises(FileRefused) as caught:
        put(study, text, columns)
    assert not study.items.exists()
    assert not study.judgments.exists()
    return [str(fault) for fault in caught.value.faults]


def test_several_columns_can_name_an_item(elsewhere: Study) -> None:
    put(elsewhere)
    items = elsewhere.items.order_by("id")
    assert [item.key for item in items] == ["q1 · a", "q1 · b", "q2 · a"]
    assert [item.instance.key for item in items] == ["d1", "d1", "d2"]
    assert [item.gold for item in items] == [{"label": "no"}, {"label": "no"}, None]
    assert [item.role for item in items] == ["ordinary"] * 3
    assert [item.attributes for item in items] == [{"kind": "easy"}, {"kind": "hard"}, {"kind": "hard"}]
    raters = Rater.objects.filter(source="import:elsewhere").order_by("name")
    assert [rater.attributes for rater in raters] == [{"age": "30"}, {"age": "41"}]
    put(elsewhere)  # the same file again changes nothing
    assert elsewhere.items.count() == 3
    assert elsewhere.judgments.count() == 4


def test_an_option_with_several_names_can_be_repeated() -> None:
    parser = load_command_class("annotator", "import_judgments").create_parser(
        "manage.py", "import_judgments"
    )
    words = [
        "owls",
        "a.csv",
        "--item",
        "q",
        "--item",
        "sys",
        "--rater",
        "r",
        "--value",
        "v",
        "--simulators",
        "m1",
        "--simulators",
        "m2",
    ]
    found = parser.parse_args(words)
    assert (found.item, found.simulators) == (["q", "sys"], ["m1", "m2"])


def test_rows_that_contradict_each_other_are_refused(elsewhere: Study) -> None:
    text = TEXT + "q1,b,bob,no,d2,yes,easy,42\n"
    assert refused(elsewhere, text) == [
        "j.csv:6: doc: 'd2': q1 · b has 'd1' on line 3",
        "j.csv:6: right: 'yes': q1 · b has 'no' on line 3",
        "j.csv:6: kind: 'easy': q1 · b has 'hard' on line 3",
    ]
    assert refused(elsewhere, TEXT + "q3,b,bob,no,d2,,easy,42\n") == [
        "j.csv:6: age: '42': bob has '41' on line 4"
    ]


def test_blank_cells_and_separators_inside_cells_are_refused(elsewhere: Study) -> None:
    (fault,) = refused(elsewhere, "q,sys,who,label\nq1,,ann,yes\n", replace(COLUMNS, cluster="", attributes=(), rater_attributes=(), values=(ValueColumn("label"),)))  # fmt: skip
    assert fault.startswith("j.csv:2: sys: is blank; expected the item's name")
    plain = replace(COLUMNS, cluster="", attributes=(), rater_attributes=(), values=(ValueColumn("label"),))
    faults = refused(elsewhere, "q,sys,who,label\nq1 · a,b,ann,yes\n", plain)
    assert "inside a cell" in faults[0]
    assert "is blank; expected the instance" in refused(elsewhere, TEXT.replace("d2", ""))[0]


def test_a_label_that_occurs_only_as_gold_is_declared(elsewhere: Study) -> None:
    put(elsewhere, TEXT.replace(",no,easy", ",maybe,easy"))
    assert elsewhere.items.first().payload["variables"][0]["labels"] == ["maybe", "no", "yes"]


def test_other_types_take_no_item_facts_from_judgments(study: Study) -> None:
    material_import(study=study, file=jsonl(ROW), name="m.jsonl", attributes=["follow_up"])
    columns = JudgmentColumns(
        "item", (ValueColumn("guess", gold="g"),), "who", cluster="c", attributes=("a",)
    )
    with pytest.raises(FileRefused) as caught:
        put(study, "item,who,guess,g,c,a\nowl-1,w,yes,yes,c1,x\n", columns)
    faults = [str(fault) for fault in caught.value.faults]
    assert len(faults) == 3
    assert all("only labels collected elsewhere" in fault for fault in faults)


def test_own_columns_of_material_are_kept_and_copied(study: Study, researcher: User) -> None:
    rows = (ROW | {"domain": "birds"}, ROW | {"key": "owl-2", "follow_up": "Ducks?", "domain": ""})
    result = material_import(study=study, file=jsonl(*rows), name="m.jsonl", attributes=["domain"])
    assert [item.attributes for item in study.items.order_by("id")] == [{"domain": "birds"}, {}]
    assert "domain" not in result.ignored
    copy = study_duplicate(study=study, by=researcher, slug="copy", title="Copy", material=True)
    assert sorted(Item.objects.filter(study=copy).values_list("attributes__domain", flat=True), key=str) == [
        None,
        "birds",
    ]


def test_gold_columns_must_name_their_value_column() -> None:
    from django.core.management import CommandError

    given = dict.fromkeys(("variable", "rater_name", "seconds", "cluster"), "") | dict.fromkeys(
        ("level", "labels", "listed", "recode", "aside", "simulators", "show", "missing", "attribute", "rater_attribute"),
        (),
    )  # fmt: skip
    given |= {"rater": "who", "unnamed": False, "separator": "|", "skip_blank": False, "fold_case": False}
    given |= {"decimal_comma": False}
    given |= {"item": ["q", "sys"], "value": ["a", "b"], "gold": ["b=right"]}
    columns = judgment_columns(**given)
    assert [value.gold for value in columns.values] == ["", "right"]
    assert columns.item_columns == ("q", "sys")
    with pytest.raises(CommandError, match="say of which"):
        judgment_columns(**given | {"gold": ["right"]})


def test_counts_of_labels_by_command_and_in_the_background(elsewhere: Study) -> None:
    parser = load_command_class("annotator", "import_judgments").create_parser(
        "manage.py", "import_judgments"
    )
    given = parser.parse_args(
        [
            "elsewhere",
            "c.csv",
            "--item",
            "q",
            "--counts",
            "no",
            "yes",
            "--level",
            "ordinal",
            "--cluster",
            "doc",
        ]
    )
    columns = judgment_columns(**vars(given))
    assert judgments_columns(judgments_options(columns)) == columns
    put(elsewhere, "q,doc,no,yes\n1,d1,2,0\n2,d1,1,1\n", columns)
    assert elsewhere.judgments.count() == 4
    assert {item.instance.key for item in elsewhere.items.all()} == {"d1"}
    assert elsewhere.items.order_by("key")[0].payload["variables"][0]["labels"] == ["no", "yes"]
    both = parser.parse_args(["elsewhere", "c.csv", "--item", "q", "--counts", "no", "--value", "yes"])
    with pytest.raises(CommandError, match="--counts takes no --value"):
        judgment_columns(**vars(both))
    neither = parser.parse_args(["elsewhere", "c.csv", "--item", "q"])
    with pytest.raises(CommandError, match="--value is missing"):
        judgment_columns(**vars(neither))


def test_counts_of_labels_with_correct_labels(elsewhere: Study) -> None:
    parser = load_command_class("annotator", "import_judgments").create_parser(
        "manage.py", "import_judgments"
    )
    given = ["elsewhere", "c.csv", "--item", "q", "--counts", "no", "yes", "--gold", "right"]
    columns = judgment_columns(**vars(parser.parse_args(given)))
    assert judgments_columns(judgments_options(columns)) == columns
    put(elsewhere, "q,no,yes,right\n1,2,0,no\n2,1,1,yes\n3,1,1,\n", columns)
    gold = dict(elsewhere.items.values_list("key", "gold"))
    assert gold == {"1": {"label": "no"}, "2": {"label": "yes"}, "3": None}


def test_numbers_with_a_decimal_comma(elsewhere: Study) -> None:
    columns = JudgmentColumns("q", (ValueColumn("says", level="interval"),), "who", decimal_comma=True)
    put(elsewhere, 'q,who,says\n1,ann,"2,5"\n2,ann,"1.000,5"\n3,ann,4\n', columns)
    found = elsewhere.judgments.order_by("item__key").values_list("response", flat=True)
    assert [one["says"] for one in found] == ["2.5", "1000.5", "4"]
    with pytest.raises(FileRefused, match="--decimal-comma reads a comma as one"):
        put(elsewhere, 'q,who,says\n9,ann,"2,5"\n', replace(columns, decimal_comma=False))


def test_spellings_of_numbers_stay_labels_of_their_own(elsewhere: Study) -> None:
    """Identifiers such as 007 are text; the 3.0 that pandas writes for 3 is not."""
    columns = JudgmentColumns("q", (ValueColumn("says"),), "who")
    given = ["007", "7", "+1", "1e0", "1.0"]
    rows = "".join(f"{n},ann,{label}\n" for n, label in enumerate(given))
    put(elsewhere, f"q,who,says\n{rows}", columns)
    found = elsewhere.judgments.order_by("item__key").values_list("response", flat=True)
    assert [one["says"] for one in found] == ["007", "7", "+1", "1e0", "1"]


def test_options_of_a_background_import_keep_every_column() -> None:
    assert judgments_columns(judgments_options(COLUMNS)) == COLUMNS

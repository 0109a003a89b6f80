from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from annotator.api.import_serializers import MaterialImportedSerializer
from annotator.models import Item, Judgment, Study, User
from annotator.services.study import study_create
from tests.annotator.services.imports.material_rows import ROW
from tests.factories import make_item, make_study

pytestmark = pytest.mark.django_db
MATERIAL = "/api/v1/studies/owls/material/"


def upload(text: str | bytes, name: str = "m.jsonl") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, text.encode() if isinstance(text, str) else text)


def test_material_can_be_sent_in_a_form(api: APIClient, study: Study) -> None:
    reply = api.post(MATERIAL, {"file": upload(json.dumps(ROW))})
    assert reply.status_code == 201, reply.data
    assert (reply.data["items"], reply.data["outputs"], list(reply.data["ignored"])) == (1, 1, [])
    assert set(reply.json()) == set(MaterialImportedSerializer().fields), "what the API's documentation says"
    assert api.post(MATERIAL, {"file": upload(json.dumps(ROW))}).data["unchanged"] == 1


def test_a_form_can_map_the_files_columns(api: APIClient, study: Study) -> None:
    text = "q,explanation,answer,follow_up\nOwls?,Birds.,no,Ducks?\n"
    values = {
        "mapping": json.dumps({"question": "q"}),
        "constants": json.dumps({"system": "s1"}),
        "dry_run": "true",
    }
    reply = api.post(MATERIAL, {"file": upload(text, "m.csv"), **values})
    assert (reply.status_code, reply.data["items"], reply.data["dry_run"]) == (200, 1, True)
    assert not Item.objects.exists()
    values["dry_run"] = "false"
    assert api.post(MATERIAL, {"file": upload(text, "m.csv"), **values}).status_code == 201
    assert Item.objects.get().explanation.system.name == "s1"


def test_material_can_be_sent_as_the_request_body(api: APIClient, study: Study) -> None:
    reply = api.post(MATERIAL, json.dumps(ROW) + "\n", content_type="application/x-ndjson")
    assert reply.status_code == 201, reply.data
    text = "q,explanation,answer,follow_up\nOwls?,Birds.,no,Ducks?\n"
    address = MATERIAL + '?mapping={"question":"q"}&dry_run=true'
    reply = api.post(address, text, content_type="text/csv; charset=utf-8")
    assert (reply.status_code, reply.data["items"]) == (200, 1)


def test_faults_come_with_line_and_column(api: APIClient, study: Study) -> None:
    bad = json.dumps(ROW | {"answer": "maybe"})
    reply = api.post(MATERIAL, {"file": upload(f"{json.dumps(ROW)}\n{bad}\n")})
    assert reply.status_code == 400
    assert reply.json() == {
        "status": 400,
        "title": "Bad Request",
        "detail": "Nothing was imported.",
        "total": 1,
        "faults": [
            {
                "file": "m.jsonl",
                "line": 2,
                "field": "answer",
                "value": "maybe",
                "expected": "'maybe' is not one of: yes, no",
            }
        ],
    }
    assert not Item.objects.exists()


@pytest.mark.parametrize(
    ("send", "code"),
    [
        ({"data": {}}, 400),
        ({"data": {"file": "text"}}, 400),
        ({"data": {"file": ("m.csv", b"")}}, 400),
        ({"data": {"file": ("m.exe", b"x")}}, 400),
        ({"data": {"file": ("m.jsonl", b"{}"), "mapping": "["}}, 400),
        ({"data": {"file": ("m.jsonl", b"{}"), "mapping": '["a"]'}}, 400),
        ({"data": {"file": ("m.jsonl", b"{}"), "mapping": '{"question": 1}'}}, 400),
        ({"data": {"file": ("m.jsonl", b"{}"), "mapping": '{"\\ud800": "x"}'}}, 400),
        ({"data": {"file": ("m.jsonl", b"{}"), "constants": '{"system": "\\ud800"}'}}, 400),
        ({"data": {"file": ("m.jsonl", b"{}"), "constants": '{"system": "\\u0000"}'}}, 400),
        ({"data": {"file": ("m.jsonl", b"{}"), "dry_run": "perhaps"}}, 400),
        ({"data": b"PK\x03\x04", "content_type": "text/csv"}, 400),
        ({"data": b"", "content_type": "text/csv"}, 400),
        ({"data": b"{}", "content_type": "application/json"}, 400),
        ({"data": b"x", "content_type": "application/zip"}, 415),
    ],
)
def test_invalid_import_requests_are_refused(
    api: APIClient, study: Study, send: dict[str, Any], code: int
) -> None:
    data = send["data"]
    if isinstance(data, dict):
        data = {k: upload(v[1], v[0]) if isinstance(v, tuple) else v for k, v in data.items()}
        reply = api.post(MATERIAL, data)
    else:
        reply = api.post(MATERIAL, data, content_type=send["content_type"])
    assert reply.status_code == code, reply.content
    reply.json()
    assert not Item.objects.exists()


def test_uploads_over_the_limit_are_not_read(api: APIClient, study: Study, settings: Any) -> None:
    settings.IMPORT_MAX_BYTES = 1_000
    reply = api.post(MATERIAL, b"x" * 1_001, content_type="text/csv")
    assert reply.status_code == 413
    reply = api.post(MATERIAL, {"file": upload(b"x" * 1_001, "m.csv")})
    assert reply.status_code == 400
    assert "expected at most" in reply.json()["faults"][0]["expected"]

    reply = api.generic("POST", MATERIAL, b"", content_type="text/csv", CONTENT_LENGTH=str(10**9))
    assert reply.status_code == 413


def test_judgments_can_be_sent_in_a_form_or_as_the_body(api: APIClient, researcher: User) -> None:
    study = make_study(by=researcher, slug="sim")
    make_item(study, key="a")
    address = "/api/v1/studies/sim/judgments/import/"
    columns = {"item": "item", "rater": "who", "values": [{"column": "label"}], "simulators": ["gpt"]}
    reply = api.post(
        address, {"file": upload("item,who,label\na,w1,yes\n", "j.csv"), "columns": json.dumps(columns)}
    )
    assert reply.status_code == 201, reply.data
    assert (reply.data["judgments"], reply.data["raters"]) == (1, 1)
    body = "item,who,label\na,gpt,cannot_guess\n"
    reply = api.post(f"{address}?columns={json.dumps(columns)}", body, content_type="text/csv")
    assert reply.status_code == 201, reply.data
    assert Judgment.objects.get(rater__kind="simulator").response == {"helpful": "no"}
    reply = api.post(
        f"{address}?columns={json.dumps(columns)}", "item,who,label\nb,w1,yes\n", content_type="text/csv"
    )
    assert reply.json()["faults"] == [
        {
            "file": "body.csv",
            "line": 2,
            "field": "item",
            "value": "b",
            "expected": "there is no such item in the study",
        }
    ]


def test_labels_collected_elsewhere_are_imported(api: APIClient, researcher: User) -> None:
    study_create(by=researcher, hit_type="external_labels", slug="labels", title="Labels")
    columns = {"item": "u", "unnamed": True, "values": [{"column": "v", "listed": ["1", "2"]}]}
    reply = api.post(
        f"/api/v1/studies/labels/judgments/import/?columns={json.dumps(columns)}", "u,v\nx,1|2\nx,2\n", content_type="text/csv"
    )  # fmt: skip
    assert (reply.status_code, reply.data["judgments"], reply.data["items"]) == (201, 2, 1)
    assert reply.data["notes"][0].startswith("No column names the raters")


def test_tables_of_label_counts(api: APIClient, researcher: User) -> None:
    study = study_create(by=researcher, hit_type="external_labels", slug="labels", title="Labels")
    columns = {"item": ["q", "sys"], "counts": ["low", "high"], "level": "ordinal", "attributes": ["kind"]}
    address = f"/api/v1/studies/labels/judgments/import/?columns={json.dumps(columns)}"
    reply = api.post(address, "q,sys,low,high,kind\n1,a,2,1,easy\n1,b,0,2,hard\n", content_type="text/csv")
    assert reply.status_code == 201, reply.data
    assert (reply.data["judgments"], reply.data["items"]) == (5, 2)
    assert reply.data["variables"][0]["labels"] == ["low", "high"]
    assert reply.data["variables"][0]["level"] == "ordinal"
    assert study.items.get(key="1 · a").attributes == {"kind": "easy"}
    columns |= {"values": [{"column": "low"}]}
    address = f"/api/v1/studies/labels/judgments/import/?columns={json.dumps(columns)}"
    assert api.post(address, "q,sys,low,high,kind\n", content_type="text/csv").status_code == 400


@pytest.mark.parametrize(
    "columns",
    [
        "", "[", "[]", "1", "{}", '{"item": "a"}', '{"item": "a", "values": []}', '{"item": "a", "values": [1]}',
        '{"item": "a", "values": [{"column": "b", "level": "odd"}]}', '{"item": 1.5e999, "values": [{"column": "b"}]}',
        '{"item": "a", "values": [{"column": "b"}], "recode": {"a": {"b": "c"}}}',
        '{"item": "\\ud800", "values": [{"column": "b"}]}',
    ],
)  # fmt: skip
def test_invalid_columns_are_refused(api: APIClient, study: Study, columns: str) -> None:
    address = "/api/v1/studies/owls/judgments/import/"
    for reply in (
        api.post(address, {"file": upload("a,b\n1,2\n", "j.csv"), "columns": columns}),
        api.post(f"{address}?columns={columns}", "a,b\n1,2\n", content_type="text/csv"),
    ):
        assert reply.status_code == 400, reply.content
        reply.json()
    assert not Judgment.objects.exists()


EXAMPLE = """\
Input.id,Input.question,Input.document,Input.domain,WorkerId,WorkTimeInSeconds,native_language,Answer.quality,Answer.right
i1,q?,d1,law,w1,12,en,good,1
i1,q?,d1,law,w2,13,de,0,1
i2,r?,d1,art,w1,3,en,-9.0,
i2,r?,d1,art,w2,3,de,NA,
i2,r?,d1,art,gpt-x,3,,-1,
"""


def test_the_columns_of_the_documentation_can_be_sent_as_they_are(api: APIClient, researcher: User) -> None:
    study = study_create(by=researcher, hit_type="external_labels", slug="labels", title="Labels")
    text = (Path(__file__).parents[3] / "docs/import.md").read_text()
    found = re.search(r"```json\n(\{.*?\})\n```", text, re.DOTALL)
    assert found
    reply = api.post(
        "/api/v1/studies/labels/judgments/import/", {"file": upload(EXAMPLE, "j.csv"), "columns": found[1]}
    )
    assert reply.status_code == 201, reply.data
    assert [v["name"] for v in reply.data["variables"]] == ["quality", "quality_needs_more_info"]
    assert study.items.get(key="i1").attributes == {"Input.domain": "law"}
    assert study.items.get(key="i1").gold == {"quality": "1"}
    assert study.judgments.get(rater__kind="simulator").response["quality"] == "-1"
    assert study.judgments.get(item__key="i2", rater__name="w1").response == {
        "quality_needs_more_info": "yes"
    }


@pytest.mark.parametrize(
    ("columns", "wrong"),
    [
        ({"item": "u", "rater": "r", "values": [{"column": "v"}], "clusters": "d"}, "clusters"),
        ({"item": "u", "rater": "r", "values": [{"column": "v", "levels": "ordinal"}]}, "levels"),
        ({"item": "u", "counts": ["v"], "missing": ["NA"]}, "missing"),
        ({"item": "u", "counts": ["v"], "rater_attributes": ["r"]}, "rater_attributes"),
    ],
)
def test_misspelled_and_idle_options_are_refused(
    api: APIClient, researcher: User, columns: dict[str, Any], wrong: str
) -> None:
    """Left out silently, they would change figures: intervals without clusters, another level."""
    study_create(by=researcher, hit_type="external_labels", slug="labels", title="Labels")
    address = f"/api/v1/studies/labels/judgments/import/?columns={json.dumps(columns)}"
    reply = api.post(address, "u,r,v,d\nx,a,1,d\n", content_type="text/csv")
    assert reply.status_code == 400
    assert wrong in json.dumps(reply.json())


def test_own_columns_of_material_are_kept_as_attributes(api: APIClient, study: Study) -> None:
    row = json.dumps(ROW | {"domain": "birds"})
    reply = api.post(MATERIAL, {"file": upload(row), "attributes": '["domain"]'})
    assert (reply.status_code, reply.json()["ignored"]) == (201, [])
    assert Item.objects.get().attributes == {"domain": "birds"}
    row = json.dumps(ROW | {"domain": "owls", "key": "b"})
    reply = api.post(f'{MATERIAL}?attributes=["domain"]', row, content_type="application/x-ndjson")
    assert reply.status_code == 201, reply.data
    assert Item.objects.get(key="b").attributes == {"domain": "owls"}
    for wrong in ("domain", '{"domain": 1}', "[1]"):
        assert api.post(MATERIAL, {"file": upload(row), "attributes": wrong}).status_code == 400

"""The API's documentation as a plain page, made from the schema, without scripts or external resources."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.views.decorators import staff_member_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from annotator.api.schema import STANDING
from annotator.api.schema_made import schema_made

METHODS = ("get", "post", "patch", "put", "delete")


@staff_member_required(login_url="admin:login")
def page(request: HttpRequest) -> HttpResponse:
    """Every path with its methods, parameters, bodies and replies."""
    schema = schema_made()
    return render(request, "api/docs.html", {"info": schema["info"], "operations": operations(schema)})


def operations(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The schema's operations in the order of their paths, with references resolved one level deep."""
    listed = []
    for path, item in schema["paths"].items():
        for method in METHODS:
            if method not in item:
                continue
            operation = item[method]
            content: dict[str, Any] = operation.get("requestBody", {}).get("content", {})
            listed.append({
                "method": method.upper(),
                "path": path,
                "description": operation.get("description", ""),
                "parameters": operation.get("parameters", []),
                "media": list(content),
                "fields": _fields(schema, (next(iter(content.values())) if content else {}).get("schema", {})),
                "replies": {
                    code: _name(reply) for code, reply in operation["responses"].items() if reply.get("description") not in STANDING.values()
                },
            })  # fmt: skip
    return listed


def _fields(schema: dict[str, Any], body: dict[str, Any]) -> list[dict[str, Any]]:
    if "$ref" in body:
        body = schema["components"]["schemas"][body["$ref"].rpartition("/")[2]]
    required = body.get("required", [])
    return [
        {
            "name": name,
            "type": _type(value),
            "required": name in required,
            "help": value.get("description", ""),
        }
        for name, value in body.get("properties", {}).items()
    ]


def _type(value: dict[str, Any]) -> str:
    if "$ref" in value:
        return str(value["$ref"].rpartition("/")[2])
    return str(value.get("format") or value.get("type") or "")


def _name(reply: dict[str, Any]) -> str:
    for media, content in reply.get("content", {}).items():
        body = content.get("schema", {})
        reference = body.get("$ref") or body.get("items", {}).get("$ref", "")
        return reference.rpartition("/")[2] or media
    return ""

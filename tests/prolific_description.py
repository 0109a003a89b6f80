"""Prolific's published OpenAPI description, where it is at hand: what a request and a reply must look like.

``PROLIFIC_OPENAPI`` names its folder; otherwise it's looked for in ``shared/prolific`` beside the checkout. The
files aren't part of the product. Where they are missing, requests are compared with recorded ones (``prolific_cases``).
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match


@cache
def description() -> Description | None:
    """The description; None where its files are missing."""
    given = os.environ.get("PROLIFIC_OPENAPI", "")
    near = [parent / "shared" / "prolific" for parent in Path(__file__).resolve().parents]
    for folder in [Path(given)] if given else near:
        if (folder / "studies.yml").is_file():
            return Description(folder)
    return None


class Description:
    """The description in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def _operations(self) -> list[tuple[str, re.Pattern[str], str, Mapping[str, Any], dict[str, Any]]]:
        found = []
        for file in sorted(self.folder.glob("*.yml")):
            content = yaml.load(
                file.read_text(), yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader
            )
            for path, methods in content.get("paths", {}).items():
                pattern = re.compile(re.sub(r"\\\{[^}]+\\\}", "[^/]+", re.escape(path)))
                for method, operation in methods.items():
                    found.append((method.upper(), pattern, path, operation, content))
        # A path without parameters is the more specific one.
        return sorted(found, key=lambda one: one[2].count("{"))

    def operation(self, method: str, path: str) -> tuple[Mapping[str, Any], dict[str, Any]]:
        for its_method, pattern, _, operation, content in self._operations:
            if its_method == method and pattern.fullmatch(urlsplit(path).path):
                return operation, content
        raise AssertionError(f"Prolific's API has no {method} {path}")

    def request_check(self, method: str, path: str, body: Any) -> None:
        """The address exists, its query has only parameters that it knows and all required ones, and the body is valid."""
        operation, content = self.operation(method, path)
        asked = parse_qs(urlsplit(path).query)
        known = {one["name"]: one for one in operation.get("parameters", []) if one["in"] == "query"}
        # A parameter that is an object is sent as its properties.
        spread = {name for one in known.values() for name in _properties(one["schema"], content)}
        assert set(asked) <= set(known) | spread, f"{method} {path}: unknown parameters"
        missing = {
            name
            for name, one in known.items()
            if one.get("required") and not _properties(one["schema"], content)
        }
        assert missing <= set(asked), f"{method} {path}: {missing} missing"
        for name, values in asked.items():
            kind = known.get(name, {}).get("schema", {}).get("type")
            if kind == "boolean":
                assert values[0] in ("true", "false"), f"{method} {path}: {name}"
            if kind == "integer":
                assert values[0].isdecimal(), f"{method} {path}: {name}"
        schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
        assert (schema is None) == (body is None), (
            f"{method} {path}: a body where none belongs, or none where one does"
        )
        if schema is not None:
            self._check(f"{method} {path}", body, schema, content, strict=True)

    def reply_check(self, method: str, path: str, status: int, body: Any) -> None:
        """The status is one that the description has (or one of the server's own troubles), and the body is valid."""
        operation, content = self.operation(method, path)
        replies = operation["responses"]
        described = replies.get(str(status)) or (replies.get("400") if status >= 400 else None)
        assert described is not None, f"{method} {path}: {status} isn't described"
        schema = described.get("content", {}).get("application/json", {}).get("schema")
        if schema is not None and not (status == 204 and body is None):
            if status >= 400 and schema.get("$ref", "").endswith("/ErrorDetail"):
                schema = (
                    {"$ref": "#/components/schemas/Error"}
                    if "Error" in content["components"]["schemas"]
                    else schema
                )
            self._check(f"{method} {path} -> {status}", body, schema, content, strict=False)

    def schemas(self, method: str, path: str) -> dict[str, str]:
        """The names of the schemas of an operation's request and of its success, for recorded cases."""
        operation, _ = self.operation(method, path)
        asked = operation.get("requestBody", {})
        success = next(
            reply for status, reply in operation["responses"].items() if str(status).startswith("2")
        )
        return {"request_schema": _name(asked), "reply_schema": _name(success)}

    def _check(self, what: str, value: Any, schema: Any, content: dict[str, Any], *, strict: bool) -> None:
        whole = {"$ref": "#/wanted", "wanted": schema, "components": content["components"]}
        validator = Draft202012Validator(_usable(copy.deepcopy(whole), strict=strict))
        fault = best_match(validator.iter_errors(value))
        assert fault is None, f"{what}: {fault.json_path}: {fault.message}"


def _name(message: Mapping[str, Any]) -> str:
    schema = message.get("content", {}).get("application/json", {}).get("schema", {})
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _properties(schema: Mapping[str, Any], content: Mapping[str, Any]) -> set[str]:
    reference = schema.get("$ref", "").rpartition("/")[2]
    if reference:
        return _properties(content["components"]["schemas"][reference], content)
    alternatives = [*schema.get("oneOf", []), *schema.get("anyOf", [])]
    own = set(schema.get("properties", {})) if schema.get("type") == "object" else set()
    return own.union(*(_properties(one, content) for one in alternatives))


def _usable(schema: Any, *, strict: bool) -> Any:
    """The schema for validation. Alternatives of ``oneOf`` overlap in the description (5 is an integer and a number), so one of them
    is enough. ``strict``: an object may only have properties that it declares."""
    if isinstance(schema, list):
        return [_usable(one, strict=strict) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: _usable(value, strict=strict) for name, value in schema.items()}
    if "oneOf" in made and isinstance(made["oneOf"], list):
        made["anyOf"] = made.pop("oneOf")
    if (
        strict
        and made.get("type") == "object"
        and isinstance(made.get("properties"), dict)
        and made["properties"]
    ):
        made.setdefault("additionalProperties", False)
    return made

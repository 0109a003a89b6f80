"""Responses that every operation of the schema can give in addition to its own."""

from __future__ import annotations

from typing import Any

#: The common responses: not logged in, not a researcher, not found or no access, too many requests, any other error.
STANDING = {
    "400": "The request is invalid; the body says which field is wrong.",
    "401": "No valid token or session.",
    "403": "Not a researcher, or no CSRF token with a session.",
    "404": "It does not exist, or you have no access to it.",
    "429": "Too many requests.",
    "4XX": "The request was refused for another reason, such as an unsupported method or media type.",
}


def with_standing_replies(
    result: dict[str, Any], generator: Any, request: Any, public: Any
) -> dict[str, Any]:
    """A postprocessing hook: add the common responses to each operation that doesn't define them itself."""
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    schemas.setdefault(
        "Detail", {"type": "object", "properties": {"detail": {"type": "string"}}, "required": ["detail"]}
    )
    for path in result["paths"].values():
        for operation in path.values():
            if not isinstance(operation, dict) or "responses" not in operation:
                continue
            for code, description in STANDING.items():
                name = "Errors" if code == "400" else "Detail"
                reply = {
                    "description": description,
                    "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}},
                }
                operation["responses"].setdefault(code, reply)
    return result

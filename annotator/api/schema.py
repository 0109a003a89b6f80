"""What the schema says of all operations: their groups, and the responses that each can give in addition to its own."""

from __future__ import annotations

from typing import Any

from annotator.api.problems import PROBLEM

#: The common responses: not logged in, not a researcher, not found or no access, too many requests, any other error.
STANDING = {
    "400": "The request is invalid; the body says which field is wrong.",
    "401": "No valid token or session.",
    "403": "Not a researcher, or no CSRF token with a session.",
    "404": "It does not exist, or you have no access to it.",
    "429": "Too many requests.",
    "4XX": "The request was refused for another reason, such as an unsupported method or media type.",
}


#: What follows a study in an address -> the group of the operation. Whatever isn't here changes the study itself.
OF_A_STUDY = {
    "adjudicated": "adjudication", "adjudication": "adjudication", "contested": "items", "disagreement": "reports", "exclusions": "exclusions", "exports": "exports", "human-scores": "runs", "images": "images", "keep": "kept_studies",
    "items": "items", "judgments": "judgments", "material": "imports", "members": "people", "messages": "messages",
    "panel": "panel", "participants": "people", "personal-links": "people", "payments": "payments", "plan": "plan", "questionnaires": "judgments", "rehearsal": "rehearsal", "report-columns": "reports",
    "reports": "reports", "review": "review", "runs": "runs", "uploads": "imports",
}  # fmt: skip
#: The first part of other addresses, where it isn't the group's name.
OF_ITS_OWN = {
    "members": "people", "invitations": "people", "hit-types": "studies",
    "kept-studies": "kept_studies", "kept-jobs": "kept_studies",
    "datasets": "pipelines", "endpoints": "pipelines", "recipes": "pipelines",
}  # fmt: skip


def group_of(path: str) -> str:
    """The group (tag) of the operations at an address.

    >>> group_of("/api/v1/studies/{slug}/judgments/export/"), group_of("/api/v1/runs/{id}/"), group_of("/api/v1/studies/{slug}/launch/")
    ('judgments', 'runs', 'studies')
    """
    first, *rest = path.removeprefix("/api/v1/").strip("/").split("/")
    if first == "studies" and len(rest) > 1:
        return OF_A_STUDY.get(rest[1], "studies")
    if first == "hit-types" and rest:
        return "hit_types"  # those of workspaces; the list of the built-in ones is for studies
    if first == "reports" and "releases" in rest:
        return "releases"
    return OF_ITS_OWN.get(first, first)


def with_groups(result: dict[str, Any], generator: Any, request: Any, public: Any) -> dict[str, Any]:
    """A postprocessing hook: sort the operations into groups by what they are about."""
    for path, item in result["paths"].items():
        for operation in item.values():
            if isinstance(operation, dict) and "tags" in operation:
                operation["tags"] = [group_of(path)]
    return result


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


def with_problems(result: dict[str, Any], generator: Any, request: Any, public: Any) -> dict[str, Any]:
    """A postprocessing hook: errors are problem details (RFC 9457), with ``status`` and ``title`` beside what they say."""
    members = {"status": {"type": "integer"}, "title": {"type": "string"}}
    refused = ("Detail", "Errors", "ImportRefused", "DatasetRefused")
    for name in refused:
        shape = result["components"]["schemas"].get(name)
        if shape is not None:
            shape["properties"] = members | shape["properties"]
    for item in result["paths"].values():
        for operation in item.values():
            for code, reply in operation.get("responses", {}).items() if isinstance(operation, dict) else ():
                if code >= "4" and "application/json" in reply.get("content", {}):
                    reply["content"] = {PROBLEM: reply["content"]["application/json"]}
    return result

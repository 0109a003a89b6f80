"""Writes the client's lower layer from the OpenAPI schema: ``python clients/python/generate.py`` (``--check`` only compares).

One file for each group of operations in ``src/foretell_client/operations``: its types, and a class with a method for each
operation. What several groups use is in ``shared.py``. Nothing there is changed by hand.
"""

from __future__ import annotations

import json
import keyword
import os
import re
import subprocess
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FOLDER = HERE / "src" / "foretell_client" / "operations"
HEAD = '"""{title}. Written by clients/python/generate.py from the API\'s schema; don\'t change it by hand."""\n\n'
START = "/api/v1/"
#: What addresses call the numbers of rows; the schema describes them as texts of digits.
NUMBERS = ("id", "other")
METHODS = ("get", "post", "put", "patch", "delete")
#: Descriptions that serializers inherit, which say nothing of the type itself.
INHERITED = ("For serializers of what is sent", "A serializer for which an unknown key")
REFERENCE = "#/components/schemas/"


@dataclass
class Operation:
    """One operation of the schema, as the client needs it."""

    group: str
    name: str
    method: str
    path: str
    about: str
    path_kinds: dict[str, dict[str, Any]]
    query: list[dict[str, Any]]
    body: dict[str, Any] | None = None
    media: str = ""
    replies: list[dict[str, Any]] = field(default_factory=list)
    file: bool = False

    @property
    def paginated(self) -> str:
        """The component of a page of results; empty if the reply isn't one."""
        name = self.replies[0].get("$ref", "").removeprefix(REFERENCE) if len(self.replies) == 1 else ""
        return name if name.startswith("Paginated") else ""


def type_name(component: str) -> str:
    """The name of a component's type.

    >>> type_name("RunStateEnum"), type_name("PatchedStudyRequest"), type_name("StudyCreateRequest")
    ('RunState', 'StudyPatch', 'StudyCreate')
    """
    if component.startswith("Patched"):
        return component.removeprefix("Patched").removesuffix("Request") + "Patch"
    new = component.removesuffix("Request")
    return new.removesuffix("Enum") if component.endswith("Enum") else new


class Schema:
    """The OpenAPI schema, with the names of its types."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        self.components: dict[str, Any] = found["components"]["schemas"]
        shown = defaultdict(list)
        for component in self.components:
            shown[type_name(component)].append(component)
        #: What is sent and what is shown may have one name: the former is then ``...Sent``.
        self.names = {
            one: name if len(ones) == 1 or not one.endswith("Request") else f"{name}Sent"
            for name, ones in shown.items()
            for one in ones
        }
        self.operations = list(self._operations(found["paths"]))

    def _operations(self, paths: Mapping[str, Any]) -> Iterator[Operation]:
        for path, item in paths.items():
            for method in METHODS:
                if method in item:
                    yield self._operation(path, method, item)

    def _operation(self, path: str, method: str, item: Mapping[str, Any]) -> Operation:
        found = item[method]
        group, parameters = found["tags"][0], found.get("parameters", [])
        content = found.get("requestBody", {}).get("content", {})
        made = Operation(
            group=group,
            name=method_name(path, method, group, item),
            method=method.upper(),
            path=path.removeprefix(START),
            about=found.get("description", "").strip(),
            path_kinds={
                name: next(one["schema"] for one in parameters if one["name"] == name)
                for name in re.findall(r"{(\w+)}", path)
            },
            query=[one for one in parameters if one["in"] == "query" and one["name"] != "cursor"],
        )
        for media in ("application/json", "multipart/form-data", "application/octet-stream"):
            if media in content:
                made.media, made.body = media, content[media]["schema"]
                break
        if made.media == "multipart/form-data":
            made.query = []  # they are for a body of rows, which the form replaces
        for code, reply in found["responses"].items():
            if code.startswith("2"):
                for media, shown in reply.get("content", {}).items():
                    binary = shown["schema"].get("format") == "binary" or media != "application/json"
                    made.file = made.file or binary
                    if shown["schema"] not in made.replies:
                        made.replies.append(shown["schema"])
        return made

    def used(self, shape: Any) -> Iterator[str]:
        """The components that a shape refers to, and those that these refer to."""
        if isinstance(shape, Mapping):
            name = str(shape.get("$ref", "")).removeprefix(REFERENCE)
            if name:
                yield name
                yield from self.used(self.components[name])
            for part in shape.values():
                yield from self.used(part)
        elif isinstance(shape, list):
            for part in shape:
                yield from self.used(part)

    def annotation(self, shape: Mapping[str, Any]) -> str:
        """The Python type of a shape."""
        plain = self._annotation(shape)
        return f"{plain} | None" if shape.get("nullable") and plain != "Any" else plain

    def _annotation(self, shape: Mapping[str, Any]) -> str:
        if "$ref" in shape:
            return self.names[shape["$ref"].removeprefix(REFERENCE)]
        if "allOf" in shape:
            return self.annotation(shape["allOf"][0])
        if "oneOf" in shape:
            return " | ".join(dict.fromkeys(self.annotation(one) for one in shape["oneOf"]))
        if "enum" in shape:
            return f"Literal[{', '.join(json.dumps(one) for one in shape['enum'])}]"
        kind = shape.get("type")
        if kind == "array":
            return f"list[{self.annotation(shape['items'])}]"
        if kind == "object":
            more = shape.get("additionalProperties")
            return f"dict[str, {self.annotation(more)}]" if isinstance(more, Mapping) else "dict[str, Any]"
        if kind == "string" and shape.get("format") == "binary":
            return "File"
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}.get(str(kind), "Any")


def method_name(path: str, method: str, group: str, item: Mapping[str, Any]) -> str:
    """The name of an operation's method: what its address adds to the group's name, and a verb where that isn't one.

    >>> method_name("/api/v1/studies/{slug}/judgments/export/", "get", "judgments", {"get": {}})
    'export'
    >>> method_name("/api/v1/studies/{slug}/runs/", "post", "runs", {"get": {}, "post": {}})
    'create'
    """
    parts = [part.replace("-", "_") for part in path.removeprefix(START).strip("/").split("/")]
    if len(parts) > 2 and parts[1].startswith("{") and parts[0] != group:
        parts = parts[2:]  # of what it is a part
    words = [part for part in parts if not part.startswith("{") and part != group]
    name = "_".join(words)
    last = parts[-1].startswith("{")
    if parts[-1] == "{action}":
        return "act"
    one = "read" if last or not is_list(item[method]) else "all"
    verbs = {"get": one, "post": "create", "patch": "change", "put": "replace", "delete": "delete"}
    if not name:
        return verbs[method]
    if method == "get":
        return name
    if method == "post" and "get" not in item:
        return f"{name}_" if keyword.iskeyword(name) else name
    return f"{name}_{verbs[method]}"


def class_name(group: str) -> str:
    """``hit_types`` -> ``HitTypes``."""
    return group.title().replace("_", "")


def is_list(operation: Mapping[str, Any]) -> bool:
    """Whether an operation replies with a list, or with pages of one."""
    content = operation.get("responses", {}).get("200", {}).get("content", {})
    shape = content.get("application/json", {}).get("schema", {})
    return shape.get("type") == "array" or "/Paginated" in shape.get("$ref", "")


def python_name(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def definition(schema: Schema, component: str) -> str:
    """The type of a component: a ``TypedDict``, or an alias of its values."""
    shape, name = schema.components[component], schema.names[component]
    if "properties" not in shape:
        return f"{name} = {schema.annotation(shape)}\n"
    sent = component.endswith("Request")
    about = shape.get("description", "").strip()
    lines = [f"class {name}(TypedDict{', total=False' if sent else ''}):"]
    if about and not about.startswith(INHERITED):
        lines.append(textwrap.indent(docstring(about), "    "))
    for key, value in shape["properties"].items():
        kind = schema.annotation(value)
        if sent and key in shape.get("required", []):
            kind = f"Required[{kind}]"
        lines.append(f"    {key}: {kind}")
    return "\n".join(lines) + "\n"


def docstring(about: str) -> str:
    paragraphs = (textwrap.fill(" ".join(one.split()), 100) for one in about.split("\n\n"))
    text = "\n\n".join(paragraphs).replace("\\", "\\\\")
    return f'"""{text}\n"""' if "\n" in text else f'"""{text}"""'


def method(schema: Schema, operation: Operation) -> str:
    """An operation's method. Values in the address are positional, all others are named."""
    arguments = [
        f"{name}: {'int' if name in NUMBERS else schema.annotation(shape)}"
        for name, shape in operation.path_kinds.items()
    ]
    if arguments:
        arguments.append("/")
    query = [] if operation.media == "application/json" else operation.query
    kinds = {one["name"]: schema.annotation(one["schema"]) for one in query}
    needed = {one["name"] for one in query if one.get("required")}
    if query or operation.media == "application/octet-stream":
        arguments.append("*")
    arguments += [
        f"{python_name(name)}: {kind}" + ("" if name in needed else " | None = None")
        for name, kind in kinds.items()
    ]
    call = [f'"{operation.method}"', address(operation)]
    if kinds:
        pairs = (f'"{name}": {python_name(name)}' for name in kinds)
        call.append(f"query={{{', '.join(pairs)}}}")
    if operation.media == "application/octet-stream":
        arguments.append("content: bytes")
        call.append("content=content")
    elif operation.body is not None:
        body = schema.annotation(operation.body)
        # Where the schema names no fields, any may be sent.
        arguments.append("**sent: Any" if body == "dict[str, Any]" else f"**sent: Unpack[{body}]")
        call.append("body=sent" if operation.media == "application/json" else "form=sent")
    reply, how = reply_of(schema, operation)
    about = docstring(operation.about or f"{operation.method} {operation.path}")
    body = f"return self._http.{how}({', '.join(call)})"
    if how == "json":
        body = f"reply: {reply} = self._http.json({', '.join(call)})\nreturn reply"
    elif reply == "None":
        body = body.removeprefix("return ")
    head = f"def {operation.name}(self, {', '.join(arguments)}) -> {reply}:".replace("(self, )", "(self)")
    return head + "\n" + textwrap.indent(f"{about}\n{body}\n", "    ")


def reply_of(schema: Schema, operation: Operation) -> tuple[str, str]:
    """The Python type of a reply, and the transport's method that gets it."""
    if operation.file:
        return "Download", "download"
    if name := operation.paginated:
        return (
            f"Iterator[{schema.annotation(schema.components[name]['properties']['results']['items'])}]",
            "pages",
        )
    if not operation.replies:
        return "None", "nothing"
    return " | ".join(dict.fromkeys(schema.annotation(one) for one in operation.replies)), "json"


def address(operation: Operation) -> str:
    """An f-string of the address, in which texts are quoted."""
    path = operation.path
    for name in operation.path_kinds:
        if name not in NUMBERS:
            path = path.replace(f"{{{name}}}", f"{{part({name})}}")
    return f'f"{path}"' if operation.path_kinds else f'"{path}"'


def files(found: Mapping[str, Any]) -> dict[str, str]:
    """The generated files: name to content."""
    schema = Schema(found)
    groups: dict[str, list[Operation]] = defaultdict(list)
    users: dict[str, set[str]] = defaultdict(set)
    for one in schema.operations:
        if one.name in {other.name for other in groups[one.group]}:
            raise SystemExit(f"{one.path}: there are two operations named {one.group}.{one.name}")
        groups[one.group].append(one)
        asked = (parameter["schema"] for parameter in one.query)
        for shape in (one.body, *asked, *one.path_kinds.values(), *one.replies):
            for component in schema.used(shape):
                if not component.startswith("Paginated"):
                    users[component].add(one.group)
    shared = sorted(name for name, by in users.items() if len(by) > 1)
    written = {"shared.py": module(schema, "Types of several groups of operations", shared, [], [], "")}
    for group, operations in sorted(groups.items()):
        own = sorted(name for name, by in users.items() if by == {group})
        others = sorted(schema.names[name] for name in shared if group in users[name])
        title = f"Operations on {group.replace('_', ' ')}"
        written[f"{group}.py"] = module(
            schema, title, own, others, operations, f"{class_name(group)}Operations"
        )
    written["__init__.py"] = package(sorted(groups))
    return {name: formatted(name, text) for name, text in written.items()}


def module(
    schema: Schema, title: str, own: list[str], others: list[str], operations: list[Operation], name: str
) -> str:
    """One file: its types, then the class of its operations."""
    own.sort(key=lambda component: ("properties" in schema.components[component], component))
    defined = [definition(schema, component) for component in own]
    body = "".join(one if not one.startswith("class ") else f"\n\n{one}" for one in defined)
    if operations:
        methods = "\n".join(textwrap.indent(method(schema, one), "    ") for one in operations)
        start = "    def __init__(self, http: Transport) -> None:\n        self._http = http\n"
        body += f"\n\nclass {name}:\n    {docstring(title + '.')}\n\n{start}\n{methods}"
    others = [one for one in others if re.search(rf"\b{one}\b", body)]
    text = body
    typing = [
        one for one in ("Any", "Literal", "Required", "TypedDict", "Unpack") if re.search(rf"\b{one}\b", text)
    ]
    transport = [one for one in ("Download", "File", "Transport", "part") if re.search(rf"\b{one}\b", text)]
    lines = ["from __future__ import annotations\n"]
    if "Iterator[" in text:
        lines.append("from collections.abc import Iterator")
    lines.append(f"from typing import {', '.join(typing)}\n" if typing else "")
    if others:
        lines.append(f"from foretell_client.operations.shared import {', '.join(others)}")
    if transport:
        lines.append(f"from foretell_client.transport import {', '.join(transport)}")
    return HEAD.format(title=title) + "\n".join(lines).rstrip() + "\n\n" + body


def package(groups: list[str]) -> str:
    """``operations/__init__.py``: all groups together."""
    classes = {group: f"{class_name(group)}Operations" for group in groups}
    imports = "\n".join(f"from foretell_client.operations.{one} import {classes[one]}" for one in groups)
    made = "\n".join(f"        self.{one} = {classes[one]}(http)" for one in groups)
    return (
        HEAD.format(title="Every operation of the API, by group")
        + "from __future__ import annotations\n\n"
        + imports
        + "\nfrom foretell_client.transport import Transport\n\n\nclass Operations:\n"
        + '    """The operations of the API, by what they are about."""\n\n'
        + f"    def __init__(self, http: Transport) -> None:\n{made}\n"
    )


def formatted(name: str, text: str) -> str:
    """The file as ``ruff format`` leaves it."""
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(FOLDER / name), "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr}\n{text}")
    return done.stdout


def own_schema() -> dict[str, Any]:
    """The schema of the Foretell beside this package."""
    sys.path.insert(0, str(HERE.parents[1]))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "foretell.settings")
    import django

    django.setup()
    from drf_spectacular.generators import SchemaGenerator  # it reads the settings

    found: dict[str, Any] = json.loads(
        json.dumps(SchemaGenerator().get_schema(request=None, public=True), default=str)
    )
    return found


def differences(found: Mapping[str, Any]) -> list[str]:
    """The files in ``operations`` that aren't what the schema makes."""
    made = files(found)
    there = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.py")}
    return sorted(name for name in made.keys() | there.keys() if made.get(name) != there.get(name))


def main() -> None:
    found = own_schema()
    if "--check" in sys.argv[1:]:
        if changed := differences(found):
            names = ", ".join(changed)
            raise SystemExit(
                f"The client differs from the API's schema: {names}. Run python clients/python/generate.py."
            )
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("*.py"):
        old.unlink()
    for name, text in files(found).items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

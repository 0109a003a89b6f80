"""Replies that follow a JSON schema: the model's plain reply, converted to the object that is asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from evaluation.providers.scripted.ask import Ask
from evaluation.providers.scripted.skills.confident import LINE
from evaluation.providers.scripted.world import pick, sentences

_NUMBER = re.compile(r"^\d+\. ", re.MULTILINE)
_PASSAGE = re.compile(r'([\w-]+)(?:/([\w-]+))?: "([^"\n]+)"')
_PAIR = re.compile(r"\d+=(\w+)")
_LABEL = re.compile(r"^(?:Explanation|Reason|Summary|Suggestion|Answer|ANSWER): *", re.MULTILINE)


def structured(ask: Ask, answer: Callable[[Ask], str]) -> str | None:
    """A JSON object that fits the request's schema."""
    schema = (ask.schema or {}).get("schema")
    if not isinstance(schema, dict):
        return None
    said = answer(replace(ask, schema=None))
    sure = LINE.search(said)
    said = LINE.sub("", said)
    properties = schema.get("properties", {}).items()
    asked = [name for name, held in properties if "enum" in held and not name.startswith("confidence")]
    pairs = _PAIR.findall(said.strip().splitlines()[-1]) if said.strip() else []
    places = dict(zip(asked, pairs, strict=True)) if len(pairs) == len(asked) else {}
    return json.dumps(
        {
            name: _sure(held, sure.group(1) if sure else "")
            if name.startswith("confidence")
            else _value(ask, name, held, places[name] if _is_number(held) and name in places else said)
            for name, held in properties
        }
    )


def _is_number(schema: dict[str, Any]) -> bool:
    """Whether a property is one of some numbers: then its own number in a numbered reply counts."""
    return all(value is None or str(value).isdigit() for value in schema.get("enum", ["-"]))


def _sure(schema: dict[str, Any], said: str) -> str:
    """What the plain reply says about its confidence as one of the schema's values, or else as it is written: not every server
    enforces a schema."""
    written = said.lower().removesuffix(" sure").replace(" ", "_").removesuffix("%")
    return written if written in schema.get("enum", ()) else said


def _value(ask: Ask, name: str, schema: dict[str, Any], said: str) -> Any:
    if schema.get("type") == "array":
        return _entries(ask, name, schema["items"], said)
    if "enum" in schema:
        return _chosen(ask, name, [value for value in schema["enum"] if value is not None], said)
    if schema.get("type") == ["string", "null"]:
        return None
    return _text(name, said)


def _chosen(ask: Ask, name: str, values: list[str], said: str) -> str:
    """The value under its label, or that the plain reply names last; if it names none, one chosen by a simple rule."""
    last = said.strip().splitlines()[-1] if ask.text else said
    if marked := re.search(rf"^{name}: (.+)$", said, re.MULTILINE | re.IGNORECASE):
        last = marked.group(1)
    named = re.findall(rf"\b({'|'.join(re.escape(value) for value in values)})\b", last, re.IGNORECASE)
    if named:
        return next(value for value in values if value.lower() == named[-1].lower())
    return pick(tuple(values), "structured", name, ask.text, ask.sample)


def _text(name: str, said: str) -> str:
    """The part with that name if the plain reply has labels; otherwise everything except its final answer."""
    pieces = dict(re.findall(r"^([\w -]+?): (.+)$", said, re.MULTILINE))
    if name == "explanation":
        found = pieces.get("Explanation") or pieces.get("Reason")
        kept = [s for s in sentences(said) if not re.match(r"So (?:the answer|Response)", s)]
        return found or " ".join(kept) or said
    if name == "output":
        return pieces.get("Summary") or pieces.get("Suggestion") or said
    if name == "question":
        return pieces.get("New question", said)
    if name == "follow_up":
        return pieces.get("Follow-up question", said)
    if name == "reason":
        return sentences(pieces.get("Guess", said))[0]
    if name in ("context", "response_1", "response_2"):
        return pieces.get(name.capitalize().replace("_", " "), said)
    return _LABEL.sub("", said.strip().splitlines()[0])


def _entries(ask: Ask, name: str, entry: dict[str, Any], said: str) -> list[Any]:
    if "enum" in entry:
        return [_chosen(ask, name, entry["enum"], said)]
    if name in ("units", "person", "suggestions"):
        part = re.split(r"^Suggestions:$", said, flags=re.MULTILINE)[-1 if name == "suggestions" else 0]
        return re.findall(r"^- (.+)$", part, re.MULTILINE)
    texts = [text.strip() for text in _NUMBER.split(said) if text.strip()]
    keys = set(entry.get("properties", {}))
    if {"words", "category"} <= keys:
        found = [
            {"words": words, "nth": None, "category": category, "severity": severity}
            for category, severity, words in _PASSAGE.findall(said)
        ]
        return [{name: held for name, held in one.items() if name in keys} for one in found]
    if keys == {"question", "options"}:
        return [
            {"question": lines[0], "options": [line[2:].strip() for line in lines[1:]]}
            for lines in (text.splitlines() for text in texts)
        ]
    if keys:
        return [
            {
                key.lower().replace(" ", "_"): held
                for key, held in re.findall(r"^(Context|Response [12]): (.+)$", text, re.MULTILINE)
            }
            for text in texts
        ]
    return texts

"""Reads a language model's reply: the label that it gives, or the reason why it gives none.

Nothing here guesses. An answer counts only in a place that is clearly meant for it: the fixed last line
(``ANSWER: ...``), a JSON object, or a last line or sentence that contains nothing but the answer.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annotator.hit_types.shapes import JSON, Unparsable

Labels = Mapping[str, tuple[str, ...]]

MARKER = "ANSWER"
YES_NO_LABELS: Labels = {"yes": ("yes",), "no": ("no",)}

_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_QUOTES = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "«": '"', "»": '"', "\u00a0": " "})
_INVISIBLE = re.compile("[\u200b-\u200f\u2060\ufeff]")
_THOUGHT = re.compile(
    r"<(think|thinking|reasoning|thought)>.*?</\1>|\[THINK\].*?\[/THINK\]", re.DOTALL | re.IGNORECASE
)
_OPEN_THOUGHT = re.compile(r"<(?:think|thinking|reasoning|thought)>|\[THINK\]", re.IGNORECASE)
#: A thought whose opening the chat template kept for itself.
_CLOSED_THOUGHT = re.compile(
    r"^.*(?:</(?:think|thinking|reasoning|thought)>|\[/THINK\])", re.DOTALL | re.IGNORECASE
)
#: Channels of the harmony format: what is said is in the final one.
_FINAL = re.compile(r"^.*<\|channel\|>final(?:<\|[^|>]*\|>[^<]*)*?<\|message\|>", re.DOTALL)
_CHANNEL = re.compile(r"<\|channel\|>(?:analysis|commentary)\b")
#: Marks of the end of a turn that a server let through.
_END = re.compile(
    r"(?:</s>|<\|(?:im_end|eot_id|end|return|endoftext|end_of_text|end_of_turn)\|>|<end_of_turn>|\[/INST\]|\s)+$"
)
_BULLET = r"[\s>#*_`|]*(?:(?:[-•–+]|\(?\d{1,2}[.):])[\s*_`]+)?"
_MARKED = re.compile(
    rf"^{_BULLET}(?:my\s+|the\s+)?(?:final\s+)?answers?(?:\s+is)?[\s*_`]*[:=][\s*_`]*(.*)$",
    re.IGNORECASE | re.MULTILINE,
)
#: A marker after the end of a sentence: "It helps. ANSWER: NO".
_INLINE = re.compile(
    r"(?<=[.!?)])[\s*_`]+(?:final\s+)?answer[\s*_`]*:[\s*_`]*(\S.*)$", re.IGNORECASE | re.MULTILINE
)
_TAGGED = re.compile(r"<(final_answer|answer)>\s*(.*?)\s*</\1>", re.IGNORECASE | re.DOTALL)
_IS = r"(?:(?:so|thus|hence|therefore)[,:]?\s+)?(?:the|my)\s+(?:final\s+|right\s+|correct\s+)?answer\s+(?:is|would\s+be)\s*:?\s*"
_VERBS = "help|assist|comply|answer|provide|do|continue|fulfil|fulfill|discuss|engage|rate|judge|evaluate|assess|take part"
_REFUSAL = re.compile(
    r"\b(?:i\s*(?:am|'m)\s+(?:sorry|unable\s+to|not\s+able\s+to)|as\s+an\s+ai\b"
    rf"|i\s+(?:can(?:not|'t)|can not|won't|will\s+not|must\s+decline\s+to|decline\s+to)\s+(?:{_VERBS})\b)",
    re.IGNORECASE,
)
_WHOLE = re.compile(r"[.!?:…][\"')\]}*_`\s]*$|```\s*$|[}\])]\s*$")
_DECORATION = " \t\r\n\"'`*_#<>[](){}|.,;:!?…$"


def tidy(text: str) -> str:
    """A reply as plain text: straight quotes, without invisible characters and without the model's thinking.

    >>> tidy("<think>hm, yes or no?</think>\\u201cYes\\u201d")
    '"Yes"'
    """
    text = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    text = _INVISIBLE.sub("", text)
    final = _FINAL.match(text)
    if final:
        text = text[final.end() :]
    elif _CHANNEL.search(text):
        raise Unparsable("the reply ends inside the model's thinking", kind="cut_off")
    text = _CLOSED_THOUGHT.sub("", _THOUGHT.sub("", _END.sub("", text)))
    opened = _OPEN_THOUGHT.search(text)
    if opened:
        raise Unparsable("the reply ends inside the model's thinking", kind="cut_off")
    return text.strip()


def label_of(value: str, labels: Labels, *, in_sentence: bool = False) -> str | None:
    """The label that a value names, None if it names none; raises ``Unparsable`` if it names two.

    Text may follow the label ("YES, since ...") but not precede it, and may not name another label.
    ``in_sentence``: text may follow without punctuation ("yes to the follow-up question").

    >>> label_of("**Yes.**", YES_NO_LABELS), label_of("No idea", YES_NO_LABELS)
    ('yes', None)
    """
    plain = _unboxed(value).strip(_DECORATION).lower()
    flat = _flat(plain)
    spelled = {_flat(spelling): label for label, spellings in labels.items() for spelling in spellings}
    if flat in spelled:
        return spelled[flat]
    rest, found = flat, set()
    for spelling in sorted(spelled, key=len, reverse=True):
        rest, hits = re.subn(rf"(?<!\w){re.escape(spelling)}(?!\w)", " \x00 ", rest)
        if hits:
            found.add(spelled[spelling])
    if len(found) > 1:
        raise Unparsable(f"more than one answer in {value.strip()[:80]!r}", kind="ambiguous")
    goes_on = r"(?!\w)" if in_sentence else r"[\"'*_`]*\s*(?:[.,;:!(\n]|[-–—]\s)"
    for spelling, label in spelled.items():
        words = r"[\s_\-–—/]+".join(re.escape(word) for word in spelling.split())
        if re.match(words + goes_on, plain):
            return label
    return None


def read_answer(
    text: str,
    labels: Labels,
    *,
    keys: Sequence[str] = ("answer",),
    phrases: Sequence[str] = (),
) -> str:
    """The one label that a reply gives.

    ``labels`` maps each label to its spellings. ``keys`` are the names that a JSON reply may use for it.
    ``phrases`` are patterns that may start a last sentence with the answer ("the robot will likely answer").
    Raises ``Unparsable`` with kind 'refusal', 'cut_off', 'ambiguous' or 'no_answer'.

    >>> read_answer("Penguins are birds, and it said that all birds fly.\\nANSWER: YES", YES_NO_LABELS)
    'yes'
    """
    text = tidy(text)
    named = [label_of(value, labels) for value in _marked(text)]
    if not any(named):
        named = [label_of(value, labels) for value in _json_values(text, keys)]
    if not any(named):
        named = list(_last_words(text, labels, phrases))
    found = {label for label in named if label}
    if len(found) > 1:
        raise Unparsable(f"the reply gives different answers: {', '.join(sorted(found))}", kind="ambiguous")
    if not found:
        raise _why_none(text, [spelling for spellings in labels.values() for spelling in spellings])
    return found.pop()


def read_answers(text: str, names: Sequence[str], labels: Labels) -> dict[str, str]:
    """One label for each name, from ``ANSWER: 1=YES; 2=NO``, from JSON or from a numbered list.

    Raises ``Unparsable`` if a name has no label, or two.

    >>> read_answers("ANSWER: 1=YES; 2=NO", ["1", "2"], YES_NO_LABELS)
    {'1': 'yes', '2': 'no'}
    """
    text = tidy(text)
    marks = list(_MARKED.finditer(text))
    answers: dict[str, str] = {}
    for where in [text[mark.start(1) :] for mark in marks[-1:]] or [text]:
        answers = _numbered(_json_pairs(where, names) or _pairs(where, names), labels)
    missing = [name for name in names if name not in answers]
    if missing:
        failure = _why_none(text, [s for spellings in labels.values() for s in spellings])
        if failure.kind == "no_answer":
            failure = Unparsable(f"no answer for {', '.join(missing)}")
        raise failure
    return {name: answers[name] for name in names}


def read_line(text: str, marker: str) -> str:
    """The text after ``marker:`` on the last line that begins with it; empty if there is none.

    >>> read_line("MISSING: the year\\nANSWER: NO", "MISSING")
    'the year'
    """
    found = re.findall(rf"^{_BULLET}{marker}[\s*_`]*:[\s*_`]*(.*)$", tidy(text), re.IGNORECASE | re.MULTILINE)
    return found[-1].strip(" *_`") if found else ""


def read_object(text: str) -> JSON | None:
    """The only JSON object in a reply, fenced or bare; None if there is none, or more than one.

    >>> read_object('Here it is: ```json {"helpful": "no"} ```')
    {'helpful': 'no'}
    """
    found = [value for value in _json_objects(tidy(text)) if isinstance(value, dict)]
    return found[0] if len(found) == 1 else None


def write_answer(label: str) -> str:
    """The fixed last line of a reply."""
    return f"{MARKER}: {label.upper()}"


def write_answers(answers: Mapping[str, str]) -> str:
    """The fixed last line of a reply about several things.

    >>> write_answers({"1": "yes", "2": "no"})
    'ANSWER: 1=YES; 2=NO'
    """
    return f"{MARKER}: " + "; ".join(f"{name}={label.upper()}" for name, label in answers.items())


# -- the places where an answer counts -------------------------------------------------------------


def _marked(text: str) -> Iterator[str]:
    for mark in _MARKED.finditer(text):
        value = mark.group(1).strip(" *_`")
        if not value:  # the answer is on the line after its marker
            below = text[mark.end() :].strip().split("\n", 1)[0]
            if not below:
                raise Unparsable("the reply ends before its answer", kind="cut_off")
            value = below
        yield value
    yield from (mark.group(1).strip(" *_`") for mark in _INLINE.finditer(text))
    yield from (mark.group(2) for mark in _TAGGED.finditer(text))


def _json_objects(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    at = 0
    while (found := re.compile(r"[{\[]").search(text, at)) is not None:
        try:
            value, at = decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            value, at = _without_trailing_commas(decoder, text, found.start()), found.end()
            if value is None:
                continue
            at = max(at, text.find("}", at) + 1)
        yield value


def _without_trailing_commas(decoder: json.JSONDecoder, text: str, start: int) -> Any:
    """The JSON value at ``start`` if commas before its closing brackets are all that is wrong with it; else None."""
    mended = _TRAILING_COMMA.sub(r"\1", text[start:])
    try:
        return decoder.raw_decode(mended)[0] if mended != text[start:] else None
    except (ValueError, RecursionError):
        return None


def _json_values(text: str, keys: Sequence[str]) -> Iterator[str]:
    wanted = {key.lower() for key in keys} | {"answer", "final_answer", "final answer"}
    for value in _json_objects(text):
        if isinstance(value, dict):
            for key, held in value.items():
                if key.lower() in wanted and isinstance(held, str | bool | int):
                    yield ("yes" if held else "no") if isinstance(held, bool) else str(held)


def _json_pairs(text: str, names: Sequence[str]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for value in _json_objects(text):
        if (
            isinstance(value, dict)
            and len(value) == 1
            and isinstance(inner := next(iter(value.values())), dict)
        ):
            value = inner
        if isinstance(value, dict):
            pairs += [
                (key, ("yes" if held else "no") if isinstance(held, bool) else str(held))
                for key, held in value.items()
                if key in names
            ]
    return pairs


def _pairs(text: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """``1=YES; 2=NO`` on one line, or ``1. Yes`` and ``Explanation 2: No`` on separate lines."""
    name = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    one = rf"^[\s>#*_`|\-•(]*(?:[a-z]+\s+)?({name})[\s*_`)]*[=:.)\-–—]+[\s*_`]*(.+)$"
    pairs = []
    for line in re.split(r"[;\n]", text):
        bits = re.split(rf",\s*(?=(?:[a-z]+\s+)?(?:{name})\s*[=:])", line, flags=re.IGNORECASE)
        for bit in bits:
            found = re.match(one, bit, re.IGNORECASE)
            if found:
                pairs.append((found.group(1), found.group(2)))
    return pairs


def _numbered(pairs: list[tuple[str, str]], labels: Labels) -> dict[str, str]:
    answers: dict[str, str] = {}
    for name, value in pairs:
        label = label_of(value, labels)
        if label is None:
            continue
        if answers.setdefault(name, label) != label:
            raise Unparsable(f"the reply gives different answers for {name}", kind="ambiguous")
    return answers


def _last_words(text: str, labels: Labels, phrases: Sequence[str]) -> Iterator[str]:
    """Labels from lines that contain only a label, and from sentences that only state the answer.

    The last line must be one of these; if earlier ones differ from it, the reply is ambiguous.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return
    spelled = {_flat(spelling): label for label, spellings in labels.items() for spelling in spellings}
    opening = re.compile(rf"^(?:{'|'.join([_IS, *phrases])})", re.IGNORECASE)
    stated: list[tuple[bool, str]] = []
    for number, line in enumerate(lines):
        bare = _flat(re.sub(rf"^{_BULLET}", "", _unboxed(line)).strip(_DECORATION).lower())
        if bare in spelled:
            stated.append((number == len(lines) - 1, spelled[bare]))
            continue
        sentences = re.split(r"(?<=[.!?])\s+", line.strip(" *_`>#"))
        for place, sentence in enumerate(sentences):
            sentence = re.sub(r"[*_`]{1,3}", "", sentence)
            opened = opening.match(sentence)
            label = label_of(sentence[opened.end() :], labels, in_sentence=True) if opened else None
            if label:
                stated.append((number == len(lines) - 1 and place == len(sentences) - 1, label))
    if any(last for last, _ in stated):
        yield from (label for _, label in stated)


def _why_none(text: str, spellings: Sequence[str]) -> Unparsable:
    if not text:
        return Unparsable("the reply is empty")
    if _REFUSAL.search(text[:300]):
        return Unparsable("the model declined to answer", kind="refusal")
    last = text.splitlines()[-1]
    mark = _MARKED.match(last)
    tail = _flat(mark.group(1).strip(_DECORATION).lower()) if mark else ""
    if tail and any(_flat(spelling) != tail and _flat(spelling).startswith(tail) for spelling in spellings):
        return Unparsable("the reply ends in the middle of its answer", kind="cut_off")
    if not mark and len(text) > 40 and not _WHOLE.search(text):
        return Unparsable("the reply ends in the middle of a sentence, before its answer", kind="cut_off")
    return Unparsable("the reply does not end with an answer in the requested form")


def _unboxed(value: str) -> str:
    return re.sub(r"\\(?:boxed|text|mathrm|textbf)\s*\{([^{}]*)\}", r"\1", value)


def _flat(value: str) -> str:
    return re.sub(r"[\s_\-–—/]+", " ", value).strip()

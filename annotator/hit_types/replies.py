"""Reads a language model's reply: the label that it gives, or the reason why it gives none.

Nothing here guesses. An answer counts only in a place that is clearly meant for it: the fixed last line
(``ANSWER: ...``), a JSON object, or a last line or sentence that contains nothing but the answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from annotator.hit_types.json_replies import json_objects, json_pairs, json_values
from annotator.hit_types.languages import WORDS
from annotator.hit_types.shapes import JSON, Unparsable

Labels = Mapping[str, tuple[str, ...]]

MARKER = "ANSWER"
YES_NO_LABELS: Labels = {"yes": ("yes",), "no": ("no",)}

_QUOTES = str.maketrans(
    {"‘": "'", "’": "'", "“": '"', "”": '"', "«": '"', "»": '"', "\u00a0": " ", "。": ".", "、": ","}
)
#: So much white space means nothing, and would take long to search.
_GAP = re.compile(r"\s{100,}")
_INVISIBLE = re.compile("[\u200b-\u200f\u2060\ufeff\ufe0f]")
_EMOJI = re.compile("[\u2600-\u27bf\U0001f000-\U0001faff]+")
_OPENS = r"(?:<(?:think|thinking|reasoning|thought)>|\[THINK\]|◁think▷)"
_CLOSES = r"(?:</(?:think|thinking|reasoning|thought)>|\[/THINK\]|◁/think▷|<\|end▁of▁thinking\|>)"
_OPEN_THOUGHT = re.compile(_OPENS, re.IGNORECASE)
_CLOSE_THOUGHT = re.compile(_CLOSES, re.IGNORECASE)
#: Thinking whose opening tag is missing, because the chat template had written it.
_CLOSED_THOUGHT = re.compile(f"^.*{_CLOSES}", re.DOTALL | re.IGNORECASE)
#: Channels of the harmony format: the reply is in the final one. A server may have dropped the special tokens.
_FINAL = re.compile(
    r"^.*<\|channel\|>\s*final\b[^<]*(?:<\|[^|>]*\|>[^<]*){0,9}?<\|message\|>|^analysis(?=[A-Z]).*assistantfinal",
    re.DOTALL,
)
_CHANNEL = re.compile(r"<\|channel\|>\s*(?:analysis|commentary)\b|^analysis(?=[A-Z])")
#: Where a turn begins and ends. Text after its end isn't part of the reply.
_BEGIN = re.compile(
    r"^\s*(?:<\|(?:start_header_id|im_start|start|START_OF_TURN_TOKEN)\|>\s*\w*\s*(?:<\|(?:end_header_id|message)\|>)?"
    r"|(?:#+\s*)?(?:assistant|model)\s*:)\s*",
    re.IGNORECASE,
)
_END = re.compile(
    r"</s>|<eos>|<end_of_turn>|\[/INST\]\s*$"
    r"|<\|(?:im_end|eot_id|end|return|endoftext|end_of_text|end_of_turn|END_OF_TURN_TOKEN|end▁of▁sentence|user)\|>"
)
#: Simple tags of HTML around words, such as <b>.
_MARKUP = re.compile(r"</?(b|strong|i|em|u|p|br|span|code|mark|h[1-6])\s?/?>", re.IGNORECASE)
_BOX = re.compile(r"<\|(?:begin|end)_of_box\|>")
_WRAPPED = re.compile(r"^\s*<(response|output|result)>(.*)</\1>\s*$", re.DOTALL | re.IGNORECASE)
# No pattern may need more than linear time: models repeat themselves, and a reply can have 200,000 characters. So none goes
# on over the end of its line from the beginning of each line, and none searches for an end from each of many beginnings.
_BULLET = r"[ \t\r>#*_`|]*(?:(?:[-•–+]|\(?\d{1,2}[.):])[ \t\r*_`]+)?"
_TAG = re.compile(r"<(/?)(final_answer|answer)>", re.IGNORECASE)
_IS = (
    r"(?:(?:so|thus|hence|therefore)[,:]?\s+)?(?:the|my)\s+(?:final\s+|right\s+|correct\s+)?answer\s+"
    r"(?:to\s+(?:the|this)\s+(?:follow-up\s+)?question\s+)?(?:is|would\s+be)\s*:?\s*"
)
#: What may stand between a marked answer that names itself and the end of its sentence.
_PREFERRED = r"\s+is\s+(?:the\s+)?(?:more\s+helpful|better)\b"
_VERBS = "help|assist|comply|answer|provide|do|continue|fulfil|fulfill|discuss|engage|rate|judge|evaluate|assess|take part"
_REFUSAL = re.compile(
    r"\b(?:i\s*(?:am|'m)\s+(?:sorry|unable\s+to|not\s+able\s+to)|as\s+an\s+ai\b"
    rf"|i\s+(?:can(?:not|'t)|can not|won't|will\s+not|must\s+decline\s+to|decline\s+to)\s+(?:{_VERBS})\b)",
    re.IGNORECASE,
)
_WHOLE = re.compile(r"[.!?:…][\"')\]}*_`\s]*$|```\s*$|[}\])]\s*$")
_DECORATION = " \t\r\n\"'`*_#<>[](){}|.,;:!?…$\\"


def tidy(text: str) -> str:
    """A reply as plain text: straight quotes, without invisible characters and without the model's thinking.

    >>> tidy("<think>hm, yes or no?</think>\\u201cYes\\u201d")
    '"Yes"'
    """
    text = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    text = _GAP.sub(lambda gap: "\n\n" if "\n" in gap.group() else " ", text)
    text = _MARKUP.sub(lambda tag: "\n" if tag.group(1).lower() in ("p", "br") else "", text)
    text = _BOX.sub("", _EMOJI.sub("", _INVISIBLE.sub("", text)))
    final = _FINAL.match(text)
    if final:
        text = text[final.end() :]
    elif _CHANNEL.search(text):
        raise Unparsable("the reply ends inside the model's thinking", kind="cut_off")
    text = _CLOSED_THOUGHT.sub("", _without_thoughts(text))
    opened = _OPEN_THOUGHT.search(text)
    if opened:
        raise Unparsable("the reply ends inside the model's thinking", kind="cut_off")
    text = _END.split(_BEGIN.sub("", text), maxsplit=1)[0]
    wrapped = _WRAPPED.match(text)
    return (wrapped.group(2) if wrapped else text).strip()


def _without_thoughts(text: str) -> str:
    """The text without each part from an opening tag of thinking to the next closing one."""
    kept, at = [], 0
    while (opened := _OPEN_THOUGHT.search(text, at)) and (
        closed := _CLOSE_THOUGHT.search(text, opened.end())
    ):
        kept.append(text[at : opened.start()])
        at = closed.end()
    return "".join([*kept, text[at:]])


@cache
def _markers(language: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns of an answer's marker: at the beginning of a line, and within one.

    Within a line, a marker must follow the end of a sentence ("It helps. Answer: no") or be in capitals, as prompts
    write it.
    """
    names = "|".join(["answer", *map(re.escape, WORDS[language].answer if language in WORDS else ())])
    capitals = "|".join(name.upper() for name in names.split("|"))
    until = rf"(.*?)(?=\s(?:{capitals})\s*:|$)"
    at_start = re.compile(
        rf"^{_BULLET}(?i:(?:my\s+|the\s+)?(?:final\s+)?(?:{names})s?(?:\s+is)?[\s*_`]*(?:[:=]|\s[-–—]\s))[\s*_`]*{until}",
        re.MULTILINE,
    )
    within = re.compile(
        rf"(?:(?<=[.!?)])[\s*_`]+(?i:(?:final\s+)?(?:{names}))|(?<=[^\w\n])(?:{capitals}))[\s*_`]*:[\s*_`]*(?=\S){until}",
        re.MULTILINE,
    )
    return at_start, within


def in_language(labels: Labels, language: str) -> Labels:
    """Labels with the words of a language for yes and no among their spellings.

    >>> in_language(YES_NO_LABELS, "fr")["yes"]
    ('yes', 'oui')
    """
    words = WORDS.get(language)
    if words is None:
        return labels
    own = {"yes": words.yes, "no": words.no}
    return {label: tuple(dict.fromkeys((*spelled, *own.get(label, ())))) for label, spelled in labels.items()}


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
    goes_on = r"(?!\w)" if in_sentence else rf"[\"'*_`]*(?:\s*(?:[.,;:!()\n]|[-–—]\s)|{_PREFERRED})"
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
    language: str = "",
) -> str:
    """The one label that a reply gives.

    ``labels`` maps each label to its spellings. ``keys`` are the names that a JSON reply may use for it.
    ``phrases`` are patterns that may start a last sentence with the answer ("the robot will likely answer").
    ``language`` is an ISO 639-1 code: its words for yes, no and "answer" are read beside the English ones.
    Raises ``Unparsable`` with kind 'refusal', 'cut_off', 'ambiguous' or 'no_answer'.

    >>> read_answer("Penguins are birds, and it said that all birds fly.\\nANSWER: YES", YES_NO_LABELS)
    'yes'
    """
    text, labels = tidy(text), in_language(labels, language)
    named = [label_of(value, labels) for value in _marked(text, language)]
    if not any(named):
        named = [label_of(value, labels) for value in json_values(text, keys)]
    if not any(named):
        named = list(_last_words(text, labels, phrases))
    found = {label for label in named if label}
    if len(found) > 1:
        raise Unparsable(f"the reply gives different answers: {', '.join(sorted(found))}", kind="ambiguous")
    if not found:
        raise _why_none(text, [spelling for spellings in labels.values() for spelling in spellings], language)
    return found.pop()


def read_answers(text: str, names: Sequence[str], labels: Labels, *, language: str = "") -> dict[str, str]:
    """One label for each name, from ``ANSWER: 1=YES; 2=NO``, from JSON or from a numbered list.

    ``language`` as for ``read_answer``. Raises ``Unparsable`` if a name has no label, or two.

    >>> read_answers("ANSWER: 1=YES; 2=NO", ["1", "2"], YES_NO_LABELS)
    {'1': 'yes', '2': 'no'}
    """
    return read_each(text, dict.fromkeys(names, labels), language=language)


def read_each(text: str, labels: Mapping[str, Labels], *, language: str = "") -> dict[str, str]:
    """``read_answers`` where each name has labels of its own.

    >>> read_each("ANSWER: 1=YES; 2=4", {"1": YES_NO_LABELS, "2": {"4": ("4",), "5": ("5",)}})
    {'1': 'yes', '2': '4'}
    """
    text, names = tidy(text), list(labels)
    own = {name: in_language(spelled, language) for name, spelled in labels.items()}
    marks = list(_markers(language)[0].finditer(text))
    answers: dict[str, str] = {}
    for where in [text[mark.start(1) :] for mark in marks[-1:]] or [text]:
        answers = _numbered(json_pairs(where, names) or _pairs(where, names), own)
    missing = [name for name in names if name not in answers]
    if missing:
        spelled = [text for one in own.values() for spellings in one.values() for text in spellings]
        failure = _why_none(text, spelled, language)
        if failure.kind == "no_answer":
            failure = Unparsable(f"no answer for {', '.join(missing)}")
        raise failure
    return {name: answers[name] for name in names}


def read_line(text: str, marker: str) -> str:
    """The text after ``marker:`` on the last line that begins with it; empty if there is none.

    >>> read_line("MISSING: the year\\nANSWER: NO", "MISSING")
    'the year'
    """
    return ["", *read_lines(text, marker)][-1]


def read_lines(text: str, marker: str) -> list[str]:
    """The texts after ``marker:`` on all lines that begin with it."""
    found = re.findall(rf"^{_BULLET}{marker}[\s*_`]*:[\s*_`]*(.*)$", tidy(text), re.IGNORECASE | re.MULTILINE)
    return [one.strip(" *_`") for one in found]


def read_object(text: str) -> JSON | None:
    """The only JSON object in a reply, fenced or bare; None if there is none, or more than one.

    >>> read_object('Here it is: ```json {"helpful": "no"} ```')
    {'helpful': 'no'}
    """
    found = [value for value in json_objects(tidy(text)) if isinstance(value, dict)]
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


def _marked(text: str, language: str) -> Iterator[str]:
    at_start, within = _markers(language)
    seen: set[int] = set()
    for mark in at_start.finditer(text):
        seen.add(mark.start(1))
        value = mark.group(1).strip(" *_`")
        if not value:  # the answer is on the line after its marker
            below = text[mark.end() :].strip().split("\n", 1)[0]
            if not below:
                raise Unparsable("the reply ends before its answer", kind="cut_off")
            value = below
        yield _value(value)
    for mark in within.finditer(text):
        if mark.start(1) not in seen:
            yield _value(mark.group(1))
    yield from (_value(value) for value in _tagged(text))


def _tagged(text: str) -> Iterator[str]:
    """What is between the tags of an answer. Of several opening tags, the first one before a closing one counts."""
    opened: dict[str, int] = {}
    for tag in _TAG.finditer(text):
        name = tag.group(2).lower()
        if not tag.group(1):
            opened.setdefault(name, tag.end())
        elif name in opened:
            yield text[opened.pop(name) : tag.start()].strip()


def _value(text: str) -> str:
    """A marked value without surrounding tags, and without a second marker or opening phrase."""
    text = re.sub(r"</\w+>|\[/?INST\]", "", text).strip(" *_`")
    return re.sub(rf"^(?:answer\s*:\s*|{_IS})", "", text, flags=re.IGNORECASE)


def _pairs(text: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """``1=YES; 2=NO`` on one line, or ``1. Yes`` and ``Explanation 2: No`` on separate lines."""
    name = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    one = rf"^[\s>#*_`|\-•(]*(?:[a-z]+\s+)?({name})[\s*_`)]*[=:.)\-–—]+[\s*_`]*(.+)$"
    pairs = []
    for line in re.split(r"[;|\n]", text):
        apart = rf",\s*(?=(?:[a-z]+\s+)?(?:{name})\s*[=:])|\s+(?=(?:{name})=)"
        bits = re.split(apart, line, flags=re.IGNORECASE)
        for bit in bits:
            found = re.match(one, bit, re.IGNORECASE)
            if found:
                pairs.append((found.group(1), found.group(2)))
    return pairs


def _numbered(pairs: list[tuple[str, str]], labels: Mapping[str, Labels]) -> dict[str, str]:
    answers: dict[str, str] = {}
    for name, value in pairs:
        label = label_of(value, labels[name])
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
    unmarked = re.compile(r"^(?:final\s+)?answer(?:\s+is)?\s+", re.IGNORECASE)
    stated: list[tuple[bool, str]] = []
    for number, line in enumerate(lines):
        bare = _flat(re.sub(rf"^{_BULLET}", "", _unboxed(line)).strip(_DECORATION).lower())
        bare = unmarked.sub("", bare)
        if bare in spelled:
            stated.append((number == len(lines) - 1, spelled[bare]))
            continue
        sentences = re.split(r"(?<=[.!?])(?<!\b[A-Z]\.)\s+", line.strip(" *_`>#"))
        for place, sentence in enumerate(sentences):
            sentence = re.sub(r"[*_`]{1,3}", "", sentence)
            opened = opening.match(sentence)
            label = label_of(sentence[opened.end() :], labels, in_sentence=True) if opened else None
            if label:
                stated.append((number == len(lines) - 1 and place == len(sentences) - 1, label))
    if any(last for last, _ in stated):
        yield from (label for _, label in stated)


def _why_none(text: str, spellings: Sequence[str], language: str) -> Unparsable:
    if not text:
        return Unparsable("the reply is empty")
    if _REFUSAL.search(text[:300]):
        return Unparsable("the model declined to answer", kind="refusal")
    last = text.splitlines()[-1]
    mark = _markers(language)[0].match(last)
    tail = _flat(mark.group(1).strip(_DECORATION).lower()) if mark else ""
    if tail and any(_flat(spelling) != tail and _flat(spelling).startswith(tail) for spelling in spellings):
        return Unparsable("the reply ends in the middle of its answer", kind="cut_off")
    if not mark and len(text) > 40 and not _WHOLE.search(text):
        return Unparsable("the reply ends in the middle of a sentence, before its answer", kind="cut_off")
    return Unparsable("the reply does not end with an answer in the requested form")


def _unboxed(value: str) -> str:
    for _ in range(3):  # boxes can be nested
        value = re.sub(r"\\(?:boxed|text|mathrm|textbf)\s*\{([^{}]*)\}", r"\1", value)
    return value


def _flat(value: str) -> str:
    return re.sub(r"[\s_\-–—/]+", " ", value).strip()

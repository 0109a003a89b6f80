"""Judge as a rater: the form of the answer is read from the instructions, and the choice follows simple rules."""

from __future__ import annotations

import re

from evaluation.providers.scripted.ask import Ask
from evaluation.providers.scripted.skills.labels import named, sections
from evaluation.providers.scripted.world import chance, choice, negated, overlap, pick, truth

_FORM = re.compile(r"^[ \t]*ANSWER:[ \t]*(\S.*?)[ \t]*$", re.MULTILINE)
_PAIR = re.compile(r"(\d+)=([A-Z]+)")
#: A form with an answer to each number; several of them are listed where the questions have different answers.
_NUMBERED = re.compile(r"1=.+;")
#: What the form asks to be written on lines of its own, and an example if it is a number.
_WRITTEN = re.compile(
    r"^(?!ANSWER:)([A-Z][A-Z0-9_]*): (?:your words, in one line|a number such as (\S+))", re.MULTILINE
)
_POINT = re.compile(r"^(?:Explanation )?(\d+)[.:] (.+)$", re.MULTILINE)
_OPTION = re.compile(r"^([A-H])[.:] (.+)$", re.MULTILINE)
_INPUTS_AND_OUTPUTS = ("article", "summary", "question", "advice")
#: A form with passages, and whose text they are in.
_PASSAGES = re.compile(r'^([\w/-]+): "the exact words"')
_OF_WHICH = re.compile(r"Mark each passage of the (.+?) that")
_POSSIBLE = re.compile(r"^Possible answers: (.+)$", re.MULTILINE)


def judge(ask: Ask) -> str | None:
    """Answer questions that ask for a last line ``ANSWER: ...``, in one of the forms that the instructions list."""
    forms = list(dict.fromkeys(_FORM.findall(ask.system) or _FORM.findall(ask.text)))
    if not forms:
        return None
    if passage := _PASSAGES.match(forms[0]):
        answer = _passages(ask, passage.group(1))
    elif len(forms) > 1 and all(_NUMBERED.match(form) for form in forms):
        answer = pick(tuple(forms), "form", ask.text, ask.options.seed, ask.sample)
    elif _PAIR.search(forms[0]):
        answer = _several(ask, forms[0])
    elif possible := _POSSIBLE.findall(ask.text):
        answer = _possible(ask, re.split(r", | or ", possible[-1]))
    else:
        answer = _choose(ask, forms)
    missing = "MISSING: nothing\n" if re.search(r"^MISSING:", ask.system, re.MULTILINE) else ""
    written = "".join(
        f"{name}: {example or 'I compared what is shown.'}\n"
        for name, example in _WRITTEN.findall(ask.system)
    )
    return f"I compared the explanation with the question.\n{missing}{written}ANSWER: {answer}"


def _passages(ask: Ask, label: str) -> str:
    """The longest word that is in the text once, or none: the model finds something in half of the texts."""
    which = _OF_WHICH.search(ask.text)
    text = named(sections(ask.text), which.group(1).lower()).partition("\n\n")[0] if which else ""
    words = re.findall(r"\w{4,}", text)
    once = [word for word in words if text.count(word) == 1]
    if not once or chance("passages", ask.text, ask.sample) < 0.5:
        return "NONE"
    return f'{label}: "{max(once, key=len)}"'


def _several(ask: Ask, form: str) -> str:
    """A label for each numbered point: the text's own numbers, or those of the form if it has none."""
    labels = list(dict.fromkeys(label for _, label in _PAIR.findall(form)))
    things = dict(_POINT.findall(ask.text)) or {n: "" for n, _ in _PAIR.findall(form)}
    material = _looked_through(_POINT.sub("", ask.text))
    given = {n: _label(ask, n, thing, material, labels) for n, thing in things.items()}
    if (
        "say NONE" in ask.system and given.get("2") == "NO"
    ):  # a question that can't be answered has no right answer
        given["3"] = "NONE"
    return "; ".join(f"{n}={label}" for n, label in given.items())


def _looked_through(text: str) -> str:
    """The text in which points are looked for: the article or advice, if one is shown besides the explanation."""
    shown = {
        label: held for label, held in sections(text).items() if label.split()[-1] in _INPUTS_AND_OUTPUTS
    }
    return "\n".join(shown.values()) or text


def _label(ask: Ask, number: str, thing: str, material: str, labels: list[str]) -> str:
    if not thing:  # a property of the whole text: usually present
        best = labels[0] if chance("property", number, ask.text) < 0.75 else labels[-1]
    elif (
        len(labels) > 2
    ):  # explanations that only repeat the question, or are unrelated to it, don't justify the answer
        shared = overlap(thing, material)
        best = labels[-1] if shared > 0.9 else labels[0] if shared > 0.25 else labels[1]
    else:  # a point is present if most of its words are
        best = labels[0] if overlap(thing, material) >= 0.5 else labels[-1]
    return best if ask.right("label", number, ask.text) else pick(tuple(labels), "other", number, ask.text)


def _possible(ask: Ask, answers: list[str]) -> str:
    parts = sections(ask.text)
    if {answer.upper() for answer in answers} == {"YES", "NO"}:
        return "YES" if believe(ask, parts) else "NO"
    options = dict(_OPTION.findall(ask.text))
    texts = [options.get(answer, answer) for answer in answers]
    right = answers[choice(f"{named(parts, 'question')} {named(parts, 'explanation')}", texts)]
    return (
        right if ask.right("possible", ask.text) else pick(tuple(answers), "possible", ask.text, ask.sample)
    )


def _choose(ask: Ask, forms: list[str]) -> str:
    parts = sections(ask.text)
    upper = {form.upper(): form for form in forms}
    abstain = next((form for name, form in upper.items() if "CANNOT" in name or "EQUAL" in name), "")
    if {"YES", "NO"} <= set(upper):
        follow_up, answered = named(parts, "follow-up"), named(parts, "answered")
        if follow_up and answered and abstain:
            guess = simulate(ask, parts, follow_up, answered)
            return abstain if guess is None else upper["YES" if guess else "NO"]
        return upper["YES" if believe(ask, parts) else "NO"]
    if "RESPONSE 1" in upper:
        return _prefer(ask, upper, abstain)
    options = dict(_OPTION.findall(ask.text[ask.text.rfind("ollow-up question") :] if abstain else ask.text))
    if options:
        reasons = named(parts, "explanation")
        shared = [overlap(text, reasons or ask.text) for text in options.values()]
        if abstain and (max(shared) == 0 or chance("abstain", ask.text) < 0.2):
            return abstain
        best = (
            list(options)[shared.index(max(shared))]
            if reasons
            else list(options)[choice(ask.text, [*options.values()])]
        )
        return best if ask.right("option", ask.text) else pick(tuple(options), "option", ask.text, ask.sample)
    return pick(tuple(forms), "form", ask.text, ask.options.seed, ask.sample)


def _prefer(ask: Ask, upper: dict[str, str], abstain: str) -> str:
    """The response with more of what the explanation mentions; without an explanation, the longer one."""
    parts = sections(ask.text)
    first, second, explanation = (
        parts.get("response 1", ""),
        parts.get("response 2", ""),
        named(parts, "explanation"),
    )
    lead = len(first.split()) - len(second.split())
    if explanation and abstain:
        lead = round(20 * (overlap(explanation, first) - overlap(explanation, second))) or lead
        if abs(lead) < 2:
            return abstain
    better = "RESPONSE 1" if (lead > 0) == ask.right("prefer", first, second) else "RESPONSE 2"
    return upper[better]


def simulate(ask: Ask, parts: dict[str, str], follow_up: str, answered: str) -> bool | None:
    """Predict the robot's answer: the same if the follow-up is on the same subject, and the opposite if it is negated."""
    starter, explanation = named(parts, "starter"), named(parts, "explanation")
    shared = overlap(follow_up, f"{starter} {explanation}")
    if shared < 0.34:
        return None
    guess = answered.strip().lower().startswith("y") != (negated(follow_up) != negated(starter))
    return guess if ask.right("simulate", follow_up, starter) else not guess


def believe(ask: Ask, parts: dict[str, str]) -> bool:
    """Answer a yes/no question about the world; a rationale, if there is one, is believed if it denies something."""
    question = named(parts, "follow-up") or named(parts, "question") or ask.text
    rationale = named(parts, "rationale") or named(parts, "explanation")
    answer = truth(question, ask.options.seed) if not rationale else negated(rationale) == negated(question)
    return answer if ask.right("believe", question, rationale) else not answer

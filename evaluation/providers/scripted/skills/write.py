"""Write material: explanations, follow-up questions, articles and complaints, units, outputs."""

from __future__ import annotations

import re

from evaluation.providers.scripted.ask import Ask
from evaluation.providers.scripted.skills.judge import believe
from evaluation.providers.scripted.skills.labels import named, sections
from evaluation.providers.scripted.world import (
    chance,
    choice,
    negated,
    overlap,
    pick,
    sentences,
    truth,
    words,
)

_SETTINGS = (
    "in winter",
    "in Canada",
    "on a Sunday",
    "at night",
    "a century ago",
    "near the sea",
    "in a large city",
)
#: Kind of element -> the sentence for it in an article.
_ELEMENTS = {
    "the decision that was taken and who took it": "The council of {place} took the decision to rebuild its {thing}; it was taken on Tuesday.",
    "the figure that led to it": "A figure of {figure} visitors a day led to that.",
    "a statement by somebody responsible": "In a statement, somebody responsible for the {thing} called it overdue.",
    "an earlier event of the same kind": "An earlier event of that kind failed {years} years ago.",
    "what is to happen next": "The opening in {place} is to happen next spring.",
    "how those concerned reacted": "Those concerned reacted with relief.",
}
_PLACES = ("Elmsford", "Port Harrow", "Lindal", "Ostrova", "Marlow Bay", "Quin", "Sorrento Hills")
_THINGS = ("library", "harbour", "railway", "hospital wing", "market hall", "reservoir", "stadium")
_OPTION = re.compile(r"^([A-H])[.:] (.+)$", re.MULTILINE)


def follow_up(ask: Ask) -> str | None:
    """Write one new question with a guess of the answer, or one new example; samples of one request differ."""
    parts = sections(ask.text)
    if "starter question" in parts and ask.text.rstrip().endswith("Follow-up question:"):
        question = _variant(ask, parts, _place(ask))
        guess = "no" if negated(question) else "yes"
        return (
            f"Follow-up question: {question}\nGuess: The robot said something of the kind about the starter question. "
            f"So the robot will likely answer {guess}."
        )
    if ask.text.rstrip().endswith("Follow-up example:"):
        return _example(ask, _place(ask))
    return None


def _place(ask: Ask) -> int:
    """Which of its follow-ups a sample writes; occasionally the fifth repeats the first."""
    return 0 if ask.sample == 4 and chance("twice", ask.text) < 0.3 else ask.sample


def number_wanted(ask: Ask) -> int:
    found = re.search(r"^Number of \w+: (\d+)$", ask.text, re.MULTILINE)
    return int(found.group(1)) if found else 0


def explain(ask: Ask) -> str | None:
    """Reasons with an answer, an answer with a reason, or reasons for a given answer."""
    parts = sections(ask.text)
    given = named(parts, "your answer") or named(parts, "fixed answer") or named(parts, "your choice")
    if given and ask.text.rstrip().endswith("reasons:"):
        return _because(ask, given)
    closing = re.search(r'exactly "(So .+?)" or', ask.system) or re.search(r'form "(So .+?)"', ask.system)
    if closing:
        answer = _answer(ask, parts)
        shape = "So {} is more helpful." if "Response" in closing.group(1) else "So the answer is {}."
        return f"{_because(ask, answer)} {shape.format(answer)}"
    if "Reason: <" in ask.system:
        answer = _answer(ask, parts)
        return f"Answer: {answer}\nReason: {_because(ask, answer)}"
    return None


def _answer(ask: Ask, parts: dict[str, str]) -> str:
    if "Response 1" in ask.system:
        first, second = parts.get("response 1", ""), parts.get("response 2", "")
        return "Response 1" if (len(first) > len(second)) == ask.right("prefer", first) else "Response 2"
    options = dict(_OPTION.findall(ask.text))
    if options:
        return list(options)[choice(ask.text, [*options.values()])]
    answer = "yes" if believe(ask, {"question": named(parts, "question")}) else "no"
    other = "no" if answer == "yes" else "yes"
    return other if answer in ask.avoided and other not in ask.avoided else answer


def _because(ask: Ask, answer: str) -> str:
    parts = sections(ask.text)
    about = list(words(named(parts, "question") or named(parts, "context") or ask.text)) or ["this"]
    first, last = about[0], about[-1]
    if answer.lower().startswith("response"):
        return f"{answer} speaks of {first} and gives something concrete to do about {last}."
    denial = "no" if answer.lower() == "no" else "every"
    long = max(about, key=len)
    return (
        f"What matters here is {long}. It is known that {denial} {first} of this kind goes with {last}. "
        f"That holds {pick(_SETTINGS, 'setting', ask.text, *ask.drawn)} too."
    )


def generate(ask: Ask) -> str | None:
    """A summary or a suggestion with its explanation, in the order of the form; or the output alone."""
    for label, shown, make in (("Summary", "Article", _summary), ("Suggestion", "Query", _suggestion)):
        if f"{label}: <" not in ask.system:
            continue
        parts = sections(ask.text)
        source = parts.get(shown.lower(), ask.text)
        if given := parts.get("description") or parts.get("explanation"):
            return f"{label}: {_obedient(label, given, source)}"
        output, explanation = make(ask, source)
        pieces = {label: output, "Explanation": explanation}
        order = sorted(
            (name for name in pieces if f"{name}: <" in ask.system),
            key=lambda name: ask.system.index(f"{name}: <"),
        )
        return "\n".join(f"{name}: {pieces[name]}" for name in order)
    return None


def _obedient(label: str, explanation: str, source: str) -> str:
    """An output that contains everything its explanation promises."""
    if label == "Suggestion":
        advice = [
            s.removeprefix("It helps to ").rstrip(".") for s in sentences(explanation) if "It helps to" in s
        ]
        return "It is best to " + ", and to ".join(advice or ["see a doctor"]) + "."
    elements = [_element(sentence) for sentence in sentences(explanation)]
    found = [s for s in sentences(source) if any(overlap(element, s) >= 0.5 for element in elements)]
    return " ".join(found) or source[:200]


def _element(sentence: str) -> str:
    """The element that a sentence of a description names."""
    return re.sub(r"^(?:I (?:begin|began|close|closed) with |I then (?:give|gave) )", "", sentence).rstrip(
        "."
    )


def _summary(ask: Ask, article: str) -> tuple[str, str]:
    found = sentences(article)
    kept = [s for n, s in enumerate(found) if n == 0 or chance("keep", s) < 0.6 * ask.options.quality + 0.2]
    chosen = [element for element in _ELEMENTS if chance("element", element, article) < 0.5]
    chosen = chosen or list(_ELEMENTS)[:2]
    explanation = f"I begin with {chosen[0]}. " + " ".join(
        f"I then give {element}." for element in chosen[1:]
    )
    return " ".join(kept) or article[:200], explanation.strip()


def _suggestion(ask: Ask, query: str) -> tuple[str, str]:
    facts = [s for s in sentences(query) if "?" not in s][:3] or [query[:80]]
    theme = max(words(query) or ("rest",), key=len)
    advice = (
        f"keep a diary of the {theme} for two weeks",
        "drink more water through the day",
        f"have a doctor examine the {theme}",
    )
    kept = [a for a in advice if chance("advice", a, query) < 0.9] or list(advice[:1])
    told = " ".join(f"The person says: {fact.rstrip('.!')}." for fact in facts)
    explanation = f"{told} This may have a simple cause. " + " ".join(f"It helps to {a}." for a in kept)
    return "It is best to " + ", and to ".join(kept) + ".", explanation


def follow_ups(ask: Ask) -> str | None:
    """A numbered list of new questions, examples, articles or complaints; occasionally one is repeated."""
    n = number_wanted(ask)
    if not n:
        return None
    parts = sections(ask.text)
    if "Response 1: <" in ask.system:
        entries = [_example(ask, k) for k in range(n)]
    elif "articles" in ask.system:
        entries = [_article(ask, k) for k in range(n)]
    elif "starter question" not in parts:
        entries = [_complaint(ask, parts, k) for k in range(n)]
    else:
        entries = [_variant(ask, parts, k) for k in range(n)]
    if n > 3 and chance("twice", ask.text) < 0.3:
        entries[-1] = entries[0]
    return "\n".join(f"{k}. {entry}" for k, entry in enumerate(entries, 1))


def _variant(ask: Ask, parts: dict[str, str], k: int) -> str:
    starter, *options = parts["starter question"].splitlines()
    stem = starter.strip().rstrip("?")
    if "slight changes" in ask.system:  # the baseline, which has no explanation to use
        return "\n".join([f"{stem}, {pick(_THINGS, 'slight', k, stem)} {k + 1} aside?", *options])
    setting = _SETTINGS[(k // 3 + int(chance("s", stem) * 7) + 3 * ask.options.seed) % len(_SETTINGS)]
    forms = (
        f"{stem} {setting}?",
        f"Is it never the case {setting} that this holds: {stem[:1].lower()}{stem[1:]}?",
        f"Do people {setting} often speak of {pick(words(ask.text) or ('it',), 'w', k, stem)}?",
    )
    return "\n".join([forms[k % 3], *options])


def new_question(ask: Ask) -> str | None:
    """Write one generalization question: rephrased, reversed or of similar reasoning; samples of one request differ."""
    if not ask.text.rstrip().endswith("New question:"):
        return None
    parts = sections(ask.text)
    question = parts.get("question", "").rstrip("?")
    setting = _SETTINGS[ask.sample % len(_SETTINGS)]
    if "rephrase" in ask.system.lower():
        asked = f"Is the following so, {setting} or not: {question[:1].lower()}{question[1:]}?"
    elif "opposite" in ask.system:
        return f"New question: Is it wrong to say {setting} that this is so: {question[:1].lower()}{question[1:]}?"
    else:
        long = max(words(question) or ("it",), key=len)
        asked = f"Does {long} matter {setting} for {pick(words(ask.text) or ('it',), 'g', ask.sample)}?"
    return f"New question: {asked}\nAnswer: {'yes' if truth(asked) else 'no'}"


def _example(ask: Ask, k: int) -> str:
    thing, place = pick(_THINGS, "t", k, ask.text), pick(_PLACES, "p", k, ask.text)
    good = f"Write to the {thing} in {place}, ask for the opening times, and go there early with something concrete."
    poor = "No idea, good luck!"
    first, second = (good, poor) if chance("order", k, ask.text) < 0.5 else (poor, good)
    return f"Context: How do I best visit the {thing} of {place} number {k + 1}?\nResponse 1: {first}\nResponse 2: {second}"


def _article(ask: Ask, k: int) -> str:
    """Write an article with most of the elements that the description names, and some others."""
    about = {
        "place": pick(_PLACES, "p", k, ask.text),
        "thing": pick(_THINGS, "t", k, ask.text),
        "figure": 100 + int(900 * chance("f", k, ask.text)),
        "years": k + 2,
    }
    told = [
        sentence.format_map(about)
        for element, sentence in _ELEMENTS.items()
        if chance("told", element, k, ask.text) < (0.9 if element in ask.text else 0.4)
    ]
    return " ".join([f"News from {about['place']}, edition {k + 1}.", *told])


def _complaint(ask: Ask, parts: dict[str, str], k: int) -> str:
    told = [s.removeprefix("The person says: ") for s in sentences(ask.text) if "The person says" in s]
    kept = [fact for fact in told if chance("kept", fact, k) < 0.85] or told or ["I do not feel well."]
    return f"Hi all, I am {20 + k * 7} and need help. {' '.join(kept)} What should I do?"


def units(ask: Ask) -> str | None:
    """The elements of a description, or the person's details and the suggestions."""
    text = sections(ask.text)
    if "- <particular>" in ask.system:
        found = sentences(text.get("explanation", ""))
        person = [
            s.removeprefix("The person says: ").rstrip(".") for s in found if s.startswith("The person")
        ]
        advice = [s.removeprefix("It helps to ").rstrip(".") for s in found if s.startswith("It helps to")]
        lists = [("Person", person or ["has a complaint"]), ("Suggestions", advice or ["see a doctor"])]
        return "\n".join(
            f"{name}:\n" + "\n".join(f"- {entry}" for entry in entries) for name, entries in lists
        )
    if "List the elements" in ask.system:
        found = sentences(text.get("description", ask.text))
        elements = [_element(sentence) for sentence in found]
        return "\n".join(f"- {element}" for element in elements)
    return None

"""One small study for each protocol, in which every cell of its paper's tables can be worked out on paper."""

from __future__ import annotations

from typing import Any

from annotator.models import FollowUp, Instance, Item, Output, Rater, Study, System
from tests.evaluation.reports.studies import judged, of_type
from tests.factories import make_item, make_judgment, make_rater, make_study, simulation_payload


def typed(study: Study, hit_type: str, gold: str = "yes") -> Study:
    """The same study with another type; every instance has the gold label, and one question for each name."""
    of_type(study, hit_type)
    for instance in Instance.objects.filter(items__study=study).distinct():
        Instance.objects.filter(pk=instance.pk).update(gold_label=gold, input=f"Question {instance.key}?")
    study.refresh_from_db()
    return study


def system_is(name: str, model: str, method: str) -> None:
    System.objects.filter(name=name).update(model=model, method=method)


def people() -> tuple[Rater, Rater, Rater]:
    return (
        make_rater("ann"),
        make_rater("bob"),
        make_rater("gpt", kind="simulator", source="simulator"),
    )


#: instance, system, follow-up, generator, the system's real output, what both people say, what gpt says
P1_ROWS = [
    ("x", "normal", "red cat", "g1", "yes", "yes", "yes"),
    ("x", "normal", "red dog", "g1", "no", "no", "yes"),
    ("y", "normal", "red cat", "g1", "yes", "yes", "yes"),
    ("y", "normal", "blue dog", "g1", "yes", "no", "yes"),
    ("x", "thought", "red cat", "g1", "yes", "no", "no"),
    ("x", "thought", "red dog", "g1", "no", "no", "no"),
    ("y", "thought", "red cat", "g1", "no", "yes", "yes"),
    ("y", "thought", "red cat big", "g1", "no", "yes", "yes"),
    ("x", "forced", "red cat", "g1", "yes", "no", "no"),
    ("x", "forced", "red dog", "g1", "no", "no", "no"),
    ("y", "forced", "red cat", "g1", "no", "yes", "yes"),
    ("y", "forced", "red cat big", "g1", "no", "yes", "yes"),
]


def p1_study(**fields: Any) -> Study:
    study = make_study(**fields)
    ann, bob, gpt = people()
    for number, (instance, system, text, generator, real, human, robot) in enumerate(P1_ROWS):
        payload = simulation_payload(number) | {"follow_up": text}
        item = make_item(
            study, key=f"k{number}", instance=instance, system=system, real_output=real, payload=payload,
            generator=generator,
        )  # fmt: skip
        for rater, answer in ((ann, human), (bob, human), (gpt, robot)):
            make_judgment(item, rater, answer)
    system_is("normal", "m", "post-hoc")
    system_is("thought", "m", "chain of thought")
    system_is("forced", "m", "forced")
    return typed(study, "simulation")


#: follow-up, instance, its text, answers of ann, bob and gpt: input 1, input 2, output 1, output 2 (y or n each)
P2_ROWS = [
    ("c1", "x", "red cat", "yyyn", "yyyn", "yyyy"),
    ("c2", "x", "green bird", "ynyy", "ynny", "ynyy"),
    ("c3", "x", "blue dog", "yyyy", "yyyy", "yyyy"),
    ("d1", "y", "old tree", "nn", "nn", "nn"),
]


def p2_study(**fields: Any) -> Study:
    study = make_study(**fields)
    words = {"y": "yes", "n": "no"}
    for key, instance, text, *marks in P2_ROWS:
        payload = simulation_payload(key) | {
            "domain": "news", "units": [], "explanation": "E.", "input": "I.", "output": "O.", "follow_up": text,
        }  # fmt: skip
        item = make_item(study, key=key, instance=instance, system="cot of m", payload=payload)
        for rater, given in zip(people(), marks, strict=True):
            half = len(given) // 2
            response = {f"input_{n + 1}": words[given[n]] for n in range(half)}
            response |= {f"output_{n + 1}": words[given[half + n]] for n in range(half)}
            if key in ("c1", "d1"):  # the first follow-up of an explanation asks about its parsing
                fine = "yes" if key == "c1" else "no"
                response |= {"parsed_1": fine, "complete": fine}
            judged(item, rater, response)
    system_is("cot of m", "m", "cot")
    return typed(study, "atomic_units")


#: instance, system, the system's own answer, (before, after) of three people, GEN-U with the rationale
P3_ROWS = [
    ("x", "s", "no", [("no", "yes"), ("no", "yes"), ("yes", "yes")], "yes"),
    ("y", "s", "yes", [("yes", "yes"), ("yes", "yes"), ("yes", "no")], "yes"),
    ("x", "t", "yes", [("yes", "no")] * 3, "no"),
    ("y", "t", "yes", [("yes", "yes")] * 3, "yes"),
]


def p3_utility_study(*, gen_u: bool = True, **fields: Any) -> Study:
    study = make_study(**fields)
    for instance, system, output, given, _ in P3_ROWS:
        item = make_item(study, key=f"{instance}{system}", instance=instance, system=system)
        type(item.explanation).objects.filter(pk=item.explanation_id).update(output=output)
        for name, (before, after) in zip("abc", given, strict=True):
            judged(item, name, {"before": before, "after": after})
    typed(study, "utility")
    if gen_u:
        for instance, alone in (("x", "no"), ("y", "yes")):
            where = Instance.objects.get(
                items__study=study, key=instance, items__explanation__system__name="s"
            )
            question = FollowUp.objects.create(
                instance=where, text=f"Again {instance}?", kind="rephrase", gold_label="yes", digest=instance
            )
            Output.objects.create(follow_up=question, system=_gen_u("without"), text=alone)
            for row in P3_ROWS:
                if row[0] == instance:
                    Output.objects.create(follow_up=question, system=_gen_u(f"with {row[1]}"), text=row[4])
    return study


def _gen_u(how: str) -> System:
    return System.objects.get_or_create(name=f"m · GEN-U {how}", defaults={"model": "m", "method": "GEN-U"})[
        0
    ]


#: instance, kind, before, after, follow-up before, follow-up after; one person; gold yes throughout
P3_QUESTIONS = [
    ("x", "rephrase", "no", "yes", "no", "yes"),
    ("x", "rephrase", "no", "yes", "no", "no"),
    ("y", "counterfactual", "yes", "yes", "no", "yes"),
    ("y", "similar_reasoning", "yes", "no", "yes", "no"),
]


def p3_generalization_study() -> Study:
    study = make_study()
    fields = ("before", "after", "follow_up_before", "follow_up_after")
    for number, (instance, kind, *given) in enumerate(P3_QUESTIONS):
        item = make_item(study, key=f"q{number}", instance=instance, system="s")
        FollowUp.objects.filter(pk=item.follow_up_id).update(kind=kind, gold_label="yes")
        judged(item, "a", dict(zip(fields, given, strict=True)))
    return typed(study, "generalization_utility")


#: instance, system, group, its two properties of three people
P3_PROPERTIES = [
    ("x", "s", ("association", "contrast"), ["yy", "yy", "ny"]),
    ("y", "s", ("association", "contrast"), ["yy", "ny", "ny"]),
    ("x", "t", ("association", "contrast"), ["nn", "nn", "nn"]),
    ("y", "t", ("association", "contrast"), ["nn", "yn", "yn"]),
    ("x", "s", ("novelty", "leakage"), ["yn", "yn", "yn"]),
    ("y", "s", ("novelty", "leakage"), ["yy", "yy", "yy"]),
    ("x", "t", ("novelty", "leakage"), ["ny", "ny", "ny"]),
    ("y", "t", ("novelty", "leakage"), ["nn", "nn", "nn"]),
]
GROUPS = {"association": "support", "novelty": "informativeness"}


def p3_properties_study(*, only: str = "", **fields: Any) -> Study:
    """All groups in one study, or one of them (the paper's way), named by its first property."""
    study = make_study(**fields)
    for number, (instance, system, names, given) in enumerate(P3_PROPERTIES):
        if only not in ("", names[0]):
            continue
        item = make_item(study, key=f"p{number}", instance=instance, system=system)
        for rater, marks in zip("abc", given, strict=True):
            answers = {n: "yes" if m == "y" else "no" for n, m in zip(names, marks, strict=True)}
            judged(item, rater, answers)
        Item.objects.filter(pk=item.pk).update(payload=item.payload | {"group": GROUPS[names[0]]})
    return typed(study, "rationale_properties")

"""P1's tables from two generators, recomputed from a release's files by the paper's formulas, with pandas and nothing of Foretell."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable
from hashlib import blake2b
from itertools import combinations, permutations
from string import punctuation
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp, ttest_rel

from annotator.models import Explanation, FollowUp, Instance, Study
from evaluation.metrics.stop_words import NLTK_ENGLISH
from tests.evaluation.releases.releases import built, rows_of
from tests.evaluation.reports.paper_studies import system_is, typed
from tests.evaluation.reports.studies import cells_of, stored
from tests.factories import make_item, make_judgment, make_rater, make_study, simulation_payload

pytestmark = pytest.mark.django_db
SYSTEMS = {
    "a cot": ("a", "cot"), "a post": ("a", "post_hoc"), "b cot": ("b", "cot"), "b post": ("b", "post_hoc"),
    "a forced": ("a", "forced"),
}  # fmt: skip
WORDS = [
    "owl",
    "lake",
    "swim",
    "bear",
    "fly",
    "north",
    "cold",
    "sea",
    "fish",
    "wing",
    "nest",
    "ice",
    "river",
    "deep",
    "tall",
    "red",
]
SEED = 7


def p1_data() -> Study:
    """Four instances; four systems and a forced one; two generators of eight follow-ups and a baseline of three; three people, two simulators."""
    study, rng = make_study(), np.random.default_rng(5)
    raters = [make_rater(name) for name in ("ann", "bob", "cy")]
    simulators = [make_rater(name, kind="simulator", source="simulator") for name in ("sim-1", "sim-2")]
    own = np.random.default_rng(6)
    for instance in "wxyz":
        for system in SYSTEMS:
            written = [(f"g{number % 2}", "counterfactual") for number in range(16)]
            written += [("g0 · baseline", "baseline")] * (0 if system == "a forced" else 3)
            for number, (generator, kind) in enumerate(written):
                text = " ".join(rng.choice(WORDS, 4))
                item = make_item(
                    study, key=f"{system}-{instance}-{number}", instance=instance, system=system, generator=generator,
                    real_output=str(rng.choice(["yes", "no"])), payload=simulation_payload(number) | {"follow_up": text},
                )  # fmt: skip
                FollowUp.objects.filter(pk=item.follow_up_id).update(kind=kind)
                for rater in raters:
                    make_judgment(
                        item, rater, str(rng.choice(["yes", "no", "cannot_guess"], p=[0.45, 0.3, 0.25]))
                    )
                for rater in simulators:
                    make_judgment(
                        item, rater, str(own.choice(["yes", "no", "cannot_guess"], p=[0.6, 0.3, 0.1]))
                    )
    for name, (model, method) in SYSTEMS.items():
        system_is(name, model, method)
    typed(study, "simulation")
    Instance.objects.filter(items__study=study, key__in="wx").update(gold_label="no")
    Explanation.objects.filter(system__name="b cot").update(output="no")
    return study


def frame(file: io.BytesIO) -> pd.DataFrame:
    """One row for each follow-up: what it is, the majority of its raters, and its system's real output."""
    tables = {
        name: pd.DataFrame(rows_of(file, name)).set_index("id")
        for name in (
            "rater", "judgment", "item", "follow_up", "output",
            "explanation", "instance", "system",
        )
    }  # fmt: skip
    judged = tables["judgment"]
    judged = judged[judged["rater_id"].map(tables["rater"]["kind"]) == "human"]
    answer = judged["response"].map(
        lambda given: given["answer"] if given.get("helpful") != "no" else "cannot guess"
    )
    counts = answer.groupby(judged["item_id"]).value_counts().unstack(fill_value=0)
    most = counts.max(axis=1)
    majority = counts.idxmax(axis=1).where(counts.eq(most, axis=0).sum(axis=1) == 1)
    rows = tables["item"].join(majority.rename("said"))
    rows = rows.join(tables["follow_up"][["text", "generator", "kind"]], on="follow_up_id")
    rows = rows.join(tables["output"].set_index("follow_up_id")["text"].rename("real"), on="follow_up_id")
    rows = rows.join(tables["explanation"][["output", "system_id"]], on="explanation_id")
    rows = rows.join(tables["system"][["name", "model", "method"]], on="system_id")
    return rows.join(tables["instance"][["gold_label"]], on="instance_id")


def mixed(rows: pd.DataFrame) -> pd.DataFrame:
    """Ten of each explanation, in turn from both generators, each in the order of the digests of seed and text, without repeats."""
    taken: list[Any] = []
    for _, part in rows[rows.kind != "baseline"].groupby("explanation_id"):
        order = part.text.map(lambda text: blake2b(f"{SEED}/{text}".encode(), digest_size=16).digest())
        queues = [
            part.loc[order[part.generator == name].sort_values(kind="stable").index]
            for name in sorted(set(part.generator))
        ]
        seen: set[str] = set()
        left = [list(queue.text.items()) for queue in queues]
        while any(left) and len(seen) < 10:
            for queue in left:
                while queue and queue[0][1] in seen:
                    queue.pop(0)
                if queue and len(seen) < 10:
                    index, text = queue.pop(0)
                    seen.add(text)
                    taken.append(index)
    return rows.loc[taken]


def precision(rows: pd.DataFrame) -> pd.Series:
    """The share of each explanation's simulatable follow-ups whose majority is the real output (section 3.2)."""
    simulatable = rows[rows.said.notna() & (rows.said != "cannot guess")]
    right = simulatable.said == simulatable.real
    return right.groupby([simulatable.instance_id, simulatable.name]).mean()


def jaccard(first: str, second: str) -> float:
    a, b = ({w for w in text.translate(str.maketrans("", "", punctuation)).split() if w not in NLTK_ENGLISH} for text in (first, second))  # fmt: skip
    return len(a & b) / len(a | b)


def bleu(hypothesis: str, reference: str) -> float:
    """Papineni's BLEU of one sentence with one reference: up to four words, exponential smoothing, effective order."""
    said, asked = hypothesis.split(), reference.split()
    logs, halvings, shared = [], 0, 0
    for order in range(1, min(4, len(said)) + 1):
        grams, wanted = (
            Counter(zip(*(words[i:] for i in range(order)), strict=False)) for words in (said, asked)
        )
        found = sum((grams & wanted).values())
        halvings, shared = halvings + (found == 0), shared + found
        logs.append(np.log((found or 0.5**halvings) / sum(grams.values())))
    return float(np.exp(np.mean(logs) + min(0, 1 - len(asked) / len(said)))) if shared else 0.0


def cosine_in(texts: Iterable[str]) -> Callable[[str, str], float]:
    """The cosine of TF-IDF vectors over these texts. The export has the texts that the vectors come from."""
    corpus = [set(text.split()) for text in set(texts)]
    idf = {
        word: np.log((1 + len(corpus)) / (1 + sum(word in words for words in corpus))) + 1
        for word in set().union(*corpus)
    }

    def vector(text: str) -> dict[str, float]:
        weights = {word: count * idf[word] for word, count in Counter(text.split()).items()}
        length = np.sqrt(sum(weight**2 for weight in weights.values()))
        return {word: weight / length for word, weight in weights.items()}

    vectors = {text: vector(text) for text in set(texts)}

    def cosine(first: str, second: str) -> float:
        ours, theirs = vectors[first], vectors[second]
        return sum(weight * theirs.get(word, 0.0) for word, weight in ours.items())

    return cosine


def kappa(first: pd.Series, second: pd.Series) -> float:
    """Cohen's kappa of two raters over the items that both judged."""
    table = pd.crosstab(first, second, normalize=True)
    table = table.reindex(index=(every := table.index.union(table.columns)), columns=every, fill_value=0)
    by_chance = table.sum(axis=1) @ table.sum(axis=0)
    return float((np.trace(table) - by_chance) / (1 - by_chance))


def generality(rows: pd.DataFrame, similar: Callable[[str, str], float] = jaccard) -> pd.Series:
    """One minus the mean similarity of ordered pairs of an explanation's simulatable follow-ups (section 3.1)."""
    simulatable = rows[rows.said.notna() & (rows.said != "cannot guess")]
    groups = simulatable.groupby(["instance_id", "name"]).text
    return groups.apply(
        lambda texts: (
            1 - np.mean([similar(a, b) for a, b in permutations(texts, 2)]) if len(texts) > 1 else np.nan
        )
    )


def share(rows: pd.DataFrame) -> float:
    labelled = rows[rows.said.notna()]
    return float((labelled.said != "cannot guess").mean())


def test_p1s_tables_by_the_papers_formulas() -> None:
    report = stored(p1_data(), seed=SEED)
    _, file = built(report)
    content, rows = report.content or {}, frame(file)
    mix = mixed(rows)
    plain = mix[mix.method != "forced"]
    assert 0 < len(plain) <= 160

    def shown(table: str, *, row: str, column: str) -> float:
        found = [
            cell["value"]
            for (head, label), cell in cells_of(content, table).items()
            if row in (head, head.partition(" ")[2])
            and label == column  # the first word is the study's title
        ]
        assert len(found) == 1, (table, row, column, found)
        return float(found[0])

    # Table 4: the mean over explanations, on instances where all four systems have a precision.
    table4 = precision(plain).unstack().dropna()
    for system, (model, method) in SYSTEMS.items():
        if method != "forced":
            title = {"cot": "Chain of thought", "post_hoc": "Post-hoc"}[method]
            value = shown("p1-table-4", row="People", column=f"{model} {title}")
            assert value == pytest.approx(table4[system].mean(), abs=1e-12)
            assert shown("p1-table-6", row=system, column="Simulation precision") == value
    # The text's comparison: each model averaged over its methods on every instance.
    models = {model: table4[[f"{model} cot", f"{model} post"]].mean(axis=1) for model in "ab"}
    found = cells_of(content, "p1-table-4-models")["Models, over their methods a b", "Difference"]
    assert found["value"] == pytest.approx((models["a"] - models["b"]).mean(), abs=1e-12)
    assert found["n"] == len(table4)
    p = cells_of(content, "p1-table-4-models")["Models, over their methods a b", "p (t-test)"]["value"]
    assert p == pytest.approx(ttest_rel(models["a"], models["b"]).pvalue, abs=1e-12)
    methods = {name: table4[[f"{model} {name}" for model in "ab"]].mean(axis=1) for name in ("cot", "post")}
    found = cells_of(content, "p1-table-4-models")[
        "Methods, over the models Chain of thought Post-hoc", "Difference"
    ]
    assert found["value"] == pytest.approx((methods["cot"] - methods["post"]).mean(), abs=1e-12)
    # Every two systems.
    for first, second in combinations(sorted(table4), 2):
        value = shown("systems-compared", row=f"{first} {second}", column="Difference")
        assert value == pytest.approx((table4[first] - table4[second]).mean(), abs=1e-12)

    # Table 6: accuracy on the same instances.
    starters = rows[rows.instance_id.isin(table4.index)].drop_duplicates("explanation_id")
    for system in table4:
        own = starters[starters.name == system]
        value = shown("p1-table-6", row=system, column="Task accuracy")
        assert value == pytest.approx((own.output == own.gold_label).mean(), abs=1e-12)

    # Table 2: instances that post-hoc answers correctly.
    right = set(rows[(rows.name == "a post") & (rows.output == rows.gold_label)].instance_id)
    both = precision(mix).unstack()[["a post", "a forced"]].dropna()
    both = both[both.index.isin(right)]
    for column, name in (("Normal", "a post"), ("Forced", "a forced")):
        assert shown("p1-table-2", row="a post", column=column) == pytest.approx(both[name].mean(), abs=1e-12)

    # Table 1: each generator, the baseline and the mix; the mean over explanations of all systems but forced ones.
    every = rows[rows.method != "forced"]
    parts = {name: every[every.generator == name] for name in set(every.generator)} | {
        "mixed: g0 + g1": plain
    }
    similarities = {"Jaccard": jaccard, "BLEU": bleu, "Cosine": cosine_in(every.text)}
    diverse = {
        (title, name): generality(part, similar)
        for title, similar in similarities.items()
        for name, part in parts.items()
    }
    for (title, name), value in diverse.items():
        assert shown("p1-table-1", row=name, column=f"Generality {title}") == pytest.approx(
            value.mean(), abs=1e-10
        )
    for name, part in parts.items():
        assert shown("p1-table-1", row=name, column="Simulatable") == pytest.approx(share(part), abs=1e-12)
    for title in similarities:
        by_instance = {name: diverse[title, name].groupby("instance_id").mean() for name in parts}
        difference = (by_instance["mixed: g0 + g1"] - by_instance["g0 · baseline"]).dropna()
        cells = cells_of(content, "p1-table-1-differences")
        cell = cells[f"{title} mixed: g0 + g1 g0 · baseline", "Difference"]
        assert (cell["value"], cell["n"]) == (pytest.approx(difference.mean(), abs=1e-10), len(difference))
        p = cells[f"{title} mixed: g0 + g1 g0 · baseline", "p (t-test)"]["value"]
        assert p == pytest.approx(ttest_1samp(difference, 0).pvalue, abs=1e-10)

    # Table 5 (values that differ by rounding alone are ties there): generality and precision over the systems of an instance, then the mean over instances.
    pairs = pd.DataFrame({"generality": generality(plain), "precision": precision(plain)}).dropna()
    for method in ("pearson", "spearman"):
        each = [
            part.generality.corr(part.precision, method=method)
            for _, part in pairs.groupby("instance_id")
            if part.nunique().min() > 1
        ]
        assert shown("p1-table-5", row=method.capitalize(), column="Jaccard") == pytest.approx(
            np.mean(each), abs=1e-8
        )

    # Table 3: Cohen's kappa of every two people, and of every person with each simulator, then the mean.
    judged = pd.DataFrame(rows_of(file, "judgment"))
    raters = pd.DataFrame(rows_of(file, "rater")).set_index("id")
    judged["said"] = judged.response.map(
        lambda given: given["answer"] if given.get("helpful") != "no" else "?"
    )
    wide = judged.pivot(index="item_id", columns="rater_id", values="said")
    people = [one for one in wide if raters.kind[one] == "human"]
    for labels, said in (("All labels", wide), ("Without “cannot guess”", wide.where(wide != "?"))):
        row = next(head for head, _ in cells_of(content, "p1-table-3") if head.endswith(labels))
        of_people = np.mean([kappa(said[a], said[b]) for a, b in combinations(people, 2)])
        assert shown("p1-table-3", row=row, column="H–H") == pytest.approx(of_people, abs=1e-12)
        cell = cells_of(content, "agreement-simulation")[
            "Cohen’s κ, people with each other", f"{labels} Value"
        ]
        assert cell["value"] == pytest.approx(of_people, abs=1e-12)
        for simulator in set(wide) - set(people):
            value = np.mean([kappa(said[person], said[simulator]) for person in people])
            name = raters.name[simulator]
            assert shown("p1-table-3", row=row, column=f"H–{name}") == pytest.approx(value, abs=1e-12)

"""GEN-U as a reward: rounds of sampling, scoring and fine-tuning, and what happens when jobs fail."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotator.models import Explanation, Item, Output, System
from evaluation.models import FineTuning, Pipeline, Report, Reward, Run
from evaluation.pipelines.advance import pipeline_advance, pipeline_cancel, pipeline_resume
from evaluation.pipelines.create import pipeline_create, recipe_save
from evaluation.pipelines.options import step_options
from evaluation.pipelines.recipe import recipe_file
from evaluation.pipelines.sweep import pipelines_sweep
from evaluation.pipelines.training import rounds_of, tuning_work
from evaluation.providers.scripted.app import Scripted
from evaluation.reports.choices import Choices
from evaluation.reports.compute import compute_across
from evaluation.runs.inline import run_inline
from evaluation.selectors.material import gen_u_system, part_by_key
from evaluation.services.dataset import dataset_load
from tests.evaluation.pipelines.carried import questions
from tests.evaluation.providers.tuned import reply, tuned_on
from tests.evaluation.reports.one_truth import check_one_truth, check_sentences
from tests.evaluation.reports.studies import table_of
from tests.evaluation.run_factories import make_endpoint
from tests.evaluation.scripted_process import ScriptedProcess

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("allowed")]


def quark(folder: Path, model: str, *override: str, second: str = "", scripted: ScriptedProcess) -> Pipeline:
    make_endpoint(scripted, model=model)
    call_command(
        "pipeline", "p3-quark", dataset=questions(folder), endpoint="scripted", inline=True, second=second,
        override=["validated.by=simulators", "generalization.n=2", *override], allow_own_model=True, verbosity=0,
    )  # fmt: skip
    return Pipeline.objects.get()


def test_the_reward_rises_over_rounds_and_table_7_is_filled(
    scripted: ScriptedProcess, tmp_path: Path
) -> None:
    model, second = "scripted?quality=0.7", "scripted?quality=1&seed=3"
    pipeline = quark(tmp_path, model, second=second, scripted=scripted)
    assert pipeline.state == "done"
    rounds = rounds_of(pipeline)
    assert [name for name, _, _ in rounds] == ["rewards-1", "rewards-2", "rewards-3"]
    means = [mean for _, _, mean in rounds]
    assert means[0] < means[1] < means[2]
    assert {samples for _, samples, _ in rounds} == {rounds[0][1]}  # as many samples in each round
    assert [pipeline.results[name]["mean_reward"] for name, _, _ in rounds] == [
        round(mean, 4) for mean in means
    ]

    tunings = list(FineTuning.objects.all())
    assert [t.state for t in tunings] == ["done"] * 3
    assert [t.base_model for t in tunings] == [model, tunings[0].model, tunings[1].model]
    assert [t.examples for t in tunings] == sorted({t.examples for t in tunings})  # the pool grows
    lines = [json.loads(line) for line in tunings[0].file.splitlines()]
    assert len(lines) == rounds[0][1]
    quantile = {-1.0: 0, 0.0: 1, 1.0: 2}
    rewards = list(Reward.objects.filter(step="rewards-1"))
    assert [line["messages"][0]["content"].split("\n")[0] for line in lines] == [
        f"<reward_{quantile[reward.value]}>" for reward in rewards for _ in range(reward.samples)
    ]
    assert all(line["messages"][-1]["role"] == "assistant" for line in lines)

    # Only training questions are trained on, under the best token from the second round on.
    keys = set(
        Explanation.objects.filter(system__method="quark round").values_list("instance__key", flat=True)
    )
    assert {part_by_key(key) for key in keys} == {"train"}
    warm = pipeline.runs.get(options__step="rationales-warm-1")
    assert warm.calls.first().request["top_p"] == 0.7
    # The round whose model has the best GEN-U on the validation part, which nothing is trained on, is the trained model.
    chosen = pipeline.results["best-round"]
    assert chosen["model"] == tunings[chosen["round"] - 1].model
    (step,) = [one for one in pipeline.recipe.content["steps"] if one["name"] == "best-round"]
    means = [mean_gen_u(pipeline, one["system"]) for one in step_options(pipeline, step)["rounds"]]
    assert (len(means), chosen["round"]) == (3, means.index(max(means)) + 1)
    assert chosen["gen_u"] == pytest.approx(max(means), abs=1e-4)
    checked = Explanation.objects.filter(system__method="quark validation")
    assert {part_by_key(key) for key in checked.values_list("instance__key", flat=True)} == {"validation"}
    assert chosen["questions"] <= checked.values("instance").distinct().count()
    assert pipeline.runs.get(options__step="explain-after").model == chosen["model"]
    sampled = pipeline.runs.get(options__step="rationales-2")
    assert sampled.model == tunings[0].model
    request = sampled.calls.first().request["messages"]
    assert request[0]["content"].startswith("<reward_2>\n")
    assert len(request) == 2
    assert (
        not pipeline.runs.get(options__step="rationales-1")
        .calls.first()
        .request["messages"][0]["content"]
        .startswith("<")
    )

    before, after, other = (
        f"{model} · before Quark",
        f"{model} · after Quark, pipeline {pipeline.pk}",
        f"{second} · answer then reason",
    )
    assert System.objects.get(name=after).method == "quark"
    items = Item.objects.filter(study=pipeline.study)
    assert set(items.values_list("explanation__system__name", flat=True)) == {before, after, other}
    assert all(part_by_key(key) == "test" for key in items.values_list("instance__key", flat=True))
    simulator = pipeline.runs.get(options__step="simulators").rater
    assert simulator is not None
    content = compute_across(
        studies=Report.objects.get().studies,
        choices=Choices(replicates=100, min_overlap=1, rule=f"single:{simulator.name}"),
        figures=False,
    ).content
    assert check_one_truth(content)
    assert check_sentences(content)
    table = table_of(content, "p3-table-7")
    assert "names no parts" in table["notes"][1]
    assert [column["label"] for column in table["columns"]] == [before, after, other]
    shown = {row["head"][1]: [cell["value"] for cell in row["cells"]] for row in table["rows"]}
    assert all(value is not None for values in shown.values() for value in values), shown
    paper = ["GEN-U", "Task accuracy", "% Useful", "% Not useful", "% Unsure"]
    assert list(shown) == paper, "its order, without the number of parameters"
    for n in range(3):
        assert sum(shown[name][n] for name in ("% Useful", "% Not useful", "% Unsure")) == pytest.approx(1)
    shows_the_reward_by_round(content, rounds)
    differences = table_of(content, "p3-table-7-differences")["rows"]
    assert {(row["head"][0], row["head"][1]) for row in differences} == {(after, before), (after, other)}

    for form, column in (("messages", "messages"), ("prompt_completion", "completion")):
        path = tmp_path / f"{form}.jsonl"
        call_command("export_rewards", str(pipeline.pk), form=form, output=path, verbosity=0)
        exported = [json.loads(line) for line in path.read_text().splitlines()]
        assert len(exported) == sum(samples for _, samples, _ in rounds) > Reward.objects.count()
        assert {row["reward_quantile"] for row in exported} == {
            quantile[v] for v in {r.value for r in Reward.objects.all()}
        }
        assert all(row[column] for row in exported)


def mean_gen_u(pipeline: Pipeline, system: str) -> float:
    """By hand: each instance's most frequent score (the smallest of tied ones), and the mean over instances."""
    right: dict[bool, dict[tuple[int, int], bool]] = {True: {}, False: {}}
    for shown, rationale in ((True, system), (False, "")):
        answers = Output.objects.filter(system__name=gen_u_system(pipeline.endpoint.model, rationale))
        for one in answers.exclude(follow_up__gold_label="").select_related("follow_up"):
            key = (one.follow_up.instance_id, one.follow_up_id)
            right[shown][key] = one.text == one.follow_up.gold_label
    scores: dict[int, Counter[int]] = {}
    for key in right[True].keys() & right[False].keys():
        score = -1 if not right[True][key] else 0 if right[False][key] else 1
        scores.setdefault(key[0], Counter())[score] += 1
    modes = [min(score for score, n in held.items() if n == max(held.values())) for held in scores.values()]
    return sum(modes) / len(modes)


def shows_the_reward_by_round(content: dict[str, Any], rounds: list[tuple[str, int, float]]) -> None:
    """The report's table and figure of the rounds, and each quantile's rewards, against the stored rewards."""
    table = table_of(content, "p3-reward-rounds")
    assert [row["head"] for row in table["rows"]] == [["Round 1"], ["Round 2"], ["Round 3"]]
    labels = [column["label"] for column in table["columns"]]
    for row, (step, samples, mean) in zip(table["rows"], rounds, strict=True):
        shown = dict(zip(labels, row["cells"], strict=True))
        rewards = Reward.objects.filter(step=step)
        found = shown["Mean reward"]
        assert (found["value"], found["n"]) == (pytest.approx(mean), samples)
        assert -1 <= found["low"] <= found["value"] <= found["high"] <= 1
        # Every rationale that was requested has a reward or a reason why not.
        without = sum(shown["Mean reward"]["left_out"].values())
        assert shown["Sampled"]["value"] == samples + without
        assert shown["With a reward"]["value"] == samples
        assert shown["Distinct"]["value"] == rewards.count()
        assert shown["Questions"]["value"] == rewards.values("explanation__instance").distinct().count()
        assert len(table["denominators"]) > 0
    # Each question has as many samples in each round, so the mean of their differences is the difference of the means.
    change = [dict(zip(labels, row["cells"], strict=True))["Change since round 1"] for row in table["rows"]]
    assert change[2]["value"] == pytest.approx(rounds[2][2] - rounds[0][2])
    points = table_of(content, "p3-reward-rounds-figure")["data"]["points"]
    assert [(one["label"], one["value"], one["n"]) for one in points] == [
        (f"Round {n}", pytest.approx(mean), samples) for n, (_, samples, mean) in enumerate(rounds, 1)
    ]

    quantiles = table_of(content, "p3-reward-quantiles")["rows"]
    assert [row["head"] for row in quantiles] == [
        [f"Round {n}", f"<reward_{k}>"] for n in (1, 2, 3) for k in range(3)
    ]
    for n, row in enumerate(quantiles):
        least, most, samples, share = row["cells"]
        held = Reward.objects.filter(step=f"rewards-{n // 3 + 1}", quantile=n % 3)
        count = sum(held.values_list("samples", flat=True))
        assert samples["value"] == count
        assert share["value"] == pytest.approx(count / rounds[n // 3][1])
        expected = n % 3 - 1 if count else None
        assert (least["value"], most["value"]) == (expected, expected)


def test_a_model_trained_elsewhere_can_be_added_to_table_7(scripted: ScriptedProcess, tmp_path: Path) -> None:
    pipeline = quark(tmp_path, "scripted?quality=0.7", scripted=scripted)
    train, asked = tmp_path / "train.jsonl", tmp_path / "asked.jsonl"
    call_command("export_rewards", str(pipeline.pk), output=train, verbosity=0)
    call_command("export_rewards", str(pipeline.pk), questions=True, output=asked, verbosity=0)

    # The lab: it trains a model of its own on the file, and asks it for the rationales of the test part.
    lab = Scripted()
    examples = [json.loads(line)["messages"] for line in train.read_text().splitlines()]
    theirs = tuned_on(lab, examples, base="scripted?quality=0.7")
    rows = [json.loads(line) for line in asked.read_text().splitlines()]
    assert [row["instance"] for row in rows] == [f"q{n}" for n in range(30) if part_by_key(f"q{n}") == "test"]
    for row in rows:
        assert row["messages"][0]["content"].startswith("<reward_2>\n")
        answer, reason = reply(lab, theirs, row["messages"]).split("\n")
        row |= {"answer": answer.removeprefix("Answer: "), "rationale": reason.removeprefix("Reason: ")}
    back = tmp_path / "back.jsonl"
    back.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    name = "Our model · after Quark"
    assert pipeline.study is not None
    call_command(
        "import_material", pipeline.study.slug, str(back), verbosity=0,
        set=[f"system={name}", "model=our-model", "method=quark"],
    )  # fmt: skip
    number = str(pipeline.pk)
    call_command("pipeline_step", number, "gen-u-after", inline=True, override=[f"rationale={name}"])
    call_command("pipeline_step", number, "simulators", inline=True)

    simulator = Run.objects.filter(kind="simulate", study=pipeline.study).latest("pk").rater
    assert simulator is not None
    content = compute_across(
        studies=Report.objects.get().studies,
        choices=Choices(replicates=0, min_overlap=1, rule=f"single:{simulator.name}"),
        figures=False,
    ).content
    assert check_one_truth(content)
    table = table_of(content, "p3-table-7")
    column = [column["label"] for column in table["columns"]].index(name)
    shown = {row["head"][1]: row["cells"][column] for row in table["rows"]}
    assert all(cell["value"] is not None for cell in shown.values()), shown
    assert shown["% Useful"]["n"] == len(rows)
    assert name in {row["head"][0] for row in table_of(content, "p3-table-7-differences")["rows"]}


def test_two_pipelines_on_a_dataset_share_no_trained_system(
    scripted: ScriptedProcess, tmp_path: Path
) -> None:
    endpoint = make_endpoint(scripted)
    dataset, _ = dataset_load(name="d", path=questions(tmp_path), task="yes_no")
    recipe = recipe_save(content=recipe_file("p3-quark"))
    both = [pipeline_create(recipe=recipe, dataset=dataset, endpoint=endpoint) for _ in range(2)]
    first, second = ([step_options(one, step) for step in recipe.content["steps"]] for one in both)
    sampled = [options["system"] for options in first if options.get("label") in ("quark", "quark round")]
    assert len(set(sampled)) == 4  # three rounds, and the rationales after training
    assert not set(sampled) & {options.get("system") for options in second}
    used = {options["system"] for options in first if "questions" in options and "system" in options}
    used |= {options.get("rationale") for options in first} | set(first[-3]["systems"])
    assert set(sampled) <= used


def test_a_dataset_without_a_test_part_is_refused_before_any_request(
    scripted: ScriptedProcess, tmp_path: Path
) -> None:
    make_endpoint(scripted)
    with pytest.raises(CommandError, match="None of its 1 instances is in the test part"):
        call_command("pipeline", "p3-quark", dataset=questions(tmp_path), endpoint="scripted", limit=1)
    assert not Pipeline.objects.exists()


def test_rationales_are_sampled_with_schema_replies(scripted: ScriptedProcess, tmp_path: Path) -> None:
    make_endpoint(scripted, model="scripted?quality=0.7", structured=True)
    recipe = recipe_file("p3-quark")
    recipe["steps"] = [step for step in recipe["steps"] if step["kind"] not in ("report", "simulate")]
    # One round, and questions that nobody has to validate.
    each = ("rationales", "rationales-warm", "rewards", "tune", "explain-validation", "gen-u-validation")
    later = {f"{name}-{n}" for n in (2, 3) for name in each}
    dropped = later | {"validation", "validated"}
    recipe["steps"] = [step for step in recipe["steps"] if step["name"] not in dropped]
    (chosen,) = [step for step in recipe["steps"] if step["kind"] == "choose_round"]
    del chosen["options"]["rounds"][1:]
    text = json.dumps(recipe).replace('"validated"', '"all"')
    own = tmp_path / "recipe.json"
    own.write_text(text, encoding="utf-8")
    call_command(
        "pipeline", str(own), dataset=questions(tmp_path), endpoint="scripted", inline=True, verbosity=0, limit=6,
        override=["generalization.n=1"],
    )  # fmt: skip
    pipeline = Pipeline.objects.get()
    assert pipeline.state == "done"
    assert "no rationale of the validation part" in pipeline.results["best-round"]["note"], (
        "none of six is in it"
    )
    for run in pipeline.runs.all():
        assert set(run.calls.values_list("state", "error")) == {("done", "")}, run.options["step"]
    asked = pipeline.runs.get(options__step="rationales-1").calls.first().request
    assert asked["response_format"]["json_schema"]["strict"] is True
    # A model trained on plain replies is asked for plain replies, as it was trained.
    tuned = pipeline.runs.get(options__step="explain-after")
    assert tuned.model.startswith("ft:")
    call = tuned.calls.first()
    assert call.request["messages"][0]["content"].startswith("<reward_2>")
    assert "response_format" not in call.request
    assert call.text.startswith("Answer: ")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("tuning=reject", "expected at least 10 examples"),
        ("tuning=fail", "failed on the training cluster"),
        ("tuning=cancel", "cancelled"),
        ("tuning=quota", "exceeded your current quota"),
    ],
)
def test_a_job_that_fails_pauses_the_pipeline_and_can_be_restarted(
    fault: str, said: str, scripted: ScriptedProcess, tmp_path: Path
) -> None:
    with pytest.raises(CommandError, match=said):
        quark(tmp_path, "scripted?quality=0.7", f"tune-1.model=scripted?{fault}", scripted=scripted)
    pipeline, first = Pipeline.objects.get(), FineTuning.objects.get()
    assert (pipeline.state, first.model) == ("paused", "")
    pipeline.overrides["tune-1"] = {}
    pipeline.save()
    pipeline_resume(pipeline=pipeline)
    while (
        pipeline_advance(pipeline_pk=pipeline.pk) == "waiting"
        and not FineTuning.objects.filter(state="done").exists()
    ):
        for run in pipeline.runs.filter(state="running"):
            run_inline(run=run)
    assert list(FineTuning.objects.values_list("state", flat=True)) == [first.state, "done"]


def test_a_killed_worker_starts_no_second_job_and_cancelling_ends_it(
    scripted: ScriptedProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evaluation.pipelines import training

    class Killed(BaseException):
        pass

    whole = training.tuner_ask
    asked: list[Any] = []

    def dies_after_the_job_began(endpoint: Any, what: Any) -> Any:
        found = whole(endpoint, what)
        asked.append(found)
        if len(asked) == 3:  # the file, the search for a job, the job
            raise Killed
        return found

    monkeypatch.setattr(training, "tuner_ask", dies_after_the_job_began)
    with pytest.raises(Killed):
        quark(tmp_path, "scripted?quality=0.7", "tune-1.model=scripted?tuning_seconds=600", scripted=scripted)
    monkeypatch.setattr(training, "tuner_ask", whole)
    pipeline = Pipeline.objects.get()
    tuning = FineTuning.objects.get()
    assert (tuning.state, tuning.job_id, bool(tuning.file_id)) == ("waiting", "", True)
    assert tuning_work(pipeline_pk=pipeline.pk) is False
    tuning.refresh_from_db()
    assert (tuning.state, tuning.job_id) == ("running", asked[2].id)  # the job is found, not started again

    pipeline_cancel(pipeline=pipeline)
    tuning.refresh_from_db()
    assert tuning.state == "cancelling"
    pipelines_sweep()
    tuning.refresh_from_db()
    assert tuning.state == "cancelled"


def test_a_job_over_the_remaining_budget_is_not_started(scripted: ScriptedProcess, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="may cost"):
        quark(tmp_path, "scripted?quality=0.7", "tune-1.price=1000000", "tune-1.budget=5", scripted=scripted)
    assert not FineTuning.objects.exists()

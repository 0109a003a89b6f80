"""The simulator's step: the study's own question is sent to a model and read by the HIT type's own parser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from random import Random
from typing import Any

from django.core.files.storage import default_storage

from annotator.hit_types.base import JSON, MARKER, ChatMessage, Field, HitType, Unparsable, read_line
from annotator.hit_types.confidence import (
    answer_of,
    middle_confidence,
    parse_model_response,
    without_confidence,
)
from annotator.hit_types.declaration.passages import passage_objects
from annotator.hit_types.images import images_by_digest
from annotator.hit_types.languages import ENGLISH
from annotator.models import Item, Judgment, Rater, StudyImage
from annotator.selectors.study import study_hit_type
from annotator.services.judgments_record import Given, judgments_record
from evaluation.models import Call, Endpoint, Run
from evaluation.providers.base import ChatImage, ProviderError
from evaluation.runs.create import RunPlan
from evaluation.runs.demonstrations import thoughts_of
from evaluation.runs.step import ClaimedCall, Job, Step
from evaluation.runs.structured import stage_response, stage_schema
from evaluation.simulators.identity import SOURCE, rater_name, raters_by_reply, siblings
from evaluation.simulators.majority import Tied, majority
from evaluation.simulators.prompt_check import prompt_problems


class Simulate(Step):
    """Every item of a study, through all its stages. Each gets a judgment by the run's rater."""

    name = "simulate"
    title = "Simulate raters"
    max_tokens = 600

    def jobs(self, run: Run) -> Iterator[Job]:
        """Items that this simulator has not judged yet, in the order in which they were created."""
        kind = _kind(run)
        raters = siblings(run.rater) if run.rater else []
        judged = Judgment.objects.filter(study=run.study, rater__in=raters).values("item")
        items = Item.objects.filter(study=run.study, withdrawn_at__isnull=True)
        few = run.options.get(Run.TRIAL)
        rows = (items if few else items.exclude(pk__in=judged)).order_by("pk")
        for pk, key, payload in rows.values_list("pk", "key", "payload")[:few].iterator(2000):
            presentation = kind.present(payload, Random(f"{run.rater_id}:{key}"))
            yield Job(key=key, item_id=pk, context={"presentation": presentation} if presentation else {})

    def nothing(self, run: Run) -> str:
        items = Item.objects.filter(study=run.study, withdrawn_at__isnull=True).count()
        if not items:
            return "there is nothing to ask about. Import the study's material first"
        return (
            f"there is nothing to ask about. This simulator has already judged {'the item' if items == 1 else f'all {items:,} items'} of "
            "the study. Another model, prompt or parameter makes another simulator"
        )

    def load(self, run: Run, calls: Sequence[ClaimedCall]) -> Mapping[int, Any]:
        payloads = dict(
            Item.objects.filter(pk__in={call.item_id for call in calls}).values_list("pk", "payload")
        )
        return {call.id: payloads[call.item_id] for call in calls if call.item_id is not None}

    def messages(self, run: Run, call: ClaimedCall) -> list[ChatMessage]:
        kind = _kind(run)
        return kind.prompt(
            call.thing,
            call.stage,
            call.context.get("before"),
            call.context.get("presentation"),
            text=run.prompt,
            images=run.endpoint.images,
        )

    def images(self, run: Run, calls: Sequence[ClaimedCall]) -> Mapping[int, Mapping[str, ChatImage]]:
        """The images of the calls' items, if the endpoint takes images."""
        if not run.endpoint.images:
            return {}
        shown = {call.id: images_by_digest(call.thing) for call in calls}
        wanted = {digest for those in shown.values() for digest in those}
        if not wanted:
            return {}
        stored = StudyImage.objects.filter(study=run.study, digest__in=wanted)
        found = {one.digest: ChatImage(one.media_type, partial(_read, one)) for one in stored}
        return {
            pk: {digest: found[digest] for digest in those if digest in found} for pk, those in shown.items()
        }

    def follow(self, run: Run, endpoint: Endpoint) -> None:
        """The run's rater is the simulator at the endpoint's address. Items that it has judged already aren't asked about."""
        run.rater = rater_of(run, endpoint)
        if not run.is_trial:
            judged = Judgment.objects.filter(study=run.study, rater__in=siblings(run.rater)).values("item")
            run.calls.filter(item__in=judged).delete()

    def parse(self, run: Run, call: ClaimedCall, text: str) -> JSON:
        kind = _kind(run)
        presentation = call.context.get("presentation")
        raw = kind.parse_reply(text, call.thing, call.stage, presentation)
        return parse_model_response(kind, call.thing, raw, call.stage, presentation)

    def schema(self, run: Run, call: ClaimedCall) -> JSON:
        kind = _kind(run)
        return stage_schema(kind.stages(call.thing, call.context.get("presentation"))[call.stage])

    def from_object(self, run: Run, call: ClaimedCall, value: JSON) -> JSON:
        raw = stage_response(value)
        presentation = call.context.get("presentation")
        return parse_model_response(_kind(run), call.thing, raw, call.stage, presentation)

    def prompt_problems(self, run: Run, call: ClaimedCall) -> list[str]:
        return prompt_problems(
            kind=_kind(run),
            payload=call.thing,
            presentation=call.context.get("presentation") or {},
            text=run.prompt,
        )

    def demonstration(self, run: Run, call: ClaimedCall, text: str) -> JSON | None:
        """None if a demonstration cannot be read as a response to such a call. It doesn't say how sure it is."""
        kind, presentation = without_confidence(_kind(run)), call.context.get("presentation")
        stage = kind.stages(call.thing, presentation)[call.stage]
        try:
            own = kind.demonstrated(text, call.thing, call.stage, presentation)
            if own is not None:
                return {"thoughts": thoughts_of(text)} | own
            raw = kind.parse_reply(text, call.thing, call.stage, presentation)
        except Unparsable:
            if len(stage.fields) > 1:
                return None
            # The demonstration's question has different options from this one's.
            raw = {stage.fields[0].name: read_line(text, MARKER)}
        return {"thoughts": thoughts_of(text)} | {
            asked.name: passage_objects(raw.get(asked.name) or "") if asked.passages else raw.get(asked.name)
            for asked in stage.fields
        }

    def after(self, run: Run, call: ClaimedCall, parsed: JSON) -> Job | None:
        kind = _kind(run)
        if call.stage + 1 >= len(kind.stages(call.thing, call.context.get("presentation"))):
            return None
        context = call.context | {"before": call.context.get("before", {}) | parsed}
        return Job(
            key=call.key,
            item_id=call.item_id,
            sample=call.sample,
            stage=call.stage + 1,
            context=context,
        )

    def stages(self, run: Run, call: ClaimedCall, thing: Any) -> int:
        return len(_kind(run).stages(thing, call.context.get("presentation")))

    def texts(self, call: ClaimedCall) -> Iterator[str]:
        return _strings(call.thing)

    def apply(self, run: Run, groups: Sequence[Sequence[Call]]) -> None:
        """One judgment per item. A tie between samples gives no judgment; its calls are flagged.

        A trial of a prompt gives no judgments: its answers stay with its calls.
        """
        if run.is_trial:
            return
        if run.study is None or run.rater is None:
            raise ValueError("study, rater: a simulation needs both")
        items = Item.objects.in_bulk({group[0].item_id for group in groups})
        given: dict[Rater, list[Given]] = {}
        tied: list[int] = []
        for group, rater in zip(groups, raters_by_reply(run, groups), strict=True):
            item = items[group[0].item_id]
            try:
                given.setdefault(rater, []).append(_given(_kind(run), item, group))
            except Tied:
                tied += [call.pk for call in group]
        for rater, judgments in given.items():
            judgments_record(study=run.study, rater=rater, given=judgments, source=Judgment.Source.SIMULATOR)
        if tied:
            for call in Call.objects.filter(pk__in=tied):
                call.flags = sorted({*call.flags, "tie"})
                call.save(update_fields=["flags"])


def _read(image: StudyImage) -> bytes:
    try:
        with default_storage.open(image.file) as file:
            return bytes(file.read())
    except FileNotFoundError:
        raise ProviderError("bad_request", f"The image {image.name} is missing on the server.") from None


def chats_of(*, run: Run, most: int) -> list[tuple[str, list[tuple[str, list[ChatMessage]]]]]:
    """The chats that a draft would send about its first items: (key, [(title of a stage, chat)]).

    Earlier stages are answered with the first option each, since nobody has answered them.
    """
    kind, found = _kind(run), []
    jobs = list(islice(Simulate().jobs(run), most))
    items = Item.objects.in_bulk([job.item_id for job in jobs if job.item_id is not None])
    for job in jobs:
        payload = items[job.item_id or 0].payload
        presentation = job.context.get("presentation")
        before: JSON = {}
        stages = []
        for number, stage in enumerate(kind.stages(payload, presentation)):
            chat = kind.prompt(
                payload, number, before, presentation, text=run.prompt, images=run.endpoint.images
            )
            stages.append((stage.title, chat))
            before |= {
                asked.name: (asked.options[0].value if asked.options else "") for asked in stage.fields
            }
        found.append((job.key, stages))
    return found


def _given(kind: HitType, item: Item, group: Sequence[Call]) -> Given:
    presentation = group[0].context.get("presentation")
    responses = [call.context.get("before", {}) | (call.parsed or {}) for call in group]
    response, share = responses[0], None
    if len(responses) > 1:
        stages = without_confidence(kind).stages(item.payload, presentation)
        answers = [answer_of(kind, one) for one in responses]
        answer = majority(_unique([asked for stage in stages for asked in stage.fields]), answers)
        share = _share_of_samples(answer, answers)
        response = answer | middle_confidence(kind, answer, responses)
    seconds = [call.seconds for call in group if call.seconds is not None]
    signals = _signals(group, share)
    return Given(item, response, sum(seconds) if seconds else None, signals, presentation)


def _share_of_samples(response: JSON, responses: Sequence[JSON]) -> float:
    """The share of several samples that gave every choice of the response."""
    choices = {
        name: value for name, value in response.items() if not isinstance(value, str) or len(value) < 100
    }
    same = sum(all(one.get(name) == value for name, value in choices.items()) for one in responses)
    return same / len(responses)


def _signals(group: Sequence[Call], share: float | None) -> JSON:
    """What is stored beside the judgment; ``confidence`` is of the label, from samples or from logprobs."""
    signals: JSON = {"run": group[0].run_id, "samples": len(group)}
    confidence = share if share is not None else group[0].confidence
    if confidence is not None:
        signals |= {
            "confidence": round(confidence, 6),
            "confidence_from": "logprobs" if share is None else "samples",
        }
    flags = sorted({flag for call in group for flag in call.flags})
    return signals | ({"flags": flags} if flags else {})


def _unique(fields: Sequence[Field]) -> list[Field]:
    return list({asked.name: asked for asked in fields}.values())


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for held in value.values():
            yield from _strings(held)
    elif isinstance(value, list):
        for held in value:
            yield from _strings(held)


def rater_of(run: Run, endpoint: Endpoint) -> Rater:
    """The simulator of a run at the endpoint's address, created if necessary."""
    plan = RunPlan(
        model=run.model,
        prompt=run.prompt,
        parameters=run.parameters,
        samples=run.samples,
        together=run.together,
    )
    name = rater_name(kind=_kind(run), endpoint=endpoint, plan=plan)
    return Rater.objects.get_or_create(kind=Rater.Kind.SIMULATOR, source=SOURCE, name=name)[0]


def _kind(run: Run) -> HitType:
    if run.study is None:
        raise ValueError("study: a simulation needs one")
    kind = study_hit_type(run.study)
    language = run.study.language
    return kind if language == ENGLISH else kind.replaced(language=language)

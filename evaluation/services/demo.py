"""The evaluation's part of the demo: the scripted endpoint and one simulator on each demo study."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import ValidationError

from annotator.core.outgoing.hosts import origin_of
from annotator.hit_types.registry import hit_types
from annotator.models import Study
from annotator.services.demo import GAIN, demo_slug
from evaluation.models import Endpoint, Report
from evaluation.runs.inline import run_inline
from evaluation.runs.lifecycle import run_start
from evaluation.services.report import report_compute, report_create
from evaluation.simulators.start import simulation_create

ENDPOINT = "scripted"
#: The longest time that one simulator takes, in seconds.
SECONDS = 60.0


@contextmanager
def provider_at(base_url: str) -> Iterator[None]:
    """The scripted provider at its address: the running one, or else one started while the demo is loaded."""
    origin = origin_of(base_url)
    try:
        socket.create_connection((origin.host, origin.port), timeout=1).close()
    except OSError:
        command = [sys.executable, "-m", "evaluation.providers.scripted.server"]
        address = ["--host", origin.host, "--port", str(origin.port)]
        with subprocess.Popen([*command, *address], stdout=subprocess.PIPE) as process:  # noqa: S603
            try:
                if process.stdout is not None:
                    process.stdout.readline()  # it prints its address once it is listening
                yield
            finally:
                process.terminate()
    else:
        yield


def demo_results_load(*, base_url: str) -> Iterator[str]:
    """Create what is missing: endpoint, simulator judgments, report. Yields a line for each step."""
    if not base_url:
        yield "no scripted provider is running; nothing was simulated"
        return
    study = Study.objects.filter(slug__in=_simulated()).select_related("workspace").first()
    endpoint, made = Endpoint.objects.get_or_create(
        workspace=study.workspace if study else None,
        name=ENDPOINT,
        defaults={
            "base_url": base_url,
            "model": "scripted",
            "deployment": "this installation",
            "concurrency": 16,
            "price_in": 1,
            "price_out": 2,
            "timeout_seconds": 20,
        },
    )
    if endpoint.base_url != base_url:  # its port changes with each start
        Endpoint.objects.filter(pk=endpoint.pk).update(base_url=base_url)
        endpoint.refresh_from_db()
    if made:
        yield f"endpoint {endpoint}: {base_url}"
    with provider_at(base_url):
        yield from _results(endpoint)


def _results(endpoint: Endpoint) -> Iterator[str]:
    for study in Study.objects.filter(slug__in=_simulated()):
        try:
            run = run_start(run=simulation_create(study=study, endpoint=endpoint))
        except ValidationError:
            yield f"{study.slug}: simulated already"
        else:
            run = run_inline(run=run, seconds=SECONDS)
            yield f"{study.slug}: simulator run {run.pk} is {run.get_state_display()}"
        if not Report.objects.filter(study=study).exists():
            yield f"{study.slug}: report {_report(study)}"
    for kind in hit_types().values():
        first = Study.objects.filter(slug=demo_slug(kind.name)).first()
        second = Study.objects.filter(slug=demo_slug(kind.demo.report_with)).first()
        if first and second and not Report.objects.filter(study=first, others=second).exists():
            yield f"{first.slug} and {second.slug}: report {_report(first, second)}"


def _simulated() -> list[str]:
    """The slugs of the demo studies that a simulator judges too."""
    kinds = [kind for kind in hit_types().values() if kind.demo.simulated]
    gains = [demo_slug(kind.name, GAIN) for kind in kinds if kind.demo.gain]
    return [*(demo_slug(kind.name) for kind in kinds), *gains]


def _report(*studies: Study) -> int:
    report = report_create(study=studies[0], others=studies[1:], send=False)
    report_compute(report_pk=report.pk)
    return report.pk

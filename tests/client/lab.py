"""A running installation for the client: a web process, a worker and a scripted model, on the test's database."""

from __future__ import annotations

from pathlib import Path

from foretell_client import Foretell

from annotator.models import User
from annotator.services.api_tokens import api_token_make
from tests.evaluation.run_factories import make_endpoint
from tests.evaluation.scripted_process import ScriptedProcess
from tests.factories import make_user
from tests.processes import WebProcess, WorkerProcess


class Lab:
    """The processes, a researcher with an endpoint of their own, and their token."""

    def __init__(self, folder: Path) -> None:
        self.provider = ScriptedProcess()
        allowed = self.provider.host
        self.web = WebProcess(folder, LLM_ALLOWED_HOSTS=allowed)
        self.worker = WorkerProcess(folder, SOLE_WORKER="1", LLM_ALLOWED_HOSTS=allowed)
        self.user: User = make_user("rosa", staff=True)
        self.token = api_token_make(user=self.user)

    def start(self) -> None:
        """Start the processes; the settings of the test must allow the provider's host."""
        make_endpoint(self.provider, by=self.user, model="scripted?quality=0.9")
        self.worker.start()
        self.web.start()

    def stop(self) -> None:
        for process in (self.web, self.worker):
            if process.child is not None:
                process.stop()
        self.provider.stop()

    def client(self) -> Foretell:
        return Foretell(self.web.url, self.token, timeout=300)

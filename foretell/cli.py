"""``foretell``: the commands that people want first, and everything else behind ``foretell manage``.

A command imports what it needs when it is called, so that those without a database start in a fraction of a second.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version

#: Command -> (module of the Django command, what it does). They need no settings, no server and no database.
FILE_COMMANDS = {
    "agreement": (
        "evaluation.management.commands.agreement",
        "agreement of the ratings in a file: CSV, Excel, Parquet or JSON lines",
    ),
    "metrics": (
        "evaluation.management.commands.metrics_file",
        "simulation precision, gain and utility of the ratings in a file; of a study, while Foretell runs",
    ),
    "plan": (
        "evaluation.management.commands.simulate_study",
        "how many items and raters an interval needs, or a simulated study",
    ),
    "hit_type": (
        "annotator.management.commands.hit_type",
        "check a file that declares a HIT type or a questionnaire, show what it makes, save it in a workspace, or try a type",
    ),
}
#: What the first lines of ``foretell --help`` say of commands for a running installation.
STUDY_COMMANDS = {
    "import_material": "import questions and explanations from a file",
    "analysis_plan": "write a study's analysis plan, and seal it before the data",
    "study": "create, launch, pause or close a study",
    "simulate": "let a language model judge a study",
    "report": "compute a study's report",
    "release": "publish a report with its data, anonymised",
}


def usage() -> str:
    """The help text: what a person wants first at the top.

    >>> print(usage().splitlines()[0])
    usage: foretell COMMAND [OPTION …]
    """
    first = {
        "run": "start Foretell on this computer, with its own Postgres and Redis",
        **{name: text for name, (_, text) in FILE_COMMANDS.items()},
        "reproduce": "check a release: compute every number in it again",
    }
    return "\n".join(
        [
            "usage: foretell COMMAND [OPTION …]",
            "",
            *_lines(first),
            "",
            "While `foretell run` is running, in another terminal:",
            "",
            *_lines(STUDY_COMMANDS),
            *_lines({"manage": "every other command; `foretell manage help` lists them"}),
            "",
            "`foretell COMMAND --help` explains one command, `foretell --version` prints the version.",
        ]
    )


def _lines(commands: dict[str, str]) -> list[str]:
    return [f"  {name:<16} {text}" for name, text in commands.items()]


def main(arguments: list[str] | None = None) -> int:
    """Run the command that ``arguments`` (default: those of the process) name; its exit code.

    >>> main(["--version"])  # doctest: +ELLIPSIS
    foretell ...
    0
    """
    command, *rest = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if command in ("--help", "-h", "help"):
        print(usage())
        return 0
    if command == "--version":
        print(f"foretell {_version()}")
        return 0
    if command == "run":
        return _run(rest)
    if command == "metrics" and _names_a_study(rest):
        return manage([command, *rest])
    if command == "hit_type" and rest[:1] in (["import"], ["export"], ["try"]):  # those of a workspace
        return manage([command, *rest])
    if command in FILE_COMMANDS:
        return _file_command(command, rest)
    if command == "reproduce":
        from foretell.reproduce import main as reproduce

        return reproduce(rest)
    if command in STUDY_COMMANDS:
        return manage([command, *rest])
    if command == "manage":
        return manage(rest or ["help"])
    print(f"foretell: there is no command {command!r}\n\n{usage()}", file=sys.stderr)
    return 2


def _names_a_study(rest: list[str]) -> bool:
    """Whether ``foretell metrics`` is asked for a study's metrics: a short name has no dot and no slash, and isn't a file.

    >>> _names_a_study(["owls"]), _names_a_study(["owls.csv"]), _names_a_study(["-"]), _names_a_study(["--help"])
    (True, False, False, False)
    """
    first = rest[0] if rest else ""
    return bool(first) and not (first.startswith("-") or set("./\\") & set(first) or os.path.exists(first))


def _version() -> str:
    try:
        return version("foretell")
    except ModuleNotFoundError:  # a checkout isn't installed
        return "(checkout)"


def _run(rest: list[str]) -> int:
    if rest:
        asked = rest in (["--help"], ["-h"])
        print(
            "usage: foretell run\n\nThe environment sets the port and the folder for data: "
            "PORT=8001 DATA_DIR=/srv/foretell foretell run",
            file=sys.stdout if asked else sys.stderr,
        )
        return 0 if asked else 2
    from foretell.run import main as run

    return run()


def _file_command(name: str, rest: list[str]) -> int:
    module, _ = FILE_COMMANDS[name]
    command = import_module(module).Command()
    return _exit_code(lambda: command.run_from_argv(["foretell", name, *rest]))


def manage(arguments: list[str], program: str = "foretell") -> int:
    """A Django command on the installation of this computer, or of the servers that the environment names."""
    from django.db import OperationalError

    from foretell import env
    from foretell.unchecked_commands import Commands

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "foretell.settings")
    start = "make run" if env.CHECKOUT else "foretell run"
    try:
        return _exit_code(lambda: Commands([program, *arguments]).execute())
    except OperationalError as error:
        if env.GIVEN_DATABASE_URL or "refused" not in str(error):
            raise
        print(f"Postgres does not respond. Is `{start}` running? Or set DATABASE_URL.", file=sys.stderr)
        return 1


def _exit_code(call: Callable[[], object]) -> int:
    try:
        call()
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            return 1
        return end.code or 0
    return 0

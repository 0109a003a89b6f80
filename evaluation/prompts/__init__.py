"""Prompt files: one for each step and task, in our own words, with demonstrations. A run stores the text that it used."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parent
_SHOWN = {"response_1": "Response 1", "response_2": "Response 2"}


def prompt_names() -> list[str]:
    """All built-in prompts, as ``step/task``.

    >>> "explain/yes_no" in prompt_names()
    True
    """
    return sorted(str(path.relative_to(ROOT).with_suffix("")) for path in ROOT.glob("*/*.md"))


def prompt_file(step: str, task: str) -> str:
    """The text of a prompt file; raises ``KeyError`` with the known names."""
    name = f"{step}/{task}"
    if name not in prompt_names():
        tasks = [known.split("/")[1] for known in prompt_names() if known.startswith(f"{step}/")]
        raise KeyError(f"no prompt {name!r}; for {step!r} there are: {', '.join(tasks) or 'none'}")
    return (ROOT / f"{name}.md").read_text(encoding="utf-8")


def shown(output: str) -> str:
    """An output in the form in which prompts show it.

    >>> shown("response_2"), shown("yes")
    ('Response 2', 'yes')
    """
    return _SHOWN.get(output, output)

"""The recruitment panels: every file of ``panels/``, and those of installed packages."""

from __future__ import annotations

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from annotator.core.registry import Registry
from annotator.recruitment.panel import OpenedLink, Panel

PANELS: Registry[Panel] = Registry(
    Panel, noun="recruitment panel", package="annotator.recruitment.panels", group="foretell.panels"
)


class PanelNotInstalled(Panel):
    """Stands for a panel that a study uses although its package has been removed: nobody can come from it."""

    installed = False
    codes = ()

    def __init__(self, name: str) -> None:
        self.name = self.title = name  # type: ignore[misc]

    def is_link(self, link: OpenedLink) -> bool:
        raise self.refused(
            "panel_down", format_lazy(_("This server can't check links from {panel}."), panel=self.title)
        )


def panel_get(name: str) -> Panel | None:
    """A study's or participant's panel; None if they have none."""
    if not name:
        return None
    return PANELS.get(name) if name in PANELS else PanelNotInstalled(name)


def panel_choices() -> list[tuple[str, str]]:
    """The choices for a study's panel."""
    return [("", "none: people join by the study's link"), *((panel.name, panel.title) for panel in PANELS)]


def person_parameters() -> frozenset[str]:
    """The parameters of links that name a participant or one attempt of theirs: nobody is grouped or filtered by them."""
    return frozenset(name for panel in PANELS for name in (panel.person, panel.submission) if name)


def link_parameters() -> str:
    """The ids that panels add to the join link, which studies keep unless their settings say otherwise."""
    return ", ".join(dict.fromkeys(name for panel in PANELS for name in panel.parameters))

"""Sona Systems, the participant pools of universities: an unsigned link, and credit by the address to which people return.

Sources: https://www.sona-systems.com/researcher/using-the-survey-code-feature/ (the link) and
https://www.sona-systems.com/researcher/external-study-credit-granting/ (the client-side completion URL).
"""

from __future__ import annotations

from annotator.recruitment.panel import Panel


class Sona(Panel):
    """Plain links with a survey code for each sign-up, and a completion URL that grants credit."""

    name = "sona"
    title = "Sona"
    person = "survey_code"
    parameters = {"survey_code": "%SURVEY_CODE%"}
    #: The code is a number of two to seven digits, unique within one study of the pool.
    id_pattern = r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}"
    ids_shared = False
    returns_by_setting = True
    codes = ()  # the completion URL grants credit; nobody enters a code
    hints = {
        "panel_return": "Copy the client-side completion URL from the study's page on Sona, and replace XXXX by {person}. It grants credit to people"
        " who have completed the study.",
        "panel_links": "Sona doesn't sign its links.",
    }

    def link_words(self, signed: bool) -> str:
        return "Enter this as the Study URL on Sona. Sona replaces %SURVEY_CODE% by a number for each person who signs up."

"""Rules for new usernames, so that nobody can impersonate another user.

Usernames that differ only in case are the same name. Letters that look like other letters are refused: compatibility forms,
scripts mixed in one name, and names written entirely in Cyrillic or Greek letters that look Latin. Names that begin
with "A-", as those of anonymous participants do, are reserved.
"""

from __future__ import annotations

import unicodedata

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

RESERVED_PREFIXES = ("a-",)
#: Cyrillic and Greek letters that look like a Latin one (Unicode TR39, lower case).
LOOK_LATIN = frozenset("авеёкмнорстухѕіјԁԛԝһӏ" + "αικνορτυχγωϲ")


def username_check(username: str) -> None:
    """Raise ``ValidationError`` if a new account can't have this name.

    >>> username_check("ada.lovelace")
    >>> username_check("Ada-Лавлейс")
    Traceback (most recent call last):
    ...
    django.core.exceptions.ValidationError: ['Use letters of one alphabet only.']
    """
    if username.casefold().startswith(RESERVED_PREFIXES):
        raise ValidationError(
            _('Names that begin with "A-" are reserved. Choose another name.'), code="reserved"
        )
    if unicodedata.normalize("NFKC", username) != username:
        raise ValidationError(
            _("This name has special letter forms. Use ordinary letters."), code="confusable"
        )
    letters = [letter for letter in username.casefold() if letter.isalpha()]
    if len(set(map(_script, letters))) > 1:
        raise ValidationError(_("Use letters of one alphabet only."), code="confusable")
    if letters and LOOK_LATIN.issuperset(letters):
        raise ValidationError(
            _("This name looks like one in Latin letters. Choose another name."), code="confusable"
        )


def _script(letter: str) -> str:
    """The alphabet of a letter, by the first word of its Unicode name.

    >>> _script("é"), _script("ж")
    ('LATIN', 'CYRILLIC')
    """
    return unicodedata.name(letter, "?").partition(" ")[0]

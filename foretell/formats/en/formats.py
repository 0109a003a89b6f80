"""English: researchers read dates as they are in exports and logs, 2026-11-22 11:27.

``DATE_FORMAT`` stays Django's, because only annotators' pages use it.
"""

from __future__ import annotations

DATETIME_FORMAT = "Y-m-d H:i"
SHORT_DATETIME_FORMAT = "Y-m-d H:i"
SHORT_DATE_FORMAT = "Y-m-d"
TIME_FORMAT = "H:i"

"""The look of the admin, in the words of django-unfold."""

from __future__ import annotations

from django.templatetags.static import static

UNFOLD = {
    "SITE_TITLE": "Foretell",
    "SITE_HEADER": "Foretell",
    "SITE_SUBHEADER": "Studies of explanations",
    "SITE_SYMBOL": "visibility",
    "SITE_URL": "/",
    "SHOW_HISTORY": True,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("icon.svg")}],
    "STYLES": [
        lambda request: static("css/tokens.css"),
        lambda request: static("css/fonts.css"),
        lambda request: static("css/admin_colors.css"),
        lambda request: static("css/admin_frame.css"),
    ],
    "SCRIPTS": [
        lambda request: static("js/admin_frame.js"),
        lambda request: static("js/admin_alpine.js"),
        lambda request: static("js/kept_form.js"),
    ],
    "SIDEBAR": {"show_search": False, "navigation": "foretell.navigation.sidebar"},
}

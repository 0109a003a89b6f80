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
        lambda request: static("css/admin_frame.css"),
    ],
    "SCRIPTS": [lambda request: static("js/admin_frame.js")],
    "SIDEBAR": {"show_search": False, "navigation": "foretell.navigation.sidebar"},
    # The tokens of static/css/tokens.css, light ones first: paper, sunk, line, ..., ink, and the pen.
    "COLORS": {
        "base": {
            "50": "#f6f4ee",
            "100": "#edeae1",
            "200": "#dad5c9",
            "300": "#bfb9ab",
            "400": "#a39d90",
            "500": "#61636a",
            "600": "#494c53",
            "700": "#383530",
            "800": "#1f1e1b",
            "900": "#161513",
            "950": "#100f0e",
        },
        "primary": {
            "50": "#e5eaf7",
            "100": "#e5eaf7",
            "200": "#c6d4ff",
            "300": "#c6d4ff",
            "400": "#a8bdff",
            "500": "#a8bdff",
            "600": "#1f45a3",
            "700": "#15337f",
            "800": "#15337f",
            "900": "#252d47",
            "950": "#0e1738",
        },
    },
}

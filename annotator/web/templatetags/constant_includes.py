"""Django's ``include``, except that a component with only constant arguments is rendered once per language.

``{% include "components/icon.html" with name="check" only %}`` always renders the same, and a task page
has fifteen of them: `make bench ARGS=parts` measures what that saves. It reads undocumented attributes of Django's
``IncludeNode``, so it is active only with the Django versions in ``KNOWN``; with any other, ``include`` is Django's own
and pages are the same, only slower. A test fails when Django is upgraded to a version that isn't listed.
"""

from __future__ import annotations

import django
from django import template
from django.template.base import FilterExpression, Node, Parser, Token
from django.template.context import Context
from django.template.loader_tags import IncludeNode, do_include
from django.utils.translation import get_language

register = template.Library()

#: Versions of Django for which this use of ``IncludeNode`` has been checked.
KNOWN = ((5, 2),)


class RenderedOnce(Node):
    """An ``include`` whose text never changes."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.texts: dict[str | None, str] = {}

    def render(self, context: Context) -> str:
        language = get_language()
        if language not in self.texts:
            self.node.origin = self.origin
            self.texts[language] = self.node.render(context)
        return self.texts[language]


def include(parser: Parser, token: Token) -> Node:
    node = do_include(parser, token)
    return RenderedOnce(node) if is_constant(node) else node


if django.VERSION[:2] in KNOWN:
    register.tag("include", include)


def is_constant(node: IncludeNode) -> bool:
    return (
        node.isolated_context
        and _literal(node.template)
        and node.template.var.startswith("components/")
        and all(map(_literal, node.extra_context.values()))
    )


def _literal(value: FilterExpression) -> bool:
    return isinstance(value.var, str) and not value.filters

"""Django's ``include``, except that a component included with constants only is rendered once per language.

``{% include "components/icon.html" with name="check" only %}`` always renders the same, and a task page has fifteen of
them.
"""

from __future__ import annotations

from django import template
from django.template.base import FilterExpression, Node, Parser, Token
from django.template.context import Context
from django.template.loader_tags import IncludeNode, do_include
from django.utils.translation import get_language

register = template.Library()


class Once(Node):
    def __init__(self, node: Node) -> None:
        self.node = node
        self.texts: dict[str | None, str] = {}

    def render(self, context: Context) -> str:
        language = get_language()
        if language not in self.texts:
            self.node.origin = self.origin
            self.texts[language] = self.node.render(context)
        return self.texts[language]


@register.tag("include")
def include(parser: Parser, token: Token) -> Node:
    node = do_include(parser, token)
    return Once(node) if _constant(node) else node


def _constant(node: IncludeNode) -> bool:
    return (
        node.isolated_context
        and _literal(node.template)
        and node.template.var.startswith("components/")
        and all(map(_literal, node.extra_context.values()))
    )


def _literal(value: FilterExpression) -> bool:
    return isinstance(value.var, str) and not value.filters

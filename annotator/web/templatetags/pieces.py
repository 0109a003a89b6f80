"""``include`` as Django has it, but a component that is asked for with nothing but constants is written once.

``{% include "components/icon.html" with name="check" only %}`` is the same text wherever it stands, and a task's page
has fifteen of them.
"""

from __future__ import annotations

from django import template
from django.template.base import FilterExpression, Node, Parser, Token
from django.template.context import Context
from django.template.loader_tags import IncludeNode, do_include

register = template.Library()


class Once(Node):
    def __init__(self, node: Node) -> None:
        self.node = node
        self.text = ""

    def render(self, context: Context) -> str:
        if not self.text:
            self.node.origin = self.origin
            self.text = self.node.render(context)
        return self.text


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

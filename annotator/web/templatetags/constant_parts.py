"""Parts of pages that depend only on the language, rendered once for each: ``include`` and ``per_language``.

``include`` is Django's, except that a component with only constant arguments is rendered once per language.

``{% include "components/icon.html" with name="check" only %}`` always renders the same, and a task page
has fifteen of them. ``{% per_language %}...{% endper_language %}`` does the same for a passage: a task page has forty
translations. `make bench ARGS=parts` measures what both save. They read undocumented attributes of Django's nodes. A test
fails when Django is upgraded to a version for which that hasn't been checked.
"""

from __future__ import annotations

from django import template
from django.template.base import FilterExpression, Node, NodeList, Parser, TextNode, Token
from django.template.context import Context
from django.template.defaulttags import CommentNode
from django.template.loader_tags import IncludeNode, do_include
from django.templatetags.i18n import TranslateNode
from django.templatetags.static import StaticNode
from django.utils.translation import get_language

register = template.Library()


class RenderedOnce(Node):
    """A part of a template whose text depends only on the language."""

    def __init__(self, part: Node | NodeList) -> None:
        self.part = part
        self.texts: dict[str | None, str] = {}

    def render(self, context: Context) -> str:
        language = get_language()
        if language not in self.texts:
            if isinstance(self.part, Node):
                self.part.origin = self.origin
            self.texts[language] = self.part.render(context)
        return self.texts[language]


@register.tag
def include(parser: Parser, token: Token) -> Node:
    node = do_include(parser, token)
    return RenderedOnce(node) if is_constant(node) else node


def is_constant(node: IncludeNode) -> bool:
    return (
        node.isolated_context
        and _literal(node.template)
        and node.template.var.startswith("components/")
        and all(map(_literal, node.extra_context.values()))
    )


def _literal(value: FilterExpression) -> bool:
    return isinstance(value.var, str) and not value.filters


@register.tag
def per_language(parser: Parser, token: Token) -> Node:
    """``{% per_language %}...{% endper_language %}``: a passage that is rendered once for each language.

    It may hold text, comments, addresses of static files, translations of constant texts and components with constant
    arguments. Raises ``TemplateSyntaxError`` for anything else, because a page would show what an earlier one contained.
    """
    passage = parser.parse(("endper_language",))
    parser.delete_first_token()
    for node in passage:
        if not _depends_only_on_the_language(node):
            what = f"line {node.token.lineno}: {node.token.contents!r}" if node.token else repr(node)
            raise template.TemplateSyntaxError(
                f"{what} can't be used in {{% per_language %}}, because it may differ between pages in one language."
            )
    return RenderedOnce(passage)


def _depends_only_on_the_language(node: Node) -> bool:
    if isinstance(node, TranslateNode):
        # ``lookups`` is None for a literal. "as" writes into the context, which happens only in the first rendering.
        return node.filter_expression.var.lookups is None and not (
            node.filter_expression.filters or node.asvar or node.message_context
        )
    if isinstance(node, StaticNode):
        return node.varname is None and node.path.token[:1] in "'\""
    if isinstance(node, IncludeNode):
        return is_constant(node)
    return isinstance(node, TextNode | CommentNode | RenderedOnce)

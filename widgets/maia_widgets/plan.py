"""A plan as data for the panel, and the panel's answer understood. Pure."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from maia_kernel.neutral import line, visible
from maia_kernel.questions import PlanAnswer, PlanQuestion
from maia_widgets.permission import typed

if TYPE_CHECKING:
    from markdown_it.token import Token

Tree = list[Any]
"""Parts in order: a text, or a tag's name with its own parts."""

LONGEST = 200_000
"""Characters of a plan that a person may send back."""


def plan_view(question: PlanQuestion) -> dict[str, Any]:
    """The plan as the panel's `question` trait: as it reads, and its text to edit."""
    source = visible(question.plan)
    return {
        "kind": "plan",
        "id": question.id,
        "agent": line(question.agent),
        "source": source,
        "tree": markdown_tree(source),
    }


def plan_answer(content: Mapping[str, Any], question: PlanQuestion) -> PlanAnswer | None:
    """What the panel sent, or None when it is no answer to `question`."""
    if content.get("id") != question.id:
        return None
    edited = typed(content.get("plan"), LONGEST)
    match content.get("choice"):
        case "approve":
            return PlanAnswer("approve", edited or question.plan)
        case "approve_edits":
            return PlanAnswer("approve_edits", edited or question.plan)
        case "reject":
            return PlanAnswer("reject", message=typed(content.get("message")))
        case _:
            return None


def markdown_tree(markdown: str) -> Tree:
    """Markdown as tags and texts, nothing in it active or hidden.

    HTML, addresses and the names of pictures are text: what a person approves, they must see.
    """
    from markdown_it import MarkdownIt  # heavy: only where a plan is shown

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    # A definition of a link is cut out of the text, and an entity is replaced: neither would be seen.
    parser.disable(["reference", "entity"])
    return _neutral(_block(iter(parser.parse(markdown))))


def _neutral(tree: Tree) -> Tree:
    """Reading Markdown resolves entities in addresses, so every text is made visible after it."""
    return [
        visible(part) if isinstance(part, str) else [part[0], _neutral(part[1])] for part in tree
    ]


def _block(tokens: Any) -> Tree:
    parts: Tree = []
    for token in tokens:
        if token.nesting == -1:
            break
        if token.type == "inline":
            parts += _inline(token.children or [])
        elif token.nesting == 1:
            inner = _block(tokens)
            parts += inner if token.hidden else [[token.tag, inner]]
        elif token.type in ("fence", "code_block"):
            info = [["em", [token.info.strip()]]] if token.info.strip() else []
            parts.append(["pre", [*info, ["code", [token.content]]]])
        else:
            parts.append([token.tag, []])
    return parts


def _inline(tokens: "Sequence[Token]") -> Tree:
    """The parts of one line of text; an address stands behind the words that link to it."""
    stack: list[Tree] = [[]]
    opened: list[Token] = []
    for token in tokens:
        if token.nesting == 1:
            stack.append([])
            opened.append(token)
        elif token.nesting == -1:
            inner, start = stack.pop(), opened.pop()
            stack[-1] += (
                [*inner, f" ({_address(start)})"] if start.tag == "a" else [[start.tag, inner]]
            )
        elif token.type in ("softbreak", "hardbreak"):
            stack[-1].append("\n" if token.type == "softbreak" else ["br", []])
        elif token.type == "code_inline":
            stack[-1].append(["code", [token.content]])
        elif token.type == "image":
            stack[-1].append(f"[{token.content}] ({_address(token)})")
        else:
            stack[-1].append(token.content)
    return stack[0]


def _address(token: "Token") -> str:
    where = str(token.attrGet("href") or token.attrGet("src") or "")
    title = token.attrGet("title")
    return f"{where} {title}" if title else where

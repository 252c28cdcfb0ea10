"""Read: text with line numbers, images, PDF files, notebooks."""

import asyncio
import re
from collections.abc import AsyncIterator

from pydantic import Field

from maia_kernel import files
from maia_kernel.errors import ToolFailed, ToolRetry
from maia_kernel.messages import Document, Image, ResultBlock, Text
from maia_kernel.permissions.subject import Subject
from maia_kernel.shortening import shortened
from maia_kernel.tools.base import Progress, Tool, ToolContext, ToolOutput
from maia_kernel.tools.file_access import (
    FileInput,
    Target,
    file_subject,
    remember,
    shown_path,
    unreadable,
)

LINES = 2_000
LINE_LENGTH = 2_000
CHARACTERS = 100_000
"""Most lines, characters of a line, and characters of text that one call returns."""
PAGES = 20
WHOLE_PDF_PAGES = 10
_MEDIA_LIMIT = 100_000_000


class ReadInput(FileInput):
    """What to read."""

    offset: int | None = Field(
        None, ge=0, description="First line to read, from 1 (a notebook: first cell)"
    )
    limit: int | None = Field(None, ge=1, description="How many lines to read (a notebook: cells)")
    pages: str | None = Field(None, description='Pages of a PDF, such as "3" or "1-5"; at most 20')


class Read(Tool[ReadInput]):
    """The tool."""

    name = "Read"
    icon = "▤"
    counted = "files"
    description = (
        "Reads a file. Text comes with line numbers followed by a tab, at most 2,000 lines at a time and "
        "lines cut at 2,000 characters; use offset and limit for the rest of a long file. Images come as "
        "images, PDF files as documents or text (give pages for one of more than 10 pages), Jupyter "
        "notebooks as cells with their outputs. It does not list folders: use Glob. A file must be read "
        "before Edit or Write may change it. Read several files in one step by several calls."
    )

    @property
    def Input(self) -> type[ReadInput]:
        return ReadInput

    def read_only(self, call: ReadInput, context: ToolContext) -> bool:
        return True

    def validate(self, call: ReadInput, context: ToolContext) -> None:
        call.target(context)
        if call.pages is not None:
            _page_range(call.pages)

    def subject(self, call: ReadInput, context: ToolContext) -> Subject:
        return file_subject(self.name, call.target(context), write=False)

    def summary(self, call: ReadInput, context: ToolContext) -> str:
        shown = shown_path(call.file_path, context)
        if call.pages is not None:
            return f"{shown} p. {call.pages}"
        if call.offset is None and call.limit is None:
            return shown
        first = max(call.offset or 1, 1)
        return f"{shown}:{first}-{first + call.limit - 1}" if call.limit else f"{shown}:{first}-"

    async def run(
        self, call: ReadInput, context: ToolContext
    ) -> AsyncIterator[Progress | ToolOutput]:
        target = call.target(context)
        try:
            yield await asyncio.to_thread(_read, target, call, context)
        except files.Unreadable as fault:
            raise unreadable(fault, target, context) from None
        except files.MediaError as fault:
            raise ToolFailed(f"{target.shown(context)}: {fault}.") from None


def _read(target: Target, call: ReadInput, context: ToolContext) -> ToolOutput:
    suffix = target.path.suffix.lower()
    if suffix == ".ipynb":
        return _notebook(target, call, context)
    head = files.read_head(target.resolved, 16)
    if files.image_type(head) is not None:
        return _image(target, context)
    if files.is_pdf(head):
        return _pdf(target, call, context)
    if call.pages is not None:
        raise ToolRetry("pages is for PDF files; use offset and limit for text.")
    return _text(target, call, context)


def _text(target: Target, call: ReadInput, context: ToolContext) -> ToolOutput:
    first = max(call.offset or 1, 1)
    if call.offset is None and call.limit is None:
        size = files.size_of(target.resolved)
        if size > files.ENTIRE_LIMIT:
            raise ToolRetry(
                f"{target.shown(context)} has {size:,} bytes. Read a range with offset and "
                "limit, or search it with Grep."
            )
    part = files.read_excerpt(target.resolved, first=first, count=min(call.limit or LINES, LINES))
    lines, cut = _numbered(part, context)
    left = part.total - (first - 1) - len(lines)
    whole = first == 1 and left <= 0 and not cut
    remember(context, target, digest=part.digest, mtime_ns=part.mtime_ns, whole=whole)
    if part.total == 0:
        return ToolOutput.of("(the file exists and is empty)")
    if first > part.total:
        return ToolOutput.of(f"(nothing at line {first}: the file has {part.total:,} lines)")
    notes = [f"({cut} long lines are cut at {LINE_LENGTH:,} characters)"] if cut else []
    if left > 0:
        after = first + len(lines)
        notes.append(
            f"(lines {first}-{after - 1} of {part.total:,}; {left:,} are left: "
            f"go on with offset {after})"
        )
    return ToolOutput.of("\n".join([*lines, *notes]))


def _numbered(part: files.Excerpt, context: ToolContext) -> tuple[list[str], int]:
    """Lines with their numbers, as many as fit; and how many of them were cut."""
    lines: list[str] = []
    room, cut = CHARACTERS, 0
    for number, line in enumerate(part.lines, part.first):
        if len(line) > LINE_LENGTH:
            line = _hidden(line, context)
            line = f"{line[:LINE_LENGTH]}… [{len(line) - LINE_LENGTH:,} more characters]"
            cut += 1
        room -= len(line) + 8
        if room < 0 and lines:
            break
        lines.append(f"{number:>6}\t{line}")
    return lines, cut


def _hidden(text: str, context: ToolContext) -> str:
    """`text` without secrets: before it is cut, for half of a key has no shape to be known by."""
    return text if context.secrets is None else context.secrets.redact(text)


def _image(target: Target, context: ToolContext) -> ToolOutput:
    if not context.images:
        raise ToolFailed(f"{target.shown(context)} is an image and this model takes no images.")
    data, state = files.read_bytes(target.resolved, limit=_MEDIA_LIMIT)
    block = files.image_block(data)
    remember(context, target, digest=files.digest_of(data), mtime_ns=state.st_mtime_ns)
    return ToolOutput((block,))


def _pdf(target: Target, call: ReadInput, context: ToolContext) -> ToolOutput:
    data, state = files.read_bytes(target.resolved, limit=_MEDIA_LIMIT)
    remember(context, target, digest=files.digest_of(data), mtime_ns=state.st_mtime_ns, whole=False)
    if not context.pdf:
        return _pdf_as_text(data, call, context)
    if call.pages is not None:
        first, last = _page_range(call.pages)
        total, data = files.pdf_pages(data, first, last)
        _check_pages(first, total)
    else:
        try:
            total, _ = files.pdf_pages(data)
        except files.MediaError:
            total = 0  # without pypdf nobody can count; the server's own limit holds
        if total > WHOLE_PDF_PAGES:
            raise ToolRetry(f"the PDF has {total} pages; give pages, at most {PAGES} at a time.")
    return ToolOutput((files.document_block(data, target.path),))


def _pdf_as_text(data: bytes, call: ReadInput, context: ToolContext) -> ToolOutput:
    texts = files.pdf_text(data)
    first, last = _page_range(call.pages) if call.pages else (1, len(texts))
    _check_pages(first, len(texts))
    if call.pages is None and len(texts) > PAGES:
        raise ToolRetry(f"the PDF has {len(texts)} pages; give pages, at most {PAGES} at a time.")
    chosen = enumerate(texts[first - 1 : last], first)
    text = "\n\n".join(
        f"[page {number} of {len(texts)}]\n{page.strip()}" for number, page in chosen
    )
    if not any(page.strip() for page in texts[first - 1 : last]):
        text += "\n\n(no text: these pages are probably scanned pictures)"
    return ToolOutput.of(shortened(_hidden(text, context), 2 * CHARACTERS))


def _page_range(pages: str) -> tuple[int, int]:
    match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", pages)
    if match is None:
        raise ToolRetry(f'pages must be like "3" or "1-5", not {pages!r}.')
    first = int(match[1])
    last = int(match[2] or match[1])
    if first < 1 or last < first:
        raise ToolRetry(f"pages {pages!r} is not a range of pages from 1.")
    if last - first >= PAGES:
        raise ToolRetry(f"at most {PAGES} pages at a time.")
    return first, last


def _check_pages(first: int, total: int) -> None:
    if first > total:
        raise ToolRetry(f"the PDF has {total} pages.")


def _notebook(target: Target, call: ReadInput, context: ToolContext) -> ToolOutput:
    file = files.read_text(target.resolved, limit=_MEDIA_LIMIT)
    if not file.text.strip():
        remember(context, target, digest=file.digest, mtime_ns=file.mtime_ns)
        return ToolOutput.of("(the file exists and is empty)")
    cells = files.notebook_cells(
        file.text, images=context.images, hide=lambda text: _hidden(text, context)
    )
    first = max(call.offset or 1, 1)
    chosen = cells[first - 1 : first - 1 + (call.limit or len(cells))]
    content: list[ResultBlock] = []
    room, given = CHARACTERS, 0
    for cell in chosen:
        room -= sum(len(block.text) for block in cell if isinstance(block, Text))
        if room < 0 and given:
            break
        content += cell
        given += 1
    left = len(cells) - (first - 1) - given
    whole = first == 1 and left <= 0
    remember(context, target, digest=file.digest, mtime_ns=file.mtime_ns, whole=whole)
    if left > 0:
        content.append(
            Text(f"({left} of {len(cells)} cells are left: go on with offset {first + given})")
        )
    return ToolOutput(
        _merged(content) or (Text(f"(no cell here: the notebook has {len(cells)} cells)"),)
    )


def _merged(content: list[ResultBlock]) -> tuple[ResultBlock, ...]:
    """Neighbouring texts as one block."""
    merged: list[Text | Image | Document] = []
    for block in content:
        last = merged[-1] if merged else None
        if isinstance(block, Text) and isinstance(last, Text):
            merged[-1] = Text(f"{last.text}\n{block.text}")
        else:
            merged.append(block)
    return tuple(merged)

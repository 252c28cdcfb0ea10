"""The one reader and writer of files: what a path is, encodings, limits, atomic replacement."""

from maia_kernel.files.atomic import ChangedOnDisk, digest_of, write_atomic
from maia_kernel.files.media import (
    IMAGE_LIMIT,
    PDF_LIMIT,
    MediaError,
    document_block,
    image_block,
    image_type,
    is_pdf,
    pdf_pages,
    pdf_text,
)
from maia_kernel.files.notebook import notebook_cells
from maia_kernel.files.pinned import Redirected, pinned_folder, pinned_open, pinned_state
from maia_kernel.files.reading import (
    Reason,
    Unreadable,
    kind,
    near_names,
    read_bytes,
    read_head,
    size_of,
)
from maia_kernel.files.text import (
    ENTIRE_LIMIT,
    Excerpt,
    TextFile,
    decode,
    read_excerpt,
    read_text,
    split_lines,
)

__all__ = [
    "ENTIRE_LIMIT",
    "IMAGE_LIMIT",
    "PDF_LIMIT",
    "ChangedOnDisk",
    "Excerpt",
    "MediaError",
    "Reason",
    "Redirected",
    "TextFile",
    "Unreadable",
    "decode",
    "digest_of",
    "document_block",
    "image_block",
    "image_type",
    "is_pdf",
    "kind",
    "near_names",
    "notebook_cells",
    "pdf_pages",
    "pdf_text",
    "pinned_folder",
    "pinned_open",
    "pinned_state",
    "read_bytes",
    "read_excerpt",
    "read_head",
    "read_text",
    "size_of",
    "split_lines",
    "write_atomic",
]

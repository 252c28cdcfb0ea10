"""A Jupyter notebook as content blocks: each cell with its outputs, figures as pictures."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from maia_kernel.files.media import MediaError
from maia_kernel.messages import Image, Text
from maia_kernel.shortening import shortened

NOTEBOOK_LIMIT = 100_000_000
"""Most bytes of a notebook."""
_FORMAT = 4  # since 2015; the format says so in `nbformat`
_OUTPUT_LIMIT = 10_000  # characters of one output
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


def notebook_cells(
    text: str, *, images: bool, hide: Callable[[str], str] = str
) -> list[tuple[Text | Image, ...]]:
    """One tuple of blocks a cell: source and textual outputs, then its pictures if `images`.

    `hide` takes secrets out of an output before a long one is cut.

    Raises:
        MediaError: not a notebook.
    """
    try:
        notebook = json.loads(text)
        if notebook["nbformat"] < _FORMAT:
            notebook = _upgraded(text)
        cells = enumerate(notebook["cells"])
        return [_cell(number, cell, images, hide) for number, cell in cells]
    except (ValueError, LookupError, AttributeError, TypeError) as fault:
        raise MediaError(
            "not_a_notebook", f"it is not a valid notebook ({type(fault).__name__}: {fault})"
        ) from fault


def _upgraded(text: str) -> Any:
    """A notebook of format 1 to 3 as format 4; raises `ValueError` when it is none."""
    import nbformat  # heavy: it brings jsonschema

    try:
        return nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]
    except nbformat.ValidationError as fault:
        raise ValueError(str(fault)[:200]) from fault


def _cell(
    number: int, cell: Mapping[str, Any], images: bool, hide: Callable[[str], str]
) -> tuple[Text | Image, ...]:
    count = cell.get("execution_count")
    attributes = f'id="{cell.get("id", f"cell-{number}")}" type="{cell["cell_type"]}"'
    if count is not None:
        attributes += f' execution_count="{count}"'
    parts = [f"<cell {attributes}>\n{_joined(cell['source'])}\n</cell>"]
    pictures: list[Image] = []
    for output in cell.get("outputs", ()):
        shown, picture = _output(output, images)
        if shown:
            parts.append(f"<output>\n{shortened(hide(shown), _OUTPUT_LIMIT)}\n</output>")
        if picture is not None:
            pictures.append(picture)
    return (Text("\n".join(parts)), *pictures)


def _output(output: Mapping[str, Any], images: bool) -> tuple[str, Image | None]:
    match output["output_type"]:
        case "stream":
            return _ANSI.sub("", _joined(output["text"])).rstrip("\n"), None
        case "error":
            trace = "\n".join(output.get("traceback", ()))
            return _ANSI.sub("", trace or f"{output['ename']}: {output['evalue']}"), None
        case _:
            data = output.get("data", {})
    text = _joined(data.get("text/plain", data.get("text/markdown", "")))
    for media_type in _PICTURES:
        if media_type in data:
            if images:
                encoded = "".join(_joined(data[media_type]).split())
                return text, Image(media_type, encoded)
            return f"{text}\n[{media_type}]".strip(), None
    if not text and "text/html" in data:
        text = _joined(data["text/html"])
    return text, None


def _joined(value: Any) -> str:
    return value if isinstance(value, str) else "".join(value)

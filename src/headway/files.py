"""Files: written whole or not at all, and read with one clear line for what is wrong."""

from headway.reading import is_file, parsed, read_bytes
from headway.training.files import (
    clear_content_errors,
    clear_io_errors,
    is_there,
    read_json,
    write_json,
    write_text,
    write_whole,
)

__all__ = [
    "clear_content_errors",
    "clear_io_errors",
    "is_file",
    "is_there",
    "parsed",
    "read_bytes",
    "read_json",
    "write_json",
    "write_text",
    "write_whole",
]

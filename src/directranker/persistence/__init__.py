"""Fitted rankers as folders that are safe to load: arrays in safetensors, trees as text, the rest in JSON."""

from directranker.persistence.folder import (
    MAX_BYTES,
    load_ranker,
    read_regular_file,
    read_versions,
    save_ranker,
    seal_header,
    write_ranker,
)

__all__ = [
    "MAX_BYTES",
    "load_ranker",
    "read_regular_file",
    "read_versions",
    "save_ranker",
    "seal_header",
    "write_ranker",
]

"""A fitted ranker as a folder, read without trust: arrays in safetensors, trees as text, the rest in JSON."""

from directranker.persistence.folder import (
    MAX_BYTES,
    load_ranker,
    read_plain_file,
    read_versions,
    save_ranker,
    sealed_header,
    write_ranker,
)

__all__ = [
    "MAX_BYTES",
    "load_ranker",
    "read_plain_file",
    "read_versions",
    "save_ranker",
    "sealed_header",
    "write_ranker",
]

"""The environment of results: the machine, its cores and the package versions.

>>> sorted(environment(workers=2))
['cores', 'machine', 'python', 'versions', 'workers']
"""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path

from directranker._version import __version__
from directranker.model_selection.fingerprints import VERSIONED_PACKAGES
from directranker.model_selection.threads import count_cores

__all__ = ["environment"]


def environment(*, workers: int | None) -> dict[str, object]:
    """Describe the machine and the package versions, for readers of timings and scores."""
    return {
        "machine": _processor_name(),
        "cores": count_cores(),
        "workers": min(workers or count_cores(), count_cores()),
        "python": platform.python_version(),
        "versions": {"directranker": __version__, **{name: version(name) for name in VERSIONED_PACKAGES}},
    }


def _processor_name() -> str:
    cpu_info = Path("/proc/cpuinfo")  # platform.processor() is empty on most Linux systems
    if cpu_info.exists():
        for line in cpu_info.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()

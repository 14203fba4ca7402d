"""Fixtures of all tests: the folder of the real data."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# As many processes run tests as there are cores: threads of OpenMP and BLAS would spin while they wait for
# each other, which takes up to ten times the work itself. Both read this when they are loaded: set it first.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from directranker import compilation

# The first call of a kernel compiles it, which exceeds any deadline.
settings.register_profile("directranker", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("directranker")
compilation._is_announced = True  # tests compare standard error, and may be the first to call a kernel


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Return the folder with MQ2008 and the MSLR-WEB10K sample, which are not part of the project."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("DIRECTRANKER_DATA", default))
    if not (folder / "MQ2008").is_dir():
        pytest.skip(f"no real data: {folder} has no MQ2008; set DIRECTRANKER_DATA to a folder that has it")
    return folder

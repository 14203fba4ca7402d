"""What tests share: the real data, where it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from directranker import compilation

# The first call of a kernel compiles it, which no deadline fits.
settings.register_profile("directranker", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("directranker")
compilation._is_announced = True  # tests look at standard error, and may be the first to call a kernel


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder with MQ2008 and the MSLR-WEB10K sample, which are not part of the project."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("DIRECTRANKER_DATA", beside))
    if not (folder / "MQ2008").is_dir():
        pytest.skip(f"no real data: {folder} has no MQ2008; set DIRECTRANKER_DATA to a folder that has")
    return folder

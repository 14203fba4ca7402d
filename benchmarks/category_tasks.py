"""Real tables with categories as folds: horse races, travel itineraries and hotel searches.

The tables are those of `DIRECTRANKER_DATA`; without them there is nothing to measure. Rows of a query are
shuffled, since their order in the files follows the label or the display.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from directranker import Fold, RankingDataset

__all__ = ["TASKS", "Task", "find_tables"]

N_SPLITS = 3  # of the small tables, at random
RACE_CATEGORIES = ("venue", "race_class", "rating_range", "going", "course", "horse_id", "jockey", "trainer")
RACE_NUMBERS = ("race_no", "distance_m", "prize_hkd", "horse_no", "actual_wt_lbs", "declared_wt_lbs", "draw")
ITINERARY_CATEGORIES = ("origin", "destination", "airlines", "pointOfSale")
HOTEL_CATEGORIES = (
    "site_id", "visitor_location_country_id", "prop_country_id", "prop_id", "srch_destination_id",
)  # fmt: skip
HOTEL_OUTCOMES = ("position", "click_bool", "gross_bookings_usd", "booking_bool", "label", "date_time")


@dataclass(frozen=True)
class Task:
    """A table, its columns, and how it is split."""

    name: str
    file: str
    query: str
    categorical: tuple[str, ...]
    features: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    relevance: str = "relevance"
    date: str | None = None

    def folds(self, folder: Path) -> Iterator[Fold]:
        """Yield train, validation and test: by date where there is one, else several random splits."""
        data = self._read(folder)
        if self.date is not None:
            yield Fold(*data.split_by(self.date, 0.65, 0.15))
            return
        for seed in range(N_SPLITS):
            yield Fold(*data.split(0.6, 0.2, random_state=seed))

    def _read(self, folder: Path) -> RankingDataset:
        frame = pd.read_csv(folder / self.file, dtype=dict.fromkeys(self.categorical, str))
        if self.relevance not in frame:
            frame[self.relevance] = np.where(frame["booking_bool"] > 0, 5, frame["click_bool"])
        frame = frame.sample(frac=1.0, random_state=0)
        return RankingDataset.from_frame(
            frame,
            relevance=self.relevance,
            query=self.query,
            document=None,
            features=self.features,
            categorical=self.categorical,
            drop=self.drop,
            keep=() if self.date is None else (self.date,),
        )


TASKS = (
    Task(
        "races, without odds", "hkjc/runs.csv", "race_id", RACE_CATEGORIES,
        (*RACE_NUMBERS, *RACE_CATEGORIES), relevance="label", date="date",
    ),
    Task(
        "races, with odds", "hkjc/runs.csv", "race_id", RACE_CATEGORIES,
        (*RACE_NUMBERS, "win_odds", *RACE_CATEGORIES), relevance="label", date="date",
    ),
    Task(
        "itineraries", "itinerary/choices.csv", "individual", ITINERARY_CATEGORIES,
        drop=("alternative",), relevance="choice",
    ),
    Task("hotels", "expedia/train.csv", "srch_id", HOTEL_CATEGORIES, drop=HOTEL_OUTCOMES),
)  # fmt: skip


def find_tables() -> Path:
    """Return the folder of the tables."""
    folder = Path(os.environ.get("DIRECTRANKER_DATA", ""))
    if not (folder / TASKS[0].file).is_file():
        raise SystemExit("set DIRECTRANKER_DATA to a folder with hkjc/, itinerary/ and expedia/")
    return folder

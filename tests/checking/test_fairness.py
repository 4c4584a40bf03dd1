"""A few submissions of each kind that surveys draw by the thousand are judged fairly. SPEC 5.

`python -m benchmarks.surveys NAME` measures the rates, and `pytest benchmarks/surveys` holds them.
"""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.surveys.fairness import SURVEYS, survey

COUNT = 3
"""Number of submissions of each kind."""


@pytest.mark.parametrize("name", SURVEYS)
def test_right_work_is_right_and_wrong_numbers_are_wrong(name: str) -> None:
    tally = survey(name, np.random.default_rng(2), COUNT)
    assert not tally.beyond(), tally.misjudged
    assert len(tally.rows) == COUNT * len(SURVEYS[name]["kinds"])

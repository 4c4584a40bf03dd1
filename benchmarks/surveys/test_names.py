"""Letters of courses, in place of names of steps, change no verdict and make up no mistake."""

from __future__ import annotations

import numpy as np

from benchmarks.surveys.names import drawn, of_samples, survey


def test_letters_of_courses_change_no_verdict() -> None:
    for sheets in (of_samples(), drawn(np.random.default_rng(41), 40)):
        assert survey(sheets).failures == []

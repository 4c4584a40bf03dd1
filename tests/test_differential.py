"""Differential attention."""

from pathlib import Path
from typing import Any

Keys = dict[str, Any]
RECORDED = Path(__file__).parent / "recorded"
PROBLEMS = RECORDED / "differential_problems.jsonl"

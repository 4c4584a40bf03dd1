"""The calculator: formulas, numbers, the tape, attention, problems, explanations."""

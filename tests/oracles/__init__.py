"""Oracles: what tells a right result from a wrong one without asking the program.

An oracle works the same problems in another way and shares no line with the engine that it judges:
it imports nothing of the package, and takes from it only the names of keys, steps and mistakes.
Where the two agree, both are right, as they would hardly be wrong in the same way.

- `reference`: attention in plain loops and 50-digit arithmetic, from the formulas alone.
- `transformer`: transformer blocks in plain loops, with any kind of numbers, and differences.
- `rounded`: floats that carry a bound on their rounding errors.
- `students`: students who work a problem with plain NumPy, each with one thing done wrong.
- `homework`: the problems that they are set, drawn at random.
- `handwriting`: how they write numbers: rounded to a habit, early or late.
- `worked`: a reader of worked formulas, as a person would type them into a calculator.
- `hostile`: texts that mean something to one format or another, and how each must be shown.
"""

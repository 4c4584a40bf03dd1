"""Oracles: what tells a right result from a wrong one without asking the program.

An oracle works the same problems in another way and shares no line with the engine that it judges:
it imports nothing of the package, and takes from it only the names of keys, steps and mistakes.
Where the two agree, both are right, as they would hardly be wrong in the same way.

- `reference`: attention in plain loops and 50-digit arithmetic, from the formulas alone.
- `transformer`: transformer blocks in plain loops, with any kind of numbers, and differences.
- `rounded`: floats that carry a bound on their rounding errors.
- `gradients`, `positions`: derivatives by differences in 50 digits, and positions in plain loops.
- `worked`: a reader of worked formulas, as a person would type them into a calculator.
- `hostile`: texts that mean something to one format or another, and how each must be shown.
"""

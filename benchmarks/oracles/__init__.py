"""Students who work problems without the program, for the surveys.

They import nothing of the package, and take from it only the names of keys, steps and mistakes.

- `drawn`, `mechanisms`: the problems that they are set, drawn at random.
- `workings`: a student of the oracle, who goes on from what they note; `methods`: what becomes of a
  step in which they do one thing wrong.
- `schedules`: how they round; `submitted`, `hollow`: what they hand in, and what is true of it.
"""

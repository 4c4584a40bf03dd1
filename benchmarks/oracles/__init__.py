"""Students who work problems without the program, for the surveys.

They import nothing of the package, and take from it only the names of keys, steps and mistakes.

- `students` (with `more_students`): students who work a problem with plain NumPy, each with one
  thing done wrong; `recurrent_student`, `gradient_student`, `position_student`, `cache_student` and
  `block_student` do so for networks, gradients, positions, caches and transformer blocks.
- `homework`: the problems that they are set, drawn at random.
- `handwriting`: how they write numbers: rounded to a habit, early or late.
- `drawn`, `workings`: problems of all sorts, and a student of the oracle who rounds on the way.
- `pens`, `schedules`: how that student writes numbers, and with which numbers they go on.
- `submitted`, `hollow`: submissions, right and wrong, with what is true of them.
- `balls`, `bounded`: the calculation in 40 digits, with a bound for every number.
"""

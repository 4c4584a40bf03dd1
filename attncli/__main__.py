"""`python -m attncli` and the command `attn`."""

# The part of `signal` that is built into Python. `signal` itself takes longer to import than all of
# these lines, and until they are done an interrupt shows a traceback.
import _signal as signal  # type: ignore[import-not-found]

# An interrupt ends the program at once and silently, unless the caller has it ignored.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import gc

# A short process need not collect cycles, not even while it imports; a long run turns it on again.
gc.disable()

from attncli.cli.main import main  # noqa: E402 - after the lines above, which concern it too

if __name__ == "__main__":
    main()

"""`python -m attncli` and the command `attn`."""

# The built-in part of `signal`: `signal` itself takes longer to import than everything before these
# lines, and until they have run an interrupt prints a traceback.
import _signal as signal  # type: ignore[import-not-found]

# An interrupt ends the program at once and silently, unless the caller ignores interrupts.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import gc

# A short-lived process need not collect cycles, also not while it imports.
gc.disable()

from attncli.cli.main import main  # noqa: E402 - the lines above are for it, too

if __name__ == "__main__":
    main()

"""`python -m attncli` and the command `attn`."""

# The part of `signal` that Python has built in: `signal` itself takes longer to import than all
# that stands before these lines, and until they are done an interrupt shows a traceback.
import _signal as signal  # type: ignore[import-not-found]

# An interrupt ends the program at once and silently; who has it ignored wants that.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

import gc

# A short-lived process leaves the collecting of cycles to its end, and it starts with importing.
gc.disable()

from attncli.cli.main import main  # noqa: E402 - after the lines above, which are for it too

if __name__ == "__main__":
    main()

"""`python -m attncli` and the command `attn`."""

import gc

# A short-lived process leaves the collecting of cycles to its end, and it starts with importing.
gc.disable()

from attncli.cli import main  # noqa: E402 - after the line above, which is for it too

if __name__ == "__main__":
    main()

"""`python -m attncli` and the command `attn`."""

from attncli.cli import main

if __name__ == "__main__":
    main()

"""`attn schema`: a JSON Schema of the problem file."""

from attncli.cli.terminal import write_bytes


def schema() -> None:
    """Print a JSON Schema of the problem file."""
    import json

    from attncli.problem.schema import schema as problem_schema

    write_bytes([(json.dumps(problem_schema(), indent=2) + "\n").encode()], None)

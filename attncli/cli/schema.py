"""`attn schema`: a JSON Schema of the problem file."""

from attncli.cli.output import write_bytes


def schema() -> None:
    """Print a JSON Schema of the problem file."""
    from attncli.problem.schema import schema as problem_schema
    from attncli.text.json_lines import indented

    write_bytes([(indented(problem_schema()) + "\n").encode()], None)

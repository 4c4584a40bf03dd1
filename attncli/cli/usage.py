"""Errors for words of a command line that cannot be used, in sentences like those on files."""

import re
from collections.abc import Iterable
from typing import Any

from attncli.core.errors import InputError, fail
from attncli.core.problem.key_values import hint_for, key_of
from attncli.core.problem.keys import KEYS
from attncli.core.text.strings import all_of, near_words, visible


def usage_fault(error: Any, ctx: Any) -> InputError:
    """Return the error in place of one that typer raised for the words of a command."""
    path, option = ctx.command_path, getattr(error, "option_name", "")
    if hasattr(error, "possibilities"):
        message = f"{path} has no option {visible(option)}"
        return fail(message, hint=_instead(option, ctx))
    message = error.message.rstrip(".")
    with_option = (one for one in ctx.command.get_params(ctx) if option in one.opts)
    param = getattr(error, "param", None) or next(with_option, None)
    if param is None:
        extra = message.rpartition(" (")[2].removesuffix(")")  # of all that is left to be wrong
        hint = f"{path} --help shows what it takes"
        return fail(f"{path} has no use for {visible(extra)}", hint=hint)
    is_argument = param.param_type_name == "argument"
    name = param.metavar if is_argument else max(param.opts, key=len)
    if not message:
        example, *_ = ctx.command.epilog.partition("Examples:\n  ")[2].splitlines()
        return fail(f"{path} needs {name}", hint=f"such as {example}")
    if option:
        message = f"{option} {'needs a' if 'requires' in message else 'takes no'} value"
    else:
        plain = re.sub(r"a valid int\w*( range)?", "a whole number", message)
        message = f"{name}: {visible(plain)}"
    return fail(message, hint=" ".join(": ".join(param.get_help_record(ctx)).split()))


def unknown_command(word: str, known: Iterable[str]) -> InputError:
    near = near_words(word, known)
    hint = f"did you mean attn {near[0]}?" if near else "attn --help lists the commands"
    return fail(f"{visible(word) or 'an empty word'} is no command of attn", hint=hint)


def _instead(option: str, ctx: Any) -> str:
    """Return the likeliest way on from an option that a command lacks.

    It is a command that has it, the form of what a problem says otherwise, or a similar option.
    """
    path, root = ctx.command_path, ctx.find_root().command
    commands = {f"attn {name}": root.get_command(ctx, name) for name in root.commands}
    every = {"attn": root, **commands}.items()
    options = {name: [x for p in one.params for x in p.opts if x[:1] == "-"] for name, one in every}
    if having := [name for name, known in options.items() if option in known]:
        return f"{all_of(having)} {'has' if len(having) == 1 else 'have'} it"
    known, word = options[path], option.lstrip("-").replace("-", "_")
    key = key_of(word)
    if key in KEYS and "--set" in known:
        flags = KEYS[key].flags_of(key) or (f"--set {key}=VALUE",)
        return f"did you mean {flags[-1]}?"
    if "--set" in known and (hint := hint_for(word)).startswith("write "):
        return hint
    near = near_words(option, known)
    return f"did you mean {near[0]}?" if near else f"{path} --help-all lists its options"

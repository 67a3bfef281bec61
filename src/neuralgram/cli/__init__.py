"""The command line. A command's module is imported when it runs, so `--help` answers at once."""

from __future__ import annotations

import contextlib
import sys
from importlib import import_module
from typing import NoReturn

import click

# name -> where the command is, and one line of help.
COMMANDS = {
    "train": ("train:command", "Train a model on text: `train nplm`, `train ngram`."),
    "eval": ("eval:command", "Perplexity of a text under one or several models, side by side."),
    "mix": (
        "runs:mix",
        "A weighted mean of models: given weights, learned ones, or one set for each bin.",
    ),
    "score": ("units:score", "Every unit of text with its perplexity."),
    "filter": ("units:filtering", "The units of text that a model finds likely enough."),
    "surprisal": ("reading:surprisal", "Every word with its surprisal, as a table."),
    "rescore": ("reading:rescore", "N-best lists in a new order, with a model's score among the others."),
    "predict": ("prompts:predict", "The likeliest next tokens after a context."),
    "generate": ("prompts:generate", "Continue a prompt; streams."),
    "info": ("info:command", "What a model directory holds and where it came from."),
    "trace": ("learning:trace", "Every number of one prediction and one update, each with its equation."),
    "neighbors": ("prompts:neighbors", "The words whose vectors are nearest to a word's."),
    "lesson": ("learning:lesson", "Worked examples, step by step, with numbers you can change."),
    "check": ("learning:check", "Hold your own module against the model's contract; grade your tests."),
    "reproduce": ("runs:reproduce", "Rerun an experiment, the paper's Table 1 among them, and write its report."),
    "explore": ("explore:command", "A local page on which every number of a model can be touched."),
    "export": ("export:command", "Write a model as one file for other programs or people: a page, a table."),
    "demo": ("runs:demo", "Train a network and an n-gram on an embedded story and compare them."),
}


class Commands(click.Group):
    """A group that knows its commands' names and imports one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name][0].split(":")
        command: click.Command = getattr(import_module(f"neuralgram.cli.{module}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in `--help`, written without importing a command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, told) for name, (_, told) in COMMANDS.items()])


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="neuralgram")
def neuralgram() -> None:
    """The neural probabilistic language model of Bengio et al. (2003), the counting models it is
    measured against, and honest comparisons between them.

    Start with `neuralgram demo`, or `neuralgram train nplm TEXT --out DIR`.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command; what the user did wrong is one line on standard error and exit code 2."""
    from neuralgram.errors import NeuralgramError

    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        code = neuralgram.main(arguments, prog_name="neuralgram", standalone_mode=False) or 0
        print(end="", flush=True)
    except SystemExit as ended:  # a command ends by itself only where click and rich make a closed pipe exit code 1
        if ended.code == 1:
            _end_unheard()
        raise
    except click.exceptions.Abort:
        _fail("stopped", 130, arguments)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.UsageError as error:
        hint = f" (see `{error.ctx.command_path} --help`)" if error.ctx else ""
        _fail(error.format_message() + hint, 2, arguments)
    except click.ClickException as error:
        _fail(error.format_message(), 2, arguments)
    except BrokenPipeError:
        _end_unheard()
    except KeyboardInterrupt:
        _fail("stopped", 130, arguments)
    except (NeuralgramError, OSError, MemoryError) as error:
        _fail(_describe(error), 2, arguments)
    sys.exit(code)


def _end_unheard() -> NoReturn:
    """Nobody reads the output any more, as before `| head`: end as other filters do, without a word."""
    _let_go()
    sys.exit(141)


def _let_go() -> None:
    """What is still held back of the output goes nowhere, or Python would complain of it at its end."""
    import os

    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _describe(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split()) or f"{type(error).__name__}: not enough memory for this request"


def _fail(message: str, code: int, arguments: list[str]) -> None:
    """One line for a person; with --json one JSON object on standard output as well."""
    print(f"neuralgram: {message}", file=sys.stderr)
    if "--json" in arguments:
        import json

        print(json.dumps({"error": message}, ensure_ascii=False))
    try:
        print(end="", flush=True)
    except OSError:  # the disk that the output goes to is full
        _let_go()
    sys.exit(code)

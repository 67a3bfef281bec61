"""The command as a user calls it."""

import pytest

from neuralgram.cli import main


@pytest.fixture
def run(capsys):
    """`run(*arguments)` → (exit code, standard output, standard error)."""

    def call(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return stopped.value.code or 0, captured.out, captured.err

    return call

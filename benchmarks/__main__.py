"""Every benchmark, one after another, and the page that keeps their last results.

python -m benchmarks [NAME …] [--quick] [--device cpu] [--rounds 9] [--out DIR]

Without names, all but brown_heads; the others keep the results they have. `page` alone assembles the page anew.
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks.harness import out_folder, parser
from benchmarks.page import SCRIPTS, assemble

LONG = ("brown_heads",)  # only where it is named


def main(arguments: list[str]) -> int:
    """Run the scripts named before the first option, and assemble the page; 1 where one failed."""
    first = next((i for i, word in enumerate(arguments) if word.startswith("-")), len(arguments))
    names, options = arguments[:first], arguments[first:]
    unknown = [name for name in names if name not in (*SCRIPTS, "page")]
    if unknown:
        print(f"no benchmark {unknown[0]!r}: expected {', '.join(SCRIPTS)} or page", file=sys.stderr)
        return 2
    folder = out_folder(parser(__doc__).parse_args(options))
    chosen = names or [name for name in SCRIPTS if name not in LONG]
    commands = {name: [sys.executable, "-m", f"benchmarks.{name}", *options] for name in chosen if name != "page"}
    failed = [name for name, command in commands.items() if subprocess.run(command, check=False).returncode]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    print(assemble(folder))
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

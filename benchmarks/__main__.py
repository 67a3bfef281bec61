"""Every benchmark, one after another, and the page that keeps their last tables.

python -m benchmarks [NAME …]      only those; the others keep the tables they have
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SCRIPTS = ("step", "names", "heads", "scoring", "memory")
HEAD = """# Benchmarks

Ratios against peers, measured in one process that lets them take turns. `python -m benchmarks` (or `make bench`) runs
all and writes this page, `python -m benchmarks step` one. Machines differ and are shared: compare ratios, not times.
"""


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in SCRIPTS]
    if unknown:
        print(f"no benchmark {unknown[0]!r}: expected {', '.join(SCRIPTS)}", file=sys.stderr)
        return 2
    failed = [
        name
        for name in names or SCRIPTS
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode
    ]
    tables = [HERE / f"{name}.md" for name in SCRIPTS]
    page = [HEAD, *(table.read_text(encoding="utf-8").replace("# ", "## ", 1) for table in tables if table.exists())]
    (HERE / "README.md").write_text("\n".join(page), encoding="utf-8")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

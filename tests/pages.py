"""The Python blocks of the pages that people read: README.md and those of docs."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[str]:
    """Return the blocks of a page that are to run as they stand.

    Those are left out that need what a page cannot bring, such as the reader's own model, and say 'in outline' in their
    first line or in the sentence before.
    """
    text = page.read_text(encoding="utf-8")
    return [
        block[1]
        for block in BLOCK.finditer(text)
        if "in outline" not in block[1].partition("\n")[0] and not text[: block.start()].endswith("In outline:\n\n")
    ]


def run(page: Path, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run the blocks of a page in their order, in a new process and an empty folder; warnings are errors."""
    script = folder / f"{page.stem}.py"
    script.write_text("\n".join(blocks(page)), encoding="utf-8")
    (folder / "empty").mkdir()
    named = "ignore:X does not have valid feature names:UserWarning"  # LightGBM 4.6 names columns by itself
    # Threads that spin while they wait for each other take the processors that other tests run on.
    calm = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
    return subprocess.run(
        [sys.executable, "-W", "error", "-W", named, str(script)],
        cwd=folder / "empty",
        env={**os.environ, **calm, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"},  # the former for reproduction
        capture_output=True,
        text=True,
    )

#!/usr/bin/env python3
"""Checks the health of the component. The exit code tells: 0 active, 75 still converging, 104 gone, others not active."""
import os
import sys
from pathlib import Path

id = Path(os.environ["WINDLASS_ID_FILE"]).read_text()
file = Path(os.environ.get("WINDLASS_VOLUME_STATE", "/tmp"), f"greeting-{id}")
if not file.exists():
    print(f"{file} is missing", file=sys.stderr)
    sys.exit(104)

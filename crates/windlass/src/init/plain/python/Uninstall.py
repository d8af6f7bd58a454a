#!/usr/bin/env python3
"""Removes the component."""
import os
from pathlib import Path

id = Path(os.environ["WINDLASS_ID_FILE"]).read_text()
Path(os.environ.get("WINDLASS_VOLUME_STATE", "/tmp"), f"greeting-{id}").unlink(missing_ok=True)

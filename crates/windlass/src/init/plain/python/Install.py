#!/usr/bin/env python3
"""Creates the component. $WINDLASS_IN has a file for each property, $WINDLASS_OUT takes one for each output."""
import os
import sys
from pathlib import Path

id = Path(os.environ["WINDLASS_ID_FILE"]).read_text()
file = Path(os.environ.get("WINDLASS_VOLUME_STATE", "/tmp"), f"greeting-{id}")
file.write_text(Path(os.environ["WINDLASS_IN"], "greeting").read_text())

# Text on stderr is for people: `windlass log` shows it.
print(f"wrote {file}", file=sys.stderr)

# Publishes the output `file`.
Path(os.environ["WINDLASS_OUT"], "file").write_text(str(file))

#!/bin/sh
# Checks the health of the component. The exit code tells: 0 active, 75 still converging, 104 gone, others not active.
set -eu
file="${WINDLASS_VOLUME_STATE:-/tmp}/greeting-$(cat "$WINDLASS_ID_FILE")"
[ -e "$file" ] || { echo "$file is missing" >&2; exit 104; }

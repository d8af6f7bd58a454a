#!/bin/sh
# Creates the component. $WINDLASS_IN has a file for each property, $WINDLASS_OUT takes one for each output.
set -eu
file="${WINDLASS_VOLUME_STATE:-/tmp}/greeting-$(cat "$WINDLASS_ID_FILE")"
cat "$WINDLASS_IN/greeting" >"$file"

# Text on stderr is for people: `windlass log` shows it.
echo "wrote $file" >&2

# Publishes the output `file`.
printf %s "$file" >"$WINDLASS_OUT/file"

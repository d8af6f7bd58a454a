#!/bin/sh
# Checks the health of one or more components. Reads `instances: {<the name that Install gave>: null, …}`.
set -eu
echo "instances:"
sed -nE '/^instances:$/,/^[^ ]/s/^  "?([a-z0-9]+)"?:.*/\1/p' | while read -r id; do
    if [ -e "${WINDLASS_VOLUME_STATE:-/tmp}/greeting-$id" ]; then active=true; else active=false; fi
    # All flags are false: the component no longer exists, and `up` creates it again.
    printf '  "%s":\n    $set: {status.flags: {active: %s}}\n' "$id" "$active"
done

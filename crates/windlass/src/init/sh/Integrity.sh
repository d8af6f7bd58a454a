#!/bin/sh
# Checks the health. Reads `instances: {<the name that Install gave>: null}`.
set -eu
id=$(sed -nE '/^instances:$/{n;s/^  "?([a-z0-9]+)"?:.*/\1/p;}')
if [ -e "${WINDLASS_VOLUME_STATE:-/tmp}/greeting-$id" ]; then active=true; else active=false; fi
cat <<ANSWER
instances:
  "$id":
    \$set: {status.flags.active: $active}
ANSWER

#!/bin/sh
# Removes the component. Reads `instances: {<the name that Install gave>: null}`. It may print nothing.
set -eu
id=$(sed -nE '/^instances:$/{n;s/^  "?([a-z0-9]+)"?:.*/\1/p;}')
rm -f "${WINDLASS_VOLUME_STATE:-/tmp}/greeting-$id"

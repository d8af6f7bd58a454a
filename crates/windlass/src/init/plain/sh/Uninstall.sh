#!/bin/sh
# Removes the component.
set -eu
rm -f "${WINDLASS_VOLUME_STATE:-/tmp}/greeting-$(cat "$WINDLASS_ID_FILE")"

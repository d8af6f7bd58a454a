#!/bin/sh
# Creates the component. Reads `launch: {<instance id>: {configuration: {properties.greeting: "…"}}}`, one entry a line.
set -eu
input=$(cat)
id=$(printf '%s\n' "$input" | sed -nE '/^launch:$/{n;s/^  ([a-z0-9]+):.*/\1/p;}')
greeting=$(printf '%s\n' "$input" | sed -nE 's/^ *properties\.greeting: "(.*)"$/\1/p')

file="${WINDLASS_VOLUME_STATE:-/tmp}/greeting-$id"
printf '%s\n' "$greeting" >"$file"

# Text on stderr is for people: `windlass log` shows it.
echo "wrote $file" >&2

# Names the instance (here by its id), and publishes the output `file`.
cat <<ANSWER
instances:
  "$id":
    instanceId: "$id"
    interfaces: {properties: {signals: {file: "$file"}}}
ANSWER

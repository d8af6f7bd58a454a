#!/usr/bin/env python3
"""Creates the component."""
import sys

sys.path.insert(0, "lib")
from protocol import answer, file_of, instances, properties

(instance,) = instances
file = file_of(instance)
with open(file, "w") as out:
    print(properties["greeting"], file=out)

# Text on stderr is for people: `windlass log` shows it.
print(f"wrote {file}", file=sys.stderr)

# Names the instance (here by its id), and publishes the output `file`.
published = {"properties": {"signals": {"file": file}}}
answer({instance: {"instanceId": instance, "interfaces": published}})

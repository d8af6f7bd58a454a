"""Reads the input of a script and prints its answer. JSON is YAML, too, so no library is needed."""

import json
import os
import re
import sys

_text = sys.stdin.read()
_section = re.search(r"^(?:launch|instances):\n((?:  .*\n?)*)", _text, re.M).group(1)

# The instances: the id of a launch, or the names that Install gave. Only a health check has more than one.
instances = re.findall(r'^  "?([^\s":]+)"?:', _section, re.M)

# The properties of the component, as texts.
properties = dict(re.findall(r'^ *properties\.([\w.-]+): "(.*)"$', _text, re.M))


def file_of(instance):
    """Returns the file of a component."""
    return os.path.join(os.environ.get("WINDLASS_VOLUME_STATE", "/tmp"), f"greeting-{instance}")


def answer(changes):
    """Prints changes of instances."""
    print(json.dumps({"instances": changes}))

"""Reads the input of a script and prints its answer. JSON is YAML, too, so no library is needed."""

import json
import os
import re
import sys

_text = sys.stdin.read()

# The instance: the id of a launch, or the name that Install gave.
instance = re.search(r'^(?:launch|instances):\n  "?([^\s":]+)', _text, re.M).group(1)

# The properties of the component, as texts.
properties = dict(re.findall(r'^ *properties\.([\w.-]+): "(.*)"$', _text, re.M))

# The file of this component.
file = os.path.join(os.environ.get("WINDLASS_VOLUME_STATE", "/tmp"), f"greeting-{instance}")


def answer(**changes):
    """Prints changes of the instance."""
    print(json.dumps({"instances": {instance: changes}}))

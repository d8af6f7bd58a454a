#!/usr/bin/env python3
"""Removes the component. It may print nothing."""
import os
import sys

sys.path.insert(0, "lib")
from protocol import file_of, instances

for instance in instances:
    if os.path.exists(file_of(instance)):
        os.remove(file_of(instance))

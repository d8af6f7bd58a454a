#!/usr/bin/env python3
"""Removes the component. It may print nothing."""
import os
import sys

sys.path.insert(0, "lib")
from protocol import file

if os.path.exists(file):
    os.remove(file)

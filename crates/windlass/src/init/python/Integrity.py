#!/usr/bin/env python3
"""Checks the health."""
import os
import sys

sys.path.insert(0, "lib")
from protocol import answer, file

answer(**{"$set": {"status.flags.active": os.path.exists(file)}})

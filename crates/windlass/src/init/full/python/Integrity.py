#!/usr/bin/env python3
"""Checks the health of one or more components."""
import os
import sys

sys.path.insert(0, "lib")
from protocol import answer, file_of, instances

# All flags are false: the component no longer exists, and `up` creates it again.
answer({one: {"$set": {"status.flags": {"active": os.path.exists(file_of(one))}}} for one in instances})

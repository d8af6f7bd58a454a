#!/usr/bin/env python3
"""A cloud that is the list of its effects: each line is one effect, which is there whole or not at all.

The file name of the script is its action. It takes a while before and after its effect, so that kills hit both.
"""

import json
import os
import sys
import time

given = json.load(sys.stdin)
effects = given["configuration"]["configuration.effects"]


def effect(*words):
    time.sleep(0.02)
    with open(effects, "a") as file:
        file.write(" ".join(words) + "\n")
    time.sleep(0.02)


def machines():
    """Returns the machines that exist: launched or made outside, and neither destroyed nor lost."""
    there = []
    for line in open(effects).read().splitlines():
        what, machine = line.split(" ")[:2]
        if what in ("launch", "outside"):
            there.append(machine)
        elif what in ("destroy", "lost") and machine in there:
            there.remove(machine)
    return there


def state(machine):
    return {"status": {"flags": {"active": machine in machines(), "converging": False, "failed": False}}}


def launch():
    answers = {}
    for instance, request in given["launch"].items():
        machine = request["configuration"]["configuration.id"]
        effect("launch", machine)
        answers[machine] = dict(state(machine), instanceId=instance)
    return answers


def reboot():
    answers = {}
    for machine, request in given["instances"].items():
        for command in request["commands"]:
            effect("reboot", machine, command)
            answers[machine] = {"$pushAll": {"commands." + command: [{"result": "booted"}]}}
    return answers


def destroy():
    answers = {}
    for machine in given["instances"]:
        effect("destroy", machine)
        answers[machine] = state(machine)
    return answers


def check():
    time.sleep(0.03)
    return {machine: state(machine) for machine in given["instances"]}


def discover():
    time.sleep(0.03)
    return {machine: dict(state(machine), name="found " + machine) for machine in machines()}


action = os.path.splitext(os.path.basename(sys.argv[0]))[0]
print(json.dumps({"instances": globals()[action]()}))

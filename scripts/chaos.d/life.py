"""Runs random commands on one assembly, with faults, and checks their effects."""

import json
import random
import re
import shutil
import time

from project import LIMIT, Violation

# How often a command may run without planned faults before it must have succeeded.
ATTEMPTS = 12


class Life:
    """All commands on one assembly of a project, one after another, and the checks after them."""

    def __init__(self, project, assembly, seed):
        self.project, self.assembly, self.rng = project, assembly, random.Random(seed)
        self.known = set()
        self.values = 0

    def command(self):
        """Returns the arguments of a random command."""
        rng, assembly = self.rng, self.assembly
        cluster = [part.name for part in assembly.parts if part.cluster]
        kind = rng.choices(
            ["up", "fixed", "soft", "size", "scale", "heal", "rollback", "state", "replace", "down", "retry"],
            [3, 3, 4, 4, 3, 4, 2, 2, 2, 2, 1],
        )[0]
        self.values += 1
        if kind == "fixed":
            assembly.parameters["fixed"] = f"f{self.values}"
        elif kind == "soft":
            assembly.parameters["soft"] = f"s{self.values}"
        elif kind == "size":
            assembly.parameters["size"] = rng.randint(1, 4)
        elif kind == "scale" and cluster:
            return ["scale", rng.choice(["out", "in"]), assembly.name, rng.choice(cluster), "--yes"]
        elif kind == "heal":
            part = rng.choice(assembly.parts)
            return ["heal", assembly.name, f"{part.name}__1" if part.cluster else part.name]
        elif kind == "rollback":
            return ["rollback", assembly.name, "--yes"]
        elif kind == "state":
            return ["set-state", assembly.name, rng.choice(["Installed", "Inactive", "Active"]), "--yes"]
        elif kind == "replace":
            part = rng.choice(assembly.parts)
            return [*assembly.up(), "--replace", f"{part.name}__1" if part.cluster else part.name]
        elif kind == "down":
            return ["down", assembly.name]
        elif kind == "retry":
            return ["retry", assembly.name]
        return assembly.up()

    def fail(self):
        """Makes the next script of a random action fail."""
        world = self.project.world()
        if world is None or not world.exists():
            return
        folder = world / "fail"
        folder.mkdir(exist_ok=True)
        action = self.rng.choice(["any", "Install", "Start", "Configure", "Add", "Mount", "Remove", "Unmount", "Stop"])
        mode = self.rng.choice(["before", "after", "after", "garbage", "signal"])
        self.project.note(f"fault: {action} fails {mode}")
        (folder / action).write_text(mode)

    def calm(self):
        """Cancels the planned failures of scripts."""
        world = self.project.world()
        if world is not None:
            shutil.rmtree(world / "fail", ignore_errors=True)
            if world.exists():
                (world / "fail").mkdir(exist_ok=True)

    def disturbed(self):
        """Runs one random command, in most cases with a fault."""
        args = self.command()
        if self.rng.random() < 0.35:
            self.fail()
        process = self.project.start(*args)
        killed = False
        if self.rng.random() < 0.75:
            time.sleep(self.rng.random() ** 2 * 1.6)
            killed = self.project.disturb(self.rng, process)
        self.project.end(process, args, killed)

    def settle(self, *args):
        """Repeats a command until it succeeds. Before each repetition, answers the questions about undecided calls."""
        last = ""
        for _ in range(ATTEMPTS):
            code, last = self.reach(*args)
            if code == 0:
                return last
            self.answer()
        raise Violation(f"`windlass {' '.join(args)}` has failed {ATTEMPTS} times without planned faults:\n{last}")

    def reach(self, *args):
        """Runs a command. Repeats it while the store cannot be reached, for example after a crash of its server."""
        for _ in range(LIMIT):
            code, output = self.project.run(*args)
            if code == 0 or "can't reach the store" not in output:
                break
            time.sleep(1)
        return code, output

    def answer(self):
        """Tells windlass the result of each undecided call (`retry --assume`), as the things show it."""
        status = self.project.json("status", self.assembly.name)
        for found in status.get("assemblies", []):
            for call in found.get("undecided", []):
                part, action = call["element"], call["action"]
                self.project.note(f"undecided: {json.dumps(call)}")
                answer = self.truth(part, action, call)
                local = part.removeprefix(f"{self.assembly.name}__")
                self.project.run("retry", self.assembly.name, "--assume", *answer, "--of", local)

    def truth(self, part, action, call):
        """Returns the result of an undecided call, as arguments of `windlass retry --assume`."""
        pair = call.get("pair")
        things = {name: it for name, it in self.things().items() if it["who"] == part}
        if action in ("Create", "Install"):
            whole = [name for name, it in things.items() if it["state"]]
            if len(whole) == 1 and self.rng.random() < 0.5:
                return ["done", "--natural", whole[0], "--published", f"token=token-{whole[0]}"]
            return ["failed"] if things else ["not-done"]
        if action == "Uninstall":
            return ["not-done"] if things else ["done"]
        if action == "Stop" and any(it["state"] == "active" for it in things.values()):
            return ["not-done"]
        # A script of these actions writes a mark at its end. Any other action can be repeated without harm, even after
        # a run that stopped halfway.
        if action == "Start":
            mark = "done.Start"
        elif action in ("Add", "Mount") and pair:
            mark = f"done.{action}.{pair['source']}.{pair['target']}"
        else:
            return ["failed"]
        return ["done"] if any(mark in it["files"] for it in things.values()) else ["failed"]

    def things(self):
        world = self.project.world()
        found = {}
        if world is None or not (world / "of").exists():
            return found
        for thing in (world / "of").iterdir():
            read = lambda name: (thing / name).read_text() if (thing / name).exists() else ""
            try:
                found[thing.name] = {
                    "files": {file.name for file in thing.iterdir()},
                    **{name: read(name) for name in ["who", "instance", "fixed", "soft", "reads", "state"]},
                }
            except FileNotFoundError:
                # The scripts of another assembly have just removed this thing.
                continue
        return {
            name: thing for name, thing in found.items() if thing["who"].startswith(f"{self.assembly.name}__")
        }

    def check_up(self):
        """Compares the things with the parameters of the assembly, after a successful `up`."""
        status = self.project.json("status", self.assembly.name)
        found = status.get("assemblies", [])
        if not found:
            raise Violation(f"`status {self.assembly.name}` shows nothing after `up`")
        parts = dict(resources(found[0]))
        things = self.things()
        expected = {}
        for part in self.assembly.parts:
            size = [name for name in parts if re.fullmatch(rf"{self.assembly.name}__{part.name}(__\d+)?", name)]
            for name in size:
                expected[name] = part
        owners = sorted(thing["who"] for thing in things.values())
        if owners != sorted(expected):
            raise Violation(f"after `up` the parts {owners} have things; expected: {sorted(expected)}")
        by_who = {thing["who"]: (name, thing) for name, thing in things.items()}
        for name, part in expected.items():
            natural, thing = by_who[name]
            if parts[name].get("natural") not in (None, natural):
                raise Violation(f"the thing of {name} is {natural}, but windlass shows {parts[name].get('natural')}")
            for value in ["fixed", "soft"]:
                if thing[value] != str(self.assembly.parameters[value]):
                    raise Violation(f"{name}: `{value}` is {thing[value]}; expected: {self.assembly.parameters[value]}")
            if part.reads:
                source = [f"token-{it}" for who, (it, _) in by_who.items() if who == f"{self.assembly.name}__{part.reads}"]
                lowest = [f"token-{it}" for who, (it, _) in by_who.items() if who == f"{self.assembly.name}__{part.reads}__1"]
                if thing["reads"] not in source + lowest:
                    raise Violation(f"{name}: `reads` is {thing['reads']}; expected: one of {source + lowest}")
            if "Start" in part.lifecycle and thing["state"] != "active":
                raise Violation(f"{name} is {thing['state']} after `up`")
        self.check_related(expected, by_who)

    def check_related(self, expected, by_who):
        wanted = {name: set() for name in expected}
        for source, target, adds, mounts in self.assembly.links:
            ends = lambda end: [name for name, part in expected.items() if part.name == end]
            for one in ends(source):
                for other in ends(target):
                    if adds:
                        wanted[other].add(f"Add.{one}.{other}")
                    if mounts:
                        wanted[one].add(f"Mount.{one}.{other}")
        for name, marks in wanted.items():
            has = {file for file in by_who[name][1]["files"] if file.startswith(("Add.", "Mount."))}
            if has != marks:
                raise Violation(f"{name} has the marks of relationships {sorted(has)}; expected: {sorted(marks)}")

    def check_down(self):
        things = self.things()
        if things:
            raise Violation(f"after `down` these things are left: {things}")

    def live(self):
        rng = self.rng
        for _ in range(rng.randint(2, 4)):
            for _ in range(rng.randint(1, 5)):
                self.disturbed()
                self.violations()
            self.calm()
            if rng.random() < 0.3:
                self.settle_down()
            else:
                self.settle(*self.assembly.up())
                self.violations()
                self.check_up()
        self.settle_down()

    def settle_down(self):
        for _ in range(ATTEMPTS):
            code, last = self.reach("down", self.assembly.name)
            # `down` exits with 2 if the assembly does not exist.
            if code == 0 or (code == 2 and not self.project.json("status", self.assembly.name).get("assemblies")):
                break
            self.answer()
        else:
            raise Violation(f"`down` has failed {ATTEMPTS} times without planned faults:\n{last}")
        self.violations()
        self.check_down()

    def violations(self):
        world = self.project.world()
        if world is not None and (world / "effects").exists():
            alone(world / "effects")
        file = world / "violations" if world is not None else None
        if file is not None and file.exists():
            raise Violation(f"scripts have found violations:\n{file.read_text()}")


def alone(effects):
    """Checks in the effects log that no script ended or failed after another script began on the same instance."""
    last, begun = {}, {}
    for at, line in enumerate(effects.read_text().splitlines()):
        token, instance, what, action, *_ = line.split()
        if what == "begin":
            last[instance], begun[token] = at, at
        elif last[instance] != begun[token]:
            raise Violation(
                f"{effects}:{at + 1}: {action} of {instance} has still run after another script began on this instance"
            )


def resources(element):
    """Yields the name and the JSON of each resource below an element of `windlass status`."""
    for inner in element.get("components", []):
        if inner["kind"] == "resource":
            yield inner["name"], inner
        yield from resources(inner)

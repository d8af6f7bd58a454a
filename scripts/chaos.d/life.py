"""The life of one assembly: random commands under faults, and what must hold after them."""

import json
import random
import re
import shutil
import time

from project import LIMIT, Violation

# Attempts to get a command through when no fault is planned any more.
ATTEMPTS = 12


class Life:
    """One assembly of a project: its commands, one after another, and the checks after them."""

    def __init__(self, project, assembly, seed):
        self.project, self.assembly, self.rng = project, assembly, random.Random(seed)
        self.known = set()
        self.values = 0

    def command(self):
        """Draws a command."""
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
        """Tells the next script of some action to fail."""
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
        """Takes back what scripts were told and have not done."""
        world = self.project.world()
        if world is not None:
            shutil.rmtree(world / "fail", ignore_errors=True)
            if world.exists():
                (world / "fail").mkdir(exist_ok=True)

    def disturbed(self):
        """Runs one command, under faults most of the time."""
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
        """Runs a command until it is through, answering what windlass asks."""
        last = ""
        for _ in range(ATTEMPTS):
            code, last = self.reach(*args)
            if code == 0:
                return last
            self.answer()
        raise Violation(f"`windlass {' '.join(args)}` does not come through:\n{last}")

    def reach(self, *args):
        """Runs a command, again as long as the store is only just coming back."""
        for _ in range(LIMIT):
            code, output = self.project.run(*args)
            if code == 0 or "can't reach the store" not in output:
                break
            time.sleep(1)
        return code, output

    def answer(self):
        """Says of undecided calls what the world shows."""
        status = self.project.json("status", self.assembly.name)
        for found in status.get("assemblies", []):
            for call in found.get("undecided", []):
                part, action = call["element"], call["action"]
                self.project.note(f"undecided: {json.dumps(call)}")
                answer = self.truth(part, action, call)
                local = part.removeprefix(f"{self.assembly.name}__")
                self.project.run("retry", self.assembly.name, "--assume", *answer, "--of", local)

    def truth(self, part, action, call):
        """Says what the world shows of an undecided call, as `windlass retry --assume` takes it."""
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
        # These leave a mark when they are done. All else leaves the same when it is run after half of itself.
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
                # Another assembly has just removed its own.
                continue
        return {
            name: thing for name, thing in found.items() if thing["who"].startswith(f"{self.assembly.name}__")
        }

    def check_up(self):
        """Compares the world with what the assembly was asked to be."""
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
            raise Violation(f"after `up` there are things of {owners}, and there should be of {sorted(expected)}")
        by_who = {thing["who"]: (name, thing) for name, thing in things.items()}
        for name, part in expected.items():
            natural, thing = by_who[name]
            if parts[name].get("natural") not in (None, natural):
                raise Violation(f"{name} is {natural}, and windlass knows {parts[name].get('natural')}")
            for value in ["fixed", "soft"]:
                if thing[value] != str(self.assembly.parameters[value]):
                    raise Violation(f"{name} has {value} {thing[value]}, not {self.assembly.parameters[value]}")
            if part.reads:
                source = [f"token-{it}" for who, (it, _) in by_who.items() if who == f"{self.assembly.name}__{part.reads}"]
                lowest = [f"token-{it}" for who, (it, _) in by_who.items() if who == f"{self.assembly.name}__{part.reads}__1"]
                if thing["reads"] not in source + lowest:
                    raise Violation(f"{name} reads {thing['reads']}, not {source + lowest}")
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
                raise Violation(f"{name} is related as {sorted(has)}, and should be as {sorted(marks)}")

    def check_down(self):
        things = self.things()
        if things:
            raise Violation(f"after `down` there is {things}")

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
            # An assembly that is not there can't be taken down.
            if code == 0 or (code == 2 and not self.project.json("status", self.assembly.name).get("assemblies")):
                break
            self.answer()
        else:
            raise Violation(f"`down` does not come through:\n{last}")
        self.violations()
        self.check_down()

    def violations(self):
        world = self.project.world()
        if world is not None and (world / "effects").exists():
            alone(world / "effects")
        file = world / "violations" if world is not None else None
        if file is not None and file.exists():
            raise Violation(f"scripts saw:\n{file.read_text()}")


def alone(effects):
    """Checks that no script has gone on with an instance after another one had begun there."""
    last, begun = {}, {}
    for at, line in enumerate(effects.read_text().splitlines()):
        token, instance, what, action, *_ = line.split()
        if what == "begin":
            last[instance], begun[token] = at, at
        elif last[instance] != begun[token]:
            raise Violation(f"{effects}:{at + 1}: {action} of {instance} {what} after another script has begun there")


def resources(element):
    """Lists the resources below an element of `status`, with their names."""
    for inner in element.get("components", []):
        if inner["kind"] == "resource":
            yield inner["name"], inner
        yield from resources(inner)

"""Creates random assemblies: descriptors, resources and scripts."""

from pathlib import Path

ACT = (Path(__file__).parent / "act.sh").read_text()
OPTIONAL = ["Configure", "Start", "Integrity", "Stop", "Reconfigure"]


class Part:
    """One component of a random assembly."""

    def __init__(self, rng, name, earlier):
        self.name = name
        self.cluster = rng.random() < 0.5
        self.effect = rng.choice(["once", "repeatable"])
        optional = [t for t in OPTIONAL if rng.random() < 0.75]
        if "Stop" in optional and "Start" not in optional:
            optional.remove("Stop")
        if "Start" in optional and "Stop" not in optional:
            optional.append("Stop")
        self.lifecycle = ["Install", *[t for t in OPTIONAL if t in optional], "Uninstall"]
        self.reads = rng.choice(earlier).name if earlier and rng.random() < 0.5 else None

    def resource(self, assembly):
        volatile = "true" if "Reconfigure" in self.lifecycle else "false"
        return f"""name: resource::{assembly}-{self.name}::1.0
properties:
  who: {{}}
  fixed: {{default: ""}}
  soft: {{default: "", volatile: {volatile}}}
  reads: {{default: "", volatile: {volatile}}}
  token: {{read-only: true}}
capabilities: {{Offers: {{type: link}}}}
requirements: {{Wants: {{type: link}}}}
lifecycle: [{", ".join(self.lifecycle)}]
operations:
  Add: {{properties: {{source: {{}}, target: {{}}}}}}
  Remove: {{properties: {{source: {{}}, target: {{}}}}}}
  Mount: {{properties: {{source: {{}}, target: {{}}}}}}
  Unmount: {{properties: {{source: {{}}, target: {{}}}}}}
default-driver: {{script: {{properties: {{effect: {self.effect}, timeout: 30s}}}}}}
"""


class Assembly:
    """A random assembly, and the parameters of its next `up`."""

    def __init__(self, rng, name):
        self.name = name
        self.parts = []
        for at in range(rng.randint(2, 4)):
            self.parts.append(Part(rng, f"p{at}", self.parts))
        self.links = []
        for at, target in enumerate(self.parts[1:], 1):
            if rng.random() < 0.6:
                source = rng.choice(self.parts[:at])
                self.links.append((source.name, target.name, rng.random() < 0.7, rng.random() < 0.7))
        self.parameters = {"fixed": "f0", "soft": "s0", "size": 1}

    def descriptor(self):
        lines = [
            f"name: assembly::{self.name}::1.0",
            "properties:",
            "  fixed: {default: f0}",
            "  soft: {default: s0}",
            "  size: {type: integer, default: 1}",
            "composition:",
        ]
        for part in self.parts:
            lines.append(f"  {part.name}:")
            lines.append(f"    type: resource::{self.name}-{part.name}::1.0")
            if part.cluster:
                lines.append(
                    "    cluster: {initial-quantity: '${size}', minimum-nodes: 1, maximum-nodes: 4, scaling-increment: 1}"
                )
            reads = f"'${{{part.reads}.token}}'" if part.reads else "''"
            lines.append("    properties:")
            lines.append("      who: {value: '${instance.name}'}")
            lines.append("      fixed: {value: '${fixed}'}")
            lines.append("      soft: {value: '${soft}'}")
            lines.append(f"      reads: {{value: {reads}}}")
        if self.links:
            lines.append("relationships:")
        for source, target, adds, mounts in self.links:
            create = [*(["target.Add"] if adds else []), *(["source.Mount"] if mounts else [])]
            cease = [*(["source.Unmount"] if mounts else []), *(["target.Remove"] if adds else [])]
            lines += [
                f"  {source}-{target}:",
                f"    source-capabilities: [{source}.Offers]",
                f"    target-requirements: [{target}.Wants]",
                "    source-state: Active",
                "    target-state: Active",
                "    properties: {source: {value: '${source.name}'}, target: {value: '${target.name}'}}",
                f"    lifecycle: {{Create: [{', '.join(create)}], Cease: [{', '.join(cease)}]}}",
            ]
        return "\n".join(lines) + "\n"

    def write(self, folder, volume):
        home = folder / self.name
        home.mkdir()
        (home / "assembly.yaml").write_text(self.descriptor())
        for part in self.parts:
            package = home / "Contains" / part.name
            scripts = package / "Lifecycle/script/scripts"
            scripts.mkdir(parents=True)
            (package / "resource.yaml").write_text(part.resource(self.name))
            library = package / "Lifecycle/script/lib"
            library.mkdir()
            (library / "act.sh").write_text(ACT)
            for name in [*part.lifecycle, "Add", "Remove", "Mount", "Unmount"]:
                script = scripts / f"{name}.sh"
                script.write_text(f"#!/bin/sh\nEFFECT={part.effect} W=$WINDLASS_VOLUME_{volume.upper()}\n. lib/act.sh\n")
                script.chmod(0o755)

    def up(self):
        given = [f"-p={name}={value}" for name, value in self.parameters.items()]
        return ["up", self.name, "--yes", *given]

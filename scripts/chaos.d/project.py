"""Runs windlass in a project, and causes faults."""

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

# The maximum time of a command in seconds. A command that takes longer counts as hanging.
LIMIT = 90
EXIT_CODES = {0, 1, 2, 130}
# The image of sandboxes and containers. It contains the static busybox of this host.
IMAGE = "windlass-chaos:1"


class Violation(Exception):
    """A broken rule, such as a panic of windlass."""


class Project:
    def __init__(self, options, rng, folder, runtime, store):
        self.options, self.rng, self.folder, self.runtime, self.store = options, rng, folder, runtime, store
        # The unique name of the volume. By this name, the program finds the containers and the volume of this project
        # in the container engine.
        self.volume = "w" + "".join(rng.choices("0123456789abcdef", k=8))
        self.lock = threading.Lock()
        self.commands = {}
        self.log = open(folder / "chaos.log", "a", buffering=1)
        # A copy of windlass. By the path of this copy, `processes` finds the processes of this project.
        self.program = folder / "bin/windlass"
        self.program.parent.mkdir()
        try:
            os.link(options.windlass, self.program)
        except OSError:
            shutil.copy2(options.windlass, self.program)
        image = "" if runtime == "process" else f"    image: {IMAGE}\n"
        (folder / "windlass.yaml").write_text(
            f"version: 1\nlocations:\n  here:\n    runtime: {runtime}\n{image}    volumes: {{{self.volume}: /world}}\n"
        )
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith("WINDLASS_")
        }
        self.environment["NO_COLOR"] = "1"
        self.environment["XDG_CACHE_HOME"] = str(options.cache)
        if store == "postgres":
            self.environment["WINDLASS_STATE"] = options.postgres.address(folder.name)

    def note(self, text):
        self.log.write(f"{time.strftime('%H:%M:%S')} {text}\n")
        if self.options.verbose:
            print(f"  {text}", flush=True)

    def start(self, *args, stderr=subprocess.STDOUT):
        # With this lock, `supervisors` can't run between the start of the process and its entry in `commands`.
        with self.lock:
            process = subprocess.Popen(
                [str(self.program), *args],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                errors="replace",
                start_new_session=True,
            )
            self.commands[process.pid] = args
        return process

    def end(self, process, args, killed=False):
        """Waits until a command has ended, and checks its exit code and its output."""
        try:
            output = "".join(filter(None, process.communicate(timeout=LIMIT)))
        except subprocess.TimeoutExpired:
            with self.lock:
                self.note(f"{' '.join(args)}: {stacks(process.pid)}")
            process.kill()
            output = "".join(filter(None, process.communicate()))
            raise Violation(f"`windlass {' '.join(args)}` did not end within {LIMIT} s:\n{output}") from None
        finally:
            with self.lock:
                self.commands.pop(process.pid, None)
        code = process.returncode
        self.note(f"{' '.join(args)} -> {code}")
        self.log.write("".join(f"    {line}\n" for line in output.splitlines()))
        if "panicked" in output or "RUST_BACKTRACE" in output:
            raise Violation(f"`windlass {' '.join(args)}` panicked:\n{output}")
        # Before windlass handles signals, and after it has refused a command, a signal ends it like any other program.
        refused = not output or output.startswith("error")
        early = refused and code in (-signal.SIGINT, -signal.SIGTERM)
        if code not in EXIT_CODES and not early and not (killed and code == -signal.SIGKILL):
            raise Violation(f"`windlass {' '.join(args)}` ended with {code}:\n{output}")
        return code, output

    def run(self, *args):
        return self.end(self.start(*args), args)

    def json(self, *args):
        """Runs a command that changes nothing, and returns its JSON output."""
        for _ in range(LIMIT):
            process = self.start(*args, "--format", "json", stderr=subprocess.PIPE)
            code, output = self.end(process, args)
            if code != 0 and "can't reach the store" in output:
                time.sleep(1)
                continue
            try:
                return json.JSONDecoder().raw_decode(output.lstrip())[0]
            except ValueError:
                return {}
        raise Violation(f"`windlass {' '.join(args)}` can't reach the store:\n{output}")

    def world(self):
        """Returns the folder of the things and the effects log."""
        if self.runtime == "docker":
            return self.options.docker.volume(self.volume)
        return self.folder / ".windlass/volumes" / self.volume

    def killed(self):
        """Sets the time of the file `killed`, by which scripts know when a script was last killed."""
        world = self.world()
        if world is not None and world.exists():
            (world / "killed").touch()
            # The shell of the scripts compares whole seconds.
            later = time.time() + 1
            os.utime(world / "killed", (later, later))

    def processes(self):
        """Yields the pids of this project's windlass processes: commands and supervisors."""
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if os.readlink(entry / "exe").startswith(str(self.program)):
                        yield int(entry.name)
                except OSError:
                    continue

    def supervisors(self):
        """Lists the pids of the windlass processes that are no commands."""
        with self.lock:
            commands = set(self.commands)
        return [pid for pid in self.processes() if pid not in commands]

    def scripts(self):
        """Lists the pids of the scripts, the children of supervisors."""
        found, supervisors = [], set(self.supervisors())
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                except OSError:
                    continue
                if int(fields[1]) in supervisors and int(entry.name) not in supervisors:
                    found.append(int(entry.name))
        return found

    def disturb(self, rng, process):
        """Causes a random fault while a command runs. Returns whether the command got SIGKILL."""
        fault = rng.choices(
            ["kill", "term", "int", "twice", "supervisor", "script", "container", "server"],
            [30, 10, 8, 8, 14, 14, 12, 12],
        )[0]
        if fault == "container" and self.runtime != "docker":
            fault = "kill"
        if fault == "server" and self.store != "postgres":
            fault = "kill"
        self.note(f"fault {fault} of {process.pid}")
        if fault == "kill":
            kill(process.pid, signal.SIGKILL)
            return True
        if fault == "term":
            kill(process.pid, signal.SIGTERM)
        elif fault == "int":
            kill(process.pid, signal.SIGINT)
        elif fault == "twice":
            kill(process.pid, signal.SIGINT)
            time.sleep(rng.random() * 0.2)
            kill(process.pid, signal.SIGTERM)
        elif fault == "supervisor":
            for pid in self.supervisors():
                kill(pid, signal.SIGKILL)
        elif fault == "script":
            for pid in self.scripts()[:1]:
                kill(pid, signal.SIGKILL)
                self.killed()
        elif fault == "container":
            self.options.docker.kill_one(rng, self.volume)
            self.killed()
        elif fault == "server":
            self.options.postgres.crash(rng)
        return False


def kill(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def stacks(pid):
    """Lists the threads of a process, with the function of the kernel in which each thread waits."""
    try:
        return [f"{task.name}: {(task / 'wchan').read_text()}" for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return []

"""What a project stands on that faults hit, too: a container engine and a PostgreSQL server."""

import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

from project import IMAGE


class Docker:
    """The containers and the volume of one project, found by the volume's name."""

    def run(self, *args):
        return subprocess.run(["docker", *args], capture_output=True, text=True, check=False).stdout.split()

    def volume(self, name):
        """Returns the folder of a volume on this host, once there is one."""
        names = self.run("volume", "ls", "-q", "--filter", f"name={name}")
        places = self.run("volume", "inspect", "-f", "{{.Mountpoint}}", names[0]) if names else []
        return Path(places[0]) if places else None

    def kill_one(self, rng, name):
        for volume in self.run("volume", "ls", "-q", "--filter", f"name={name}"):
            running = self.run("ps", "-q", "--filter", f"volume={volume}")
            if running:
                self.run("kill", rng.choice(running))

    def remove(self, name):
        """Removes what a project has left in the engine. Returns the containers of jobs that it had left.

        A container that prepared the volume for a killed windlass has run no job. The first command that finds it old
        enough removes it, which may come after the round.
        """
        left = []
        for volume in self.run("volume", "ls", "-q", "--filter", f"name={name}"):
            left += self.run("ps", "-aq", "--filter", f"volume={volume}", "--filter", "label=io.windlass.job")
            every = self.run("ps", "-aq", "--filter", f"volume={volume}")
            if every:
                self.run("rm", "-f", *every)
            self.run("volume", "rm", volume)
        return left


class Postgres:
    """A server of our own, below a temporary folder, as a user of its own."""

    def __init__(self, folder):
        binaries = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
        if not binaries:
            sys.exit("error: --store postgres needs PostgreSQL: apt-get install postgresql")
        self.binaries, self.folder, self.port = binaries[-1], folder, random.randint(20000, 50000)
        self.user = "postgres" if os.geteuid() == 0 else None
        self.lock = threading.Lock()
        folder.mkdir(mode=0o755)
        if self.user:
            shutil.chown(folder, self.user)
        self.tool("initdb", "-D", str(folder / "data"), "-A", "trust", "-U", "postgres", "-N")
        self.up()

    def tool(self, name, *args):
        subprocess.run(
            [str(self.binaries / name), *args], user=self.user, cwd="/", env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
        )

    def up(self):
        settings = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c max_connections=200"
        self.tool("pg_ctl", "-D", str(self.folder / "data"), "-o", settings, "-w", "start")

    def down(self):
        self.tool("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "-w", "stop")

    def crash(self, rng):
        """Ends the server as a power failure does, and starts it again."""
        with self.lock:
            self.down()
            time.sleep(rng.random() * 2)
            self.up()

    def address(self, name):
        database = "d" + re.sub(r"\W", "", name)
        self.tool("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", database)
        return f"postgres://postgres@127.0.0.1:{self.port}/{database}"


def make_image(options, folder):
    """Makes the image of sandboxes and containers, and hands it to the engine where one is wanted."""
    archive = folder / "image.tar"
    command = [str(options.windlass), "image", "build", "--busybox", "-t", IMAGE, "-o", str(archive)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(options.cache)}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    if options.docker:
        subprocess.run(["docker", "load", "-i", str(archive)], check=True, stdout=subprocess.DEVNULL)

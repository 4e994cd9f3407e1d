"""A real PostgreSQL server for tests, on a loopback port, with a password that has to be given."""

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

PROGRAMS = ("initdb", "pg_ctl", "psql")
PASSWORD = f"p@ss/w#rd {secrets.token_hex(6)}"


def missing_programs() -> str:
    """The programs that are not here, as a reason to skip; "" where all are."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"PostgreSQL is not installed here: no {', '.join(missing)}" if missing else ""


@contextmanager
def postgres_server() -> Iterator[str]:
    """The address of a new server's database, user and password included."""
    with tempfile.TemporaryDirectory(prefix="assay-postgres-") as name:
        folder = Path(name)
        account = {"user": "postgres"} if os.geteuid() == 0 else {}     # it refuses to be run by root
        if account:
            shutil.chown(folder, "postgres")
        folder.chmod(0o755)
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            port = listening.getsockname()[1]

        def run(*command: str) -> None:
            subprocess.run(command, check=True, capture_output=True, cwd=folder, timeout=120, **account)

        (folder / "password").write_text(PASSWORD)
        (folder / "password").chmod(0o644)
        run("initdb", "-D", f"{folder}/data", "-U", "assay", "-A", "scram-sha-256", "--locale=C.UTF-8",
            "--pwfile", f"{folder}/password", "--no-sync")
        settings = {
            "listen_addresses": "127.0.0.1", "port": port, "unix_socket_directories": folder, "fsync": "off",
        }
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        run("pg_ctl", "-D", f"{folder}/data", "-o", options, "-l", f"{folder}/log", "-w", "start")
        try:
            yield f"postgresql://assay:{quote(PASSWORD, safe='')}@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-D", f"{folder}/data", "-m", "immediate", "stop")

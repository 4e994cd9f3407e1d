"""A running Label Studio with data of its own.

    with LocalLabelStudio() as server:
        print(server.url, server.token)
"""

import atexit
import base64
import hashlib
import secrets
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import TracebackType

from assay.tasks.desks.label_studio.local.installation import install
from assay.tasks.desks.label_studio.local.process import EMAIL, start_on_a_free_port, stop_server

PASSWORD_ROUNDS = 100_000  # Django raises them by itself at the first sign-in


class LocalLabelStudio:
    """A running server with a data folder of its own. A context manager; `stop` may be called twice.

    url       http://127.0.0.1:PORT
    token     the owner's legacy API token, for LABEL_STUDIO_API_KEY
    email     the owner's sign-in, with `password`: what a person types into the browser
    """

    def __init__(self, cache: Path | None = None, say: Callable[[str], None] = lambda _line: None) -> None:
        """say: told of what takes minutes the first time."""
        self.email = EMAIL
        self.password = secrets.token_urlsafe(12)
        self.token = secrets.token_hex(20)
        home = install(cache, say)
        self._venv = home / "venv"
        self._folder = Path(tempfile.mkdtemp(prefix="assay-label-studio-"))
        try:
            new_data(home, self._folder / "data", token=self.token, password=self.password)
            self.url, self._process = start_on_a_free_port(self._venv, self._folder, self.token)
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        atexit.register(self.stop)

    def restart(self, *, killed: bool = False) -> None:
        """Stop the server, or kill it as a crash would, and start it on the same data; `url` changes."""
        if killed:
            self._process.kill()
            self._process.wait()
        stop_server(self._process)
        self.url, self._process = start_on_a_free_port(self._venv, self._folder, self.token)

    def stop(self) -> None:
        """Stop the server and remove its data."""
        stop_server(self._process)
        shutil.rmtree(self._folder, ignore_errors=True)
        atexit.unregister(self.stop)

    def __enter__(self) -> "LocalLabelStudio":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def new_data(home: Path, data: Path, *, token: str, password: str) -> None:
    """Make a data folder for a server of its own from the template; `home` is what `install` returned."""
    shutil.copytree(home / "template", data)
    (data / ".env").unlink(missing_ok=True)   # the signing key: it makes a new one
    _set_credentials(data / "ls.sqlite3", token=token, password=password)


def _set_credentials(database: Path, *, token: str, password: str) -> None:
    """Give this copy a token and a password of its own.

    The server's flags for both act only when its first user is created, and that was in the template.
    """
    salt = secrets.token_hex(11)
    key = hashlib.pbkdf2_hmac("sha256", password.encode(), salt.encode(), PASSWORD_ROUNDS)
    hashed = f"pbkdf2_sha256${PASSWORD_ROUNDS}${salt}${base64.b64encode(key).decode()}"   # as Django has it
    with closing(sqlite3.connect(database)) as connection, connection:
        (user,) = connection.execute("SELECT id FROM htx_user WHERE email = ?", (EMAIL,)).fetchone()
        connection.execute("UPDATE htx_user SET password = ? WHERE id = ?", (hashed, user))
        connection.execute("UPDATE authtoken_token SET key = ? WHERE user_id = ?", (token, user))

"""A time stamp server of RFC 3161 for tests: `openssl ts` behind HTTP on loopback, its certificates new."""

import http.server
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_CONFIG = """\
[tsa]
default_tsa = here
[here]
serial = {folder}/serial
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha384, sha512
accuracy = secs:1
ordering = no
tsa_name = no
ess_cert_id_chain = no
ess_cert_id_alg = sha256
crypto_device = builtin
[server]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, timeStamping
[root]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
"""


@dataclass(frozen=True, kw_only=True)
class TimeStampServer:
    """Where it listens, and the certificate that its own rests on."""

    url: str
    root: Path


def openssl(*command: str | Path) -> bytes:
    """What a command of openssl prints. Raises CalledProcessError."""
    words = ["openssl", *map(str, command)]
    return subprocess.run(words, check=True, capture_output=True, timeout=60).stdout


@contextmanager
def time_stamp_server() -> Iterator[TimeStampServer]:
    """A server with a new root certificate."""
    with tempfile.TemporaryDirectory(prefix="assay-time-stamps-") as name:
        folder = Path(name)
        config = folder / "config"
        config.write_text(_CONFIG.format(folder=folder))
        (folder / "serial").write_text("01\n")
        new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc")
        openssl("req", "-x509", *new, "-keyout", folder / "root.key", "-out", folder / "root.pem",
                "-days", "3", "-subj", "/CN=root of tests", "-config", config, "-extensions", "root")
        openssl("req", *new, "-keyout", folder / "server.key", "-out", folder / "server.csr",
                "-subj", "/CN=time stamps of tests", "-config", config)
        openssl("x509", "-req", "-in", folder / "server.csr", "-CA", folder / "root.pem", "-CAkey",
                folder / "root.key", "-CAcreateserial", "-days", "2", "-out", folder / "server.pem",
                "-extfile", config, "-extensions", "server")

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                assert self.headers["Content-Type"] == "application/timestamp-query"
                query, reply = folder / "query", folder / "reply"
                query.write_bytes(self.rfile.read(int(self.headers["Content-Length"])))
                openssl("ts", "-reply", "-config", config, "-section", "here", "-queryfile", query, "-signer",
                        folder / "server.pem", "-inkey", folder / "server.key", "-out", reply)
                blob = reply.read_bytes() if self.path == "/stamp" else b"no stamp"
                self.send_response(200)
                self.send_header("Content-Type", "application/timestamp-reply")
                self.send_header("Content-Length", str(len(blob)))
                self.end_headers()
                self.wfile.write(blob)

            def log_message(self, format: str, *args: object) -> None:
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            url = f"http://127.0.0.1:{server.server_port}/stamp"
            yield TimeStampServer(url=url, root=folder / "root.pem")
            server.shutdown()

"""A real S3 server for tests: SeaweedFS, one binary from a development dependency, on loopback ports.

    with s3_server(folder) as s3:
        store = open_store(s3.new_url())       # with s3.environment in os.environ, as the fixture `s3` has it

One bucket serves a whole session: tests keep apart by prefix (`new_url`).
"""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

BUCKET = "assay-tests"
# Whatever the machine has set up for another S3 must not reach the tests.
FOREIGN_VARIABLES = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_CA_BUNDLE")
READY_SECONDS = 240
_STARTS = 3


@dataclass(frozen=True, kw_only=True)
class S3Server:
    """Where it listens and how to sign in."""

    endpoint: str    # http://127.0.0.1:PORT
    access_key: str
    secret_key: str
    bucket: str      # exists, and is writable

    @property
    def url(self) -> str:
        """The bucket as the address of a store."""
        return f"s3://{self.bucket}"

    def new_url(self, about: str = "test") -> str:
        """The address of a store nobody has used."""
        return f"s3://{self.bucket}/{about}-{uuid.uuid4().hex[:12]}"

    @property
    def environment(self) -> dict[str, str]:
        """What to put into the environment, so that boto3 finds this server and nothing else."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self):
        """A boto3 client with the right to do anything."""
        import boto3
        from botocore.config import Config

        return boto3.session.Session().client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            region_name="us-east-1",
            config=Config(retries={"total_max_attempts": 1}, connect_timeout=2, read_timeout=10),
        )


@contextmanager
def s3_server(folder: Path) -> Iterator[S3Server]:
    """Run a server with its data in `folder` until the block ends; its log is folder/weed.log."""
    folder.mkdir(parents=True, exist_ok=True)
    for start in range(_STARTS):
        ports = free_ports(4)
        process, server = _start(folder, ports)
        try:
            if _until_ready(process, server):
                yield server
                return
        finally:
            _stop(process, ports)
        # A port was taken between our look and its start: it exited, and we look again.
        print(f"S3 server exited while starting (attempt {start + 1} of {_STARTS})", file=sys.stderr)
    raise RuntimeError(f"the S3 server did not start: {_end_of_log(folder)}")


def free_ports(count: int) -> list[int]:
    """Ports p with p and p + 10,000 free, for SeaweedFS speaks gRPC there. Below the ephemeral range."""
    found: list[int] = []
    while len(found) < count:
        port = 11_000 + secrets.randbelow(11_000)
        if port not in found and _is_free(port) and _is_free(port + 10_000):
            found.append(port)
    return found


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _start(folder: Path, ports: list[int]) -> tuple[subprocess.Popen[bytes], S3Server]:
    master, volume, filer, s3 = ports
    server = S3Server(
        endpoint=f"http://127.0.0.1:{s3}",
        access_key="assay-tests",
        secret_key=secrets.token_hex(16),
        bucket=BUCKET,
    )
    identity = {
        "name": "tests",
        "credentials": [{"accessKey": server.access_key, "secretKey": server.secret_key}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    config = folder / "s3.json"
    config.write_text(json.dumps({"identities": [identity]}))
    data = folder / "data"
    data.mkdir(exist_ok=True)
    command = [
        *_dies_with_us(), _binary(), "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={data}",
        "-master.telemetry=false", "-volume.max=50", "-master.volumeSizeLimitMB=256",
        f"-master.port={master}", f"-volume.port={volume}", "-filer", f"-filer.port={filer}",
        "-s3", f"-s3.port={s3}", f"-s3.config={config}", "-s3.port.iceberg=0", "-s3.port.lance=0",
    ]  # fmt: skip
    with (folder / "weed.log").open("ab") as log:
        process = subprocess.Popen(
            command,
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=folder,
            env={"PATH": os.defpath, "HOME": str(folder), "TMPDIR": str(folder)},
            start_new_session=True,  # a Ctrl-C in the terminal is for pytest, which then stops us
        )
    return process, server


def _binary() -> str:
    beside_python = Path(sys.executable).with_name("weed")
    found = str(beside_python) if beside_python.exists() else shutil.which("weed")
    if not found:
        raise RuntimeError("no `weed` binary: install the development dependencies (make setup)")
    return found


def _dies_with_us() -> list[str]:
    """Where util-linux is at hand: the server is killed by the kernel should pytest be."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL"] if setpriv else []


def _until_ready(process: subprocess.Popen[bytes], server: S3Server) -> bool:
    """Whether it came up; False if it exited. Ready means that a value can be written, not that it hears."""
    from botocore.exceptions import BotoCoreError, ClientError

    client = server.client()
    deadline = time.monotonic() + READY_SECONDS
    while process.poll() is None:
        with suppress(BotoCoreError, ClientError):
            buckets = [bucket["Name"] for bucket in client.list_buckets()["Buckets"]]
            if server.bucket not in buckets:
                client.create_bucket(Bucket=server.bucket)
            client.put_object(Bucket=server.bucket, Key="ready", Body=b"ready")
            client.delete_object(Bucket=server.bucket, Key="ready")
            return True
        if time.monotonic() > deadline:
            raise RuntimeError(f"the S3 server was not ready after {READY_SECONDS} s")
        time.sleep(0.1)
    return False


def _stop(process: subprocess.Popen[bytes], ports: list[int]) -> None:
    process.kill()  # its data is thrown away, and a polite stop takes 10 s
    process.wait()
    # It leaves sockets named after its ports in the system's temporary folder, whatever TMPDIR says.
    for port in (*ports, *(port + 10_000 for port in ports)):
        for leftover in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
            leftover.unlink(missing_ok=True)


def _end_of_log(folder: Path) -> str:
    return (folder / "weed.log").read_text(errors="replace")[-2000:]

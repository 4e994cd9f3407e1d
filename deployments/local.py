"""Everything on this machine: what `make up` starts, one subcommand for each line of the Procfile.

    python deployments/local.py prepare FOLDER    choose ports, make credentials, write FOLDER/env
    python deployments/local.py s3 | label-studio | prefect | worker | receiver | pages   replace this process

The folder holds all data, and the credentials in `env`. Only its owner may open it, so no other user of the
machine reads a file in it. The credentials are generated once, and never typed, printed or put on a command
line. Everything listens on 127.0.0.1 and asks for a credential: Prefect's API for a password, Label Studio
for its token, S3 for a key, the parts of the S3 server for each other's certificate, the receiver for its
secret, the pages for their token.
Ports stay the same, because specs name them; a port that another program uses is an error on a second start,
and is avoided on the first.
"""

import argparse
import json
import os
import secrets
import shutil
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import httpx
from certificates import certificates

from assay.evalcore.errors import AssayError, BadInput
from assay.tasks.desks.label_studio import local

ROOT = Path(__file__).parents[1]
BUCKET = "assay"
PORTS = {"prefect": 4200, "label_studio": 8080, "receiver": 8300, "pages": 8090, "s3": 8333, "master": 9333,
         "volume": 9444, "filer": 8555}
GRPC = ("s3", "master", "volume", "filer")   # SeaweedFS listens on each of these ports + 10,000 too
READY = 600.0   # seconds until everything answers; under a minute on an idle machine


def prepare(folder: Path, any_port: bool) -> Path:
    """Write folder/env, keeping what it holds; its path. Raises BadInput for a port taken meanwhile."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    path = folder / "env"
    known = read_env(path) if path.exists() else {}
    ports = {name: _port(name, usual, known, any_port) for name, usual in PORTS.items()}
    key, secret = known.get("AWS_ACCESS_KEY_ID"), known.get("AWS_SECRET_ACCESS_KEY")
    password = known.get("PREFECT_API_AUTH_STRING", f"assay:{secrets.token_hex(16)}")
    values = {f"ASSAY_LOCAL_PORT_{name.upper()}": str(port) for name, port in ports.items()} | {
        "ASSAY_LOCAL": str(folder.absolute()),
        "ASSAY_ROOT": str(ROOT),
        "ASSAY_STORE": f"s3://{BUCKET}/ledger",
        "ASSAY_WEBHOOK_SECRET": known.get("ASSAY_WEBHOOK_SECRET", secrets.token_hex(24)),
        "ASSAY_HANDLE_URL": f"http://127.0.0.1:{ports['receiver']}",
        "ASSAY_SERVE_TOKEN": known.get("ASSAY_SERVE_TOKEN", secrets.token_hex(24)),
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{ports['s3']}",
        "AWS_ACCESS_KEY_ID": key or f"assay{secrets.token_hex(8)}",
        "AWS_SECRET_ACCESS_KEY": secret or secrets.token_hex(24),
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "LABEL_STUDIO_URL": f"http://127.0.0.1:{ports['label_studio']}",
        "LABEL_STUDIO_API_KEY": known.get("LABEL_STUDIO_API_KEY", secrets.token_hex(20)),
        "LABEL_STUDIO_EMAIL": local.EMAIL,
        "LABEL_STUDIO_PASSWORD": known.get("LABEL_STUDIO_PASSWORD", secrets.token_urlsafe(12)),
        "PREFECT_HOME": str((folder / "prefect").absolute()),
        "PREFECT_API_URL": f"http://127.0.0.1:{ports['prefect']}/api",
        "PREFECT_API_AUTH_STRING": password,          # what clients send
        "PREFECT_SERVER_API_AUTH_STRING": password,   # what the server wants
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE":   # slots of the one run a monitor survive a restart
        "prefect.server.concurrency.lease_storage.filesystem",
        "PREFECT_WORKER_QUERY_SECONDS": "5",
        "DO_NOT_TRACK": "1",
    }
    if os.environ.get("ASSAY_ALERTS") or known.get("ASSAY_ALERTS"):
        values["ASSAY_ALERTS"] = os.environ.get("ASSAY_ALERTS") or known["ASSAY_ALERTS"]
    partial = folder / "env.partial"
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.writelines(f"{name}={value}\n" for name, value in values.items())
    os.replace(partial, path)
    data = folder / "label-studio"
    if not data.exists():
        home = local.install()
        half = folder / "label-studio.partial"
        shutil.rmtree(half, ignore_errors=True)
        local.new_data(
            home, half, token=values["LABEL_STUDIO_API_KEY"], password=values["LABEL_STUDIO_PASSWORD"]
        )
        half.rename(data)
    _close(folder)
    return path


def _close(folder: Path) -> None:
    """Take from others every right to what is below the folder: files that were copied keep their rights."""
    for path in folder.rglob("*"):
        if not path.is_symlink():
            path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o700)


def read_env(path: Path) -> dict[str, str]:
    """NAME=value lines."""
    lines = [line for line in path.read_text().splitlines() if "=" in line]
    return dict(line.split("=", 1) for line in lines)


def _port(name: str, usual: int, known: Mapping[str, str], any_port: bool) -> int:
    before = known.get(f"ASSAY_LOCAL_PORT_{name.upper()}")
    also = 10_000 if name in GRPC else 0
    if before is not None:
        if not _free(int(before), also):
            raise BadInput(
                f"port {before} ({name}) is taken: by what `make up` started before (`make down` stops it), "
                "or by somebody else, who must stop first, for specs may name this address"
            )
        return int(before)
    if not any_port and _free(usual, also):
        return usual
    while True:
        port = 11_000 + secrets.randbelow(11_000)
        if _free(port, also):
            return port


def _free(port: int, also: int) -> bool:
    for one in {port, port + also}:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", one))
            except OSError:
                return False
    return True


def _run(
    command: list[str], environment: Mapping[str, str], folder: Path, log: Path | None = None
) -> None:
    """Become this command, so that a signal reaches it. `log` takes what it would say here."""
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    if log is not None:
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(file, 1)
        os.dup2(file, 2)
    os.execve(command[0], command, dict(environment))   # noqa: S606


def _here(name: str) -> str:
    """A command of our own environment."""
    return str(Path(sys.executable).with_name(name))


def s3() -> None:
    """SeaweedFS: a real S3 server in one binary."""
    folder = Path(os.environ["ASSAY_LOCAL"]) / "s3"
    folder.mkdir(parents=True, exist_ok=True)
    identity = {
        "name": "assay",
        "credentials": [{
            "accessKey": os.environ["AWS_ACCESS_KEY_ID"], "secretKey": os.environ["AWS_SECRET_ACCESS_KEY"]
        }],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    config = folder / "s3.json"
    config.touch(0o600)
    config.write_text(json.dumps({"identities": [identity]}))
    (folder / "data").mkdir(exist_ok=True)
    port = {name: os.environ[f"ASSAY_LOCAL_PORT_{name.upper()}"] for name in GRPC}
    _run([
        _here("weed"), "server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-dir={folder / 'data'}",
        "-master.telemetry=false", "-volume.max=50", "-master.volumeSizeLimitMB=256",
        f"-master.port={port['master']}", f"-volume.port={port['volume']}", "-filer",
        f"-filer.port={port['filer']}", "-s3", f"-s3.port={port['s3']}", f"-s3.config={config}",
        "-s3.port.iceberg=0", "-s3.port.lance=0",
    ], {"PATH": os.defpath, "HOME": str(folder), "TMPDIR": str(folder)} | _closed(folder), folder,
        log=folder / "weed.log")


def _closed(folder: Path) -> dict[str, str]:
    """Settings that have every port of SeaweedFS but the S3 one refuse who has no certificate of ours."""
    authority, certificate, key = map(str, certificates(folder))
    settings = {
        "WEED_GRPC_CA": authority, "WEED_HTTPS_CLIENT_CA": authority, "WEED_HTTPS_CLIENT_ENABLED": "true",
    }
    for part in ("GRPC_MASTER", "GRPC_VOLUME", "GRPC_FILER", "GRPC_S3", "GRPC_CLIENT", "HTTPS_CLIENT",
                 "HTTPS_MASTER", "HTTPS_VOLUME", "HTTPS_FILER"):
        settings |= {f"WEED_{part}_CERT": certificate, f"WEED_{part}_KEY": key}
    served = ("MASTER", "VOLUME", "FILER")
    return settings | {f"WEED_HTTPS_{part}_CA": authority for part in served}


def label_studio() -> None:
    """Label Studio, in the environment of its own that `make label-studio` installs."""
    data = Path(os.environ["ASSAY_LOCAL"]) / "label-studio"
    venv = local.install() / "venv"
    port, token = int(os.environ["ASSAY_LOCAL_PORT_LABEL_STUDIO"]), os.environ["LABEL_STUDIO_API_KEY"]
    command, environment = local.server_command(venv, data, port, token)
    _run(command, environment, data, log=data.parent / "label-studio.log")


def prefect() -> None:
    """The Prefect server, with its user interface."""
    port = os.environ["ASSAY_LOCAL_PORT_PREFECT"]
    _run([_here("prefect"), "server", "start", "--host", "127.0.0.1", "--port", port], os.environ, ROOT)


def worker() -> None:
    """Wait for everything, deploy, say where to go, and become the worker."""
    _wait()
    for command in (
        [_here("prefect"), "work-pool", "create", "assay", "--type", "process", "--overwrite"],
        [_here("prefect"), "--no-prompt", "deploy", "--all", "--prefect-file", "deployments/prefect.yaml"],
        [sys.executable, "deployments/automations.py"],
    ):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)   # noqa: S603
        if done.returncode:
            raise AssayError(f"{' '.join(command[1:4])} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    _say_where()
    _run([_here("prefect"), "worker", "start", "--pool", "assay", "--type", "process"], os.environ, ROOT)


def receiver() -> None:
    """The receiver of Label Studio's webhooks."""
    _wait()
    port = os.environ["ASSAY_LOCAL_PORT_RECEIVER"]
    command = [_here("assay"), "listen", "--port", port, "--register", f"http://127.0.0.1:{port}"]
    _run(command, os.environ, ROOT)


def pages() -> None:
    """The pages of what is in the store."""
    _wait()
    port = os.environ["ASSAY_LOCAL_PORT_PAGES"]
    _run([_here("assay"), "serve", os.environ["ASSAY_STORE"], "--port", port], os.environ, ROOT)


def _wait() -> None:
    """Until S3 takes a value, Label Studio our token and Prefect a question; AssayError if they do not."""
    give_up = time.monotonic() + READY
    missing = "everything"
    while time.monotonic() < give_up:
        missing = _missing()
        if not missing:
            return
        time.sleep(1)
    raise AssayError(
        f"{missing} did not answer within {READY:.0f} s; its lines above, or its log in the folder, say why"
    )


def _missing() -> str:
    env = os.environ
    token = {"Authorization": f"Token {env['LABEL_STUDIO_API_KEY']}"}
    name, _, password = env["PREFECT_API_AUTH_STRING"].partition(":")
    with httpx.Client(timeout=10, trust_env=False) as client:
        try:
            if client.get(f"{env['PREFECT_API_URL']}/health", auth=(name, password)).status_code != 200:
                return "Prefect"
        except httpx.HTTPError:
            return "Prefect"
        try:   # asked for a taken port it moves on without a word: only ours knows the token
            whoami = client.get(f"{env['LABEL_STUDIO_URL']}/api/current-user/whoami", headers=token)
            if whoami.status_code != 200:
                return "Label Studio"
        except httpx.HTTPError:
            return "Label Studio"
    return "" if _bucket() else "S3"


def _bucket() -> bool:
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError, ClientError

    once = Config(retries={"total_max_attempts": 1}, connect_timeout=2, read_timeout=10)
    client = boto3.session.Session().client("s3", config=once)
    try:
        if BUCKET not in [bucket["Name"] for bucket in client.list_buckets()["Buckets"]]:
            client.create_bucket(Bucket=BUCKET)
        client.put_object(Bucket=BUCKET, Key=".ready", Body=b"")
    except (BotoCoreError, ClientError):
        return False
    return True


def _say_where() -> None:
    env = os.environ
    sys.stdout.write(f"""
Everything is up, on this machine only. Data and credentials: {env['ASSAY_LOCAL']}
  Prefect        {env['PREFECT_API_URL'].removesuffix('/api')}   it asks for PREFECT_API_AUTH_STRING of env
  Pages          http://127.0.0.1:{env['ASSAY_LOCAL_PORT_PAGES']}   any name; ASSAY_SERVE_TOKEN of env
  Label Studio   {env['LABEL_STUDIO_URL']}   as {env['LABEL_STUDIO_EMAIL']}; the password is in env
  In a shell     set -a; . {env['ASSAY_LOCAL']}/env; set +a; . .venv/bin/activate
                 assay begin SPEC   (desk: {{kind: label-studio, url: "{env['LABEL_STUDIO_URL']}"}})
  To stop it     Ctrl-C here, or `make down`

""")
    sys.stdout.flush()


def main(arguments: list[str] | None = None) -> int:
    """Run one subcommand; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    preparing = commands.add_parser("prepare")
    preparing.add_argument("folder", type=Path)
    preparing.add_argument("--any-port", action="store_true", help="choose free ports")
    services = {"s3": s3, "label-studio": label_studio, "prefect": prefect, "worker": worker,
                "receiver": receiver, "pages": pages}
    for name in services:
        commands.add_parser(name)
    given = parser.parse_args(arguments)
    os.umask(0o077)   # for all that is started, too
    try:
        if given.command == "prepare":
            prepare(given.folder, given.any_port)
        else:
            services[given.command]()
    except AssayError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

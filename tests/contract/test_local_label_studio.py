"""Label Studio on this machine: really started, private to whoever started it, and gone afterwards."""

import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from assay.tasks.desks.label_studio import local
from assay.tasks.desks.label_studio.local import LocalLabelStudio, LocalLabelStudioError, install


def whoami(server: LocalLabelStudio, token: str) -> int:
    url, headers = f"{server.url}/api/current-user/whoami", {"Authorization": f"Token {token}"}
    return httpx.get(url, headers=headers, trust_env=False, timeout=150).status_code


@pytest.mark.services
def test_a_second_server_is_private_and_leaves_nothing_behind(label_studio: LocalLabelStudio):
    with LocalLabelStudio() as server:
        folder = server._folder
        assert server.url != label_studio.url
        assert whoami(server, server.token) == 200
        assert whoami(server, label_studio.token) == 401   # copies of one template, each with its own token
        assert whoami(label_studio, server.token) == 401
        assert folder.exists()
        port = int(server.url.rpartition(":")[2])
    server.stop()   # twice is once
    assert not folder.exists()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", port))


@pytest.mark.services
def test_it_listens_on_this_machine_only(label_studio: LocalLabelStudio):
    port = int(label_studio.url.rpartition(":")[2])
    listening = [
        line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if line.split()[3] == "0A" and int(line.split()[1].split(":")[1], 16) == port
    ]
    assert [address.split(":")[0] for address in listening] == ["0100007F"]   # 127.0.0.1, least byte first


def test_in_a_checkout_the_pins_and_hashes_are_found():
    assert "--hash=sha256:" in local.REQUIREMENTS.read_text()


def test_a_failed_installation_says_why_and_does_not_count_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    wanted = tmp_path / "requirements.txt"
    wanted.write_text("label-studio ===\n")
    monkeypatch.setattr(local, "REQUIREMENTS", wanted)
    for _ in range(2):
        with pytest.raises(LocalLabelStudioError, match=r"could not install label-studio .*the end of"):
            install(tmp_path / "cache")


def test_a_cache_that_cannot_be_written_is_named_with_the_remedy(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(LocalLabelStudioError, match=r"could not install.*file.*ASSAY_CACHE"):
        install(tmp_path / "file")


def test_the_command_wants_to_be_told_to_install():
    done = subprocess.run(
        [sys.executable, "-m", "assay.tasks.desks.label_studio.local"],
        capture_output=True, text=True, check=False
    )
    assert (done.returncode, "--install" in done.stderr) == (2, True)

"""Signatures by Ed25519, and time stamps by RFC 3161: who vouches for some bytes, and since when they exist.

A signature is that of RFC 8032, over the bytes themselves, in Base64, as `cosign verify-blob --key` reads it
and `openssl pkeyutl -verify -rawin` once it is decoded. A time stamp is the answer of a server, as `openssl
ts -verify` reads it. Keys come from a file or from the environment and are never printed.
"""

import base64
import hashlib
import http.client
import os
import urllib.error
import urllib.request
from binascii import Error as NotBase64
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from assay.evalcore.errors import AssayError, BadInput, Unreachable, needs
from assay.tasks.secrets import refuse_secrets

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

SIGNING_KEY = "ASSAY_SIGNING_KEY"     # the variable that may hold the key itself, in PEM
_TIME_STAMP_SECONDS = 30.0   # that a time stamp server has
_MOST_BYTES = 1 << 20                 # of its answer


class WrongSignature(AssayError):
    """A signature or a time stamp that does not belong to the bytes, or not to the key; the message says
    which."""


class SigningKey:
    """A private key of Ed25519."""

    def __init__(self, pem: bytes, where: str) -> None:
        """where: for the message. Raises BadInput for what is no such key, without showing any of it."""
        with needs("signing", "signatures"):
            serialization = import_module("cryptography.hazmat.primitives.serialization")
            ed25519 = import_module("cryptography.hazmat.primitives.asymmetric.ed25519")
        try:
            key: object = serialization.load_pem_private_key(pem, None)
        except (ValueError, TypeError, import_module("cryptography.exceptions").UnsupportedAlgorithm):
            key = None
        if not isinstance(key, ed25519.Ed25519PrivateKey):
            raise BadInput(
                f"{where}: holds no private key of Ed25519 in PEM without a password; make one with "
                "openssl genpkey -algorithm ed25519 -out key.pem"
            )
        self._key = key
        self.public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )

    def sign(self, message: bytes) -> bytes:
        """The signature in Base64."""
        return base64.b64encode(self._key.sign(message)) + b"\n"


def read_signing_key(path: Path | None) -> SigningKey | None:
    """The key in a file, else that in the environment; None where neither is given. Raises BadInput."""
    if path is not None:
        return SigningKey(read_pem(path), str(path))
    pem = os.environ.get(SIGNING_KEY, "")
    return SigningKey(pem.encode(), f"environment variable {SIGNING_KEY}") if pem else None


def key_fingerprint(public: bytes) -> str:
    """A public key in short: the beginning of the SHA-256 of its DER form. Raises WrongSignature for no
    key."""
    key, serialization = _public_key(public), import_module("cryptography.hazmat.primitives.serialization")
    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return f"SHA256:{hashlib.sha256(der).hexdigest()[:32]}"


def check_signature(public: bytes, signature: bytes, message: bytes) -> None:
    """Raise WrongSignature unless the signature is of these bytes, by the owner of this public key."""
    key = _public_key(public)
    try:
        key.verify(base64.b64decode(signature.strip(), validate=True), message)
    except (NotBase64, ValueError, import_module("cryptography.exceptions").InvalidSignature):
        raise WrongSignature(f"the signature is not one by the key {key_fingerprint(public)}") from None


def _public_key(public: bytes) -> "Ed25519PublicKey":
    with needs("signing", "signatures"):
        serialization = import_module("cryptography.hazmat.primitives.serialization")
        ed25519 = import_module("cryptography.hazmat.primitives.asymmetric.ed25519")
    try:
        key = serialization.load_pem_public_key(public)
    except (ValueError, TypeError, import_module("cryptography.exceptions").UnsupportedAlgorithm):
        key = None
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise WrongSignature("there is no public key of Ed25519 in PEM")
    found_key: Ed25519PublicKey = key
    return found_key


def time_stamp(server: str, message: bytes) -> bytes:
    """The answer of a time stamp server about these bytes, of which it sees the SHA-256 alone.

    Raises BadInput for an address that is none, Unreachable where the server does not answer or refuses.
    """
    refuse_secrets(server, "the address of the time stamp server")
    if urlsplit(server).scheme not in ("http", "https"):
        raise BadInput(f"{server}: the address of a time stamp server begins with http:// or https://")
    with needs("signing", "time stamps"):
        client = import_module("rfc3161_client")
    asked = client.TimestampRequestBuilder().data(message).hash_algorithm(client.HashAlgorithm.SHA256).build()
    request = urllib.request.Request(  # noqa: S310 - the scheme was looked at
        server, data=asked.as_bytes(), headers={"Content-Type": "application/timestamp-query"}
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIME_STAMP_SECONDS) as answer:  # noqa: S310
            stamped: bytes = answer.read(_MOST_BYTES)
        response = client.decode_timestamp_response(stamped)
        digest = response.tst_info.message_imprint.message
    except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
        raise Unreachable(
            f"{server}: no time stamp came back ({error}); try again later, or name another server"
        ) from None
    if digest != hashlib.sha256(message).digest() or response.tst_info.nonce != asked.nonce:
        raise Unreachable(f"{server}: answered with the time stamp of something else; name another server")
    return stamped


def stamped_at(stamp: bytes, message: bytes, root: bytes | None) -> datetime:
    """When a server saw these bytes, as the time stamp says.

    root the certificate in PEM that the server's own certificate rests on; None: whose it is, is not looked
    at

    Raises WrongSignature where the stamp is of other bytes or does not rest on that certificate; BadInput
    where there is no certificate.
    """
    with needs("signing", "time stamps"):
        client, x509 = import_module("rfc3161_client"), import_module("cryptography.x509")
    try:
        response = client.decode_timestamp_response(stamp)
        digest = response.tst_info.message_imprint.message
        seen: datetime = response.tst_info.gen_time.astimezone(UTC)
    except ValueError:
        raise WrongSignature("there is no time stamp of RFC 3161") from None
    if root is None:
        if digest != hashlib.sha256(message).digest():
            raise WrongSignature("the time stamp is of other bytes")
        return seen
    verifier = client.VerifierBuilder()
    try:
        for certificate in x509.load_pem_x509_certificates(root):
            verifier = verifier.add_root_certificate(certificate)
    except ValueError:
        raise BadInput("--time-root: holds no certificate in PEM") from None
    try:
        verifier.build().verify_message(response, message)
    except (client.VerificationError, ValueError) as error:
        raise WrongSignature(f"the time stamp does not hold: {error}") from None
    return seen


def read_pem(path: Path) -> bytes:
    """The bytes of a file of keys or certificates. Raises BadInput where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None

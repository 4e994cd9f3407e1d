"""Certificates of the local S3 server: its parts talk to each other with them, and refuse everybody else."""

import os
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LASTS = timedelta(days=3650)


def certificates(folder: Path) -> tuple[Path, Path, Path]:
    """The authority, a certificate for 127.0.0.1 and its key, as files; made once.

    The authority's own key is not kept, so nobody can make a second certificate.
    """
    files = folder / "ca.pem", folder / "server.pem", folder / "server.key"
    if all(file.exists() for file in files):
        return files
    authority, own = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    ca = _certificate("assay local", authority, "assay local", authority, authority=True)
    server = _certificate("assay local s3", own, "assay local", authority, authority=False)
    key = own.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    pem = serialization.Encoding.PEM
    for file, blob in zip(files, (ca.public_bytes(pem), server.public_bytes(pem), key), strict=True):
        file.unlink(missing_ok=True)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
            opened.write(blob)
    return files


def _certificate(
    subject: str, key: ec.EllipticCurvePrivateKey, issuer: str, issuer_key: ec.EllipticCurvePrivateKey, *,
    authority: bool,
) -> x509.Certificate:
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(subject)).issuer_name(_name(issuer)).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1)).not_valid_after(now + _LASTS)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
    )
    if not authority:
        both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        names = [x509.IPAddress(ip_address("127.0.0.1")), x509.DNSName("localhost")]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False).add_extension(
            x509.ExtendedKeyUsage(both), critical=False
        )
    return builder.sign(issuer_key, hashes.SHA256())


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

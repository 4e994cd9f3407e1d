"""Secrets that must not be printed or written down: in addresses, and in the logs of libraries.

An address stands in specs, which ledgers keep, in errors and in reports. So it may hold no user and password
(`scheme://user:password@host`, or without a scheme, as for scp), and no query with a token or a signature, as
pre-signed links have: it is refused before it is used.
"""

import base64
import hmac
import logging
import re

from assay.evalcore.errors import BadInput
from assay.tasks.table_address import DELTA, ICEBERG, SQL, secret_in_query

_USER = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?//[^/?#]*@|[^/@\s]*:[^/@]*@")
_TOKEN = re.compile(
    r"[?&#;][^=&#;/]*(?:token|secret|sig|signature|key|password|passwd|pwd|credential|auth)[^=&#;/]*=[^&]",
    re.IGNORECASE,
)


def secret_in(address: str) -> str:
    """What looks like a secret in an address, in words; "" if nothing does.

    Of a query, whose conditions may be on a column called `token`, only what would open something.
    """
    if address.startswith(SQL):
        return "holds a password or a key" if secret_in_query(address) else ""
    address = address.removeprefix(DELTA).removeprefix(ICEBERG)
    if _USER.match(address.strip()):
        return "holds a user name or a password"
    if _TOKEN.search(address):
        return "holds a token, a key or a signature"
    return ""


def refuse_secrets(address: str, what: str) -> None:
    """BadInput, which does not repeat the address, if it holds a secret; `what`: whose address it is."""
    secret = secret_in(address)
    if secret:
        raise BadInput(
            f"{what} {secret}: addresses are printed and written down. Give credentials in the environment"
        )


def keyed_digest(secret: bytes, purpose: bytes, body: bytes) -> str:
    """An HMAC-SHA-256 of the body as URL-safe Base64, with a key that is derived from the secret for this
    purpose: nothing that is signed for one purpose helps to forge what is signed for another."""
    key = hmac.digest(secret, purpose, "sha256")
    return base64.urlsafe_b64encode(hmac.digest(key, body, "sha256")).rstrip(b"=").decode()


TALKATIVE = (
    "httpcore", "hpack", "botocore", "boto3", "s3transfer", "urllib3",
    "aiohttp", "adlfs", "fsspec", "google", "msal", "websockets",
)  # fmt: skip
_LEVELS = dict.fromkeys(TALKATIVE, logging.INFO) | {
    "azure": logging.WARNING,      # at INFO: every request
    "gcsfs": logging.CRITICAL,     # at ERROR: the traceback of what becomes an error of ours
}


def quiet_libraries() -> None:
    """Raise the level of every talkative logger. To be called before a client is made.

    Libraries that would log secrets, told to be quiet.

    At DEBUG httpcore prints the headers of replies (the session cookie of Label Studio), botocore the headers
    it signed (the session token of AWS, and signatures that are good for minutes), urllib3 whole addresses,
    websockets the key of Prefect. A worker whose logging is set to DEBUG for everything must not write those
    down. So these loggers are set to INFO when a client is made; a logger that is set to DEBUG by name
    afterwards does log at DEBUG.
    """
    for name, level in _LEVELS.items():
        logger = logging.getLogger(name)
        if logger.level < level:   # NOTSET, which would take the root's, or a more talkative one
            logger.setLevel(level)

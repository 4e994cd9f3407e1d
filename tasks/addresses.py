"""Addresses that hold a secret: refused before they are printed, written down or used.

An address stands in specs, which ledgers keep, in errors and in reports. So it may hold no user and password
(`scheme://user:password@host`, or without a scheme, as for scp), and no query with a token or a signature, as
pre-signed links have.
"""

import re

from assay.evalcore.errors import BadInput

_USER = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?//[^/?#]*@|[^/@\s]*:[^/@]*@")
_TOKEN = re.compile(
    r"[?&#;][^=&#;/]*(?:token|secret|sig|signature|key|password|passwd|pwd|credential|auth)[^=&#;/]*=[^&]",
    re.IGNORECASE,
)


def secret_in(address: str) -> str:
    """What looks like a secret in an address, in words; "" if nothing does."""
    if _USER.match(address.strip()):
        return "holds a user name or a password"
    if _TOKEN.search(address):
        return "holds a token, a key or a signature"
    return ""


def refuse_secrets(address: str, what: str) -> None:
    """BadInput, which does not repeat the address, if it holds a secret; `what`: whose address it is."""
    found = secret_in(address)
    if found:
        raise BadInput(
            f"{what} {found}: addresses are printed and written down. Give credentials in the environment"
        )

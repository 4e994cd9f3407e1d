"""Names made of texts: short, safe in keys and file names, and the same in every process."""

import hashlib


def digest_of_parts(*parts: str) -> str:
    """SHA-256 of the parts and their lengths, as 64 hexadecimal digits."""
    hashed = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        hashed.update(len(encoded).to_bytes(8, "big") + encoded)
    return hashed.hexdigest()

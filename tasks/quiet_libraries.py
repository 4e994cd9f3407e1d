"""Libraries that would log secrets, told to be quiet.

At DEBUG httpcore prints the headers of replies (the session cookie of Label Studio), botocore the headers it
signed (the session token of AWS, and signatures that are good for minutes), urllib3 whole addresses. A worker
whose logging is set to DEBUG for everything must not write those down. So these loggers are set to INFO when
a client is made; a logger that is set to DEBUG by name afterwards does log at DEBUG.
"""

import logging

TALKATIVE = (
    "httpcore", "hpack", "botocore", "boto3", "s3transfer", "urllib3",
    "aiohttp", "adlfs", "fsspec", "google", "msal",
)  # fmt: skip
_LEVELS = dict.fromkeys(TALKATIVE, logging.INFO) | {
    "azure": logging.WARNING,      # at INFO: every request
    "gcsfs": logging.CRITICAL,     # at ERROR: the traceback of what becomes an error of ours
}


def quiet_libraries() -> None:
    """Raise the level of every talkative logger. To be called before a client is made."""
    for name, level in _LEVELS.items():
        logger = logging.getLogger(name)
        if logger.level < level:   # NOTSET, which would take the root's, or a more talkative one
            logger.setLevel(level)

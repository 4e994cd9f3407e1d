"""Libraries that would log secrets, told to be quiet.

At DEBUG httpcore prints the headers of replies (the session cookie of Label Studio), botocore the headers it
signed (the session token of AWS, and signatures that are good for minutes), urllib3 whole addresses. A worker
whose logging is set to DEBUG for everything must not write those down. So these loggers are set to INFO when
a client is made; whoever sets one of them to DEBUG by name, afterwards, has asked for it.
"""

import logging

TALKATIVE = ("httpcore", "hpack", "botocore", "boto3", "s3transfer", "urllib3")


def quiet_libraries() -> None:
    """Raise the level of every talkative logger to INFO. To be called before a client is made."""
    for name in TALKATIVE:
        logger = logging.getLogger(name)
        if logger.level < logging.INFO:   # NOTSET, which would take the root's, or DEBUG
            logger.setLevel(logging.INFO)

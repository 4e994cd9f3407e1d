"""What Ctrl-C gives: the exit code, and what is said."""

INTERRUPTED = 130     # 128 and the number of the signal, as shells have it
SAFE = "interrupted; nothing is lost: run the same command again"

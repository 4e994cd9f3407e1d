"""The figures of the paper on low-shot validation, on public pools."""

"""The figures of the papers, printed ones beside ours: a module a paper writes a page of docs/measured/papers/."""

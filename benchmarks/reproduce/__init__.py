"""The figures of the papers, printed ones beside ours: a module a paper writes a page of measured/papers/."""

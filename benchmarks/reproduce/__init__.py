"""The figures of the papers, printed ones beside ours: a module a paper writes docs/measured/papers/<paper>.md."""

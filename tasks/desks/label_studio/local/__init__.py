"""A real Label Studio on this machine, for `assay demo --label-studio` and for tests.

    python -m assay.tasks.desks.label_studio.local --install

Production has a server of its own. What is made here, in three steps, the first two kept under `$ASSAY_CACHE`
(default `~/.cache/assay`) in a folder named after the version:

    venv/        Label Studio in an environment of its own: 790 MB, and pins that clash with ours
    template/    a data folder whose migrations have run: they take over a minute, a copy of them does not
    (a copy)     per server, in a temporary folder, with a token and a password nobody else has
"""

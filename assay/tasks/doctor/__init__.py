"""What a file of predictions supports, what it lacks, and how to put it right: the parts of `assay doctor`.

    roles     which column is what, guessed from names and values
    scan      one streaming pass: counts, defects, and the numbers a cut of the pool needs
    judge     findings from what was counted, each with a remedy
    suggest   a spec to start from
    places    stores and desks, looked at and left as they were
"""

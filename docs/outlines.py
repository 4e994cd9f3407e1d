"""Write the file of outlines: what help and Tab say of each command (assay.flows.cli.outline)."""

from assay.flows.cli.main import assay
from assay.flows.cli.outline import FILE, all_outlines

if __name__ == "__main__":
    FILE.write_text(all_outlines(assay), encoding="utf-8")

"""Write the file of outlines: what help and Tab say of each command (assay.flows.cli.main)."""

from assay.flows.cli.main import FILE, all_outlines, assay

if __name__ == "__main__":
    FILE.write_text(all_outlines(assay), encoding="utf-8")

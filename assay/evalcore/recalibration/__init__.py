"""The recalibrated label model, and what is built on it: see `evalcore.methods.two_classes.recalibrated`."""

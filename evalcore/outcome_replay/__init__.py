"""Methods for any kind of outcome, simulated on pools whose outcomes are known."""

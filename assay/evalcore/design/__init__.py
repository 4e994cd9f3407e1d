"""Where labels are bought: proposals, inclusion probabilities and draws."""

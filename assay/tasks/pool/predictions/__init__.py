"""What the frozen pool holds of the predictions, and how it is cut: one file for each kind of labels."""

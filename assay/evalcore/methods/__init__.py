"""Methods: how items are chosen, and what is concluded from their labels. One file each."""

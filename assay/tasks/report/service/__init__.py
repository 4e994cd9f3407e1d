"""What a service of pages shows: lists of many evaluations and monitors, and the frame of every page."""

"""When an alert is raised, and how it is delivered."""

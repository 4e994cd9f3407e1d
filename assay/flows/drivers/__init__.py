"""What runs on a schedule: the sweep, and the flows of Prefect."""

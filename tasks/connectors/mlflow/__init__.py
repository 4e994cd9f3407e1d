"""What MLflow holds: traces with their assessments, and tables of evaluations."""

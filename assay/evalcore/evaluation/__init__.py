"""One evaluation from first plan to last estimate, and what is said beside the estimates."""

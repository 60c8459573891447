"""What is fast, against what, in one run."""

"""What is fast and what is right; each figure is reprinted by one command."""

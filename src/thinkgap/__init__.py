"""thinkgap measures whether an evaluation reads the event that its prompt requested."""

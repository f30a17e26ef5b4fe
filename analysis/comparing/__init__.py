"""What `python -m analysis.compare` is made of. Reads frames of finished runs; loads no model."""

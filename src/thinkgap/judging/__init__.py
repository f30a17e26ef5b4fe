"""Judges that say whether a trace makes an inference (EIR): rules, served and local models."""

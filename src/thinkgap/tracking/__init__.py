"""What a person watches while a run goes: console log, progress, Weights & Biases.

Mirrors what is on disk and never the other way round: nothing here can change or stop a run. Import the modules
directly; `wandb` itself is imported only when a run logs to it.
"""

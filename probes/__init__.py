"""Linear probes on the hidden states at the read position: fits, controls and transfer.

Probes read features that a scoring pass wrote and never load a language model.
"""

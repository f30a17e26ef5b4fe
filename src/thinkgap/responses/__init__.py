"""From a reply's text to its answer: normalisation, extraction, and the permissive second column."""

from thinkgap.responses.extract import Extraction, Rule, extract
from thinkgap.responses.normalise import normalise, split_reasoning
from thinkgap.responses.permissive import permissive

__all__ = ["Extraction", "Rule", "extract", "normalise", "permissive", "split_reasoning"]

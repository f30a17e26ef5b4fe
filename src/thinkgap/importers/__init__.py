"""Somebody else's responses as `Answered`: own files, and the logs of evaluation harnesses."""

from thinkgap.importers.detect import FORMATS
from thinkgap.importers.load import Imported, load_responses

__all__ = ["FORMATS", "Imported", "load_responses"]

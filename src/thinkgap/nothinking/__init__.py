"""What a response shows although the prompt asked for an answer only: level 1 of the inertia study (arXiv 2610.11765).

Reading a response, empty-thinking rates, audits, equality of open answers, their tables and their file. Nothing here
loads a model or calls a server.
"""

from thinkgap.nothinking.analyse import Analysed, analyse, analyse_all
from thinkgap.nothinking.equality import MathEquality
from thinkgap.nothinking.reading import ResponseReading, read
from thinkgap.nothinking.store import read_responses, to_analysed, write_responses
from thinkgap.nothinking.tables import audit_sheets, response_sheets

__all__ = [
    "Analysed",
    "MathEquality",
    "ResponseReading",
    "analyse",
    "analyse_all",
    "audit_sheets",
    "read",
    "read_responses",
    "response_sheets",
    "to_analysed",
    "write_responses",
]

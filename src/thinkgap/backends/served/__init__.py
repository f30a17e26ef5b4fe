"""Models that answer over HTTP: what is sent, what came back, and a store of replies that were paid for.

The only place that knows how providers spell things. `docs/served_models.md` is its page.
"""

from thinkgap.backends.served.cache import ResponseStore
from thinkgap.backends.served.client import ask, ask_all
from thinkgap.backends.served.estimate import CallEstimate, estimate, estimate_sheet
from thinkgap.backends.served.faults import ServedError
from thinkgap.backends.served.outcomes import Answers, Counts, Outcome
from thinkgap.backends.served.profile import check_profile
from thinkgap.backends.served.reply import ReplyError, to_response
from thinkgap.backends.served.request import ServedRequest, build_request

__all__ = [
    "Answers",
    "CallEstimate",
    "Counts",
    "Outcome",
    "ReplyError",
    "ResponseStore",
    "ServedError",
    "ServedRequest",
    "ask",
    "ask_all",
    "build_request",
    "check_profile",
    "estimate",
    "estimate_sheet",
    "to_response",
]

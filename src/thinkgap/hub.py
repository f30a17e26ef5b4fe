"""Whether the Hugging Face hub can be there at all, so that nothing is tried again and again without a network.

Knows no model and no data set.
"""

from __future__ import annotations

import logging
import os
import socket
from urllib.parse import urlsplit

log = logging.getLogger(__name__)

_PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")


def offline_if_unreachable() -> bool:
    """Have the hub's libraries use their caches alone where its name cannot be resolved; whether they now do.

    They would try five times and wait half a minute. With a proxy names are its matter, and nothing is changed.
    """
    import huggingface_hub.constants as constants

    if constants.HF_HUB_OFFLINE:
        return True
    if any(os.environ.get(name) for name in _PROXIES):
        return False
    host = urlsplit(constants.ENDPOINT).hostname or ""
    try:
        socket.getaddrinfo(host, 443)
    except OSError as error:
        import datasets.config as rows

        log.warning("%s cannot be found (%s): only what its cache holds is used", host, error)
        constants.HF_HUB_OFFLINE = rows.HF_HUB_OFFLINE = True
    return constants.HF_HUB_OFFLINE

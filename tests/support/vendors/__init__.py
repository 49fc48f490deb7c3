"""Strict stand-ins for the APIs of vendors: they refuse what the vendor's documentation refuses.

The vendors' own clients talk to them, through Inspect's own providers.
"""

from tests.support.vendors._protocols import PROTOCOLS, Protocol
from tests.support.vendors._server import VendorServer
from tests.support.vendors._wire import Conversation, Script

__all__ = ["PROTOCOLS", "Conversation", "Protocol", "Script", "VendorServer"]

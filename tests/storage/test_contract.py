"""The contract of stores, over each back end."""

from __future__ import annotations

from tenure.core.store import RecordStore
from tenure.storage.in_memory import InMemoryStore
from tenure.testing.store_contract import StoreContract


class TestInMemory(StoreContract):
    def make(self) -> RecordStore:
        return InMemoryStore()

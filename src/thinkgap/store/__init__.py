"""What a run leaves on disk: Parquet records, their shards, the settings they belong to, and a manifest.

Knows records and files; nothing here knows a model, a prompt, a metric or how a table looks. The columns and the rules
of resuming are described in `docs/records.md`.
"""

from thinkgap.store.manifest import collect_manifest, read_manifest, write_manifest
from thinkgap.store.records import read_records
from thinkgap.store.run_folder import RunFolder

__all__ = ["RunFolder", "collect_manifest", "read_manifest", "read_records", "write_manifest"]

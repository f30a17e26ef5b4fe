"""From items and conditions to token ids: assembly, rendering, label tokens."""

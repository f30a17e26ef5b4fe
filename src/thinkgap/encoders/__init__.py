"""Question relevance of traces by sentence encoders (QRel)."""

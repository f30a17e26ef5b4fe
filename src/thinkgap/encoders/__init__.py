"""Question relevance of traces by sentence encoders (QRel)."""

from thinkgap.encoders.encoder import Encoder
from thinkgap.encoders.load import open_encoder
from thinkgap.encoders.vectors import TextVectors, VectorStore

__all__ = ["Encoder", "TextVectors", "VectorStore", "open_encoder"]

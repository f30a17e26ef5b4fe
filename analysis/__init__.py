"""Tables and figures from finished runs; reads stores and never loads a model."""

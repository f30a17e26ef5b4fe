"""Where models run. The only package that knows a model family or a provider."""

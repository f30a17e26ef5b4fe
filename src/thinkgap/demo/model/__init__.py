"""The demo model as a Hugging Face folder: vocabulary, sizes, chat template, weights. It knows no training."""

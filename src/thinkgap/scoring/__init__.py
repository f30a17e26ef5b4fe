"""Forward passes: prompts in, readings out."""

"""What a run will take before it is begun: tokens, time, memory, storage and money."""

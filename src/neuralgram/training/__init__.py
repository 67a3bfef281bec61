"""Training: the loop, optimisers, schedules, checkpoints."""

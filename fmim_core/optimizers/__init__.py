"""What moves the weights: optimizers, and schedules of their learning rates. One file each, found by being there."""

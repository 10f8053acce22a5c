"""Optimizers and learning-rate schedules: one file each, registered on import."""

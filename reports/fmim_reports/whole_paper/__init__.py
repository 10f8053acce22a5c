"""The report of the whole paper: its tables and figures in its order, ours beside the published values."""

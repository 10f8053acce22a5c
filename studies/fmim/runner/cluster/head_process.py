"""A small program that has a Ray cluster of our own: `python head_process.py FOLDER CPUS`, started by `head.py`.

It imports nothing of ours, prints the cluster's address and the folder of its logs as JSON, and stays until its
standard input, a pipe from our program, ends.
"""

from __future__ import annotations

import json
import logging
import os
import sys


def main() -> None:
    """Start the cluster, say where it is, and wait."""
    import ray

    # "local": without an address Ray would join any cluster noted on this machine, and wait for a dead one.
    context = ray.init(
        address="local",
        include_dashboard=False,
        num_cpus=int(sys.argv[2]),
        logging_level=logging.ERROR,
        log_to_driver=False,
        _temp_dir=sys.argv[1],
    )
    found = context.address_info  # type: ignore[attr-defined]  # of its subclass for local clusters
    print(json.dumps([found["gcs_address"], os.path.join(found["session_dir"], "logs")]), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()

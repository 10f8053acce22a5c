"""The bank on every machine of a Ray cluster: the same, to the bit, before the first trial starts."""

from __future__ import annotations

from fmim_core.data.bank.bank import Bank


def check_on_nodes(bank: Bank) -> None:
    """Have each node that trials may run on check its own copy of the bank, or the one that it shares.

    The node of this process is left out: the process itself has checked what is there.

    Raises:
        ValueError: on some nodes the bank is missing, another one, or damaged; names them and what was found.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = ray.get_runtime_context().get_node_id()
    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU") and node["NodeID"] != here]
    check = ray.remote(fault)
    tasks = []
    for node in nodes:
        on_it = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        tasks.append(check.options(num_cpus=0, scheduling_strategy=on_it).remote(str(bank.path), bank.fingerprint))
    wrong = []
    for node, task in zip(nodes, tasks, strict=True):
        try:
            found = ray.get(task)
        except ray.exceptions.RayError as error:  # the node has gone, or lacks this program
            found = f"the check could not run: {str(error).strip().splitlines()[-1]}"
        if found:
            wrong.append(f"node {node['NodeManagerHostname']} ({node['NodeManagerAddress']}): {found}")
    if wrong:
        what = f"the bank in {bank.path} cannot be used on {len(wrong)} of {len(nodes) + 1} nodes:"
        to_do = "Start in a folder that all nodes share, or build the bank on each of them with `fmim data prepare`."
        raise ValueError("\n  ".join([what, *wrong]) + f"\n{to_do}")


def fault(path: str, fingerprint: str) -> str | None:
    """What is wrong with the bank in that folder of this machine, or None; runs on a node."""
    try:
        bank = Bank.open(path)
        if bank.fingerprint != fingerprint:
            return f"another bank, with fingerprint {bank.fingerprint[:12]} instead of {fingerprint[:12]}"
        bank.check()
    except (ValueError, OSError) as error:
        return str(error)
    return None

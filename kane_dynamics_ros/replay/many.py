"""Many bags: which there are, and all of them at once on this machine or on a Dask cluster."""

import multiprocessing
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

from kane_dynamics_ros.replay.errors import DaskAddressError, DaskMissingError
from kane_dynamics_ros.replay.job import Job, Outcome, run_job
from kane_dynamics_ros.replay.reading.bag import bag_files

CONNECT = "10 s"  # for a scheduler's answer


def find_bags(path: Path) -> list[Path]:
    """The bags at a path: itself, or all those in a folder and its subfolders.

    Files without metadata.yaml are one bag when their names differ only in the number that rosbag2
    appends to split files, and a bag each otherwise. A path without any bag stands for itself, so
    that opening it says what is wrong.
    """
    if not path.is_dir() or (path / "metadata.yaml").is_file():
        return [path]
    files = bag_files(path)
    stems = {re.sub(r"_\d+$", "", file.name.split(".")[0]) for file in files}
    here = [path] if len(stems) == 1 else files
    below = [bag for folder in sorted(path.iterdir()) if folder.is_dir() for bag in find_bags(folder)]
    found = [*here, *(bag for bag in below if not bag.is_dir() or _is_bag(bag))]
    return found or [path]


def _is_bag(folder: Path) -> bool:
    return (folder / "metadata.yaml").is_file() or bool(bag_files(folder))


def run_jobs(jobs: Sequence[Job], workers: int, dask: str | None = None) -> Iterator[Outcome]:
    """Outcomes as they come; ``dask`` is a scheduler's address. Raises ``DaskMissingError``."""
    if dask is None and (workers == 1 or len(jobs) == 1):
        yield from map(run_job, jobs)
        return
    with _executor(workers, dask) as executor:
        futures = {executor.submit(run_job, job): job for job in jobs}
        for future in as_completed(futures):
            error = future.exception()
            yield (
                Outcome(futures[future].bag, None, f"{futures[future].bag}: {error}")
                if error
                else future.result()
            )


@contextmanager
def _executor(workers: int, dask: str | None) -> Iterator[Executor]:
    if dask is None:
        # spawn: a forked child would inherit the threads' locks of the numerical libraries
        with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
            yield pool
        return
    try:
        from dask.distributed import Client
    except ImportError as error:
        raise DaskMissingError from error
    try:
        client = Client(dask, timeout=CONNECT)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise DaskAddressError(dask, error) from error
    with client:
        yield client.get_executor()  # type: ignore[no-untyped-call]

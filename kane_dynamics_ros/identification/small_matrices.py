"""Many small matrix products: threads of the linear algebra library cost more than they bring."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let BLAS use one thread inside, where threadpoolctl is there to tell it.

    Matrices of a hundred rows are done before a second thread wakes up; on a machine that is busy otherwise,
    waiting for it took four times as long as the work.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        yield
        return
    with threadpool_limits(limits=1, user_api="blas"):
        yield

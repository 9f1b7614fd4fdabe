"""What a process that may answer does to keep other processes of its user out of it.

An agent runs as its operator's user. By default it may read and change the memory of the operator's processes
(``/proc/PID/mem``, a debugger), and there take the token, or simply the answer. A process that declares itself
undumpable is closed to that: the kernel then treats it as another user's.

What this cannot close: a process of the same user can still kill this one, read what a terminal multiplexer keeps of
its screen, type into that terminal where the system lets it, or change the files the next one is started from. Who
must keep those out runs the agent as another user.
"""

from __future__ import annotations

import ctypes
import resource
import sys

_PR_SET_DUMPABLE = 4
_PT_DENY_ATTACH = 31


def keep_out() -> bool:
    """Close this process to the debuggers of its own user. False when the platform has no way to."""
    libc = ctypes.CDLL(None, use_errno=True)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if sys.platform == "darwin":
        return bool(libc.ptrace(_PT_DENY_ATTACH, 0, None, 0) == 0)
    prctl = getattr(libc, "prctl", None)
    return prctl is not None and prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0


def allow_many_connections() -> None:
    """Let this process have as many files open as it may: each connection is one, and the usual limit is 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 65536 if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < most:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        except (OSError, ValueError):
            return  # macOS caps it below what it reports; then what there is has to do

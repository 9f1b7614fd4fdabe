"""What holds for every test.

A property takes as long as it takes on a machine that has other things to do. The programs under test can be
interrupted: a shell that runs the tests in the background has them, and all they start, ignore that.
"""

import signal

from hypothesis import HealthCheck, settings

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

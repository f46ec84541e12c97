"""What the benches share: private servers, measured processes, figures with intervals.

A bench that is told to end (SIGTERM) leaves by an exception, so that its servers and directories go as after Ctrl-C.
"""
import signal
import sys


def _leave(*_):
    # Once is enough: a second one must not cut the cleaning up short.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(143)


signal.signal(signal.SIGTERM, _leave)

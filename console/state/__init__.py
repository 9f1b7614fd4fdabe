"""What is on the screen, made from events alone: ``reduce(state, events)``. No terminal, no clock, no counting.

The state is changed in place, because it is fed hundreds of events a second; the same events always make the same
state. Every text in it that is drawn was made safe when its event came in (``label``, ``who``, ``text``,
``detail``); what kept its raw form (ids, fingerprints, records) is there to be compared, sent back or shown by
``console.text``.
"""

from console.state.reduce import reduce
from console.state.whole import State

__all__ = ["State", "reduce"]

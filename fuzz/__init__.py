"""Input nobody would write, for everything that reads what others wrote: ``make fuzz``.

A **target** (``targets``) is one reader and what must hold of it whatever it reads. Three drivers feed the targets:

* ``seeded`` mutates valid inputs, the same ones for the same seed; a short run of it is among the tests;
* ``guided`` does it with atheris, which keeps what reaches new code (the extra ``fuzz``; Linux only);
* ``pumped`` repeats pieces of inputs until they are long, and holds the time against the length.

``wire`` sends millions of mutated frames to a running engine, and ``soak`` an hour of ordinary ones.
"""

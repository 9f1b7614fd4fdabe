"""A recorded session played back on the screen one lives on: paused, stepped, sought in, at any speed.

``recording`` holds what a breaker would have reported, and gives the console's state after any number of its events;
``playhead`` is where a replay stands and what keys do to it, without a clock or a screen; ``source`` reads and judges
the file in a thread; ``app`` and ``screen`` are the console with a transport and a timeline.
"""

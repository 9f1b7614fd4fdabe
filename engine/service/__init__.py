"""The parts of the served engine: connections, frames, asks, feeds, and the door operators come through.

``engine.server`` and ``engine.host`` put them together; ``engine.protocol`` says what they speak.
"""

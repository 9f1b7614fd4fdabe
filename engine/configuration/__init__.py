"""How a configuration is written, found, checked and reloaded.

What one says when it is in force is ``engine.config``.
"""

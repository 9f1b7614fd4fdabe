"""Readers of what harnesses write about their own sessions: a module for each format, all giving ``session_items``.

A new format is one module with a ``FORMAT`` and its line in ``recognise.FORMATS``. Files are recognised by their
content, read as streams, and never trusted: a line that cannot be read is an item like any other.
"""

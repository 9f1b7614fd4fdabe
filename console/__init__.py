"""Shows and asks. Knows the engine by its events and its client, never by its internals."""

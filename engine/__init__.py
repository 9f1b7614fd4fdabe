"""Decides: which calls of an agent run, which are advised against, asked about, refused, and why."""

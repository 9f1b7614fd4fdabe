"""Agents that loop, for show: a real process at a real socket whose calls run nothing and whose results are made up."""

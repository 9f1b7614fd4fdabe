"""What programs do with their words.

Wrappers, runners, where they write, which only read, and what HTTP clients ask for.
"""

"""The harnesses an agent may run in: what each tells its hooks, what each wants to hear, where it keeps its settings.

One module per harness says what it sends and expects (``claude_code``, ``codex``, ``gemini_cli``), as pure functions;
``hooks`` serves them. ``dsh`` and ``opencode`` are given a plugin (``javascript``), which asks the engine itself.
``installation`` writes either into a harness's own settings and takes it out again;
``checks`` says whether all that works.
"""

"""One module a subcommand; ``console.cli`` imports a module only when its command is called."""

"""What a configuration's thresholds amount to: which can never be reached, and which changes loosen the guard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil, inf

from engine.config import Config, Limit
from engine.configuration.report import printable


def unreachable(config: Config) -> tuple[str, ...]:
    """The thresholds that can never speak or fire, and why: a line each, for a person, printable.

    None of these is an error: a stage above a cap is a way to say that a measure shall have no advisory.
    """
    return tuple(_notes(config))


def _notes(config: Config) -> Iterator[str]:
    if "*" in config.exclude:
        yield "exclude has '*': no tool is counted, so nothing here has an effect."
    caps = {key: ceil(cap) for key, cap in config.limits.items() if cap is not None}
    if not caps:
        yield "Every limit is off: nothing is counted, neither repeats nor failures."
        return
    most = config.window + 1
    seen = f"at most {most} calls are counted together, the window's {config.window} and the present one"
    for key, cap in caps.items():
        if cap > most:
            yield f"limits.{printable(key)} ({cap}) is never reached: {seen}."
    highest = min(max(caps.values()), most + 1)
    for name, stage in (("warnAt", config.warn_at), ("summarizeAt", config.summarize_at)):
        if stage is not None and stage > most:
            yield f"{name} ({stage}) is never reached: {seen}."
        elif stage is not None and stage >= highest:
            yield f"{name} ({stage}) never speaks: no limit is above it, so the gate comes first."
    if config.warn_at is not None and config.warn_at == config.summarize_at:
        yield f"warnAt never speaks: summarizeAt is {config.summarize_at} too, and the stronger stage wins."
    if config.fail_warn_at is not None and config.fail_limit is not None and config.fail_warn_at > config.fail_limit:
        yield (
            f"failWarnAt ({config.fail_warn_at}) never speaks unless calls run side by side: "
            f"failLimit ({config.fail_limit:g}) is below it, so the gate comes first."
        )


def loosened(before: Config, after: Config) -> tuple[str, ...]:
    """How the second configuration guards less than the first: a line each, for a person, printable.

    Where a change may work either way (an alias folds two hosts, or makes a public one local) it is listed.
    """
    return tuple(_loosened(before, after))


def _loosened(before: Config, after: Config) -> Iterator[str]:
    if after.window < before.window:
        yield f"window: {before.window} to {after.window}"
    for name, was, now in (
        ("onLimit", before.on_limit == "deny", after.on_limit == "deny"),
        ("localHosts", before.local_hosts == "deny", after.local_hosts == "deny"),
        ("includeLocal", before.include_local, after.include_local),
    ):
        if was and not now:
            yield f"{name}: no longer {'true' if name == 'includeLocal' else 'deny'}"
    for name, stage, new_stage in (
        ("warnAt", before.warn_at, after.warn_at),
        ("summarizeAt", before.summarize_at, after.summarize_at),
        ("failWarnAt", before.fail_warn_at, after.fail_warn_at),
        ("failLimit", before.fail_limit, after.fail_limit),
    ):
        if _or_never(new_stage) > _or_never(stage):
            yield f"{name}: {_shown(stage)} to {_shown(new_stage)}"
    yield from _loosened_limits(before.limits, after.limits)
    yield from _loosened_tools(before, after)
    for host in sorted(before.host_aliases.keys() | after.host_aliases.keys()):
        if before.host_aliases.get(host) != after.host_aliases.get(host):
            target = after.host_aliases.get(host)
            yield f"hostAliases.{printable(host)}: {'gone' if target is None else 'now ' + printable(target)}"


def _loosened_limits(before: Mapping[str, Limit], after: Mapping[str, Limit]) -> Iterator[str]:
    for key in sorted(before.keys() | after.keys()):
        was, now = (limits.get(key, limits.get(key.partition(":")[0])) for limits in (before, after))
        if _or_never(now) > _or_never(was):
            yield f"limits.{printable(key)}: {_shown(was)} to {_shown(now)}"


def _loosened_tools(before: Config, after: Config) -> Iterator[str]:
    for tool in sorted(set(after.exclude) - set(before.exclude)):
        yield f"exclude: now has {printable(tool)}"
    if after.include and not before.include:
        yield "include: only listed tools are counted"
    elif after.include:
        for tool in sorted(set(before.include) - set(after.include)):
            yield f"include: no longer has {printable(tool)}"
    for tool in sorted(set(before.shell_tools) - set(after.shell_tools)):
        yield f"shellTools: no longer has {printable(tool)}"
    for tool in sorted(before.ignore_args):
        for argument in sorted(set(before.ignore_args[tool]) - set(after.ignore_args.get(tool, ()))):
            yield f"ignoreArgs.{printable(tool)}: no longer has {printable(argument)}"


def _or_never(threshold: Limit) -> float:
    return inf if threshold is None else threshold


def _shown(threshold: Limit) -> str:
    return "off" if threshold is None else f"{threshold:g}"

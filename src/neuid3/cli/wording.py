"""Translation of library messages for the command line: options in place of Python parameters."""

from __future__ import annotations

import re
from ast import literal_eval

import click

from neuid3.cli.fit import fit
from neuid3.training.config import TRAINING_RULES

OPTIONS = {str(p.name): p.opts[0] for p in fit.params if isinstance(p, click.Option)}

# What is given as NAME=VALUE to one of two options: fields of the training, and parameters that have no option.
SETTINGS = {name: "--training" for name in TRAINING_RULES if name not in OPTIONS}
SETTINGS |= dict.fromkeys(("min_mass", "min_gain", "criterion", "interaction_cst"), "--parameter")

_NAME = "|".join(OPTIONS)
_SETTING = "|".join(SETTINGS)
_COMPOUND = "|".join(name for name in OPTIONS if "_" in name)

_PARAMETER = re.compile(
    r"(?P<quoted>(?<!\w)'[^']*'|\"[^\"]*\")"  # quoted text is the user's, and unchanged
    r"|\bLimits\((?P<limit>\w+)=…\)"
    rf"|\bTrainingConfig\((?P<switch>{_NAME})=True\)"
    r"|\btypes=\{(?P<column>[^{}]+): '(?P<kind>\w+)'\}"
    rf"|\b(?P<list>{_NAME})=\[(?P<item>'[^']*'|\"[^\"]*\")\]"
    rf"|\b(?P<flag>{_NAME})=True\b"
    rf"|\b(?P<name>{_NAME})=(?P<value>'[^']*'|[\w.+-]*\w)"
    rf"|\b(?P<setting>(?P<set>{_SETTING})=(?:'[^']*'|[\w.+-]*\w))"
    rf"|`(?P<mentioned>{_NAME})`"
    rf"|\b(?P<bare>{_COMPOUND})\b"
)


def for_command_line(message: str) -> str:
    """A message of the library with command-line options in place of parameters.

    >>> for_command_line("a lower `pruning` asks less of it; or try TrainingConfig(shared=True).")
    'a lower `--pruning` asks less of it; or try --read-together.'
    >>> for_command_line("more than max_candidates=1000, as in modes=['higher(+a, +b)'] of 'max_depth'")
    "more than --max-candidates 1000, as in --mode 'higher(+a, +b)' of 'max_depth'"
    >>> for_command_line("reuse=False forbids it; give min_mass=4")
    '--training reuse=False forbids it; give --parameter min_mass=4'
    """
    return _PARAMETER.sub(_as_option, message)


def _as_option(match: re.Match[str]) -> str:
    part = match.groupdict()
    if part["limit"]:
        return f"--limit {part['limit']}=NUMBER"
    if part["column"]:
        return f"{OPTIONS['types']} {literal_eval(part['column'])}={part['kind']}"
    if part["list"]:
        return f"{OPTIONS[part['list']]} {part['item']}"
    if part["flag"] or part["switch"]:
        return OPTIONS[part["flag"] or part["switch"]]
    if part["name"]:
        return f"{OPTIONS[part['name']]} {part['value']}"
    if part["setting"]:
        return f"{SETTINGS[part['set']]} {part['setting']}"
    if part["mentioned"]:
        return f"`{OPTIONS[part['mentioned']]}`"
    if part["bare"]:
        return OPTIONS[part["bare"]]
    return match.group()

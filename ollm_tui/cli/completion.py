"""`ollm completion SHELL`: a script that completes commands, options and their fixed values."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from ollm_tui.cli.arguments import Arguments
from ollm_tui.cli.command_tree import Argument, CommandNode, command_tree
from ollm_tui.cli.output import OK, Output

PROGRAMS: Final = ("ollm", "ollm-tui")


def run_completion(arguments: Arguments, output: Output) -> int:
    """Print the script of one shell."""
    output.line(_SCRIPTS[arguments.shell](command_tree()).rstrip())
    return OK


def completion_files() -> Mapping[str, str]:
    """Return the script of each shell by the name under which the shell looks for it."""
    names = {"bash": "ollm", "zsh": "_ollm", "fish": "ollm.fish"}
    root = command_tree()
    return {f"{shell}/{name}": _SCRIPTS[shell](root) for shell, name in names.items()}


def bash_script(root: CommandNode) -> str:
    """Return a script for bash 3.2 or later; it needs nothing of the package bash-completion."""
    return f"""\
# Completion of ollm for bash: source <(ollm completion bash)
_ollm() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
    local path=ollm word_before i
    for ((i = 1; i < COMP_CWORD; i++)); do
        word_before=${{COMP_WORDS[i-1]}}
        case $word_before in {_bars(_taking_value(root))}) continue;; esac
        case "$path ${{COMP_WORDS[i]}}" in
{_bash_paths(root)}
        esac
    done
    COMPREPLY=()
    case "$path $before" in
{_bash_values(root)}
    esac
    local words=
    case $path in
{_bash_words(root)}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _ollm {" ".join(PROGRAMS)}
"""


def zsh_script(root: CommandNode) -> str:
    """Return a script for zsh: as a file `_ollm` in `$fpath`, or sourced after `compinit`."""
    functions = "\n".join(map(_zsh_function, root.walk()))
    return f"""\
#compdef {" ".join(PROGRAMS)}
# Completion of ollm for zsh: source <(ollm completion zsh)
{functions}
if [ "$funcstack[1]" = "_ollm" ]; then
    _ollm "$@"
else
    compdef _ollm {" ".join(PROGRAMS)}
fi
"""


def fish_script(root: CommandNode) -> str:
    """Return a script for fish."""
    lines = ["# Completion of ollm for fish: ollm completion fish | source"]
    for program in PROGRAMS:
        # Names are not completed as files; options of files are marked.
        lines.append(f"complete -c {program} -f")
        for node in root.walk():
            lines.extend(_fish_lines(program, node))
    return "\n".join(lines)


def _taking_value(root: CommandNode) -> list[str]:
    options = (one for node in root.walk() for one in node.options if one.metavar)
    return sorted({name for one in options for name in one.names})


def _names(node: CommandNode) -> tuple[str, ...]:
    return (node.name, *node.aliases)


def _words(node: CommandNode) -> list[str]:
    commands = [name for command in node.commands for name in _names(command)]
    options = [name for option in node.options for name in option.names]
    return [*commands, *(word for value in node.values for word in value.choices), *options]


def _bars(words: Iterable[str]) -> str:
    return "|".join(words)


def _bash_paths(root: CommandNode) -> str:
    lines = []
    for node in root.walk():
        for command in node.commands:
            before = " ".join(node.path)
            forms = _bars(f'"{before} {name}"' for name in _names(command))
            lines.append(f'            {forms}) path="{" ".join(command.path)}";;')
    return "\n".join(lines)


def _bash_values(root: CommandNode) -> str:
    lines = []
    for node in root.walk():
        for option in node.options:
            if not option.metavar:
                continue
            forms = _bars(f'"{" ".join(node.path)} {name}"' for name in option.names)
            words = " ".join(option.choices)
            give = f'COMPREPLY=($(compgen -W "{words}" -- "$word")); ' if words else ""
            lines.append(f"        {forms}) {give}return;;")
    return "\n".join(lines)


def _bash_words(root: CommandNode) -> str:
    return "\n".join(
        f'        "{" ".join(node.path)}") words="{" ".join(_words(node))}";;'
        for node in root.walk()
    )


def _zsh_function(node: CommandNode) -> str:
    lines = [f"    {_zsh_option(option)} \\" for option in node.options]
    ends = "    '*:: :->rest'" if node.commands else f"    {_zsh_values(node)}"
    name = "_".join(("", *node.path))
    state = '  local curcontext="$curcontext" state line'
    body = "\n".join([state, "  typeset -A opt_args", "  _arguments -C \\", *lines, ends])
    if not node.commands:
        return f"{name}() {{\n{body}\n}}"
    described = "\n".join(
        f"      {_quoted(f'{name}:{command.help}')}"
        for command in node.commands
        for name in _names(command)
    )
    calls = "\n".join(
        f"      {_bars(_names(command))}) {'_'.join(('', *command.path))};;"
        for command in node.commands
    )
    return f"""\
{name}() {{
{body}
  if [[ $state == rest ]]; then
    if ((CURRENT == 1)); then
      local -a commands=(
{described}
      )
      _describe command commands
      return
    fi
    case $words[1] in
{calls}
    esac
  fi
}}"""


def _zsh_option(option: Argument) -> str:
    text = re.sub(r"([\[\]:])", r"\\\1", option.help)
    names = f"({' '.join(option.names)})" if len(option.names) > 1 else ""
    spelled = f"{{{','.join(option.names)}}}" if len(option.names) > 1 else option.names[0]
    value = f":{option.metavar}:{_zsh_action(option)}" if option.metavar else ""
    return f"{_quoted(names) if names else ''}{spelled}{_quoted(f'[{text}]{value}')}"


def _zsh_action(argument: Argument) -> str:
    if argument.choices:
        return f"({' '.join(argument.choices)})"
    return "_files" if argument.is_file else " "


def _zsh_values(node: CommandNode) -> str:
    forms = [
        f"{'*' if value.is_repeated else number}:{value.metavar}:{_zsh_action(value)}"
        for number, value in enumerate(node.values, 1)
    ]
    return " ".join(map(_quoted, forms))


def _fish_lines(program: str, node: CommandNode) -> Iterable[str]:
    begin = f"complete -c {program}"
    below = node.path[1:]
    conditions = [f"__fish_seen_subcommand_from {word}" for word in below]
    inner = [name for command in node.commands for name in _names(command)]
    if inner:
        conditions.append(f"not __fish_seen_subcommand_from {' '.join(inner)}")
    when = f" -n {_quoted('; and '.join(conditions))}" if conditions else ""
    for command in node.commands:
        for name in _names(command):
            yield f"{begin} -f{when} -a {name} -d {_quoted(command.help)}"
    for value in node.values:
        if value.choices:
            yield f"{begin} -f{when} -a {_quoted(' '.join(value.choices))}"
        elif value.is_file:
            yield f"{begin} -F{when}"
    for option in node.options:
        spelled = " ".join(
            f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
        )
        takes = (" -r -F" if option.is_file else " -x") if option.metavar else ""
        words = f" -a {_quoted(' '.join(option.choices))}" if option.choices else ""
        yield f"{begin}{when} {spelled}{takes}{words} -d {_quoted(option.help)}"


def _quoted(text: str) -> str:
    """Quote for a shell: no word of it is expanded."""
    return "'" + text.replace("'", "'\\''") + "'"


_SCRIPTS: Final[Mapping[str, Callable[[CommandNode], str]]] = {
    "bash": bash_script,
    "zsh": zsh_script,
    "fish": fish_script,
}

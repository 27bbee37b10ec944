"""`pellucid completion`: complete commands and options in a shell."""

from __future__ import annotations

import click


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the script that completes commands, options and files of pellucid in SHELL.

    \b
    Examples:
      echo 'eval "$(pellucid completion bash)"' >> ~/.bashrc
      echo 'eval "$(pellucid completion zsh)"' >> ~/.zshrc
      pellucid completion fish > ~/.config/fish/completions/pellucid.fish
    """
    from click.shell_completion import get_completion_class

    from pellucid.cli import group

    found = get_completion_class(shell)
    assert found is not None  # click knows these three
    completer = found(group, {}, "pellucid", "_PELLUCID_COMPLETE")
    click.echo(completer.source_template % completer.source_vars())

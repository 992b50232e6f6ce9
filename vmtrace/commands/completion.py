"""`vmtrace completion`: the lines that make a shell complete `vmtrace`. What it then answers: `vmtrace.completion`."""

import argparse

_SHELLS = ("bash", "zsh", "fish", "tcsh")
_EXAMPLES = """examples:
  eval "$(vmtrace completion bash)"                        now; or as a line of ~/.bashrc
  vmtrace completion zsh >> ~/.zshrc
  vmtrace completion fish > ~/.config/fish/completions/vmtrace.fish
"""


def build_parser() -> argparse.ArgumentParser:
    """Its one argument."""
    parser = argparse.ArgumentParser(
        prog="vmtrace completion",
        description="Print what makes a shell complete subcommands, options, profiles, plans and providers.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=_SHELLS, help="shell to complete commands for")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Print the lines for this shell; returns the exit status."""
    from argcomplete.shell_integration import shellcode

    print(shellcode(["vmtrace"], shell=arguments.shell))
    return 0

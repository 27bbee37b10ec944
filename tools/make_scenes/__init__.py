"""Writes and embeds the scene descriptions that ship with Pellucid; see the README beside this file."""

"""What `compare` says, in words.toml, Japanese and English side by side."""

from pathlib import Path

from simulator.core.templates import Texts

WORDS = Texts(Path(__file__).with_name("words.toml"))

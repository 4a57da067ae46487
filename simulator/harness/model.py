"""Any bot as a model of lm_eval: `--model rehearsal --model_args adapter=openai_chat,url=...,model=...`."""

import atexit
from collections.abc import Mapping
from typing import Any

from lm_eval import models
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model

from simulator.core.settings import Settings, load
from simulator.harness.asking import Asking
from simulator.harness.documents import as_chat
from simulator.harness.session import begin

# Named here so that they are registered before ours, which would else be the only one.
ITS_OWN = models.MODEL_MAPPING
# What lm_eval tells every model, and what is of no use to a bot.
_NOT_OURS = ("batch_size", "max_batch_size", "device", "trust_remote_code")


@register_model("rehearsal")
class RehearsalLM(LM):  # type: ignore[misc]
    """The bot under rehearsal; its likelihoods are those of its endpoint, where that tells any."""

    def __init__(self, asking: Asking | None = None, **model_args: Any) -> None:
        """lm_eval's command line gives `model_args`: settings of a rehearsal, and else of the adapter."""
        super().__init__()
        if asking is None:
            session = begin(settings_of(model_args))
            atexit.register(session.close)
            asking = Asking(session)
        self.asking = asking

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        """What the bot says to each request."""
        return self.asking.generate(requests)

    def loglikelihood(self, requests: list[Any], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        """How likely each continuation is after its context, and whether it is the likeliest."""
        return self.asking.likelihoods(requests)

    def loglikelihood_rolling(self, requests: list[Any], disable_tqdm: bool = False) -> list[float]:
        """How likely each whole text is."""
        return self.asking.rolling(requests)

    def apply_chat_template(
        self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True
    ) -> str:
        """A chat stays one: the bot is sent its messages."""
        return as_chat(chat_history)

    @property
    def tokenizer_name(self) -> str:
        """Whoever makes tokens of texts, it is not us."""
        return "rehearsal"


def settings_of(model_args: Mapping[str, Any]) -> Settings:
    """The settings that lm_eval's `--model_args` stand for, over environment and rehearsal.toml."""
    given = {key: _text(value) for key, value in model_args.items() if key not in _NOT_OURS}
    flags: dict[str, Any] = {key: value for key, value in given.items() if key in Settings.model_fields}
    own = [f"{key}={value}" for key, value in given.items() if key not in Settings.model_fields]
    return load(flags | ({"set": own} if own else {}))


def _text(value: Any) -> str:
    """As it was written: lm_eval makes booleans and numbers of texts."""
    return str(value).lower() if isinstance(value, bool) else "none" if value is None else str(value)

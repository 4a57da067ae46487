"""Amounts of money as people write them, and the prices of models as a team writes them down."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
)

from simulator.errors import InputError

# Yen for a dollar where nobody says otherwise (--jpy-per-usd): a round figure, not today's rate.
JPY_PER_USD = 150.0
PER = 1_000_000
_AMOUNT = re.compile(r"([$¥]?)(\d+(?:\.\d*)?|\.\d+)(usd|jpy|円|ドル)?")
_WRITTEN = str.maketrans("０１２３４５６７８９．，＄￥", "0123456789.,$¥")
_YEN, _DOLLARS = ("¥", "jpy", "円"), ("$", "usd", "ドル")


class Price(BaseModel):
    """What a model costs: per million tokens, in dollars or yen. 0 is a price, too: it costs nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    input: float = Field(ge=0)
    output: float = Field(0.0, ge=0)
    currency: Literal["USD", "JPY"] = "USD"

    def rates(self, jpy_per_usd: float) -> tuple[float, float]:
        """Dollars per input and per output token."""
        over = PER * (jpy_per_usd if self.currency == "JPY" else 1.0)
        return self.input / over, self.output / over


_PRICES: TypeAdapter[dict[str, Price]] = TypeAdapter(dict[str, Price])


def read_amount(value: Any, given: ValidationInfo) -> Any:
    """Dollars from 5, "5USD", "$5", "800JPY", "800円" or "¥800"; raises ValueError for what is no amount."""
    if not isinstance(value, str):
        return value
    jpy_per_usd = given.data.get("jpy_per_usd", JPY_PER_USD)
    text = "".join(value.translate(_WRITTEN).replace(",", "").split()).lower()
    found = _AMOUNT.fullmatch(text)
    if not found or (found[1] and found[3] and (found[1] in _YEN) != (found[3] in _YEN)):
        msg = "is no amount such as 5, 5USD, 800JPY or 800円"
        raise ValueError(msg)
    number = float(found[2])
    return number / jpy_per_usd if found[1] in _YEN or found[3] in _YEN else number


# A setting that is an amount of money: in dollars from here on, whichever currency it was written in.
Amount = Annotated[float, Field(gt=0), BeforeValidator(read_amount)]


def read_prices(value: Any) -> Any:
    """A table of prices by model: the table itself, or the TOML file that has it, alone or as [prices]."""
    if not isinstance(value, str):
        return value
    try:
        table = tomllib.loads(Path(value).read_text(encoding="utf-8-sig"))
    except OSError as error:
        msg = f"cannot be read ({error.strerror})"
        raise ValueError(msg) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"is no valid TOML ({error})"
        raise ValueError(msg) from None
    return table.get("prices", table)


def merged_prices(name: str, *layers: Mapping[str, Any]) -> dict[str, Price]:
    """The prices of all layers; later layers go first. `name` is what the setting is called for a mistake."""
    merged: dict[str, Price] = {}
    for given in (layer["prices"] for layer in layers if "prices" in layer):
        try:
            merged |= _PRICES.validate_python(read_prices(given))
        except ValidationError as error:
            first = error.errors()[0]
            place = " ".join(map(str, first["loc"]))
            msg = f"{name} {place}: {first['msg']}; write {_EXAMPLE}"
            raise InputError(msg) from None
        except ValueError as error:
            msg = f"{name} {given}: {error}."
            raise InputError(msg) from None
    return merged


_EXAMPLE = '[prices."my-model"] input = 0.4, output = 1.6, currency = "USD" (or "JPY"; per million tokens).'


def dollars(amount: float) -> str:
    """`5.00`, and small amounts with the digits they need: `0.0031`, `<0.0001`."""
    if 0 < amount < 0.0001:
        return "<0.0001"
    return f"{amount:.2f}" if amount == 0 or amount >= 0.1 else f"{amount:.4f}"


def unpriced(role: str, model: str) -> str:
    """One line on a model whose price nobody knows, and how to give it."""
    return (
        f"--budget needs the price of {model} ({role}), which is in no table. Give it in rehearsal.toml or a"
        f' --prices file: [prices."{model}"] input = ..., output = ... (USD per million tokens; 0 if free).'
    )

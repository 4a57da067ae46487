"""What only a single-turn data set is told: its prompt, its outputs, its sample."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from simulator.notation import read_sample
from simulator.types import PASSED


class RowSettings(BaseModel):
    """The part of the settings that `evaluate` adds; a dialogue leaves all of it at its default."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    protocol: Literal["dialogue", "single_turn"] = Field(
        "dialogue", description="Whether customers talk, or each row is asked once."
    )
    prompt: str | None = Field(
        None, description="What is sent for each row: a prompt's name, NAME:VARIANT, or your own file.toml."
    )
    outputs: str | None = Field(
        None, description="Judges and thresholds per output of a JSON answer (metric_output_info.json, TOML)."
    )
    sample: str | None = Field(None, description="Only N rows by lot: N, or N:SEED (seed 0 unless given).")
    strict: bool = Field(False, description="Stop at the first wrong row instead of leaving it out.")
    shots: Annotated[int, Field(ge=0, le=100)] | None = Field(
        None, description="Examples shown before each row, instead of the prompt's own number."
    )
    choosing: Literal["auto", "likelihood", "generation"] = Field(
        "auto",
        description="How a label is chosen: by its log-likelihood where the endpoint tells, or written.",
    )
    labels: dict[str, tuple[str, ...]] = Field(
        {}, description="All labels there are, separated by commas. Default: the prompt's, else the data's."
    )
    positive: str | None = Field(
        None, description="Of two labels the one that F1 is about. Default: 1, yes, ..., else the rarer one."
    )
    scoring: Literal["contest"] | None = Field(
        None, description="contest: five metrics from 1 to 5 and their total, as RAG contests print them."
    )

    @field_validator("labels", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        """Names, as a flag gives them, stand for themselves; a run also knows what stands for each."""
        names = value.split(",") if isinstance(value, str) else value
        if not isinstance(names, (list, tuple)):
            return names
        listed = (label.strip() for name in names for label in str(name).split(","))
        return {label: (label,) for label in listed if label}

    @model_validator(mode="before")
    @classmethod
    def _deciding(cls, values: Any) -> Any:
        """Where outputs have judges of their own, all having passed counts; others grade the whole answer."""
        named = values.get("judges", ()) if isinstance(values, dict) and values.get("outputs") else None
        if isinstance(named, str):
            named = named.split(",")
        if not isinstance(named, (list, tuple)):
            return values
        return {**values, "judges": [PASSED, *(name for name in named if name != PASSED)]}

    @field_validator("sample", mode="before")
    @classmethod
    def _drawn(cls, value: Any) -> str | None:
        return None if value is None else read_sample(str(value)).text

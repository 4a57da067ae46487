"""What only a single-turn data set is told: its prompt, its outputs, its sample."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from simulator.notation import read_sample


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
    scoring: Literal["contest"] | None = Field(
        None, description="contest: five metrics from 1 to 5 and their total, as RAG contests print them."
    )

    @field_validator("sample", mode="before")
    @classmethod
    def _drawn(cls, value: Any) -> str | None:
        return None if value is None else read_sample(str(value)).text

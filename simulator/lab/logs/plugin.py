"""The room of logs that fewer desks have: tracing tools, chat platforms, helpdesks."""

from simulator.cases.formats import Format, of_each
from simulator.lab.logs import chats, openai, traces
from simulator.plugins import Plugin

FORMATS = (
    Format("Dify", "query answer conversation_id|message_id rating", of_each(chats.dify)),
    Format("Intercom", "conversation_parts|type source created_at state", of_each(chats.intercom)),
    Format("LangSmith", traces.is_langsmith, of_each(traces.langsmith)),
    Format(
        "LINE", "events destination|webhookEventId|source replyToken type", chats.line,
        gap=1800, one_sided=True,
    ),
    Format("OpenTelemetry (OTLP)", traces.is_otlp, of_each(traces.otlp)),
    Format("Phoenix / OpenInference", traces.is_phoenix, of_each(traces.phoenix)),
    Format("Salesforce", chats.is_salesforce, chats.salesforce),
    Format("Zendesk", chats.is_zendesk, chats.zendesk),
    Format("OpenAI threads and responses", openai.is_piece, openai.pieces),
)  # fmt: skip

PLUGIN = Plugin(name="logs", readers=FORMATS)

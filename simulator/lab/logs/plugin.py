"""The room of logs that fewer desks have: tracing tools, chat platforms, helpdesks."""

from simulator.cases.formats import Format, of_each
from simulator.lab.logs import chats, openai, traces
from simulator.plugins import Plugin

FORMATS = (
    Format(
        "Amazon Connect", "Transcript Participants|Transcript Channel|Transcript ContactId|Segments",
        of_each(chats.CONNECT.parts),
    ),
    Format("Amazon Lex", "inputTranscript", of_each(chats.lex)),
    Format("Bot Framework", chats.is_botframework, of_each(chats.BOTFRAMEWORK.parts)),
    Format("Botpress", "direction payload", of_each(chats.BOTPRESS.parts)),
    Format("Dify", "query answer conversation_id|message_id rating", of_each(chats.dify)),
    Format(
        "Freshdesk", "incoming private|ticket_id ratings|helpdesk_ticket|description_text",
        of_each(chats.freshdesk),
    ),
    Format("Intercom", "conversation_parts|type source created_at state", of_each(chats.INTERCOM.parts)),
    Format("LangSmith", traces.is_langsmith, of_each(traces.langsmith)),
    Format(
        "LINE", "events destination|webhookEventId|source replyToken type", chats.line,
        gap=1800, one_sided=True,
    ),
    Format(
        "MLflow", "info data|trace_info|trace_metadata request_time|trace_metadata spans"
        "|request_metadata spans|request_metadata timestamp_ms", of_each(traces.mlflow),
    ),
    Format("OpenTelemetry (OTLP)", traces.is_otlp, of_each(traces.otlp)),
    Format("Phoenix / OpenInference", traces.is_phoenix, of_each(traces.phoenix)),
    Format(
        "Rasa", "sender_id events|sender_id event|sender_id type_name", of_each(chats.rasa), one_sided=True
    ),
    Format("Salesforce", chats.is_salesforce, chats.salesforce),
    Format("Zendesk", chats.is_zendesk, chats.zendesk),
    Format("OpenAI threads and responses", openai.is_piece, openai.pieces),
)  # fmt: skip

PLUGIN = Plugin(name="logs", readers=FORMATS)

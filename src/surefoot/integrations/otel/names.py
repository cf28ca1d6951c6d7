"""The names of spans, attributes and metrics. All are in one place, because the conventions still change.

`gen_ai.*` and `error.*` are from the OpenTelemetry semantic conventions in the version `SEMCONV`, the last one with the
conventions for generative AI. `surefoot.*` are our own. docs/guides/telemetry.md lists them.
"""

from typing import Final

SEMCONV: Final = "1.41.1"
SCHEMA_URL: Final = f"https://opentelemetry.io/schemas/{SEMCONV}"
SCOPE: Final = "surefoot"
AGENT: Final = "surefoot"

# -- the conventions -----------------------------------------------------------------------------------------------

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
AGENT_NAME: Final = "gen_ai.agent.name"
AGENT_VERSION: Final = "gen_ai.agent.version"
CONVERSATION: Final = "gen_ai.conversation.id"
MODEL: Final = "gen_ai.request.model"
TEMPERATURE: Final = "gen_ai.request.temperature"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHED_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
TOKEN_TYPE: Final = "gen_ai.token.type"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
TOOL_CALL: Final = "gen_ai.tool.call.id"
ERROR_TYPE: Final = "error.type"

INVOKE_AGENT: Final = "invoke_agent"
CHAT: Final = "chat"
EXECUTE_TOOL: Final = "execute_tool"

OPERATION_DURATION: Final = "gen_ai.client.operation.duration"
TOKEN_USAGE: Final = "gen_ai.client.token.usage"

# With content only:
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_RESULT: Final = "gen_ai.tool.call.result"

# -- our own -------------------------------------------------------------------------------------------------------

RUN: Final = "surefoot.run.id"
RESUMED: Final = "surefoot.run.resumed"
BASED_ON: Final = "surefoot.run.based_on"
ISOLATION: Final = "surefoot.run.isolation"
VERDICT: Final = "surefoot.run.verdict"
PROOF: Final = "surefoot.run.proof"
COST: Final = "surefoot.cost_usd"
PHASE: Final = "surefoot.phase"
STEP: Final = "surefoot.step.id"
STEP_ATTEMPT: Final = "surefoot.step.attempt"
STEP_KIND: Final = "surefoot.step.kind"
STEP_STATUS: Final = "surefoot.step.status"
RUNG: Final = "surefoot.rung"
CATEGORY: Final = "surefoot.error.category"
PURPOSE: Final = "surefoot.model.purpose"
READABLE: Final = "surefoot.model.answer_readable"
EXTERNAL: Final = "surefoot.action.external"
ATTEMPT: Final = "surefoot.attempt"
OF: Final = "surefoot.attempt.of"
WAIT: Final = "surefoot.wait_seconds"
CONFIDENCE: Final = "surefoot.gate.confidence"
WHEN: Final = "surefoot.checks.when"
PASSED: Final = "surefoot.checks.passed"
FAILED: Final = "surefoot.checks.failed"
QUESTION: Final = "surefoot.question.kind"
COMMAND: Final = "surefoot.control"
LINK: Final = "surefoot.link"

# With content only:
TASK: Final = "surefoot.task"
STEP_NAME: Final = "surefoot.step.name"
MESSAGE: Final = "surefoot.message"

# Span events:
MODEL_RETRIED: Final = "surefoot.model.retry"
GATE_REFUSED: Final = "surefoot.gate.refused"
CHECKS: Final = "surefoot.checks"
RUNG_CHOSEN: Final = "surefoot.rung.chosen"
REFLECTED: Final = "surefoot.reflected"
ROLLED_BACK: Final = "surefoot.rolled_back"
REFUSED: Final = "surefoot.action.refused"
LOOKED: Final = "surefoot.looked"
CANDIDATE: Final = "surefoot.candidate"
PLAN_REVISED: Final = "surefoot.plan.revised"
ASKED: Final = "surefoot.question.asked"
ANSWERED: Final = "surefoot.question.answered"
CONTROLLED: Final = "surefoot.control.received"
WARNED: Final = "surefoot.warning"

# Metrics:
RUN_DURATION: Final = "surefoot.run.duration"
PHASE_DURATION: Final = "surefoot.phase.duration"
STEP_DURATION: Final = "surefoot.step.duration"
ACTION_DURATION: Final = "surefoot.action.duration"
RUNGS: Final = "surefoot.rungs"
MODEL_RETRIES: Final = "surefoot.model.retries"

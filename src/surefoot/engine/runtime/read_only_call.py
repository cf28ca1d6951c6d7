"""Read-only tool calls outside of a step, with which the model looks around before it plans."""

from collections.abc import Mapping
from typing import Any

from surefoot.core.policy.rules import rule_on
from surefoot.engine.runtime.recorder import Recorder
from surefoot.errors import ToolError
from surefoot.tools.context import ToolContext
from surefoot.tools.fs.paths import resolved_arguments
from surefoot.tools.invoke import call
from surefoot.tools.registry import Toolbox


async def call_read_only(
    recorder: Recorder, toolbox: Toolbox, context: ToolContext, name: str, arguments: Mapping[str, Any]
) -> tuple[bool, str]:
    """Call a tool that only reads. Returns whether it worked, and the text for the model."""
    config = recorder.state.config
    try:
        tool = toolbox.get(name)
        if not tool.is_read_only:
            return False, f"{name} may change something: first submit the plan with submit_plan."
        allowed = (*config.allow, *recorder.state.allowed)
        resolved = resolved_arguments(context.root, arguments, ("path",))
        ruling = rule_on("read", name, arguments, config.approve, allowed, config.deny, resolved=resolved)
        if ruling != "allow":
            return False, "the user's rules do not allow this"
        if tool.consent is not None and (changed := await tool.consent.question()):
            return False, f"it can be used in a step, where the user is asked: {changed}"
        result = await call(tool, context, dict(arguments))
    except ToolError as error:
        return False, f"{error}" + (f"\n{error.remedy}" if error.remedy else "")
    return result.ok, result.summary

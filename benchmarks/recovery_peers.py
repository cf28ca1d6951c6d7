"""Two other agents for the scenarios of the fault library: a plain ReAct loop, and LangGraph's plan-and-execute.

They get the same tools, plan and model as Surefoot; the model reacts only to its prompt. Both are built as their
documentation shows. Where that leaves a choice, the one that helps them is taken: a tool error goes to the model with
its whole message instead of ending the run; a request to a server that is down is retried twice, as the providers' own
clients do; LangGraph's node for a step has a retry policy in addition; and the task names the check that has to pass.
"""

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faults.scenario import CALLS_AT_MOST, Call, Done, Down, Scenario

MAX_RETRIES = 2
"""The default of the OpenAI and Anthropic clients."""


@dataclass
class Ended:
    claims_success: bool
    why: str
    calls: int
    tokens: int


class OutOfCalls(Exception):
    pass


@dataclass
class Model:
    """The scenario's model behind a client that retries when the server is down."""

    scenario: Scenario
    calls: int = 0
    tokens: int = 0

    def ask(self, prompt: str) -> str | Call | Done:
        for attempt in range(MAX_RETRIES + 1):
            self.calls += 1
            if self.calls > CALLS_AT_MOST:
                raise OutOfCalls(f"more than {CALLS_AT_MOST} calls")
            try:
                interference = self.scenario.interfere(prompt)
            except Down:
                if attempt == MAX_RETRIES:
                    raise
                continue
            answer = self.scenario.next(prompt) if interference is None else interference
            self.tokens += len(prompt) // 4 + 1 + len(str(answer)) // 4 + 1
            return answer
        raise AssertionError("unreachable")


def tools_of(scenario: Scenario) -> dict[str, Callable[..., Any]]:
    """Return the scenario's own tools and the three that every coding agent has."""

    def run_command(command: str) -> str:
        """Run a shell command in the workspace."""
        process = subprocess.run(
            ["/bin/sh", "-c", command], cwd=scenario.root, capture_output=True, text=True, timeout=60, check=False
        )
        return f"{process.stdout}{process.stderr}exit code {process.returncode}"

    def write_file(path: str, content: str) -> str:
        """Write a file in the workspace."""
        Path(scenario.root, path).write_text(content)
        return f"wrote {path}"

    def read_file(path: str) -> str:
        """Read a file of the workspace."""
        return Path(scenario.root, path).read_text()

    return {function.__name__: function for function in (run_command, write_file, read_file, *scenario.tools())}


def task_of(scenario: Scenario) -> str:
    steps = "\n".join(f"{number}. {_step(step)}" for number, step in enumerate(scenario.plan(), 1))
    check = f"\nIn the end this must pass: {scenario.check}" if scenario.check else ""
    return f"{scenario.task}\n{steps}{check}"


def _step(step: Any) -> str:
    call = f" with {step.tool}({json.dumps(step.parameters)})" if step.tool else ""
    return f"{step.name}: {step.description or step.name}{call}"


def failing_check_output(scenario: Scenario) -> str:
    """Run the user's check. Return its output if it fails, otherwise an empty string."""
    if not scenario.check:
        return ""
    output = str(tools_of(scenario)["run_command"](scenario.check))
    return "" if output.endswith("exit code 0") else output


# -- a plain ReAct loop --------------------------------------------------------------------------------------------


@dataclass
class ReAct:
    """A plain loop of model calls and actions until the model says that it is done.

    With `checked` the user's check then runs, and its output goes back to the model until it passes.
    """

    scenario: Scenario
    checked: bool = False
    transcript: list[str] = field(default_factory=list)

    def run(self, folder: Path) -> Ended:
        model, tools = Model(self.scenario), tools_of(self.scenario)
        self.transcript = [task_of(self.scenario)]
        try:
            while True:
                answer = model.ask("\n".join(self.transcript))
                if isinstance(answer, str):
                    self.transcript.append(f"{answer}\nThis is not a call of a tool and not an end. Answer again.")
                elif isinstance(answer, Call):
                    self.transcript.append(_call_tool(tools, answer))
                elif self.checked and (output := failing_check_output(self.scenario)):
                    self.transcript.append(f"You said you are done, but the check fails: {output}")
                else:
                    return Ended(True, answer.reason, model.calls, model.tokens)
        except (OutOfCalls, Down) as error:
            return Ended(False, str(error), model.calls, model.tokens)


def _call_tool(tools: dict[str, Callable[..., Any]], call: Call) -> str:
    line = f"{call.tool}({json.dumps(call.arguments)})"
    try:
        return f"{line}\n{tools[call.tool](**call.arguments)}"
    except Exception as error:
        return f"{line}\n{type(error).__name__}: {_text(error)}"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(no text)"


# -- LangGraph -----------------------------------------------------------------------------------------------------


@dataclass
class PlanAndExecute:
    """The plan-and-execute graph: a prebuilt ReAct agent does the first step, a replanner returns the rest or ends.

    The state is checkpointed after every node, so a killed process can continue. With `checked` the user's check runs
    at the end; while it fails, its output and the plan go back into the graph.
    """

    scenario: Scenario
    checked: bool = False

    def run(self, folder: Path) -> Ended:
        import sqlite3

        from langgraph.checkpoint.sqlite import SqliteSaver
        from langgraph.errors import GraphRecursionError

        model = Model(self.scenario)
        connection = sqlite3.connect(folder / "checkpoints.sqlite", check_same_thread=False)
        graph = _graph(self.scenario, model, self.checked).compile(checkpointer=SqliteSaver(connection))
        config: Any = {"configurable": {"thread_id": "one"}, "recursion_limit": CALLS_AT_MOST}
        steps = [_step(step) for step in self.scenario.plan()]
        interrupted = graph.get_state(config).next
        initial: Any = None if interrupted else {"input": task_of(self.scenario), "plan": steps, "past_steps": []}
        try:
            final = graph.invoke(initial, config, durability="sync")
            # The prebuilt agent's message at its limit is not a claim of success.
            claims = not final["response"].startswith("Sorry, need more steps")
            return Ended(claims, final["response"], model.calls, model.tokens)
        except (OutOfCalls, Down, GraphRecursionError) as error:
            return Ended(False, str(error), model.calls, model.tokens)
        finally:
            connection.close()


def _graph(scenario: Scenario, model: Model, checked: bool) -> Any:
    import operator
    import warnings
    from typing import Annotated, TypedDict

    from langgraph.graph import END, START, StateGraph
    from langgraph.prebuilt import ToolNode, create_react_agent
    from langgraph.types import RetryPolicy

    class State(TypedDict, total=False):
        input: str
        plan: list[str]
        past_steps: Annotated[list[tuple[str, str]], operator.add]
        response: str

    def tool_error(error: Exception) -> str:
        return f"{type(error).__name__}: {_text(error)}"

    tools = ToolNode(list(tools_of(scenario).values()), handle_tool_errors=tool_error)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the deprecation: it has moved to another package
        agent = create_react_agent(_chat(model), tools)

    def execute(state: State) -> State:
        plan = "\n".join(f"{number}. {step}" for number, step in enumerate(state["plan"], 1))
        done = "\n".join(f"{step} -> {result}" for step, result in state["past_steps"])
        prompt = f"{state['input']}\nDone so far:\n{done}\nThe plan:\n{plan}\n# Step\n{state['plan'][0]}"
        answer = agent.invoke({"messages": [("user", prompt)]}, {"recursion_limit": CALLS_AT_MOST})
        return {"past_steps": [(state["plan"][0], str(answer["messages"][-1].content))]}

    def replan(state: State) -> State:
        rest = state["plan"][1:]
        prompt = f"{state['input']}\n{state['past_steps']}\nWhat is left:\n{rest}\nGive the rest of the plan, or end."
        model.calls += 1
        model.tokens += len(prompt) // 4 + 1
        if rest:
            return {"plan": rest}
        if checked and (output := failing_check_output(scenario)):
            steps = [_step(step) for step in scenario.plan()]
            return {"plan": steps, "past_steps": [("the user's check", f"the check fails: {output}")]}
        return {"response": state["past_steps"][-1][1]}

    graph = StateGraph(State)
    graph.add_node("agent", execute, retry_policy=RetryPolicy(max_attempts=3, retry_on=Down, initial_interval=0.01))
    graph.add_node("replan", replan)
    graph.add_edge(START, "agent")
    graph.add_edge("agent", "replan")
    graph.add_conditional_edges("replan", lambda state: END if state.get("response") else "agent")
    return graph


def _chat(model: Model) -> Any:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Chat(BaseChatModel):
        @property
        def _llm_type(self) -> str:
            return "scenario"

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

        def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
            answer = model.ask("\n".join(_as_text(message) for message in messages))
            return ChatResult(generations=[ChatGeneration(message=_as_message(answer))])

    def _as_text(message: BaseMessage) -> str:
        calls = getattr(message, "tool_calls", [])
        return "\n".join([str(message.content), *(f"{c['name']}({json.dumps(c['args'])})" for c in calls)])

    def _as_message(answer: str | Call | Done) -> AIMessage:
        if isinstance(answer, Call):
            call = {"name": answer.tool, "args": answer.arguments, "id": f"call-{model.calls}"}
            return AIMessage(content="", tool_calls=[call])
        return AIMessage(content=answer if isinstance(answer, str) else answer.reason)

    return Chat()

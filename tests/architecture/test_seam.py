"""Outside `prompting/` and `models/`, nothing asks how large a model is or which strategy drives it.

The engine reads the profile of the strategy, which is plain data, and calls the methods of the strategy and of drafts.
"""

import ast
from pathlib import Path

import pytest

from surefoot.prompting import drafts
from surefoot.prompting.drafts import full, short, verbs

SOURCE = Path(drafts.__file__).parents[2]
MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts): path
    for path in sorted(SOURCE.rglob("*.py"))
    if path.relative_to(SOURCE).parts[0] not in ("prompting", "models")
}
STRATEGIES = tuple(f"surefoot.prompting.{name}" for name in ("small", "json_actions", "conversation"))
SIZES = {"small", "inline_bodies", "is_narrow"}
"""Traits that say how large a model is, whatever they are read from."""
DRAFTS = {
    name
    for module in (short, full, verbs)
    for name, value in vars(module).items()
    if isinstance(value, type) and issubclass(value, short.Draft)
}

ALLOWED = {
    ("engine.loop", "model.traits.model_dump"): "recorded with the run, for replays",
    ("cli.setup.model_test", "model.traits.context_tokens"): "shown to the user",
    (
        "engine.planner.normalize_full",
        "isinstance(draft, FullPlanDraft)",
    ): "the one place that asks for the form of a draft",
    ("engine.planner.normalize_full", "isinstance(draft, FullStepDraft)"): "as above",
    ("engine.planner.normalize_full", "isinstance(draft, FullChangeDraft)"): "as above",
}
"""Where something is asked all the same, and why."""


def asked(source: str) -> list[str]:
    """Return the expressions and imports of a module that depend on the size of a model or on a strategy."""
    questions = (_imports_a_strategy, _reads_traits, _reads_a_name, _tests_a_class)
    return [ast.unparse(node) for node in ast.walk(ast.parse(source)) if any(asks(node) for asks in questions)]


def _imports_a_strategy(node: ast.AST) -> bool:
    match node:
        case ast.Import(names=names):
            found = [alias.name for alias in names]
        case ast.ImportFrom(module=str(module), names=names):
            found = [f"{module}.{alias.name}" for alias in names]
        case _:
            return False
    return any(f"{name}.".startswith(f"{strategy}.") for name in found for strategy in STRATEGIES)


def _reads_traits(node: ast.AST) -> bool:
    """Whether one of a model's traits is read, or all of them under another name."""
    match node:
        case ast.Attribute(value=value, attr=name):
            return name in SIZES or _is_traits(value)
        case ast.Subscript(value=value):
            return _is_traits(value)
        case ast.Call(func=ast.Name(id="getattr"), args=[value, name, *_]):
            return _is_traits(value) or (isinstance(name, ast.Constant) and name.value in SIZES)
        case ast.Assign(targets=[target], value=value) | ast.NamedExpr(target=target, value=value):
            return _is_traits(value) and not _is_traits(target)
        case ast.MatchClass(cls=kind):
            return _is_named(kind, "ModelTraits")
        case ast.keyword(arg="small"):
            return True
    return False


def _reads_a_name(node: ast.AST) -> bool:
    """Whether the name of a profile is read, or the name of a strategy is compared."""
    match node:
        case ast.Attribute(value=value, attr="name"):
            return _is_named(value, "profile")
        case ast.Call(func=ast.Name(id="getattr"), args=[value, ast.Constant(value="name"), *_]):
            return _is_named(value, "profile")
        case ast.Compare(left=left, comparators=others):
            return any(isinstance(part, ast.Call) and _is_named(part.func, "strategy_name") for part in (left, *others))
        case ast.Match(subject=ast.Call(func=func)):
            return _is_named(func, "strategy_name")
    return False


def _tests_a_class(node: ast.AST) -> bool:
    """Whether code depends on the class of a strategy or of a draft."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[value, kinds]):
            return _is_named(value, "strategy") or any(map(_is_class, ast.walk(kinds)))
        case ast.Call(func=ast.Name(id="type"), args=[value]):
            return _is_named(value, "strategy", "draft")
        case ast.Attribute(value=value, attr="__class__"):
            return _is_named(value, "strategy", "draft")
        case ast.MatchClass(cls=kind):
            return _is_class(kind)
    return False


def _is_traits(node: ast.AST) -> bool:
    return _is_named(node, "traits", "model_traits")


def _is_class(node: ast.AST) -> bool:
    return _is_named(node, *DRAFTS, "JsonActions") or _name_of(node).endswith("Strategy")


def _is_named(node: ast.AST, *names: str) -> bool:
    """Whether an expression is one of these names, or an attribute or a private variable with that name."""
    return _name_of(node) in names


def _name_of(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.lstrip("_")
    return ""


def test_only_the_strategy_asks_how_large_a_model_is() -> None:
    found = {(name, question) for name, path in MODULES.items() for question in asked(path.read_text())}
    assert found == set(ALLOWED)


@pytest.mark.parametrize(
    "source",
    [
        "if model.small: ...",
        "if traits.context_tokens < 12_000: ...",
        "if run.model.traits.context_tokens < 12_000: ...",
        "if traits.tools == 'none': ...",
        "if services.model.traits.tools != 'none': ...",
        "if self._traits.continues: ...",
        "if event.model_traits['small']: ...",
        "if event.model_traits.get('small'): ...",
        "t = run.model.traits\nif t.tools == 'none': ...",
        "if (t := run.model.traits).tools == 'none': ...",
        "if getattr(traits, 'small'): ...",
        "if getattr(run.model.traits, name, False): ...",
        "if getattr(anything, 'small', False): ...",
        "if profile.name == 'small': ...",
        "if run.profile.name != 'conversation': ...",
        "if getattr(run.profile, 'name') == 'small': ...",
        "if isinstance(strategy, SmallStrategy): ...",
        "if isinstance(run.strategy, (Other, Another)): ...",
        "if isinstance(anything, small.SmallStrategy | JsonActions): ...",
        "if type(run.strategy) is SmallStrategy: ...",
        "if isinstance(draft, FullPlanDraft): ...",
        "if isinstance(step, (StepDraft, Other)): ...",
        "if isinstance(change, StepDecision | Revision): ...",
        "if type(draft) is PlanDraft: ...",
        "if draft.__class__ is PlanDraft: ...",
        "match draft:\n    case FullPlanDraft(): ...",
        "match draft:\n    case full.FullPlanDraft() | PlanDraft(): ...",
        "match anything:\n    case ModelTraits(small=True): ...",
        "if strategy_name(traits) == 'small': ...",
        "match choose.strategy_name(traits):\n    case 'small': ...",
        "ask(run, small=True)",
        "import surefoot.prompting.small.strategy",
        "from surefoot.prompting import conversation",
        "from surefoot.prompting.small.strategy import SmallStrategy",
        "from surefoot.prompting.json_actions.file_body import ask_for_file",
        "def lazily():\n    from surefoot.prompting.conversation.texts import opening",
    ],
)
def test_every_way_to_ask_is_found(source: str) -> None:
    assert asked(source)


@pytest.mark.parametrize(
    "source",
    [
        "run.profile.max_actions",
        "run.profile.repairs_plans",
        "how_asked(model.traits)",
        "self.traits = traits",
        "AbsentModel(last.model, ModelTraits.model_validate(last.model_traits))",
        "if isinstance(node, ast.Name): ...",
        "draft.one_file_a_step",
        "server.name == 'small'",
        "from surefoot.prompting.drafts.full import FullPlanDraft",
        "from surefoot.prompting.strategy import Strategy",
    ],
)
def test_what_asks_nothing_is_left_alone(source: str) -> None:
    assert asked(source) == []

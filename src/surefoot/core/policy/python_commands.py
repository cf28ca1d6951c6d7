"""Finds the commands that a Python program starts, as far as its source shows them."""

import ast
from dataclasses import dataclass, field

from surefoot.core.policy.shell_words import ANY, ONE

_SHELL = frozenset(
    {"os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"}
    | {"asyncio.create_subprocess_shell", "asyncio.subprocess.create_subprocess_shell", "pexpect.run", "pexpect.spawn"}
)
"""Functions that take a command line."""
_EITHER = frozenset(
    f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "Popen")
) | {"pty.spawn"}  # fmt: skip
"""Functions that take a command line, or the words of a command as a list."""
_EXEC = ("os.exec", "os.spawn", "os.posix_spawn", "posix.")
_ARGUMENTS = frozenset({"asyncio.create_subprocess_exec", "asyncio.subprocess.create_subprocess_exec"})
"""Functions that take the words of a command as separate arguments."""
_HIDES = frozenset({"exec", "eval", "compile", "builtins.exec", "builtins.eval", "builtins.compile"})
"""Functions that run code that the source may not show."""
_HIDING_MODULES = frozenset({"ctypes", "cffi", "_posixsubprocess", "multiprocessing", "runpy", "code"})
_MAX_DEPTH = 20


@dataclass
class Started:
    lines: list[str] = field(default_factory=list)
    """Command lines that a shell runs. Text that is not known is `ANY`."""
    commands: list[list[str]] = field(default_factory=list)
    """The words of programs that are started without a shell."""
    hidden: bool = False
    """Whether the program can start commands in ways that its source does not show."""


def started_by(source: str) -> Started:
    """Return the commands that a program starts: none if the source does not parse, because Python cannot run it."""
    started = Started()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return started
    program = _Program(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            _look_at_call(program, node, started)
    started.hidden = started.hidden or bool(_HIDING_MODULES & program.modules)
    return started


def _look_at_call(program: "_Program", call: ast.Call, started: Started) -> None:
    name = program.name_of(call.func)
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    first = call.args[0] if call.args else named.get("args") or named.get("cmd") or named.get("command")
    if name in _HIDES or name in ("__import__", "importlib.import_module", "getattr"):
        known = program.text_of(call.args[1 if name == "getattr" and len(call.args) > 1 else 0]) if call.args else ANY
        is_risky = name != "getattr" or program.name_of(call.args[0]).split(".")[0] in ("os", "subprocess", "builtins")
        if ANY in known and is_risky:
            started.hidden = True
        elif name in _HIDES:
            inner = started_by(known)
            started.lines += inner.lines
            started.commands += inner.commands
            started.hidden = started.hidden or inner.hidden
    elif name in _SHELL:
        started.lines.append(program.text_of(first))
    elif name in _EITHER:
        words = program.words_of(first)
        if words is None:
            started.lines.append(program.text_of(first))
        else:
            started.commands.append(words)
    elif name in _ARGUMENTS:
        started.commands.append([program.item_of(argument, 0) for argument in call.args] or [ANY])
    elif name.startswith(_EXEC):
        words = [word for argument in call.args for word in program.words_of(argument) or [program.text_of(argument)]]
        started.commands.append(words or [ANY])


class _Program:
    """Resolves the names of a program that are imported, or assigned exactly once."""

    def __init__(self, tree: ast.AST) -> None:
        self.modules: set[str] = set()
        self._imported: dict[str, str] = {}
        self._values: dict[str, list[ast.expr]] = {}
        for node in ast.walk(tree):
            match node:
                case ast.Import(names=names):
                    for alias in names:
                        self.modules.add(alias.name.split(".")[0])
                        self._imported[alias.asname or alias.name.split(".")[0]] = (
                            alias.name if alias.asname else alias.name.split(".")[0]
                        )
                case ast.ImportFrom(module=str(module), names=names):
                    self.modules.add(module.split(".")[0])
                    for alias in names:
                        self._imported[alias.asname or alias.name] = f"{module}.{alias.name}"
                        if alias.name == "*":
                            known = [name for name in (*_SHELL, *_EITHER) if name.startswith(f"{module}.")]
                            self._imported |= {name.rpartition(".")[2]: name for name in known}
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        if isinstance(target, ast.Name):
                            self._values.setdefault(target.id, []).append(value)
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    self._values.setdefault(name, []).append(value)
                case ast.AugAssign(target=ast.Name(id=name)) | ast.For(target=ast.Name(id=name)):
                    self._values.setdefault(name, []).extend([ast.Constant(None)] * 2)

    def name_of(self, node: ast.expr, depth: int = 0) -> str:
        """Return the dotted name of a function or module; empty if it is unknown."""
        match node:
            case ast.Name(id=name):
                value = self._value(name)
                if name in self._imported:
                    return self._imported[name]
                return (self.name_of(value, depth + 1) if value is not None and depth < _MAX_DEPTH else "") or name
            case ast.Attribute(value=value, attr=attribute):
                owner = self.name_of(value, depth)
                return f"{owner}.{attribute}" if owner else ""
            case ast.Call(func=func, args=[argument, *more]):
                match self.name_of(func, depth):
                    case "__import__" | "importlib.import_module":
                        return self.text_of(argument)
                    case "getattr" if more:
                        return f"{self.name_of(argument, depth)}.{self.text_of(more[0])}"
        return ""

    def _value(self, name: str) -> ast.expr | None:
        values = self._values.get(name, [])
        return values[0] if len(values) == 1 else None

    def text_of(self, node: ast.expr | None, depth: int = 0) -> str:
        """Return the text of an expression, with `ANY` for parts that are not constant."""
        if depth > _MAX_DEPTH:
            return ANY
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Constant(value=bytes(data)):
                return data.decode("utf-8", "replace")
            case ast.Constant(value=int() | float() as number):
                return str(number)
            case ast.JoinedStr(values=values):
                return "".join(self.text_of(value, depth + 1) for value in values)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self.text_of(left, depth + 1) + self.text_of(right, depth + 1)
            case ast.Name(id=name):
                value = self._value(name)
                return self.text_of(value, depth + 1) if value is not None else ANY
            case ast.Call(func=ast.Attribute(value=separator, attr="join"), args=[items]):
                words = self.words_of(items, depth + 1)
                return self.text_of(separator, depth + 1).join(words) if words is not None else ANY
            case ast.Attribute() if self.name_of(node) == "sys.executable":
                return "python3"
        return ANY

    def item_of(self, node: ast.expr, depth: int) -> str:
        return ANY if isinstance(node, ast.Starred) else self.text_of(node, depth).replace(ANY, ONE)

    def words_of(self, node: ast.expr | None, depth: int = 0) -> list[str] | None:
        """Return the items of a list or tuple; None if the expression is neither."""
        if depth > _MAX_DEPTH:
            return None
        match node:
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self.item_of(item, depth + 1) for item in items]
            case ast.Name(id=name):
                value = self._value(name)
                return self.words_of(value, depth + 1) if value is not None else None
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                both = self.words_of(left, depth + 1), self.words_of(right, depth + 1)
                return [*(both[0] or [ANY]), *(both[1] or [ANY])] if any(words is not None for words in both) else None
            case ast.Call(func=ast.Attribute(value=text, attr="split"), args=[]):
                return self.text_of(text, depth + 1).split()
            case ast.Call(func=func, args=[text, *_]) if self.name_of(func) == "shlex.split":
                return self.text_of(text, depth + 1).split()
        return None

"""Reading a command text: its syntax tree as the simple commands of a `Script`.

The command is read by a real grammar (tree-sitter-bash). The judge is a closed world: a node type
that is not listed here becomes a doubt, and what is in doubt is asked. Bash and the grammar do not
always agree, so characters that could make them differ are doubts too.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from maia_kernel.permissions.agreement import disagreements, every, heredoc_faults, nodes
from maia_kernel.permissions.grammar import parsed, text_of
from maia_kernel.permissions.script import Command, Redirection, Script, is_own_name
from maia_kernel.permissions.words import Word, literal_word, read_word, spread, tilde

if TYPE_CHECKING:
    from tree_sitter import Node

LENGTH_LIMIT = 10_000
FOLDER_LIMIT = 16
_DEPTH_LIMIT = 150
_ROUND_LIMIT = 24

_STRUCTURE = frozenset(
    {"program", "list", "pipeline", "subshell", "compound_statement", "negated_command"}
    | {"while_statement", "if_statement", "elif_clause", "else_clause", "do_group"}
    | {"redirected_statement", "comment", "case_item"}
)
_LOOPS = frozenset({"while_statement", "for_statement", "function_definition"})
_TOKENS = frozenset(
    {"&&", "||", ";", "&", "|", "|&", "\n", "(", ")", "{", "}", "!", "if", "then", "fi", "elif"}
    | {"else", "while", "until", "for", "in", "do", "done", "case", "esac", ";;", "function"}
)
_VALUE = frozenset(
    {"word", "number", "string", "raw_string", "ansi_c_string", "concatenation"}
    | {"simple_expansion", "expansion", "arithmetic_expansion", "command_substitution"}
    | {"process_substitution", "brace_expression", "translated_string", "extglob_pattern"}
)
_LOOPED = re.compile(r'"\$(?:([a-z]\w*)|\{([a-z]\w*)\})"')
# Of a `case`: only compared, never run.
_PATTERN = re.compile(rb"[\w.*?/-]+")


def read_script(source: str, folder: Path, home: Path) -> Script:
    """What the command text `source` does when it is started in `folder`."""
    script = Script(source)
    if len(source) > LENGTH_LIMIT:
        script.doubt("long")
    with parsed(source) as root:
        script.parses = not root.has_error
        if not script.parses:
            script.doubt("unparsable")
        for name in disagreements(source, root):
            script.doubt(name)
        # Wherever it stands: the grammar may hang it below a here-document.
        script.background = any(nodes(root, ("&",)))
        _Walk(script, home, [folder]).visit(root)
    if script.functions and any(command.moved for command in script.commands):
        script.lost = True
    if script.parses and not script.commands and not script.doubts and not script.redirections:
        script.doubt("empty")
    return script


@dataclass(slots=True)
class _Walk:
    """One pass over the tree, in order, keeping where commands may run and what variables hold."""

    script: Script
    home: Path
    folders: list[Path]
    moved: bool = False
    loops: int = 0
    depth: int = 0
    function: str = ""
    certain: set[str] = field(default_factory=set)
    known: dict[str, str] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)
    rounds: int = 1
    bound: dict[str, tuple[Word, ...]] = field(default_factory=dict)

    def visit(self, node: "Node") -> None:
        if self.depth > _DEPTH_LIMIT:
            self.script.doubt("long")
            return
        self.depth += 1
        looping = node.type in _LOOPS
        self.loops += looping
        self._dispatch(node)
        self.loops -= looping
        self.depth -= 1

    def _dispatch(self, node: "Node") -> None:
        match node.type:
            case "command":
                self._command(node)
            case "variable_assignment" | "variable_assignments":
                self._assignments(node)
            case "file_redirect":
                self._redirect(node)
            case "heredoc_redirect" | "herestring_redirect":
                self.script.heredocs = True
                self._heredoc(node)
            case "for_statement":
                self._for(node)
            case "case_statement":
                self._case(node)
            case "function_definition":
                self._function(node)
            case "test_command":
                self._test(node)
            case _:
                self._other(node)

    def _children(self, node: "Node") -> None:
        for child in node.children:
            self.visit(child)

    def _other(self, node: "Node") -> None:
        if node.type == "extglob_pattern" and _PATTERN.fullmatch(text_of(node)):
            return
        if node.type in _VALUE:
            self._value(node)
            return
        if node.is_named and node.type not in _STRUCTURE:
            self.script.doubt("construct")
        if not node.is_named and node.type not in _TOKENS:
            self.script.doubt("construct")
        self._children(node)

    def _word(self, node: "Node") -> Word:
        self._substitutions(node)
        word = read_word(node, self.known)
        loop = _LOOPED.fullmatch(word.raw)
        if loop:
            word = replace(word, bound=self.bound.get(loop[1] or loop[2], ()))
        # What the script itself put into a variable is no secret of the environment.
        return replace(word, variables=tuple(v for v in word.variables if v not in self.own))

    def _value(self, node: "Node") -> Word:
        word = self._word(node)
        if word.doubt:
            self.script.doubt(word.doubt)
        return word

    def _substitutions(self, node: "Node") -> None:
        """Visit the commands inside a value; they run, so deny and ask rules look at them."""
        if node.type in ("command_substitution", "process_substitution"):
            self.script.doubt("substitution")
            inner = [child for child in node.children if child.is_named]
            for child in inner:
                self.visit(child)
            return
        for child in node.children:
            if child.type == "file_redirect":
                self._redirect(child)
            else:
                self._substitutions(child)

    def _command(self, node: "Node") -> None:
        words: list[Word] = []
        assignments: list[tuple[str, Word]] = []
        for child in node.children:
            if child.type == "command_name":
                words += [self._word(inner) for inner in child.children]
            elif child.type == "variable_assignment":
                assignments.append(self._assignment(child))
            elif child.type in ("file_redirect", "herestring_redirect", "heredoc_redirect"):
                self._dispatch(child)
            elif child.type in _VALUE:
                words.append(self._word(child))
            else:
                self.script.doubt("construct")
                self._substitutions(child)
        calls = not self.function and bool(words) and words[0].guess in self.certain
        found = Command(tuple(words), tuple(assignments), tuple(self.folders), self.moved, calls)
        for word in words:
            if word.doubt:
                self.script.doubt(word.doubt)
        self.script.commands.append(found)
        self._follow(found)

    def _follow(self, command: Command) -> None:
        """Where the next commands may run, after a `cd`."""
        words = command.words
        while words and words[0].guess in ("command", "builtin"):
            words = words[1:]
        if not words or words[0].guess not in ("cd", "pushd", "popd"):
            return
        self.moved = True
        if self.loops or words[0].guess != "cd" or len(words) != 2 or not words[1].literal:
            self.script.lost = True
        if len(words) < 2:
            self._enter([self.home])
            return
        target = words[1].guess
        if target.startswith("-"):
            self.script.lost = True
        if tilde(words[1]):
            target = str(self.home) + target[1:]
        self._enter([Path(_folded(folder, target)) for folder in self.folders])

    def _enter(self, folders: list[Path]) -> None:
        # The command may fail, or stand in a subshell or a branch: both places stay possible.
        self.folders = list(dict.fromkeys([*folders, *self.folders]))
        if len(self.folders) > FOLDER_LIMIT:
            self.script.lost = True
            self.folders = self.folders[:FOLDER_LIMIT]

    def _assignments(self, node: "Node") -> None:
        group = node.children if node.type == "variable_assignments" else [node]
        pairs = tuple(self._assignment(child) for child in group)
        self.script.commands.append(Command((), pairs, tuple(self.folders), self.moved))

    def _assignment(self, node: "Node") -> tuple[str, Word]:
        name, values = node.children[0], node.children[2:]
        if name.type != "variable_name" or node.children[1].type != "=":
            self.script.doubt("assignment")
        for value in values:
            if value.type not in _VALUE:
                self.script.doubt("assignment")
            self._substitutions(value)
        word = read_word(values[0], self.known) if values else literal_word("")
        if word.doubt or word.variables:
            self.script.doubt("assignment")
        label = text_of(name).decode("utf-8", "replace")
        self.known[label] = word.guess
        self._own(label, [word])
        return label, word

    def _redirect(self, node: "Node") -> None:
        operator = next((c.type for c in node.children if not c.is_named), "")
        targets = [c for c in node.children if c.type in _VALUE]
        if operator in (">&", "<&") and len(targets) == 1 and _is_descriptor(targets[0]):
            return
        if not targets or operator not in ("<", ">", ">>", ">|", "&>", "&>>", ">&"):
            self.script.doubt("construct")
        if len(targets) > 1:
            # The grammar takes the words after a redirection as targets; bash as arguments.
            self.script.doubt("construct")
        for target in targets:
            word = self._value(target)
            self.script.redirections.append(Redirection(word, operator != "<", tuple(self.folders)))

    def _heredoc(self, node: "Node") -> None:
        if node.type == "heredoc_redirect":
            for name in heredoc_faults(self.script.source, node):
                self.script.doubt(name)
        for child in node.children:
            if child.type == "heredoc_body":
                self._body(child)
            elif child.type in _VALUE:
                word = self._value(child)
                self.script.bodies.append(word.guess)
                if not word.literal:
                    # What comes of it is shown, and may be a secret.
                    self.script.doubt("expansion")
            elif child.type in ("file_redirect", "pipeline", "list", "command"):
                self.visit(child)
            elif child.is_named and child.type not in ("heredoc_start", "heredoc_end"):
                self.script.doubt("construct")
                self.visit(child)

    def _body(self, node: "Node") -> None:
        """Commands inside a here-document: the grammar does not find them all."""
        self._substitutions(node)
        body = text_of(node).decode("utf-8", "replace")
        self.script.bodies.append(body)
        if "$(" in body or "`" in body:
            quoted = body.replace('"', " ")
            inner = read_script(f'echo "{quoted}"', self.folders[0], self.home)
            # The last one is the `echo` that was put around them.
            self.script.commands += inner.commands[:-1]

    def _for(self, node: "Node") -> None:
        name, values, rest = "", list[Word](), list["Node"]()
        for child in node.children:
            if child.type == "variable_name":
                name = text_of(child).decode("utf-8", "replace")
            elif child.type in _VALUE:
                values.append(self._value(child))
            else:
                rest.append(child)
        if not is_own_name(name):
            self.script.doubt("assignment")
        self._own(name, values)
        guesses = [guess for word in values for guess in spread(word)]
        if not guesses or self.rounds * len(guesses) > _ROUND_LIMIT:
            guesses = [""]
        # The body is read once for each value, so that deny rules see what `rm $f` removes.
        self.rounds *= len(guesses)
        if all(word.literal or word.glob for word in values) and self._once(name, node):
            self.bound[name] = tuple(values)
        for guess in guesses:
            self.known[name] = guess
            for child in rest:
                self.visit(child)
        self.bound.pop(name, None)
        self.rounds //= len(guesses)

    def _once(self, name: str, node: "Node") -> bool:
        """True when nothing else in the script sets the variable of this loop."""
        root = node
        while root.parent is not None:
            root = root.parent
        written = name.encode()
        setters = ("variable_assignment", "for_statement")
        return sum(written in (c.text for c in s.children) for s in every(root, setters)) == 1

    def _own(self, name: str, values: Sequence[Word]) -> None:
        """Note a variable that the script itself sets: it is no secret, unless it was given one."""
        if all(word.literal or word.glob for word in values):
            self.own.add(name)
        else:
            self.own.discard(name)

    def _case(self, node: "Node") -> None:
        for child in node.children:
            if child.type in _VALUE:
                self._value(child)
            else:
                self.visit(child)

    def _function(self, node: "Node") -> None:
        outer = self.function
        name = ""
        for child in node.children:
            if child.type == "word":
                name = self.function = text_of(child).decode("utf-8", "replace")
                self.script.functions.add(name)
            else:
                self.visit(child)
        self.function = outer
        # Below anything else it may be defined in a subshell, later, or never.
        if node.parent is not None and node.parent.type == "program":
            self.certain.add(name)

    def _test(self, node: "Node") -> None:
        """`[ ]` and `[[ ]]` as a command named `[` or `[[`, its words judged like others."""
        name = text_of(node.children[0]).decode()
        words = [Word(name, name, plain=True)]
        words += self._test_words(node)
        self.script.commands.append(Command(tuple(words), (), tuple(self.folders), self.moved))

    def _test_words(self, node: "Node") -> list[Word]:
        words: list[Word] = []
        for child in node.children:
            if child.type in ("unary_expression", "binary_expression"):
                words += self._test_words(child)
            elif child.type in _VALUE or child.type == "test_operator":
                words.append(self._word(child))
            elif child.type in ("=", "==", "!="):
                words.append(literal_word(child.type))
            elif child.type not in ("[", "]", "[[", "]]", "!"):
                self.script.doubt("construct")
                self._substitutions(child)
        for word in words:
            if word.doubt:
                self.script.doubt(word.doubt)
        return words


def _is_descriptor(node: "Node") -> bool:
    return re.fullmatch(rb"\d{1,3}|-", text_of(node)) is not None


def _folded(folder: Path, target: str) -> str:
    # `cd` folds `..` before it follows links, unlike every other command.
    return os.path.normpath(folder / target)

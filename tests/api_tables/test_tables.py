"""The return language, the conditions of cases, and the tables that ship."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from xlalint.api_tables.cases import choose
from xlalint.api_tables.entries import Constant
from xlalint.api_tables.loading import TableError, compile_tables, tables_folder
from xlalint.api_tables.lookup import Apis, Return, api_table, parse_return
from xlalint.api_tables.returns import ReturnError
from xlalint.rules import rules

PARSED = {
    "tensor": Return("tensor"),
    "tensor[b]": Return("tensor", "b"),
    "tensor[i,2]": Return("tensor", "i", 2),
    "tensor[?,1]": Return("tensor", "", 1),
    "tensor[=*]": Return("tensor", dtype_from="*"),
    "tensor[=dtype:f,#size]": Return("tensor", "f", dtype_from="dtype", rank_from="size"),
    "tensor[=dtype|data]": Return("tensor", dtype_from="dtype|data"),
    "static[i,1]": Return("static", "i", 1),
    "like[=dtype]": Return("like", dtype_from="dtype"),
    "like(other)": Return("like", names=("other",)),
    "scalar[b]": Return("scalar", "b", 0),
    "promote(x, y)": Return("promote", names=("x", "y")),
    "reduce[n](dim, keepdim)": Return("reduce", "n", names=("dim", "keepdim")),
    "host[int]": Return("host", "int"),
    "const[False]": Return("const", value=False),
    "const[None]": Return("const"),
    "const['a']": Return("const", value="a"),
    "const[-1]": Return("const", value=-1),
    "list(tensor)": Return("list", items=(Return("tensor"),)),
    "tuple(like*)": Return("tuple", items=(Return("like"),), many=True),
    "tuple(values:like, indices:like[i])": Return(
        "tuple", items=(Return("like"), Return("like", "i")), names=("values", "indices")
    ),
    "object(torch.nn.Module)": Return("object", names=("torch.nn.Module",)),
}


@pytest.mark.parametrize("text", PARSED)
def test_returns_parse(text: str) -> None:
    assert parse_return(text) == PARSED[text]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tensr",
        "tensor[z]",
        "tensor(x)",
        "list(tensor",
        "host[tensor]",
        "like like",
        "tuple(a:like, like)",
        "object",
        "list(object)",
        "object(a.B, a.C)",
        "arg",
        "element",
        "result",
        "wraps",
    ],
)
def test_returns_that_do_not_parse_are_errors(text: str) -> None:
    with pytest.raises(ReturnError):
        parse_return(text)


@dataclass
class FakeCall:
    """A call by what is known of its arguments; `tensors` and `constants` by parameter name."""

    arguments: int = 0
    tensors: set[str] = field(default_factory=set)
    booleans: set[str] = field(default_factory=set)
    constants: dict[str, Constant] = field(default_factory=dict)
    passed: set[str] = field(default_factory=set)
    held: set[str] = field(default_factory=set)
    of: str = "torch"

    def count(self) -> int:
        return self.arguments

    def is_given(self, name: str) -> bool | None:
        return name in self.passed | self.tensors | self.held | self.constants.keys()

    def none(self, name: str) -> bool:
        return name in self.constants and self.constants[name] is None

    def tensor(self, name: str) -> bool | None:
        found = self.tensors | self.held
        return bool(found) if name == "*" else name in found

    def items(self, name: str) -> bool | None:
        return name in self.held

    def framework(self) -> str:
        return self.of

    def boolean(self, name: str) -> bool | None:
        return name in self.booleans

    def symbol(self, name: str) -> str:
        return ""

    def constant(self, name: str) -> tuple[Constant] | None:
        return (self.constants[name],) if name in self.constants else None

    def rank(self, name: str) -> int:
        return -1


@pytest.fixture(scope="module")
def apis(tmp_path_factory: pytest.TempPathFactory) -> Apis:
    return api_table(cache=tmp_path_factory.mktemp("cache"))


def rule_of(apis: Apis, name: str, call: FakeCall, *targets: str) -> str | None:
    entry = apis.method(name.split(".")[0], name[name.index(".") + 2 :]) if ".." in name else apis.function(name)
    assert entry is not None, name
    spec = choose(entry.cases, call, targets)
    return spec.rule if spec else None


SILENT = {
    "where of three": ("torch.where", FakeCall(3, tensors={"condition", "input"}, passed={"other"})),
    "one_hot with classes": ("torch.nn.functional.one_hot", FakeCall(2, {"tensor"}, constants={"num_classes": 16})),
    "arange of a size": ("torch.arange", FakeCall(1, passed={"start"})),
    "repeat_interleave of an int": ("torch.repeat_interleave", FakeCall(2, {"input"}, constants={"repeats": 3})),
    "bincount of fixed length": ("jax.numpy.bincount", FakeCall(2, {"x"}, passed={"length"}, of="jax")),
    "unique of fixed size": ("jax.numpy.unique", FakeCall(2, {"ar"}, passed={"size"}, of="jax")),
    "to another device": ("torch..to", FakeCall(1, passed={"device"})),
    "a tensor of a tensor": ("torch.tensor", FakeCall(1, {"data"})),
    "a mathematical function of a float": ("math.sqrt", FakeCall(1, constants={"x": 2.0})),
    "numpy on the host": ("numpy.sqrt", FakeCall(1, passed={"x"})),
    "numpy's sum of a JAX array": ("numpy.sum", FakeCall(1, {"a"}, of="jax")),
    "built-in sum": ("builtins.sum", FakeCall(1, {"iterable"})),
    "maximum of sizes": ("builtins.max", FakeCall(2, passed={"first"})),
    "an unchecked distribution's log_prob": ("torch.clamp", FakeCall(2, {"input"})),
    "shape": ("tensorflow.shape", FakeCall(1, {"input"}, of="tensorflow")),
}
FOUND = {
    "where of one": ("torch.where", FakeCall(1, {"condition"}), "XLA202"),
    "one_hot without classes": ("torch.nn.functional.one_hot", FakeCall(1, {"tensor"}), "XLA207"),
    "arange of a tensor": ("torch.arange", FakeCall(1, {"start"}), "XLA206"),
    "repeat_interleave of a tensor": ("torch.repeat_interleave", FakeCall(2, {"input", "repeats"}), "XLA207"),
    "index_put_ by a mask": ("torch..index_put_", FakeCall(2, {"indices"}, booleans={"indices"}), "XLA205"),
    "to the CPU": ("torch..to", FakeCall(1, constants={"device": "cpu"}), "XLA302"),
    "a tensor of tensors": ("torch.tensor", FakeCall(1, held={"data"}), "XLA301"),
    "a mathematical function": ("math.exp", FakeCall(1, {"x"}), "XLA301"),
    "numpy": ("numpy.linalg.norm", FakeCall(1, {"x"}), "XLA302"),
    "numpy's sum of a torch tensor": ("numpy.sum", FakeCall(1, {"a"}), "XLA302"),
    "range": ("builtins.range", FakeCall(1, {"start"}), "XLA107"),
    "min of two": ("builtins.min", FakeCall(2, {"others"}), "XLA106"),
    "max of a list": ("builtins.max", FakeCall(1, held={"first"}), "XLA106"),
    "print": ("builtins.print", FakeCall(1, {"values"}), "XLA303"),
    "a JAX reshape": ("jax..reshape", FakeCall(2, {"shape"}, of="jax"), "XLA206"),
    "a TensorFlow re-export": ("tensorflow.compat.v2.nn.top_k", FakeCall(2, {"input", "k"}, of="tensorflow"), "XLA206"),
}


@pytest.mark.parametrize("case", SILENT)
def test_harmless_calls_carry_no_rule(apis: Apis, case: str) -> None:
    name, call = SILENT[case]
    assert rule_of(apis, name, call) is None


@pytest.mark.parametrize("case", FOUND)
def test_hazardous_calls_carry_their_rule(apis: Apis, case: str) -> None:
    name, call, rule = FOUND[case]
    assert rule_of(apis, name, call) == rule


def test_a_case_may_hold_for_some_targets_only(apis: Apis) -> None:
    entry = apis.function("torch._dynamo.is_compiling")
    assert entry is not None
    values = [choose(entry.cases, FakeCall(), (target,)) for target in ("torch_compile", "torch_xla")]
    assert [spec.returns.value for spec in values if spec] == [True, False]


def test_classes_inherit_from_library_classes(apis: Apis) -> None:
    assert apis.ancestors("torch.nn.modules.linear.Linear") == ["torch.nn.Linear", "torch.nn.Module"]
    assert apis.class_attribute("torch.nn.Linear", "training") == Return("host", "bool")
    assert apis.class_method("torch.optim.AdamW", "step") is not None
    assert apis.klass("torch.optim.lr_scheduler") is None


def test_names_belong_to_frameworks(apis: Apis) -> None:
    names = ["torchvision.ops.nms", "keras.layers.Dense", "flax.linen.Module", "numpy.sum", "os.path.join"]
    assert [apis.framework(name) for name in names] == ["torch", "tensorflow", "jax", "numpy", None]


def test_a_users_table_overrides(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        'framework = "torch"\n[functions]\n"torch.relu" = "tensor"\n"mylib.pick" = { returns = "tensor", rule = "XLA209" }\n'
    )
    table = api_table([own], cache=tmp_path / "cache")
    assert rule_of(table, "mylib.pick", FakeCall()) == "XLA209"
    entry = table.function("torch.relu")
    assert entry is not None
    assert entry.cases[0].returns == Return("tensor")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[functions]\n"a.b" = "tensr"\n', "tensr"),
        ('[functions]\n"a.b" = { retuns = "tensor" }\n', "retuns"),
        ("[function]\n", "function"),
        ("not toml", "own.toml"),
        ('[functions]\n"a.b" = "object"\n', "a.b: object needs one name"),
        ('[classes]\n"a.B" = { base = "object", methods = { c = "list(object)" } }\n', "a.B: object needs one name"),
        ('[classes]\n"a.B" = { base = "object", attributes = { c = "object" } }\n', "a.B: object needs one name"),
        ('[methods]\nc = { returns = "tensor", const = { dim = [[1]] } }\n', "c: Expected"),
        ('[functions]\n"a.b" = { args = "two" }\n', "a.b: Expected `int`"),
        ('[functions]\n"a.b" = { params = 3 }\n', "a.b: "),
        ('[functions]\n"a.b" = { calls = [{ args = "*" }] }\n', "a.b: the key 'fun' is missing"),
        ('[functions]\n"a.b" = { calls = [{ fun = "f", args = ["tensr"] }] }\n', "a.b: unknown kind 'tensr'"),
        ('[unsupported_methods]\nc = { returns = "object" }\n', "c: object needs one name"),
        ('[aliases]\n"a.b" = 3\n', "aliases: a.b: a text is expected"),
    ],
)
def test_a_table_that_cannot_be_used_says_why(text: str, message: str) -> None:
    with pytest.raises(TableError, match=re.escape(message)) as told:
        compile_tables([("own.toml", text)])
    assert str(told.value).startswith("own.toml: ")


def test_every_table_that_ships_is_read_from_its_text() -> None:
    """Not from what is kept of it, which says nothing of the text."""
    files = sorted(tables_folder().glob("*.toml"))
    assert len(files) > 10
    assert compile_tables((path.name, path.read_text()) for path in files).functions


def test_a_graphs_definition_is_an_object(apis: Apis) -> None:
    graph = apis.klass("tensorflow.Graph")
    assert graph is not None
    assert graph.methods["as_graph_def"].cases[0].returns.names == ("tensorflow.compat.v1.GraphDef",)


def test_the_kept_form_is_used_repaired_and_not_needed(tmp_path: Path) -> None:
    expected = api_table(cache=tmp_path).function("torch.nonzero")
    (kept,) = tmp_path.glob("apis-*")
    whole = kept.read_bytes()
    kept.write_bytes(whole[: len(whole) // 2])
    assert api_table(cache=tmp_path).function("torch.nonzero") == expected
    assert kept.read_bytes() == whole
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    assert api_table(cache=blocked).function("torch.nonzero") == expected


def test_every_rule_and_variant_that_tables_name_has_a_page(apis: Apis) -> None:
    pages = rules()
    missing = set()
    for path in tables_folder().glob("*.toml"):
        missing |= {code for code in re.findall(r'rule = "(XLA\d+)"', path.read_text()) if code not in pages}
    assert not missing


def test_every_entry_decodes(apis: Apis) -> None:
    for name in apis.names():
        entry = apis.function(name)
        assert entry is not None
        assert entry.cases, name

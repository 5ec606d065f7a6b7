"""What TensorFlow has no XLA kernel for: each public function that runs eagerly on small tensors, run again with `jit_compile=True`.

A name is listed where XLA refuses every dtype that the function takes, and says that it has no kernel. What one target lacks beside (the
TPU has no complex128) is a matter of dtypes, not of functions.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import struct
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from api_tables.from_tensorflow import MODULES, SKIPPED
from api_tables.probing import KNOWN, SHAPES, TENSOR_LISTS, signature
from api_tables.writing import quoted

_REFUSED = re.compile(r"Detected unsupported operations.*?: (.*)", re.DOTALL)
_OP = re.compile(r"(\w+) \(No registered")
# Host functions, and names whose effects a probe had better not have.
_LEFT_OUT = re.compile(
    r"tensorflow\.(io\.(write|matching|gfile|TF)|load_|config|saved_model|random\.(set_|get_|create))"
)


def generate() -> str:
    """The text of tensorflow_kernels_generated.toml."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")
    warnings.simplefilter("ignore")
    import tensorflow as tf

    found: dict[str, tuple[str, ...]] = {}
    for name, calls in (*_programs(), *((name, [call]) for name, call in _pipelines().items())):
        refused: set[str] = set()
        for call in calls:
            lacks = _lacking(tf, call)
            if lacks == ():
                refused.clear()
                break
            refused.update(lacks or ())
        if refused:
            found[name] = tuple(sorted(refused))[:2]
    lines = [
        "# What TensorFlow has no XLA kernel for",
        "# Written by scripts/generate_apis.py; what hangs on an argument stands in the tables without _generated.",
        'framework = "tensorflow"',
        f"version = {quoted(tf.__version__)}",
        "",
        "[unsupported_functions]",
    ]
    for name, ops in sorted(found.items()):
        detail = " and ".join(f"`{op}`" for op in ops)
        variant = ', variant = "pipeline"' if name in _pipelines() else ""
        lines.append(f'"{name}" = {{ rule = "XLA601", detail = {quoted(detail)}{variant} }}')
    return "\n".join(lines) + "\n"


def _lacking(tf: Any, call: _Call) -> tuple[str, ...] | None:
    """The operators without a kernel that a call needs; None where it is no call, or XLA fails for other reasons."""
    function, arguments = call

    tensors = [one for argument in arguments for one in _flat(argument) if tf.is_tensor(one)]

    def program(*given: Any) -> Any:
        rest = iter(given)

        def passed(argument: Any) -> Any:
            if isinstance(argument, list):
                return [passed(item) for item in argument]
            return next(rest) if tf.is_tensor(argument) else argument

        return function(*map(passed, arguments))

    try:
        program(*tensors)
    except Exception:  # noqa: BLE001 (the function does not take such arguments)
        return None
    try:
        compiled = tf.function(program, jit_compile=True, autograph=False)
        compiled.experimental_get_compiler_ir(*tensors)(stage="hlo")
    except Exception as error:  # noqa: BLE001 (whatever XLA says)
        refused = _REFUSED.search(str(error))
        # `_Retval` is of a string that is returned, not of what the function does
        ops = [op for op in _OP.findall(refused[1]) if op != "_Retval"] if refused else []
        if ops == ["_Arg"]:  # a string that is passed; XLA says no more
            ops = _on_strings(tf, program, tensors)
        return tuple(dict.fromkeys(ops)) or None
    return ()


def _flat(argument: Any) -> list[Any]:
    return argument if isinstance(argument, list) else [argument]


def _on_strings(tf: Any, program: Callable[..., Any], tensors: list[Any]) -> list[str]:
    """The operators of a program that take strings or give them."""
    graph = tf.function(program, autograph=False).get_concrete_function(*tensors).graph
    return [
        op.type
        for op in graph.get_operations()
        if op.type not in ("Placeholder", "Const", "Identity", "Pack", "ExpandDims", "Reshape", "StridedSlice")
        and any(tensor.dtype == tf.string for tensor in (*op.inputs, *op.outputs))
    ]


def _programs() -> Iterator[tuple[str, list[_Call]]]:
    seen: set[int] = set()
    others = _others()
    for module_name in MODULES:
        module = importlib.import_module(module_name.replace("tensorflow.keras", "keras"))
        for name in sorted(n for n in dir(module) if not n.startswith("_")):
            value, full = getattr(module, name), f"{module_name}.{name}"
            if not callable(value) or inspect.isclass(value) or inspect.ismodule(value) or id(value) in seen:
                continue
            seen.add(id(value))
            if full not in SKIPPED and not _LEFT_OUT.match(full) and full not in others:
                yield full, list(_calls(value))
    for full, call in others.items():
        yield full, [call]


def _calls(function: Callable[..., Any]) -> Iterator[_Call]:
    """The function on tensors of the first dtype that it takes."""
    import tensorflow as tf

    positional, required, known = signature(function)
    if not known or len(required) > 4:
        return
    required = required or tuple(p for p in positional[:1] if p.startswith("*"))
    for dtype in (tf.float32, tf.int32):
        for rank in (2, 4, 3, 1):
            arguments = [_argument(name.lstrip("*"), dtype, rank) for name in required]
            if any(argument is None for argument in arguments):
                return
            try:
                function(*arguments)
            except Exception:  # noqa: BLE001 (the function does not take such arguments)
                continue
            yield function, arguments
            return


def _argument(name: str, dtype: Any, rank: int) -> Any:
    import tensorflow as tf

    if name in KNOWN:
        return KNOWN[name]
    kind = tf.int32 if name in ("indices", "ids", "segment_ids", "index") else dtype
    made = tf.ones(SHAPES[rank], kind)
    return [made, made] if name in TENSOR_LISTS else made


def _tf(name: str, *arguments: Any, **options: Any) -> _Call:
    """A call of a function by its path in `tf`; a tuple stands for a tensor of ones of that shape."""
    import tensorflow as tf

    function = tf
    for part in name.split("."):
        function = getattr(function, part)
    return partial(function, **options), [tf.ones(one) if isinstance(one, tuple) else one for one in arguments]


_IMAGE = (1, 4, 4, 1)
_Call = tuple[Callable[..., Any], list[Any]]


@cache
def _pipelines() -> dict[str, _Call]:
    """What input pipelines are made of: files, encodings, strings."""
    import tensorflow as tf

    words = tf.constant(["a b", "c"])
    one = tf.constant("a")
    number = tf.constant(["1"])
    image = tf.zeros((4, 4, 3), tf.uint8)
    jpeg, png = tf.io.encode_jpeg(image), tf.io.encode_png(image)
    floats = {"a": tf.io.FixedLenFeature([], tf.float32, 0.0)}
    example = tf.constant(tf.train.Example().SerializeToString())
    calls: dict[str, tuple[Any, ...]] = {
        "strings.as_string": ((4,),), "strings.bytes_split": (words,), "strings.format": ("{}", (4,)), "strings.join": ([words, words],),
        "strings.length": (words,), "strings.lower": (words,), "strings.upper": (words,), "strings.ngrams": (words, 2),
        "strings.reduce_join": (words,), "strings.regex_full_match": (words, "a"), "strings.regex_replace": (words, "a", "b"),
        "strings.split": (words,), "strings.strip": (words,), "strings.substr": (words, 0, 1), "strings.to_hash_bucket": (words, 8),
        "strings.to_hash_bucket_fast": (words, 8), "strings.to_hash_bucket_strong": (words, 8, [1, 2]), "strings.to_number": (number,),
        "strings.unicode_decode": (words, "UTF-8"), "strings.unicode_split": (words, "UTF-8"),
        "strings.unicode_transcode": (words, "UTF-8", "UTF-8"), "io.decode_base64": (tf.constant("YQ"),), "io.encode_base64": (one,),
        "io.decode_bmp": (tf.io.read_file(_bitmap()),), "io.decode_csv": (tf.constant("1,2"), [0.0, 0.0]), "io.decode_image": (png,),
        "io.decode_jpeg": (jpeg,), "io.decode_png": (png,), "io.decode_and_crop_jpeg": (jpeg, [0, 0, 2, 2]),
        "io.decode_raw": (one, tf.uint8), "io.encode_jpeg": (image,), "io.encode_png": (image,), "io.extract_jpeg_shape": (jpeg,),
        "io.is_jpeg": (jpeg,), "io.parse_example": (example[None], floats), "io.parse_single_example": (example, floats),
        "io.parse_tensor": (tf.io.serialize_tensor(tf.ones(2)), tf.float32), "io.read_file": (tf.constant(_bitmap()),),
        "io.serialize_tensor": ((4,),), "io.write_file": (tf.constant(_bitmap() + ".txt"), one),
    }  # fmt: skip
    made = {f"tensorflow.{name}": _tf(name, *arguments) for name, arguments in calls.items()}
    same = (
        "decode_jpeg",
        "decode_png",
        "decode_bmp",
        "decode_image",
        "encode_jpeg",
        "encode_png",
        "is_jpeg",
        "extract_jpeg_shape",
    )
    return made | {f"tensorflow.image.{name}": made[f"tensorflow.io.{name}"] for name in same}


@cache
def _bitmap() -> str:
    """The path of a bitmap of one pixel."""
    header = struct.pack("<2sIHHIIiiHHIIiiII", b"BM", 58, 0, 0, 54, 40, 1, 1, 1, 24, 0, 4, 0, 0, 0, 0)
    path = Path(tempfile.mkdtemp()) / "pixel.bmp"
    path.write_bytes(header + bytes(4))
    return str(path)


def _others() -> dict[str, _Call]:
    """What names alone do not say how to call."""
    return {
        "tensorflow.image.crop_and_resize": _tf("image.crop_and_resize", _IMAGE, (1, 4), [0], [2, 2]),
        "tensorflow.image.extract_glimpse": _tf("image.extract_glimpse", _IMAGE, [2, 2], (1, 2)),
        "tensorflow.image.extract_patches": _tf(
            "image.extract_patches", _IMAGE, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID"
        ),
        "tensorflow.nn.max_pool_with_argmax": _tf("nn.max_pool_with_argmax", _IMAGE, 2, 2, "VALID"),
        "tensorflow.nn.dilation2d": _tf(
            "nn.dilation2d", _IMAGE, (2, 2, 1), [1, 1, 1, 1], "VALID", "NHWC", [1, 1, 1, 1]
        ),
        "tensorflow.nn.erosion2d": _tf("nn.erosion2d", _IMAGE, (2, 2, 1), [1, 1, 1, 1], "VALID", "NHWC", [1, 1, 1, 1]),
        "tensorflow.nn.fractional_max_pool": _tf("nn.fractional_max_pool", _IMAGE, 1.5),
        "tensorflow.nn.fractional_avg_pool": _tf("nn.fractional_avg_pool", _IMAGE, 1.5),
        "tensorflow.nn.sampled_softmax_loss": _tf("nn.sampled_softmax_loss", (20, 6), (20,), [[1]] * 4, (4, 6), 3, 20),
        "tensorflow.nn.nce_loss": _tf("nn.nce_loss", (20, 6), (20,), [[1]] * 4, (4, 6), 3, 20),
        "tensorflow.nn.ctc_greedy_decoder": _tf("nn.ctc_greedy_decoder", (5, 2, 4), [5, 5]),
        "tensorflow.nn.ctc_beam_search_decoder": _tf("nn.ctc_beam_search_decoder", (5, 2, 4), [5, 5]),
        "tensorflow.nn.depth_to_space": _tf("nn.depth_to_space", (1, 2, 2, 4), 2),
        "tensorflow.random.gamma": _tf("random.gamma", [3], (2,)),
        "tensorflow.random.poisson": _tf("random.poisson", [3], (2,)),
        "tensorflow.random.categorical": _tf("random.categorical", (2, 4), 3),
        "tensorflow.random.stateless_gamma": _tf("random.stateless_gamma", [3, 2], [1, 2], (2,)),
        "tensorflow.random.stateless_poisson": _tf("random.stateless_poisson", [3, 2], [1, 2], (2,)),
        "tensorflow.random.stateless_binomial": _tf("random.stateless_binomial", [3, 2], [1, 2], (2,), (2,)),
        "tensorflow.random.shuffle": _tf("random.shuffle", (4, 4)),
        "tensorflow.histogram_fixed_width": _tf("histogram_fixed_width", (4, 4), [0.0, 5.0]),
        "tensorflow.histogram_fixed_width_bins": _tf("histogram_fixed_width_bins", (4, 4), [0.0, 5.0]),
        "tensorflow.math.segment_sum": _tf("math.segment_sum", (4, 4), [0, 0, 1, 1]),
        "tensorflow.math.segment_mean": _tf("math.segment_mean", (4, 4), [0, 0, 1, 1]),
        "tensorflow.math.segment_max": _tf("math.segment_max", (4, 4), [0, 0, 1, 1]),
        "tensorflow.math.segment_min": _tf("math.segment_min", (4, 4), [0, 0, 1, 1]),
        "tensorflow.math.segment_prod": _tf("math.segment_prod", (4, 4), [0, 0, 1, 1]),
        "tensorflow.math.unsorted_segment_sum": _tf("math.unsorted_segment_sum", (4, 4), [0, 0, 1, 1], 2),
        "tensorflow.math.unsorted_segment_mean": _tf("math.unsorted_segment_mean", (4, 4), [0, 0, 1, 1], 2),
        "tensorflow.signal.rfft": _tf("signal.rfft", (4, 8)),
        "tensorflow.signal.stft": _tf("signal.stft", (4, 16), 8, 4),
        "tensorflow.signal.dct": _tf("signal.dct", (4, 8)),
        "tensorflow.signal.mdct": _tf("signal.mdct", (4, 16), 8),
        "tensorflow.linalg.lstsq": _tf("linalg.lstsq", (4, 4), (4, 4)),
        "tensorflow.linalg.solve": _tf("linalg.solve", (4, 4), (4, 4)),
        "tensorflow.linalg.triangular_solve": _tf("linalg.triangular_solve", (4, 4), (4, 4)),
        "tensorflow.linalg.tridiagonal_solve": _tf("linalg.tridiagonal_solve", (3, 4), (4, 1)),
        "tensorflow.searchsorted": _tf("searchsorted", (2, 4), (2, 3)),
        "tensorflow.nn.in_top_k": _tf("nn.in_top_k", [1, 1], (2, 4), 2),
    }

"""Python function -> compiled kernel. Compiled kernels come from the package, from the user's cache, or from numba.

numba's own cache has four gaps, so kernels have a cache of ours:
- It refuses to load a kernel where neither the package's folder nor HOME can be written. Spark workers often run so.
- It checks only the file of the kernel. If a function in another file changes, the kernel keeps its old code.
- It ignores bounds checks: a process that asks for them gets code without them.
- It files kernels under the path of their sources and the name of the CPU, so a package can't bring compiled kernels.

A kernel's name contains hashes of all sources that the kernel is made of, and of its argument types. It is looked up by
its name in two stores, one after the other (`package_kernels.py`, `user_kernels.py`). If neither has it, numba compiles
it, and the user's store keeps it.
"""

from __future__ import annotations

import hashlib
import logging
import pickle
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any, NamedTuple

import numba
from numba import types
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.registry import cpu_target
from numba.core.serialize import dumps

from ostinato.kernels.compile_notice import Compiling
from ostinato.kernels.kernel_sources import KernelSources
from ostinato.kernels.package_kernels import package_kernels
from ostinato.kernels.user_kernels import UserKernels, user_kernels

AnyFunction = Callable[..., Any]
"""Any Python function. Kernels declare no argument types: numba infers them at the call."""

FROM_PACKAGE, FROM_USER, COMPILED = "package", "user's cache", "compiled"
"""The origins of a kernel."""

origins: dict[str, str] = {}
"""Each kernel that this process has loaded or compiled: its name -> FROM_PACKAGE, FROM_USER or COMPILED."""


class UsedKernels(NamedTuple):
    """Kernels by their names, with the origin of each, and the folder of the user's store (None if it has none)."""

    origins: dict[str, str]
    folder: Path | None


_LISTING = 6
"""The place of the annotated listing in the reduced form of numba's CompileResult."""
_log = logging.getLogger("ostinato.kernels")
_PACKAGE = Path(__file__).parents[1]
"""The package's folder. If the package is a zip, this path isn't a folder."""
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_BORROWING: dict[str, Any] = {**_OPTIONS, "_nrt": False}
"""Without numba's reference counting: a kernel borrows arrays from its caller and can't make any. With it, reading an
array out of a tuple costs an atomic addition, which made the search ten times slower."""
_INLINE: dict[str, Any] = {**_BORROWING, "forceinline": True}
_ALL_OPTIONS = repr((_OPTIONS, _BORROWING, _INLINE))
_KERNEL_SOURCES = KernelSources(files("ostinato"), apart_from={"kernels/kernel_cache.py"})
"""Of this file, only the options become part of a kernel."""


def kernel(function: AnyFunction) -> AnyFunction:
    """A kernel that is loaded or compiled on its first call. Divides by NumPy's rules, releases the GIL."""
    return _stored(function, _OPTIONS)


def borrowing_kernel(function: AnyFunction) -> AnyFunction:
    """A kernel that makes no arrays. numba counts no references while it runs."""
    return _stored(function, _BORROWING)


def inline_kernel(function: AnyFunction) -> AnyFunction:
    """A small function that kernels call, stored only inside them. It makes no arrays.

    It is always inlined: a call would copy every array of the tuples that it gets.
    """
    return _unstored(function, _INLINE)


def called_kernel(function: AnyFunction) -> AnyFunction:
    """A function that kernels call and don't inline, stored only inside them. It makes no arrays."""
    return _unstored(function, _BORROWING)


def interpreted(compiled: AnyFunction) -> AnyFunction:
    """The Python function behind a kernel, for tests that step through it."""
    behind: AnyFunction = getattr(compiled, "py_func", compiled)
    return behind


_interpreted_functions: dict[AnyFunction, AnyFunction] = {}


def interpreted_throughout(compiled: AnyFunction) -> AnyFunction:
    """The Python function behind a kernel. It calls the Python functions behind other kernels in place of these.

    Nothing is compiled for it. It is some hundred times slower than the kernel.
    """
    if compiled not in _interpreted_functions:
        function = interpreted(compiled)
        assert isinstance(function, FunctionType)
        names = dict(function.__globals__)
        # Filed before its names are replaced: a kernel may call itself.
        _interpreted_functions[compiled] = FunctionType(function.__code__, names, function.__name__)
        for name in function.__code__.co_names:
            if hasattr(names.get(name), "py_func"):
                names[name] = interpreted_throughout(names[name])
    return _interpreted_functions[compiled]


def used_kernels() -> UsedKernels:
    """The kernels that this process has used so far."""
    store = user_kernels(cpu_target.target_context.codegen().magic_tuple())
    return UsedKernels(dict(origins), None if store is None else store.folder)


def _unstored(function: AnyFunction, options: dict[str, Any]) -> AnyFunction:
    compiled: AnyFunction = numba.njit(**options)(function)
    return compiled


def _stored(function: AnyFunction, options: dict[str, Any]) -> AnyFunction:
    compiled: Any = numba.njit(**options)(function)
    if compiled is not function:  # with NUMBA_DISABLE_JIT the function stays as it is
        compiled._cache = KernelCache(function, _makers(function))  # what numba's enable_caching() does
    stored: AnyFunction = compiled
    return stored


class KernelCache(_Cache):  # type: ignore[misc]  # numba has no types
    """The cache of one kernel. numba asks it before it compiles the kernel, and gives it the result."""

    def __init__(self, function: AnyFunction, makers: frozenset[str]) -> None:
        self.title = f"{Path(function.__code__.co_filename).stem}.{function.__qualname__}"
        self.makers = makers
        # At once: a source that changes later isn't the one that this process runs.
        self.stem = _stem(function, self.title, makers)
        self._compiling: dict[str, Compiling] = {}

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel for these argument types; None if numba has to compile it."""
        target_context.refresh()
        name = self.name(sig)
        if name is None:
            return None
        found = self._rebuilt(name, package_kernels().read(name), sig, target_context)
        if found is not None:
            return self._noted(name, FROM_PACKAGE, found)
        store = user_kernels(target_context.codegen().magic_tuple())
        if store is not None:
            found = self._rebuilt(name, store.read(name), sig, target_context)
        if found is None:
            self._compiling[name] = Compiling(name)
            if store is not None and store.lock(name):
                # Another process may have compiled the kernel while this one waited for the lock.
                found = self._rebuilt(name, store.read(name), sig, target_context)
        if found is None:
            return None
        self._end(name, store)
        return self._noted(name, FROM_USER, found)

    def is_stored(self, sig: Any) -> bool:
        """Whether a store has the kernel for these argument types. It isn't loaded."""
        name = self.name(sig)
        if name is None:
            return False
        store = user_kernels(cpu_target.target_context.codegen().magic_tuple())
        for origin, content in (
            (FROM_PACKAGE, package_kernels().read(name)),
            (FROM_USER, None if store is None else store.read(name)),
        ):
            if content is not None:
                self._noted(name, origin, None)
                return True
        return False

    def save_overload(self, sig: Any, data: Any) -> None:
        """Stores a kernel that numba has compiled."""
        name = self.name(sig)
        if name is None:
            return
        store = user_kernels(data.codegen.magic_tuple())
        if store is not None and not data.library.has_dynamic_globals:  # addresses in this process
            store.write(name, _reduced(data))
        seconds = self._end(name, store)
        self._noted(name, COMPILED, data)
        _log.debug("kernel %s: %.1f s, stored in %s", name, seconds, store and store.folder)

    def _end(self, name: str, store: UserKernels | None) -> float:
        """Ends the compilation of a kernel, or the wait for it. Returns the seconds that it took."""
        if store is not None:
            store.unlock(name)
        compiling = self._compiling.pop(name, None)
        return 0.0 if compiling is None else compiling.end()

    def _rebuilt(self, name: str, content: bytes | None, sig: Any, target_context: Any) -> Any:
        """The kernel of a file; None if the file is missing, damaged, or for other argument types."""
        if content is None:
            return None
        try:
            found = CompileResult._rebuild(target_context, *pickle.loads(content))
        except Exception as error:  # a file can be damaged in any way: the kernel is compiled anew
            _log.debug("kernel %s can't be loaded: %r", name, error)
            return None
        return found if tuple(found.signature.args) == tuple(sig) else None

    def _noted(self, name: str, origin: str, found: Any) -> Any:
        origins[name] = origin
        _log.debug("kernel %s: %s", name, origin)
        return found

    def name(self, sig: Any) -> str | None:
        """The kernel's name in the stores; None if it can't be stored."""
        if self.stem is None:
            return None
        settings = f"{bool(numba.config.BOUNDSCHECK)} {numba.config.OPT} {[_described(kind) for kind in sig]}"
        return f"{self.stem}-{hashlib.sha256(settings.encode()).hexdigest()[:12]}"

    @property
    def cache_path(self) -> None:
        """numba's statistics ask for it. A kernel has no folder of its own."""

    def enable(self) -> None:
        """Nothing to do: a kernel is stored from its beginning."""

    def disable(self) -> None:
        """Nothing to do: see `enable`."""

    def flush(self) -> None:
        """numba asks for it when it recompiles a function. A kernel of a changed source has another name."""


def _stem(function: AnyFunction, title: str, makers: frozenset[str]) -> str | None:
    """The part of a kernel's name that is the same for all argument types; None if it can't be stored."""
    if function.__closure__ is not None:  # its values may be functions, which no hash can tell apart
        return None
    code = function.__code__
    digest = hashlib.sha256(f"{_ALL_OPTIONS} {_KERNEL_SOURCES.fingerprint(makers)}".encode())
    if _path_within_package(code.co_filename) is None:
        try:
            digest.update(Path(code.co_filename).read_bytes())
        except OSError:  # a notebook: compile in each process
            return None
    digest.update(code.co_code)
    return f"{title}-{digest.hexdigest()[:16]}".replace("<", "").replace(">", "")


def _described(kind: Any) -> str:
    """An argument type. A tuple's class counts with its module and the order of its fields: kernels read by place."""
    if isinstance(kind, types.BaseNamedTuple):
        made = kind.instance_class
        fields = (f"{name}: {_described(field)}" for name, field in zip(made._fields, kind.types, strict=True))
        return f"{made.__module__}.{made.__qualname__}({', '.join(fields)})"
    if isinstance(kind, types.BaseTuple):
        return f"({', '.join(map(_described, kind.types))})"
    return str(kind)


def _reduced(compiled: Any) -> bytes:
    """The kernel as bytes, without the annotated listing of its source, which names the folder of the file."""
    parts = list(compiled._reduce())
    parts[_LISTING] = ""
    content: bytes = dumps(tuple(parts))
    return content


def _makers(function: AnyFunction) -> frozenset[str]:
    """The modules that make a kernel: the function's own module, and the modules on the call stack.

    A module on the stack may have passed its own functions, which become part of the kernel. The set is empty for a
    function from outside the package, which may call any kernel.
    """
    own = _path_within_package(function.__code__.co_filename)
    if own is None:
        return frozenset()
    paths = {own.as_posix()}
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        path = _path_within_package(frame.f_code.co_filename)
        if path is not None:
            paths.add(path.as_posix())
        frame = None if frame.f_code.co_name == "<module>" else frame.f_back
    return frozenset(paths)


def _path_within_package(file_name: str) -> Path | None:
    """The path of a source within this package; None if it is elsewhere."""
    try:
        return Path(file_name).relative_to(_PACKAGE)
    except ValueError:
        return None

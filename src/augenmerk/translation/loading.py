"""Loads trained runs: `LoadedModels` is what decoding, scoring and tracing work on, with its CPU threads.

The steps of a search are many small operations. If each of them is shared among the cores, as it is by
default, the cores mostly wait for one another. So the threads share the sentences instead: each computes a
batch on one core.
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar

from threadpoolctl import ThreadpoolController

from augenmerk.base.config import RunConfig, SearchConfig
from augenmerk.base.device import CPU, count_cores, count_threads
from augenmerk.base.errors import AugenmerkError
from augenmerk.inference.model import InferenceModel, build_inference_model
from augenmerk.mechanisms.custom import check_recorded
from augenmerk.run.directory import RunDirectory
from augenmerk.text.batching import Familiarity, ParallelTokens
from augenmerk.text.tokenizer import TokenizerPair

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    import torch

    from augenmerk.model.interface import TranslationModel

    Models = Sequence[InferenceModel | TranslationModel]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def load_model(run: RunDirectory, device: "torch.device | str" = CPU) -> "TranslationModel":
    """Loads the model of a run with its best weights as a model of torch, in evaluation mode."""
    from augenmerk.model.interface import build_model, load_checked

    check_recorded(run.config.model.attention, run.read_code(), run.path)
    tokenizers = run.tokenizers
    model = build_model(run.config.model, tokenizers.source.size, tokenizers.target.size)
    load_checked(model, run.load_model(), run.model_path)
    return model.to(device).eval()


class LoadedModels:
    """Models that translate together, with their tokenizers and settings, and the threads they compute in.

    On a CPU the models compute with numpy; on a GPU, or with a mechanism in torch alone, with torch.
    """

    def __init__(
        self,
        models: "Models",
        tokenizers: TokenizerPair,
        config: RunConfig,
        *,
        runs: Sequence[RunDirectory] = (),
        threads: int | None = None,
        batch_threads: int | None = None,
    ) -> None:
        """The models are all of numpy or all of torch; `runs` are those that they were loaded from.

        Sentences are put into batches for `batch_threads` threads, by default those that there are. The batch
        decides about the last bits of a score, so a part of a text has those that it has in the whole.
        """
        self.models = tuple(models)
        self.tokenizers = tokenizers
        self.config = config
        self.runs = runs
        self.selective = all(model.selective for model in self.models)
        self.device = CPU
        """The device as torch names it."""
        of_torch = [model for model in self.models if not isinstance(model, InferenceModel)]
        self.uses_torch = bool(of_torch)
        """Whether the models are of torch rather than of numpy."""
        if of_torch:
            import torch

            if any(model.training for model in of_torch):
                raise ValueError("a model that translates must be in evaluation mode: call model.eval()")
            self.device = str(of_torch[0].device)
            if self.on_gpu:
                # With TF32, GRUs would round to ten bits, and samples would differ from those of the CPU.
                torch.backends.cudnn.allow_tf32 = False
        self.pool = ThreadPool(threads or count_threads(), torch=self.uses_torch)
        self.batch_threads = batch_threads
        self._rounding = threading.Lock()

    @classmethod
    def from_runs(
        cls,
        runs: Sequence[RunDirectory],
        device: "torch.device | str" = CPU,
        *,
        models: "Models | None" = None,
        threads: int | None = None,
        batch_threads: int | None = None,
    ) -> Self:
        """Loads runs that translate together, unless their `models` are loaded already.

        Raises AugenmerkError if their vocabularies differ: on the target side their probabilities are
        averaged, on the source side their attention.
        """
        first, *others = runs
        for other in others:
            for side in ("source", "target"):
                if getattr(first.tokenizers, side).to_json() != getattr(other.tokenizers, side).to_json():
                    raise AugenmerkError(
                        f"{first.path} and {other.path} cannot translate together: their {side} vocabularies "
                        f"differ; an ensemble needs runs trained on the same sentences with the same [text] "
                        f"settings."
                    )
        for run in runs if models is None else ():
            check_recorded(run.config.model.attention, run.read_code(), run.path)
        if models is None and str(device) == CPU and all(run.config.model.runs_in("numpy") for run in runs):
            sizes = first.tokenizers.source.size, first.tokenizers.target.size
            models = [
                build_inference_model(run.config.model, run.load_model(), *sizes, str(run.model_path))
                for run in runs
            ]
        elif models is None:
            models = [load_model(run, device) for run in runs]
        longest = min(run.config.data.max_length for run in runs)
        data = first.config.data.model_copy(update={"max_length": longest})
        config = first.config.model_copy(update={"data": data})
        loaded = cls(
            models, first.tokenizers, config, runs=runs, threads=threads, batch_threads=batch_threads
        )
        loaded.familiarity = first.familiarity
        return loaded

    @property
    def model(self) -> "InferenceModel | TranslationModel":
        """The only model; raises AugenmerkError if this is an ensemble."""
        if len(self.models) > 1:
            raise AugenmerkError("This needs one model, but several are loaded as an ensemble: load one run.")
        return self.models[0]

    @cached_property
    def torch_model(self) -> "TranslationModel":
        """The only model as one of torch, loaded when it is first asked for."""
        model = self.model
        if not isinstance(model, InferenceModel):
            return model
        if not self.runs:
            raise ValueError("this translator was given a model of numpy: give it one of torch")
        return load_model(self.runs[0])

    def models_in(self, precision: str) -> "Models":
        """Returns the models in a precision; in int8, they are made when they are first asked for."""
        if precision == "fp32":
            return self.models
        with self._rounding:  # threads that ask at once wait for one rounding
            return self._rounded_models

    @cached_property
    def _rounded_models(self) -> tuple[InferenceModel, ...]:
        from augenmerk.inference.int8 import round_weights

        return tuple(round_weights(model) for model in self.models if isinstance(model, InferenceModel))

    @cached_property
    def familiarity(self) -> Familiarity:
        """Judges whether a sentence is unlike the text that the models learnt from."""
        return Familiarity(self.tokenizers.source)

    @property
    def on_gpu(self) -> bool:
        return self.device != CPU

    @property
    def language(self) -> str | None:
        """The source language, if the settings name it."""
        return self.config.data.languages[0]

    @property
    def max_source_length(self) -> int:
        """The number of source tokens that are read; the rest is cut, since no model was trained on more."""
        return self.config.data.max_length

    def search_settings(self, **changes: Any) -> SearchConfig:
        """Returns the run's search settings with some changed; raises if the model cannot follow them."""
        settings = self.config.search.replaced(changes, "Search settings")
        if settings.replace_unknown and not self.selective:
            name = next(model.config.attention for model in self.models if not model.selective)
            raise AugenmerkError(
                f"The attention of this model is '{name}': it does not tell what to replace unknown words by."
            )
        if settings.precision == "int8":
            if self.uses_torch:
                raise AugenmerkError(
                    "The precision int8 is for CPUs, and this model computes with torch, because of its "
                    "device, its architecture or its mechanism: translate in fp32, or with --device cpu."
                )
            from augenmerk.inference.int8 import check_installed

            check_installed()
        return settings

    def prepare(self, data: ParallelTokens) -> ParallelTokens:
        """Returns tokens as the models read them: in numpy, or in torch on the device of the models."""
        return data.to(self.device) if self.uses_torch else data

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Enters a context to compute in, which each thread enters for itself and leaves before it waits."""
        with compute_on_one_core():
            if not self.uses_torch:
                yield
                return
            import torch

            with torch.inference_mode():
                yield

    def close(self) -> None:
        """Ends the threads. The models can still be used; that starts new ones."""
        self.pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# CPU threads


class _Products:
    """How many threads are inside `one_thread_per_product`, and how many each shared library had before."""

    lock = threading.Lock()
    inside = 0
    before: tuple[int, ...] = ()


@cache
def _find_libraries() -> tuple[list[Any], list[Any]]:
    """Returns libraries whose number of threads is the process's, and those where it is each thread's own."""
    found = [each for each in ThreadpoolController().lib_controllers if each.user_api == "blas"]
    own = [
        each
        for each in found
        if each.internal_api == "mkl" or getattr(each, "threading_layer", "") == "openmp"
    ]
    return [each for each in found if each not in own], own


def _set_threads(library: Any, threads: int) -> None:
    # Since threadpoolctl 3.8, only the first thread that has set OpenBLAS's number can change it.
    give_up_control = getattr(library, "clear_controlling_thread", lambda **_: None)
    give_up_control(force=True)
    library.set_num_threads(threads)
    give_up_control(force=True)


@contextmanager
def one_thread_per_product() -> Iterator[None]:
    """Enters a context in which a matrix product of numpy is computed by one thread alone.

    Several threads may be inside at once. OpenBLAS, which numpy comes with, has one number of threads for the
    whole process: it is 1 for all threads while one of them is inside. With MKL each thread has its own.
    """
    libraries, own = _find_libraries()
    numbers = [library.num_threads for library in own]
    for library in own:
        library.set_num_threads(1)
    with _Products.lock:
        if not _Products.inside:
            _Products.before = tuple(library.num_threads for library in libraries)
        _Products.inside += 1
        for library in libraries:
            if library.num_threads != 1:
                _set_threads(library, 1)
    try:
        yield
    finally:
        for library, threads in zip(own, numbers, strict=True):
            library.set_num_threads(threads)
        with _Products.lock:
            _Products.inside -= 1
            if not _Products.inside:  # the last one puts back what the first one found
                for library, threads in zip(libraries, _Products.before, strict=True):
                    _set_threads(library, threads)


@cache
def _slots() -> threading.BoundedSemaphore:
    return threading.BoundedSemaphore(count_cores())


if hasattr(os, "register_at_fork"):  # else a child might wait for threads that it does not have
    os.register_at_fork(after_in_child=_slots.cache_clear)


@contextmanager
def compute_on_one_core() -> Iterator[None]:
    """Enters a context for computing a batch on one core; waits while other threads use all cores.

    More threads than cores would take turns at every step of a search, which costs more than the step.
    """
    with _slots(), one_thread_per_product():
        yield


class ThreadPool:
    """Runs each task on one CPU core."""

    _lock = threading.Lock()

    def __init__(self, threads: int, *, torch: bool = False) -> None:
        """With `torch`, the tasks compute with torch, whose threads have to be told to compute alone."""
        self.threads = threads
        self._torch = torch
        self._executor: ThreadPoolExecutor | None = None

    def map(self, function: Callable[[_Item], _Result], items: Sequence[_Item]) -> Iterable[_Result]:
        """Yields the results in the order of the items. Several threads may call this at once."""
        if len(items) == 1 and not self._torch:  # a thread of torch would compute on all cores
            return map(function, items)
        with self._lock:
            if self._executor is None:
                from concurrent.futures import ThreadPoolExecutor  # which a single sentence does not need

                if self._torch:
                    self._executor = _start_torch_threads(self.threads)
                else:
                    self._executor = ThreadPoolExecutor(self.threads, "decode")
        return self._executor.map(function, items)

    def close(self) -> None:
        """Ends the threads; the pool starts new ones when it is used again."""
        with self._lock:
            if self._executor is not None:
                self._executor.shutdown(cancel_futures=True)
                self._executor = None


def _start_torch_threads(threads: int) -> "ThreadPoolExecutor":
    """Starts all threads at once, and leaves torch's settings for all other threads as they were."""
    from concurrent.futures import ThreadPoolExecutor

    import torch

    default = torch.get_num_threads()
    started = threading.Barrier(threads + 1)

    def initialise() -> None:
        # torch initialises a new thread when it is first asked for its number of threads. Only after
        # that does a number last; it is the thread's own.
        torch.get_num_threads()
        torch.set_num_threads(1)
        started.wait()

    executor = ThreadPoolExecutor(threads, "decode", initialise)
    for _ in range(threads):
        executor.submit(int)  # a thread is started for each task, until there are enough
    started.wait()
    torch.set_num_threads(default)  # threads that start later take the number that was set last
    return executor

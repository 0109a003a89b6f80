"""How many tokens a prompt has: counted with the model's own vocabulary if tiktoken has it, otherwise None.

tiktoken is optional (the extra ``tokens``). Its vocabularies are files, which it would download; here they are only
read from ``TIKTOKEN_CACHE_DIR``. Without the package, the setting, the model's file or a valid copy of it,
callers estimate from the number of bytes. Nothing here raises: an estimate must not stop a run.
"""

from __future__ import annotations

import importlib
import logging
from functools import lru_cache
from typing import Any

from django.conf import settings

from evaluation.providers.base import ChatRequest

log = logging.getLogger(__name__)
#: Tokens of a message beside its text, and before the reply, as OpenAI documents them for its models.
MESSAGE_TOKENS, REPLY_TOKENS = 3, 3
#: Characters that are counted; the rest of a longer text is assumed to be like its beginning.
MOST_COUNTED = 20_000


def prompt_tokens(request: ChatRequest) -> int | None:
    """The tokens of a request's messages and schema; None if the model's vocabulary isn't available."""
    vocabulary = vocabulary_of(request.model)
    if vocabulary is None:
        return None
    texts = [message["content"] for message in request.messages]
    if request.schema is not None:
        texts.append(str(request.schema))
    try:
        counted = sum(text_tokens(vocabulary, text) for text in texts)
    except Exception:
        log.exception("tiktoken failed on a prompt for %s", request.model)
        return None
    return counted + MESSAGE_TOKENS * len(request.messages) + REPLY_TOKENS


def text_tokens(vocabulary: Any, text: str) -> int:
    """The tokens of a text; those of a text longer than ``MOST_COUNTED`` characters are projected from its beginning.

    Names of special tokens in the text are counted as ordinary text.
    """
    counted = text[:MOST_COUNTED]
    tokens = len(vocabulary.encode_ordinary(counted))
    return tokens if len(counted) == len(text) else round(tokens * len(text) / len(counted))


def vocabulary_of(model: str) -> Any | None:
    """tiktoken's ``Encoding`` for a model (``gpt-4o``, ``openai/gpt-4o``), or None."""
    return _loaded(model.rpartition("/")[2], settings.TIKTOKEN_CACHE_DIR)


@lru_cache(maxsize=64)
def _loaded(model: str, folder: str) -> Any | None:
    """``folder`` is also in the environment, where tiktoken reads it; here it makes the cached result depend on it."""
    if not folder:
        return None
    try:
        tiktoken = importlib.import_module("tiktoken")
        load: Any = importlib.import_module("tiktoken.load")
        load.read_file = _refuse_download
        return tiktoken.encoding_for_model(model)
    except ImportError:
        log.warning("TIKTOKEN_CACHE_DIR is set, but tiktoken isn't installed: pip install tiktoken")
    except KeyError:
        log.debug("tiktoken doesn't know the model %s; its tokens are estimated from bytes", model)
    except Exception as error:
        log.warning("Tokens of %s are estimated from bytes: %s", model, error)
    return None


def _refuse_download(address: str) -> bytes:
    raise OSError(f"{address} has no valid copy in TIKTOKEN_CACHE_DIR, and isn't downloaded at run time")

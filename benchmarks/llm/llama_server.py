"""llama.cpp's server with a tiny model of random weights: a real model server whose text is noise.

    python -m venv /tmp/llama && /tmp/llama/bin/pip install xllamacpp gguf
    /tmp/llama/bin/python benchmarks/llm/llama_server.py --port 8081

Needs neither Foretell nor its environment. The model has one layer and reads bytes, so a prompt has as many tokens as
bytes. Unless a schema holds its replies to a form, nobody can read them: that is what Foretell has to cope with.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
from pathlib import Path

import gguf
import numpy as np

WIDTH, HEADS, INNER, CONTEXT = 64, 4, 128, 32_768


def model_write(path: Path, *, seed: int = 1) -> None:
    """A model file in the format of llama.cpp: the weights are random, and its tokens are the 256 bytes."""
    rng = np.random.default_rng(seed)
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{n:02X}>" for n in range(256))]
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL]
    kinds += [gguf.TokenType.BYTE] * 256
    out = gguf.GGUFWriter(path, "llama")
    out.add_name("noise")
    out.add_context_length(CONTEXT)
    out.add_embedding_length(WIDTH)
    out.add_block_count(1)
    out.add_feed_forward_length(INNER)
    out.add_head_count(HEADS)
    out.add_head_count_kv(HEADS)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_rope_dimension_count(WIDTH // HEADS)
    out.add_vocab_size(len(tokens))
    out.add_tokenizer_model("llama")
    out.add_token_list(tokens)
    out.add_token_scores([0.0] * len(tokens))
    out.add_token_types(kinds)
    out.add_unk_token_id(0)
    out.add_bos_token_id(1)
    out.add_eos_token_id(2)
    out.add_add_space_prefix(False)  # else a grammar refuses the beginning of the reply
    sizes = {
        "token_embd.weight": (len(tokens), WIDTH), "output.weight": (len(tokens), WIDTH),
        "blk.0.attn_q.weight": (WIDTH, WIDTH), "blk.0.attn_k.weight": (WIDTH, WIDTH),
        "blk.0.attn_v.weight": (WIDTH, WIDTH), "blk.0.attn_output.weight": (WIDTH, WIDTH),
        "blk.0.ffn_gate.weight": (INNER, WIDTH), "blk.0.ffn_up.weight": (INNER, WIDTH),
        "blk.0.ffn_down.weight": (WIDTH, INNER),
    }  # fmt: skip
    weights = {name: rng.normal(0, 0.3, size).astype(np.float32) for name, size in sizes.items()}
    # Dimension 0 is the same for each token, so that some tokens can be likelier than others whatever the prompt: no
    # control characters and no halves of UTF-8 sequences, and a string of JSON ends soon.
    weights["token_embd.weight"][:, 0] = 10
    weights["blk.0.attn_output.weight"] *= 0.02
    weights["blk.0.ffn_down.weight"] *= 0.02
    likelier = np.zeros(len(tokens))
    likelier[3 : 3 + 32] = likelier[3 + 127 :] = -10
    likelier[3 + ord('"')] = 0.12
    weights["output.weight"][:, 0] = likelier
    for name, values in weights.items():
        out.add_tensor(name, values)
    for name in ("output_norm.weight", "blk.0.attn_norm.weight", "blk.0.ffn_norm.weight"):
        out.add_tensor(name, np.ones(WIDTH, dtype=np.float32))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8081)
    parser.add_argument("--slots", type=int, default=4, help="Requests answered at the same time.")
    arguments = parser.parse_args()
    import xllamacpp

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "noise.gguf"
        model_write(path)
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.model_alias = {"noise"}
        params.hostnames = ["127.0.0.1"]
        params.port = arguments.port
        params.n_ctx = CONTEXT * arguments.slots
        params.n_parallel = arguments.slots
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
        params.warmup = False
        params.fit_params = False
        server = xllamacpp.Server(params)
        print(f"{server.listening_address}/v1, model noise", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()

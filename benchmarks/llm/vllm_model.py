"""A tiny model of random weights for vLLM, on a machine without a GPU; see README.md.

    /tmp/vllm/bin/python benchmarks/llm/vllm_model.py /tmp/noise
    HF_HUB_OFFLINE=1 VLLM_CPU_KVCACHE_SPACE=1 /tmp/vllm/bin/vllm serve /tmp/noise --served-model-name noise \\
        --dtype float32 --max-model-len 16384 --enforce-eager --port 8081

Needs neither Foretell nor its environment. The model has one layer and its tokens are bytes. Its text is noise: unless a
schema holds its replies to a form, nobody can read them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models
from tokenizers.pre_tokenizers import ByteLevel
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

SPECIAL = ["<unk>", "<s>", "</s>"]
CHAT = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"
CONTEXT = 32_768


def tokenizer_write(folder: Path) -> list[str]:
    """The 256 bytes as a vocabulary; returns its tokens in order."""
    tokens = SPECIAL + sorted(ByteLevel.alphabet())
    made = Tokenizer(
        models.BPE(vocab={token: n for n, token in enumerate(tokens)}, merges=[], unk_token=SPECIAL[0])
    )
    made.pre_tokenizer = ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    whole = PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="<unk>", bos_token="<s>", eos_token="</s>", model_max_length=CONTEXT
    )
    whole.chat_template = CHAT
    whole.save_pretrained(folder)
    return tokens


def model_write(folder: Path, tokens: list[str], *, seed: int = 1) -> None:
    torch.manual_seed(seed)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokens),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            head_dim=32,
            max_position_embeddings=CONTEXT,
            bos_token_id=1,
            eos_token_id=2,
            tie_word_embeddings=False,
        )
    ).float()
    weights = model.state_dict()
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        weights[name].normal_(0, 0.3)
    # Dimension 0 is the same for each token, so that printable characters and the end of a string are likelier.
    weights["model.embed_tokens.weight"][:, 0] = 10
    weights["model.layers.0.self_attn.o_proj.weight"].mul_(0.02)
    weights["model.layers.0.mlp.down_proj.weight"].mul_(0.02)
    likelier = torch.tensor([0.0 if len(t) == 1 and " " < t <= "~" else -10.0 for t in tokens])
    likelier[tokens.index('"')] = 0.12
    weights["lm_head.weight"][:, 0] = likelier
    model.load_state_dict(weights)
    model.save_pretrained(folder)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    model_write(place, tokenizer_write(place))

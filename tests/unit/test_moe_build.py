"""The MoE model made from a dense one: a stock folder, the same bytes each time, equal to the training
side.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from core.engine.moe_build import ASSET_FILE, Factors, build, read_asset
from core.engine.moe_recipe.pack import pack, unpack
from core.engine.moe_recipe.settings import SplitSettings
from core.engine.moe_recipe.student import SplitState, fresh_layer, make_student
from core.errors import UserError
from tests.unit import tiny

SPLIT = SplitSettings(shared=16, n_experts=4, experts_per_token=2, dense_layers=(0,), lora_rank=3)


def _random_state(model: torch.nn.Module) -> SplitState:
    generator = torch.Generator().manual_seed(4)
    layers = {}
    for i in (1, 2):
        order = torch.randperm(80, generator=generator)
        layer = fresh_layer(order, torch.randn(4, 48, generator=generator), torch.rand(4) + 0.5, 48, 3, i)
        layer.channel_scale = torch.rand(48, generator=generator) + 0.5
        layer.b = {n: torch.randn(t.shape, generator=generator) * 0.1 for n, t in layer.b.items()}
        layers[i] = layer
    return SplitState(SPLIT, layers, torch.rand(7, 48, generator=generator) + 0.5)


@pytest.fixture
def dense_folder(tmp_path: Path) -> Path:
    return Path(tiny.save(tiny.build("llama"), tmp_path / "dense") or tmp_path / "dense")


@pytest.fixture
def asset_file(tmp_path: Path) -> Path:
    file = tmp_path / "asset.safetensors"
    pack(_random_state(tiny.build("llama")), file)
    return file


def _digest(folder: Path) -> str:
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def test_the_built_folder_loads_as_a_stock_model_and_computes_what_training_computed(
    dense_folder: Path, asset_file: Path, tmp_path: Path
) -> None:
    build(dense_folder, tmp_path / "moe", asset_file=asset_file)
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "moe", dtype=torch.float32).eval()
    assert type(model).__name__ == "Qwen2MoeForCausalLM"
    student = make_student(AutoModelForCausalLM.from_pretrained(dense_folder), unpack(asset_file))
    ids = torch.tensor([tiny.prompt_ids(20)])
    with torch.no_grad():
        difference = (model(ids).logits - student(ids).logits).abs().max()
    assert float(difference) < 1e-4


def test_building_twice_gives_the_same_bytes_whatever_the_number_of_threads(
    dense_folder: Path, asset_file: Path, tmp_path: Path
) -> None:
    build(dense_folder, tmp_path / "one", asset_file=asset_file)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        build(dense_folder, tmp_path / "two", asset_file=asset_file)
    finally:
        torch.set_num_threads(threads)
    assert _digest(tmp_path / "one") == _digest(tmp_path / "two")
    assert (tmp_path / "one/config.json").read_bytes() == (tmp_path / "two/config.json").read_bytes()


def test_the_tokenizer_comes_along_and_the_config_names_the_dense_layers(
    dense_folder: Path, asset_file: Path, tmp_path: Path
) -> None:
    build(dense_folder, tmp_path / "moe", asset_file=asset_file)
    before = (dense_folder / "tokenizer.json").read_bytes()
    assert (tmp_path / "moe/tokenizer.json").read_bytes() == before
    config = json.loads((tmp_path / "moe/config.json").read_text())
    assert config["mlp_only_layers"] == [0]
    assert (config["num_experts"], config["moe_intermediate_size"]) == (4, 16)


def test_a_model_of_another_shape_is_refused_in_plain_words(asset_file: Path, tmp_path: Path) -> None:
    tiny.save(tiny.build("llama", intermediate_size=96), tmp_path / "other")
    with pytest.raises(UserError, match="shape"):
        build(tmp_path / "other", tmp_path / "moe", asset_file=asset_file)


def test_a_file_that_is_no_asset_is_refused_in_plain_words(tmp_path: Path) -> None:
    (tmp_path / "x.safetensors").write_bytes(b"not an asset")
    with pytest.raises(UserError, match="could not be read"):
        read_asset(tmp_path / "x.safetensors")


def test_a_low_rank_product_is_exact_to_the_last_rounding() -> None:
    generator = torch.Generator().manual_seed(0)
    a = torch.randint(-127, 128, (5, 30), generator=generator, dtype=torch.int8)
    b = torch.randint(-127, 128, (5, 20), generator=generator, dtype=torch.int8)
    a_scale, b_scale = (torch.rand(5, generator=generator).half() * 0.01 for _ in range(2))
    wanted = (b.double() * b_scale.double()[:, None]).T @ (a.double() * a_scale.double()[:, None])
    got = Factors(a, a_scale, b, b_scale).product()
    assert torch.allclose(got.double(), wanted, rtol=1e-6, atol=1e-9)


def test_the_shipped_asset_is_whole_and_within_the_promised_size() -> None:
    asset = read_asset(ASSET_FILE)
    assert (asset.n_experts, asset.experts_per_token, asset.dense_layers) == (8, 2, (0, 1))
    assert sorted(asset.layers) == list(range(2, 30))
    idle = (1536 - asset.shared) // 8 * 6 * 3 * 576 * 28
    assert 134_660_160 - idle <= 95_000_000
    for layer in asset.layers.values():
        assert sorted(layer.order.tolist()) == list(range(1536))


def test_the_shipped_experts_have_a_width_that_the_stock_grouped_product_takes() -> None:
    asset = read_asset()
    assert (1536 - asset.shared) // asset.n_experts % 4 == 0

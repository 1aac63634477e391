# SPDX-License-Identifier: Apache-2.0
"""The zoo: names of architectures, and how each is made with seeded weights and sample inputs. Nothing is downloaded;
where the usual configuration is large, a smaller one of the same layers is taken."""
from __future__ import annotations

import copy
from typing import Any, Callable

import torch
from torch.utils import _pytree as pytree

from networks import networks

Made = tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]
_table: dict[str, Callable[[], Made]] = {}


def names() -> list[str]:
    if not _table:
        _torchvision()
        _timm()
        _transformers()
        _table.update({f"others/{name}": made for name, made in networks().items()})
    return sorted(_table)


def make(name: str) -> Made:
    """A module in inference mode, and the arguments of one call."""
    names()
    torch.manual_seed(0)
    module, args, kwargs = _table[name]()
    module.eval()
    if not says_something(module, args, kwargs):
        enliven(module, args, kwargs)
    return module, args, kwargs


def says_something(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether each result of floats is more than zeros, and not the same whatever an image is: no error could be seen
    in such a one."""
    def floats(args: Any, kwargs: Any) -> list[torch.Tensor]:
        found = pytree.tree_leaves(copy.deepcopy(module)(*args, **kwargs))
        return [x for x in found if isinstance(x, torch.Tensor) and x.is_floating_point() and x.numel()]

    def turned(x: Any) -> Any:
        return x.flip(-1) if isinstance(x, torch.Tensor) and x.is_floating_point() and x.dim() > 3 else x

    with torch.no_grad():
        try:
            first, second = floats(args, kwargs), floats(*pytree.tree_map(turned, (args, kwargs)))
        except Exception:  # the export says what is wrong
            return True
    images = any(turned(x) is not x for x in pytree.tree_leaves((args, kwargs)))
    return all((most := a.abs().max()) > 1e-4 and (not images or (a - b).abs().max() > 1e-3 * most)
               for a, b in zip(first, second))


def enliven(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Gives weights that begin as zeros random numbers, and batch norms the mean and the variance of what comes to
    them, as training would: some networks begin with a last layer of zeros, or with values that vanish layer by
    layer. One mean and one variance for all channels: those of a channel at few places would make rounding errors
    large."""
    def fit(norm: torch.nn.Module, given: tuple[Any, ...]) -> None:
        norm.running_mean.fill_(given[0].mean())
        norm.running_var.fill_(given[0].var())

    with torch.no_grad():
        for weight in module.parameters():
            if weight.numel() > 1 and not weight.any():
                weight.copy_(0.1 * torch.randn_like(weight))
        norms = [m for m in module.modules() if isinstance(getattr(m, "running_mean", None), torch.Tensor)]
        hooks = [norm.register_forward_pre_hook(fit) for norm in norms]
        module(*args, **kwargs)
        for hook in hooks:
            hook.remove()


def image(size: int = 64, channels: int = 3, batch: int = 1) -> torch.Tensor:
    return torch.rand(batch, channels, size, size)


# -- torchvision
# ---------------------------------------------------------------------------------------------------------------
_CLASSIFICATION = {
    **{name: 64 for name in """alexnet convnext_tiny densenet121 efficientnet_b0 efficientnet_v2_s googlenet mnasnet0_5 mnasnet1_0
mobilenet_v2 mobilenet_v3_large mobilenet_v3_small regnet_x_400mf regnet_y_400mf resnet18 resnet34 resnet50 resnext50_32x4d
shufflenet_v2_x0_5 shufflenet_v2_x1_0 squeezenet1_0 squeezenet1_1 wide_resnet50_2 vgg11 vgg11_bn""".split()},
    "inception_v3": 96, "maxvit_t": 224, "swin_t": 64, "swin_v2_t": 64, "vit_b_16": 224,
}
_SEGMENTATION = ("deeplabv3_mobilenet_v3_large", "deeplabv3_resnet50", "fcn_resnet50", "lraspp_mobilenet_v3_large")
_VIDEO = {"mc3_18": 32, "r2plus1d_18": 32, "r3d_18": 32, "s3d": 224, "swin3d_t": 64, "mvit_v1_b": 224}
_DETECTION = ("fasterrcnn_mobilenet_v3_large_320_fpn", "fcos_resnet50_fpn", "keypointrcnn_resnet50_fpn",
              "maskrcnn_resnet50_fpn",
              "retinanet_resnet50_fpn", "ssd300_vgg16", "ssdlite320_mobilenet_v3_large")


class Detector(torch.nn.Module):
    """A detector without what depends on its scores: the features of an image and what its heads make of them."""

    def __init__(self, module: torch.nn.Module):
        super().__init__()
        self.backbone = module.backbone
        self.head = module.head if hasattr(module, "head") else module.rpn.head

    def forward(self, images: torch.Tensor) -> Any:
        features = self.backbone(images)
        return self.head(list(features.values()) if isinstance(features, dict) else [features])


def _torchvision() -> None:
    import torchvision.models as zoo

    def classification(name: str, size: int) -> Made:
        words = {"init_weights": True} if name in ("googlenet", "inception_v3") else {}
        return getattr(zoo, name)(weights=None, **words), (image(size),), {}

    def video(name: str, size: int) -> Made:
        frames = 16 if name == "mvit_v1_b" else 16 if name == "s3d" else 4
        return getattr(zoo.video, name)(weights=None), (torch.rand(1, 3, frames, size, size),), {}

    for name, size in _CLASSIFICATION.items():
        _table[f"torchvision/{name}"] = lambda name=name, size=size: classification(name, size)
    for name in _SEGMENTATION:
        _table[f"torchvision/{name}"] = lambda name=name: (
            getattr(zoo.segmentation, name)(weights=None, weights_backbone=None), (image(64),), {})
    for name, size in _VIDEO.items():
        _table[f"torchvision/{name}"] = lambda name=name, size=size: video(name, size)
    for name in _DETECTION:
        _table[f"torchvision/{name}"] = lambda name=name: (
            getattr(zoo.detection, name)(weights=None, weights_backbone=None), ([image(128)[0]],), {})
        _table[f"torchvision/{name}+heads"] = lambda name=name: (
            Detector(getattr(zoo.detection, name)(weights=None, weights_backbone=None)),
            (image(300 if "ssd300" in name else 128),), {})


# -- timm: one of the small models of each family
# -----------------------------------------------------------------------------------
_TIMM: dict[str, int] = {
    **dict.fromkeys("""adv_inception_v3 convmixer_768_32 convnext_atto_rms cpubone_nano cs3darknet_focus_s csatv2 cspnext_tiny davit_tiny gemma4_vit_167m
densenet121 dla46x_c dpn48b edgenext_xx_small efficientvim_m1 efficientvit_b0 ens_adv_inception_resnet_v2
ese_vovnet19b_slim_dw fasternet_t0 fastvit_s12 focalnet_tiny_srf ghostnet_050 gluon_resnet18_v1b halonet_h1
hardcorenas_b hgnetv2_b0 hrnet_w18_small iformer_s inception_next_atto inception_v4 lcnetv2_small legacy_seresnet18
legacy_xception lowformer_b0 mambaout_femto mnasnet_small mobilenetv3_small_050 mobilenetv5_base mobileone_s1
mobilevit_xxs naflexvit_base_patch16_siglip nasnetalarge nextvit_small nf_regnet_b0 pnasnet5large poolformerv2_s12
pvt_v2_b0 qwen3_vit_88m rdnet_tiny regnety_040_sgn repghostnet_050 repvit_m1 res2next50 resnest14d resnetv2_18
rexnet_100 sam2_hiera_tiny selecsls42 shvit_s1 skresnet18 starnet_s050 tiny_vit_5m_224 tresnet_m xception41p
caformer_s18 convformer_s18 convnextv2_atto cspresnet50 cspresnext50 darknet17 eca_resnext26ts
ecaresnetlight efficientnet_b0 efficientnetv2_rw_t fbnetc_100 fbnetv3_b gcresnext26ts gernet_s ghostnetv2_100
hgnet_tiny lcnet_050 lambda_resnet26t mixnet_s mobilenetv1_100 mobilenetv2_050 mobilevitv2_050 nfnet_l0 regnetv_040
regnetx_002 regnetz_005 repvgg_a0 resnetblur18 resnetrs50 semnasnet_050 seresnext26t_32x4d spnasnet_100
tinynet_e vgg11 vovnet39a xception65""".split(), 96),
    **dict.fromkeys("""coatnet_pico_rw_224 gmixer_24_224 gmlp_ti16_224 resmlp_12_224 vit_tiny_patch16_224 beit_base_patch16_224 cait_xxs24_224 coat_tiny convit_tiny deit_tiny_patch16_224 efficientformer_l1
efficientformerv2_s0 efficientvit_m0 eva02_tiny_patch14_224 gcvit_xxtiny hiera_tiny_224 jx_nest_tiny levit_384_s8
mixer_s16_224 mvitv2_tiny pit_xs_224 samvit_base_patch16_224 sequencer2d_s swiftformer_xs swin_tiny_patch4_window7_224
swinv2_cr_tiny_224 tnt_s_legacy_patch16_224 twins_svt_small visformer_tiny vit_small_r26_s32_224
vit_srelpos_small_patch16_224 vitamin_small_224 volo_d1_224 xcit_nano_12_p8_224""".split(), 224),
    "deepseek_vit_412m": 98,
    **dict.fromkeys("""crossvit_tiny_240 flexivit_small""".split(), 240),
    **dict.fromkeys("""bat_resnext26ts botnet26t_256 maxxvit_rmlp_nano_rw_256 halonet_h1 maxvit_pico_rw_256 swinv2_tiny_window16_256""".split(), 256),
}


# Fewer layers where there is no small model of the family.
_SHORT: dict[str, dict[str, Any]] = {
    "beit_base_patch16_224": {"depth": 3}, "samvit_base_patch16_224": {"depth": 3, "global_attn_indexes": (2,)},
    **dict.fromkeys(("deepseek_vit_412m", "gemma4_vit_167m"), {"depth": 2}),
    "naflexvit_base_patch16_siglip": {"depth": 3}, "qwen3_vit_88m": {"depth": 3},
    "sequencer2d_s": {"layers": (1, 1, 2, 1)},
}


def _timm() -> None:
    def one(name: str, size: int) -> Made:
        import timm

        return timm.create_model(name, pretrained=False, **_SHORT.get(name, {})), (image(size),), {}

    for name, size in _TIMM.items():
        _table[f"timm/{name}"] = lambda name=name, size=size: one(name, size)


# -- transformers: two layers, 64 wide
# ---------------------------------------------------------------------------------------------
_SMALL = {
    "hidden_size": 64, "d_model": 64, "dim": 64, "n_embd": 64, "embedding_size": 64, "num_hidden_layers": 2,
    "n_layer": 2, "n_layers": 2,
    "num_layers": 2, "encoder_layers": 2, "decoder_layers": 2, "num_attention_heads": 4, "n_head": 4, "n_heads": 4,
    "num_heads": 4,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
    "intermediate_size": 128,
    "ffn_dim": 128, "d_ff": 128, "d_kv": 16, "hidden_dim": 128, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128,
    "vocab_size": 128,
    "max_position_embeddings": 128, "n_positions": 128, "num_decoder_layers": 2, "word_embed_proj_dim": 64,
    "num_local_experts": 4,
    "num_experts": 4, "num_experts_per_tok": 2, "state_size": 8, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1, "use_cache": False, "max_source_positions": 64, "num_mel_bins": 16, "image_size": 32,
    "patch_size": 8,
}
_TEXT = """albert bert big_bird biogpt bloom camembert codegen cohere convbert ctrl data2vec-text deberta deberta-v2 distilbert electra
ernie esm falcon fnet funnel gemma gemma2 gemma3_text glm gpt2 gpt_bigcode gpt_neo gpt_neox gptj granite granitemoe helium llama lilt
mamba megatron-bert mistral mixtral mobilebert modernbert mpnet mpt nomic_bert nystromformer olmo olmo2 openai-gpt opt persimmon phi phi3 qwen2 qwen2_moe
qwen3 rembert roberta roformer rwkv smollm3 squeezebert stablelm starcoder2 xglm xlm-roberta yoso layoutlm
arcee cohere2 deepseek_v2 exaone4 falcon_mamba glm4 gpt_oss lfm2 llama4_text mamba2 nemotron olmo3 olmoe phimoe qwen3_moe seed_oss""".split()
_PAIRS = "bart blenderbot-small m2m_100 marian mbart mt5 mvp pegasus plbart prophetnet t5".split()
_VISION = "beit bit convnext convnextv2 deit dinov2 efficientnet focalnet hiera ijepa levit mobilevit mobilevitv2 mobilenet_v1 mobilenet_v2 poolformer pvt pvt_v2 regnet resnet segformer swiftformer swin swinv2 vit vit_mae vit_msn yolos dpt clip_vision_model siglip_vision_model".split()
_AUDIO = "wav2vec2 hubert wavlm unispeech sew data2vec-audio".split()
_SPECTROGRAM = "whisper speech_to_text audio-spectrogram-transformer".split()
_BOTH = "clip siglip chinese_clip altclip clipseg groupvit vilt blip".split()
_CACHED = "gpt2 llama qwen2 mistral phi gpt_neox".split()


# Where these sizes do not go together, or mean something else.
_OTHER: dict[str, dict[str, Any]] = {
    "big_bird": {"attention_type": "original_full"},
    "codegen": {"rotary_dim": 8}, "gptj": {"rotary_dim": 8},
    "convnext": {"image_size": 64, "patch_size": 4}, "convnextv2": {"image_size": 64, "patch_size": 4},
    "deepseek_v2": {"num_key_value_heads": 4, "kv_lora_rank": 32, "q_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 16, "v_head_dim": 16,
                    "n_routed_experts": 4, "moe_intermediate_size": 32, "first_k_dense_replace": 1},
    "efficientnet": {"hidden_dim": 1280, "width_coefficient": 1.0, "depth_coefficient": 1.0, "image_size": 64},
    "funnel": {"block_sizes": [1, 1, 1], "block_repeats": [1, 1, 1], "num_decoder_layers": 1,
               "architectures": ["FunnelModel"]},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "hiera": {"embed_dim": 32, "depths": [1, 1, 2, 1]},
    "levit": {"image_size": 224, "patch_size": 16},
    "lilt": {"hidden_size": 96},
    "mamba2": {"num_heads": 8, "n_groups": 2, "chunk_size": 8},
    "mobilevitv2": {"image_size": 128, "patch_size": 2},
    **dict.fromkeys(("swin", "swinv2"), {"image_size": 224, "patch_size": 4, "embed_dim": 32, "depths": [1, 1, 2, 1],
                                         "num_heads": [2, 4, 8, 16]}),
    "yolos": {"image_size": [32, 32]},
}


def small(kind: str) -> Any:
    """A configuration of this type with two narrow layers; lists a layer or a stage keep their length."""
    from transformers import AutoConfig

    def narrowed(words: dict[str, Any]) -> dict[str, Any]:
        changed = {k: v for k, v in _SMALL.items() if k in words and not isinstance(words[k], (list, tuple, dict))}
        for key in ("text_config", "vision_config"):
            if isinstance(words.get(key), dict):
                changed[key] = {k: v for k, v in narrowed(words[key]).items() if k != "use_cache"}
        if "projection_dim" in words:
            changed["projection_dim"] = 64
        return changed

    words = AutoConfig.for_model(kind).to_dict()
    changed = narrowed(words)
    if "layer_types" in words:
        changed["layer_types"] = None
    return AutoConfig.for_model(kind, **{**changed, **_OTHER.get(kind, {})})


def _transformers() -> None:
    def model(kind: str) -> Any:
        from transformers import AutoModel

        config = small(kind)
        config.return_dict = True
        return AutoModel.from_config(config, attn_implementation=None)

    def text(kind: str) -> Made:
        return model(kind), (torch.randint(3, 100, (1, 16)),), {}

    def pair(kind: str) -> Made:
        ids = torch.randint(3, 100, (1, 12))
        return model(kind), (), {"input_ids": ids, "decoder_input_ids": ids[:, :8]}

    def vision(kind: str) -> Made:
        module = model(kind)
        size = getattr(module.config, "image_size", 64)
        pixels = image(size if isinstance(size, int) else size[0])
        noise = {"noise": torch.rand(1, 16)} if kind == "vit_mae" else {}  # which patches are hidden
        return module, (pixels,), noise

    def audio(kind: str) -> Made:
        return model(kind), (torch.randn(1, 2000),), {}

    def spectrogram(kind: str) -> Made:
        module = model(kind)
        words = module.config
        if kind == "audio-spectrogram-transformer":
            return module, (torch.randn(1, words.max_length, words.num_mel_bins),), {}
        frames = 2 * words.max_source_positions
        shape = (1, 16, frames) if kind == "whisper" else (1, frames, words.input_feat_per_channel)
        return module, (torch.randn(*shape),), {"decoder_input_ids": torch.randint(3, 100, (1, 8))}

    def both(kind: str) -> Made:
        module = model(kind)
        size = getattr(module.config, "vision_config", module.config).image_size
        return module, (), {"input_ids": torch.randint(3, 100, (1, 8)), "pixel_values": image(size)}

    def cached(kind: str) -> Made:
        """One step of a decoder: the cache is a state of the module."""
        from transformers import AutoModelForCausalLM
        from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

        config = small(kind)
        config.use_cache = True
        module = AutoModelForCausalLM.from_config(config)
        module.generation_config.update(use_cache=True, cache_implementation="static", max_length=32,
                                        cache_config={"batch_size": 1, "max_cache_len": 32, "device": "cpu"})
        return TorchExportableModuleWithStaticCache(module.eval()), (), {
            "input_ids": torch.tensor([[7]]), "cache_position": torch.tensor([0])}

    for kind in _CACHED:
        _table[f"transformers/{kind}+cache"] = lambda kind=kind: cached(kind)
    for kinds, maker in ((_SPECTROGRAM, spectrogram), (_BOTH, both), (_TEXT, text), (_PAIRS, pair), (_VISION, vision),
                         (_AUDIO, audio)):
        for kind in kinds:
            _table[f"transformers/{kind}"] = lambda kind=kind, maker=maker: maker(kind)

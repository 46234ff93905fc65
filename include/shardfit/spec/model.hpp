// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "shardfit/base/names.hpp"

namespace shardfit {

// The model as its checkpoint has it. Field names are Hugging Face's; widths are numbers of elements.
// The JSON form is models/README.md, version 1.

enum class QkNorm { none, per_head, per_layer, count };
template <>
inline constexpr NameList<QkNorm> kNames<QkNorm> = {"none", "per_head", "per_layer"};

struct GqaSpec {
  int num_attention_heads = 0, num_key_value_heads = 0, head_dim = 0;
  bool qkv_bias = false, o_bias = false;
  QkNorm qk_norm = QkNorm::none;
  bool output_gate = false;           ///< q projection twice as wide; its second half gates the output
  std::optional<int> sliding_window;  ///< tokens seen; none: all
  bool attention_sinks = false;       ///< one learned logit a head
  bool value_norm = false;            ///< values normed without a weight, in single operations (Gemma-4)
};

/// The lightning indexer of sparse attention: scores every key for each query, which then attends to the best `topk`.
struct SparseIndexerSpec {
  int num_heads = 0, head_dim = 0, topk = 0;
  bool shared = false;  ///< no weights: the layer reads the choice of an earlier one (GLM-5.2)
};

struct MlaSpec {
  int num_attention_heads = 0;
  std::optional<int> q_lora_rank;  ///< none: one direct q projection
  int kv_lora_rank = 0, qk_nope_head_dim = 0, qk_rope_head_dim = 0, v_head_dim = 0;
  bool latent_norms = true;  ///< norms on the compressed q and kv
  bool o_bias = false;
  std::optional<SparseIndexerSpec> indexer;  ///< DeepSeek sparse attention (DSA); none: every key before the query
};

struct GatedDeltaNetSpec {
  int num_key_heads = 0, num_value_heads = 0, key_head_dim = 0, value_head_dim = 0, conv_kernel = 0;
  bool conv_bias = false;
};

struct Mamba2Spec {
  int num_heads = 0, head_dim = 0, state_size = 0, n_groups = 0, conv_kernel = 0;
  bool conv_bias = true, proj_bias = false;
  int chunk_size = 128;
};

/// DeepSeek-V4's attention over compressed keys.
struct CompressedMqaSpec {
  int num_attention_heads = 0, head_dim = 0, qk_rope_head_dim = 0, q_lora_rank = 0, o_groups = 0, o_lora_rank = 0;
  std::optional<int> sliding_window;
  bool attention_sinks = false;
  int compress_ratio = 0;  ///< 0: window only
  bool compress_overlap = false;
  struct Indexer {
    int num_heads = 0, head_dim = 0, topk = 0;
  };
  std::optional<Indexer> indexer;
};

using MixerKind = std::variant<GqaSpec, MlaSpec, GatedDeltaNetSpec, Mamba2Spec, CompressedMqaSpec>;

struct MixerSpec {
  std::string name;
  MixerKind kind;
};

struct DenseMlpSpec {
  int intermediate_size = 0;
  bool gated = true, bias = false;
  std::string activation = "silu";
};

struct RouterSpec {
  std::string score_function = "softmax";
  bool bias = false;             ///< a trained weight
  bool correction_bias = false;  ///< a buffer of num_experts, not trained by gradient
  int n_group = 1, topk_group = 1;
  bool hash_routed = false;
};

struct SharedExpertSpec {
  int intermediate_size = 0;  ///< of all shared experts together
  bool gate = false;
};

struct MoeMlpSpec {
  int num_experts = 0, num_experts_per_tok = 0, intermediate_size = 0;
  bool gated = true, bias = false;
  std::string activation = "silu";
  std::optional<int> latent_size;  ///< width that the experts work in; none: hidden_size
  RouterSpec router;
  std::optional<SharedExpertSpec> shared_expert;
  bool separate_norms = false;  ///< router, routed and shared experts norm their inputs apart, and both outputs (Gemma-4)
};

using MlpKind = std::variant<DenseMlpSpec, MoeMlpSpec>;

struct MlpSpec {
  std::string name;
  MlpKind kind;
};

/// One entry of num_hidden_layers: indices into `mixers` and `mlps`, -1 for none (Nemotron's blocks have one of the two).
struct BlockRef {
  int mixer = -1, mlp = -1;
  friend bool operator==(const BlockRef&, const BlockRef&) = default;
};

enum class NormKind { rmsnorm, layernorm, count };
template <>
inline constexpr NameList<NormKind> kNames<NormKind> = {"rmsnorm", "layernorm"};

struct MtpSpec {
  int num_layers = 0;
  std::vector<BlockRef> blocks;         ///< the inner layers of each depth
  bool input_projection_split = false;  ///< two [h, h] matrices instead of one [2h, h]
  bool shares_embedding_and_head = true;
  bool final_norm = true;
  bool repeated_layer = false;  ///< one set of weights used at each depth
};

struct TextSpec {
  int num_hidden_layers = 0, hidden_size = 0, vocab_size = 0;
  bool tie_word_embeddings = false;
  int max_position_embeddings = 0;
  bool final_logit_softcapping = false;  ///< logits = cap * tanh(logits / cap)
  int learned_positions = 0;             ///< rows of a learned position table; 0: none
  NormKind norm = NormKind::rmsnorm;
  bool norm_post = false;    ///< placement pre_and_post: a second norm after each sublayer
  int residual_streams = 1;  ///< above 1: hyper-connections
  std::vector<MixerSpec> mixers;
  std::vector<MlpSpec> mlps;
  std::vector<BlockRef> layers;  ///< num_hidden_layers entries, segments written out
  std::optional<MtpSpec> mtp;
  std::string hybrid_override_pattern;  ///< Nemotron only
};

struct MergerSpec {
  enum class Kind { mlp, conv_gated_mlp, avg_pool_linear } kind = Kind::mlp;
  int merge_size = 2;
  bool layernorm = true;  ///< else rmsnorm
  bool has_norm = true;
  bool norm_after_merge = false;
  int intermediate_size = 0;
  bool bias = true;
  int out_hidden_size = 0;
};

struct DeepstackSpec {
  std::vector<int> vision_layer_indexes, decoder_layer_indexes;
  MergerSpec merger;
};

struct VisionSpec {
  std::string kind = "vit";
  int depth = 0, hidden_size = 0, num_heads = 0, head_dim = 0, intermediate_size = 0;
  bool mlp_gated = false, mlp_bias = true, qkv_bias = true, proj_bias = true;
  NormKind norm = NormKind::layernorm;
  int extra_norms = 0;  ///< norms of hidden_size beside the two of each block
  int in_channels = 3, patch_size = 0, temporal_patch_size = 1;
  int temporal_merge = 1;         ///< frames of a clip that become one step of visual tokens
  int text_tokens_per_image = 0;  ///< markers around an image or a step
  bool patch_bias = true;
  int position_table_size = 0;             ///< learned rows; 0: none
  std::optional<int> attention_window;     ///< pixels; none: all patches of one frame or image
  std::vector<int> full_attention_layers;  ///< with a window: the layers without it
  struct Resolution {
    enum class Kind { fixed, native, native_padded } kind = Kind::native;
    int image_size = 0;  ///< fixed
    int resize_multiple = 0;
    std::int64_t min_pixels = 0, max_pixels = 0;
    int frames_counted = 1;                         ///< the pixel limits count a still image this many times
    int max_patches = 0, max_patches_per_side = 0;  ///< native_padded
    int max_patches_per_frame = 0;                  ///< native_padded, of a clip; 0: as an image
  } resolution;
  MergerSpec merger;
  std::optional<DeepstackSpec> deepstack;
};

struct PublishedParams {
  std::string of;  ///< which of computed_params it counts
  std::int64_t value = 0;
  std::string source;
};

struct ModelSpec {
  std::string name, family;
  TextSpec text;
  std::optional<VisionSpec> vision;
  std::vector<PublishedParams> exact_params;  ///< exact published counts only
  std::string source_file;                    ///< where it was read from; empty: inline
};

}  // namespace shardfit

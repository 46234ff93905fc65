// SPDX-License-Identifier: Apache-2.0
// Number formats of GEMMs and parameters.
#include <algorithm>

#include "layout/rules/rule.hpp"

namespace shardfit::layout {
namespace {

constexpr Rule kRules[] = {
    {{"fp8_params_need_fp8", "precision", "fp8 parameter gather needs an fp8 or fp4 precision", "quantised", "needed",
      RuleSource::megatron_core, "Megatron-LM core/transformer/transformer_config.py:__post_init__"},
     RuleScope::megatron,
     {},
     kJobAlone,
     [](const Case& c) { return c.training().fp8_param_gather ? equals(is_quantized(c.training().precision), 1) : kPass; }},
    {{"fp8_params_need_sharding", "precision", "fp8 parameter gather needs a distributed optimizer or FSDP", "sharded",
      "needed", RuleSource::megatron_lm_arguments, "Megatron-LM training/arguments.py:validate_args"},
     RuleScope::megatron_lm,
     {},
     Reads{On::sharding},
     [](const Case& c) { return c.training().fp8_param_gather ? equals(c.layout.sharding != Sharding::none, 1) : kPass; }},
    {{"bf16_ends_delayed", "precision", "first and last layers in bf16 exclude fp8 with delayed scaling", "delayed scaling",
      "allowed", RuleSource::megatron_core, "Megatron-LM core/transformer/transformer_config.py:__post_init__"},
     RuleScope::megatron,
     {},
     kJobAlone,
     [](const Case& c) {
       return none_of(c.training().first_last_layers_bf16, c.training().precision == Precision::fp8_delayed);
     }},
    {{"bf16_ends_fit_stage", "precision", "the bf16 layers at an end are no more than the layers of a stage",
      "layers at an end", "layers of a stage", RuleSource::megatron_core,
      "Megatron-LM core/transformer/transformer_config.py:__post_init__"},
     RuleScope::megatron,
     {Axis::pp},
     Reads{On::pp},
     [](const Case& c) {
       const Precision p = c.training().precision;
       const bool fp8 = is_quantized(p) && p != Precision::nvfp4;
       const int most = std::max(c.training().num_layers_at_start_in_bf16, c.training().num_layers_at_end_in_bf16);
       return c.training().first_last_layers_bf16 && fp8 ? at_most(most, c.job.layers / c.layout.pp) : kPass;
     }},
    {{"fp8_output_proj_mxfp8", "precision", "an fp8 output projection needs mxfp8", "mxfp8", "needed",
      RuleSource::megatron_core, "Megatron-LM core/transformer/transformer_config.py:__post_init__"},
     RuleScope::everywhere,
     {},
     kJobAlone,
     [](const Case& c) {
       return c.training().fp8_output_proj ? equals(c.training().precision == Precision::mxfp8, 1) : kPass;
     }},
    {{"fp8_output_proj_weight", "precision", "an fp8 output projection has a weight of its own: no tied embedding on its stage",
      "tied", "allowed", RuleSource::megatron_core,
      "Megatron-LM core/extensions/transformer_engine.py:TELMHeadColumnParallelLinear"},
     RuleScope::megatron,
     {Axis::pp},
     Reads{On::pp},
     [](const Case& c) {
       return none_of(c.training().fp8_output_proj && c.layout.pp == 1, c.model().text.tie_word_embeddings);
     }},
    {{"fp8_output_proj_hybrid", "precision", "hybrid models have no fp8 output projection", "Mamba heads", "most",
      RuleSource::shardfit,
      "Megatron-LM core/models/hybrid/hybrid_model.py: a ColumnParallelLinear; the option would do nothing"},
     RuleScope::everywhere,
     {},
     kJobAlone,
     [](const Case& c) { return c.training().fp8_output_proj ? at_most(c.job.mamba_heads, 0) : kPass; }},
    {{"fp8_output_proj_deferred", "precision", "an fp8 output projection excludes a deferred weight gradient of the embedding",
      "deferred", "allowed", RuleSource::megatron_core,
      "Megatron-LM core/extensions/transformer_engine.py:TELMHeadColumnParallelLinear"},
     RuleScope::megatron,
     {},
     kJobAlone,
     [](const Case& c) { return none_of(c.training().fp8_output_proj, c.stack().deferred_embedding_wgrad); }},
    {{"fp8_output_proj_te", "precision", "an fp8 output projection is a linear of Transformer Engine's in Megatron",
      "Megatron with Transformer Engine", "needed", RuleSource::shardfit,
      "Megatron-LM core/fp8_utils.py:is_mxfp8_output_proj_active; elsewhere the option would do nothing"},
     RuleScope::everywhere,
     {},
     kJobAlone,
     [](const Case& c) {
       const bool has = c.stack().transformer_engine && c.stack().framework == Framework::megatron;
       return c.training().fp8_output_proj ? equals(has, 1) : kPass;
     }},
    {{"quant_recipe_te", "precision", "precisions of single modules need Transformer Engine's layers", "Transformer Engine",
      "needed", RuleSource::megatron_core, "Megatron-LM core/extensions/transformer_engine.py:TEQuantizationParams"},
     RuleScope::everywhere,
     {},
     kJobAlone,
     [](const Case& c) { return c.training().quant_recipe.empty() ? kPass : equals(c.stack().transformer_engine, 1); }},
    {{"precision_on_gpu", "precision", "the GPU has tensor cores for the precision", "TFLOP/s of the kind", "least",
      RuleSource::shardfit, "hardware/*.json, peak_tflops"},
     RuleScope::everywhere,
     {},
     kJobAlone,
     [](const Case& c) {
       const GpuSpec& gpu = c.job.job->hardware.gpu;
       if (gpu.peak_tflops[Math::bf16].value <= 0) return kPass;  // no peaks stated: nothing to compare with
       double least = gpu.peak_tflops[math_of(c.training().precision)].value;
       const auto also = [&](const std::optional<Precision>& p) {
         if (p) least = std::min(least, double(gpu.peak_tflops[math_of(*p)].value));
       };
       for (const auto& module : c.training().quant_recipe.modules) also(module);
       also(c.training().quant_recipe.mtp);
       return at_least(std::int64_t(least), 1);
     }},
};

}  // namespace

std::span<const Rule> precision_rules() { return kRules; }

}  // namespace shardfit::layout

// SPDX-License-Identifier: Apache-2.0
#include "io/read_precision.hpp"

#include <fmt/format.h>

namespace shardfit::io {
namespace {

using Notes = std::vector<std::string>;

/// Megatron-Bridge's recipes keep quantised parameters in every precision but blockwise fp8; elsewhere the flag
/// must be given. Source: Megatron-Bridge training/mixed_precision.py (067f987df).
bool read_param_gather(Object& o, Precision precision, EntryPoint entry_point, Notes& notes) {
  if (o.find("fp8_param_gather")) return o.get("fp8_param_gather", false);
  if (!is_quantized(precision)) return false;
  const bool gathers = entry_point == EntryPoint::megatron_bridge && precision != Precision::fp8_blockwise;
  notes.push_back(fmt::format("parameters are taken as {} (training.fp8_param_gather)",
                              gathers ? "quantised, with no bf16 copy" : "bf16, with quantised copies"));
  return gathers;
}

/// The counts mean nothing without the switch, so one that is given alone is more likely a slip than a wish.
void read_bf16_layers(Object& o, TrainingSpec& t) {
  t.first_last_layers_bf16 = o.get("first_last_layers_bf16", false);
  for (const char* key : {"num_layers_at_start_in_bf16", "num_layers_at_end_in_bf16"})
    if (const auto v = o.find(key); v && !t.first_last_layers_bf16 && v->as_int(0) > 0)
      v->refuse("0, or first_last_layers_bf16 true beside it");
  t.num_layers_at_start_in_bf16 = o.get("num_layers_at_start_in_bf16", t.num_layers_at_start_in_bf16, 0);
  t.num_layers_at_end_in_bf16 = o.get("num_layers_at_end_in_bf16", t.num_layers_at_end_in_bf16, 0);
}

/// Delayed scaling cannot go by module. Source: Megatron-LM core/extensions/transformer_engine.py:TEQuantizationRecipe.
Precision read_module_precision(const Value& v) {
  const auto p = v.as_enum<Precision>();
  if (p != Precision::bf16 && (!is_quantized(p) || p == Precision::fp8_delayed))
    v.refuse("bf16, or an fp8 or fp4 precision without delayed scaling");
  return p;
}

QuantRecipe read_quant_recipe(Object& training, Precision precision) {
  QuantRecipe recipe;
  const auto v = training.find("quant_recipe");
  if (!v) return recipe;
  Object o(*v);
  if (!is_quantized(precision) && !o.keys().empty())
    v->refuse("no quant_recipe where precision is not fp8 or fp4: it overrides quantised layers alone");
  for (std::string_view name : all_names<LinearModule>())
    if (const auto p = o.find(std::string(name))) recipe.modules[*parse_name<LinearModule>(name)] = read_module_precision(*p);
  if (const auto p = o.find("mtp")) recipe.mtp = read_module_precision(*p);
  o.done();
  return recipe;
}

}  // namespace

void read_precision(Object& o, EntryPoint entry_point, TrainingSpec& t, Notes& notes) {
  if (!o.find("precision")) notes.push_back("precision bf16 is assumed (training.precision)");
  t.precision = o.get("precision", Precision::bf16);
  t.fp8_param_gather = read_param_gather(o, t.precision, entry_point, notes);
  t.fp8_attention = o.get("fp8_attention", false);
  read_bf16_layers(o, t);
  t.fp8_output_proj = o.get("fp8_output_proj", false);
  t.quant_recipe = read_quant_recipe(o, t.precision);
}

}  // namespace shardfit::io

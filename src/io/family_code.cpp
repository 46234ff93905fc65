// SPDX-License-Identifier: Apache-2.0
#include "io/family_code.hpp"

namespace shardfit::io {
namespace {

/// What the decoder of a family has beside the shapes. Source: Hugging Face transformers models/gemma3, gemma4 (configuration
/// defaults and decoder layers), as Megatron-Bridge builds them (models/gemma/).
struct FamilyCode {
  const char* family;
  const char* activation;
  double final_logit_softcapping;
  bool separate_norms, value_norm;
};

constexpr FamilyCode kFamilies[] = {
    {"gemma3", "gelu_pytorch_tanh", 0, false, false},
    {"gemma4", "gelu_pytorch_tanh", 30, true, true},
};

/// Sets a key that is not there; whether it did.
bool fill(Json& object, const char* key, const Json& value) {
  if (object.contains(key)) return false;
  object[key] = value;
  return true;
}

bool fill_mlp(Json& mlp, const FamilyCode& code) {
  if (!mlp.is_object()) return false;
  bool any = fill(mlp, "activation", code.activation);
  if (code.separate_norms && mlp.value("kind", "") == "moe") any |= fill(mlp, "separate_norms", true);
  return any;
}

bool fill_mixer(Json& mixer, const FamilyCode& code) {
  return code.value_norm && mixer.is_object() && mixer.value("kind", "") == "gqa" && fill(mixer, "value_norm", true);
}

template <class Fill>
bool fill_each(Json& text, const char* key, Fill fill_one) {
  bool any = false;
  if (text.contains(key) && text[key].is_object())
    for (auto& [name, part] : text[key].items()) any |= fill_one(part);
  return any;
}

}  // namespace

void add_family_code(Json& model, std::vector<std::string>* notes) {
  if (!model.is_object() || !model.contains("family") || !model["family"].is_string()) return;
  if (!model.contains("text") || !model["text"].is_object()) return;
  const std::string family = model["family"].get<std::string>();
  for (const FamilyCode& code : kFamilies) {
    if (!family.starts_with(code.family)) continue;
    Json& text = model["text"];
    bool any = fill_each(text, "mlps", [&](Json& mlp) { return fill_mlp(mlp, code); });
    any |= fill_each(text, "mixers", [&](Json& mixer) { return fill_mixer(mixer, code); });
    if (code.final_logit_softcapping > 0) any |= fill(text, "final_logit_softcapping", code.final_logit_softcapping);
    if (any && notes)
      notes->push_back("activation, norms and soft cap of the logits are taken as the code of family " +
                       std::string(code.family) + " has them (model.family)");
    return;
  }
}

}  // namespace shardfit::io

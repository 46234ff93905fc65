// SPDX-License-Identifier: Apache-2.0
#include "io/read_lora.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace shardfit::io {
namespace {

using Notes = std::vector<std::string>;

struct OtherName {
  std::string_view name, layer;
};

/// Parts of layers that Megatron-Core fuses. Source: Megatron-Bridge peft/canonical_lora.py; Hugging Face's decoder
/// layers; ms-swift ("all-linear").
constexpr OtherName kOtherNames[] = {
    {"linear_q", "linear_qkv"},        {"linear_k", "linear_qkv"},  {"linear_v", "linear_qkv"}, {"linear_fc1_up", "linear_fc1"},
    {"linear_fc1_gate", "linear_fc1"}, {"q_proj", "linear_qkv"},    {"k_proj", "linear_qkv"},   {"v_proj", "linear_qkv"},
    {"o_proj", "linear_proj"},         {"gate_proj", "linear_fc1"}, {"up_proj", "linear_fc1"},  {"down_proj", "linear_fc2"}};

std::vector<std::string> read_targets(const Value& list, Notes& notes) {
  std::vector<std::string> targets, others;
  const auto add = [&](const std::string& target) {
    if (std::find(targets.begin(), targets.end(), target) == targets.end()) targets.push_back(target);
  };
  for (const Value& v : list.as_list()) {
    const std::string name = v.as_text();
    if (name == "all-linear") {
      for (const std::string& target : LoraSpec{}.target_modules) add(target);
      continue;
    }
    const auto other = std::find_if(std::begin(kOtherNames), std::end(kOtherNames),
                                    [&](const OtherName& o) { return o.name == name; });
    const std::string target(other == std::end(kOtherNames) ? std::string_view(name) : other->layer);
    if (!parse_name<LinearModule>(target)) v.refuse_word(name, all_names<LinearModule>());
    if (other != std::end(kOtherNames)) others.push_back(name);
    add(target);
  }
  if (!others.empty())
    notes.push_back(fmt::format("adapters of {} are counted as one pair a fused layer (training.lora.target_modules)",
                                fmt::join(others, ", ")));
  return targets;
}

}  // namespace

std::optional<LoraSpec> read_lora(Object& training, Task task, Notes& notes) {
  const auto v = training.find("lora");
  if (!v && task != Task::lora) return std::nullopt;
  LoraSpec s;
  if (!v) {
    notes.push_back(fmt::format("LoRA of rank {} on all linear layers is assumed (training.lora)", s.rank));
    return s;
  }
  if (task != Task::lora) v->refuse("no lora block where task is not lora");
  Object o(*v);
  s.rank = o.get("rank", s.rank, 1);
  s.alpha = o.get("alpha", s.alpha, 1);
  if (const auto targets = o.find("target_modules"))
    s.target_modules = read_targets(*targets, notes);
  else
    notes.push_back(
        "LoRA on linear_qkv, linear_proj, linear_fc1 and linear_fc2 is assumed "
        "(training.lora.target_modules)");
  if (const auto cls = o.find("cls"); cls && cls->as_text() != "LoRA")
    notes.push_back(
        fmt::format("{} is counted as LoRA: what it adds to it is not modelled (training.lora.cls)", cls->as_text()));
  o.done();
  return s;
}

}  // namespace shardfit::io

// SPDX-License-Identifier: Apache-2.0
#include "io/task_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/measured_profile.hpp"

namespace shardfit::io {
namespace {

constexpr std::pair<std::string_view, std::string_view> kTasks[] = {
    {"embedding", "embedding"}, {"seq_cls", "seq_cls"}, {"reward_model", "seq_cls"}, {"rm", "seq_cls"}};
/// Parts of a model's name, between hyphens, that say what its end makes (Qwen3-Embedding-8B).
constexpr std::pair<std::string_view, const char*> kNames[] = {{"Embedding", "embedding"}, {"Reward", "seq_cls"}};

bool has_part(std::string_view name, std::string_view part) {
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('-', at), name.size());
    if (name.substr(at, end - at) == part) return true;
    at = end + 1;
  }
  return false;
}

std::string name_of_model(const Json& run) {
  if (!run.contains("model")) return {};
  return run["model"].is_string() ? run["model"].get<std::string>() : text_of(run["model"], "name");
}

}  // namespace

void read_task_words(Json& run, std::vector<std::string>& notes) {
  if (!run.contains("training") || !run["training"].is_object()) return;
  Json& training = run["training"];
  if (training.contains("task_type")) return;
  const std::string task = text_of(training, "task");
  for (const auto& [word, type] : kTasks) {
    if (task != word) continue;
    training["task"] = training.contains("lora") ? "lora" : "sft";
    training["task_type"] = type;
    notes.push_back(fmt::format("task {} is taken as task_type {}: no logits (training.task_type)", task, type));
    return;
  }
  const std::string name = name_of_model(run);
  for (const auto& [word, type] : kNames) {
    if (!has_part(name, word)) continue;
    training["task_type"] = type;
    notes.push_back(fmt::format("task_type {} is assumed of a model of that name: no logits (training.task_type)", type));
    return;
  }
}

}  // namespace shardfit::io

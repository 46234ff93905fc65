// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "report/estimate_sections.hpp"
#include "report/layout_fields.hpp"
#include "report/numbers.hpp"

namespace shardfit::report {
namespace {

Fact bytes_fact(const char* key, const char* title, Bytes bytes, std::string remark = {}) {
  return {{key, title, ColumnKind::bytes}, bytes, std::move(remark)};
}

Fact number_fact(const char* key, const char* title, double n, int digits, std::string remark = {}) {
  return {{key, title, ColumnKind::number, digits}, n, std::move(remark)};
}

/// ", ranks 64-127": the global ranks of a stage, which cost the same; nothing without a pipeline.
std::string ranks_text(const Estimate& estimate, int stage) {
  const Layout& l = estimate.layout;
  if (l.pp == 1) return {};
  const int inner = l.tp * l.cp;
  if (l.use_tp_pp_dp_mapping && estimate.grid.dp > 1)
    return fmt::format(", ranks {}-{} of every {}", stage * inner, (stage + 1) * inner - 1, inner * l.pp);
  const int each = inner * estimate.grid.dp;
  return fmt::format(", ranks {}-{}", stage * each, (stage + 1) * each - 1);
}

}  // namespace

std::string verdict_text(const Verdict& verdict) {
  const Bytes margin = verdict.margin();
  const bool over = margin < Bytes(0);
  return fmt::format("{}: needs {} of {}, {} {}", verdict.fits ? "Fits" : "Does not fit", with_unit(verdict.need),
                     with_unit(verdict.usable), with_unit(over ? Bytes(-margin.value) : margin), over ? "too much" : "left");
}

Section verdict_section(const Estimate& estimate) {
  const Verdict& v = estimate.verdict;
  Facts facts;
  facts.push_back({{"fits", "fits", ColumnKind::flag}, v.fits, {}});
  facts.push_back(
      bytes_fact("peak_memory", "device memory", v.need,
                 fmt::format("fullest rank: stage {}{}, {}", v.stage, ranks_text(estimate, v.stage), name_of(v.moment))));
  facts.push_back(bytes_fact("usable_memory", "usable", v.usable));
  facts.push_back(bytes_fact("margin", "margin", v.margin()));
  facts.push_back({{"p_oom", "chance of OOM", ColumnKind::ratio, 0}, v.p_oom, "from the model's error band"});
  facts.push_back({{"peak_stage", "stage", ColumnKind::count, 0, Shown::data_only}, count_cell(v.stage), {}});
  facts.push_back({{"peak_moment", "moment", ColumnKind::text, 0, Shown::data_only}, text_cell(name_of(v.moment)), {}});
  Fact host = bytes_fact("host_memory", "host memory", estimate.host_memory, "a GPU, offloaded");
  if (estimate.host_memory == Bytes(0)) host.column.shown = Shown::data_only;
  facts.push_back(std::move(host));
  return {"verdict", "Verdict", std::move(facts), {}};
}

Section throughput_section(const Estimate& estimate) {
  std::string band;
  if (estimate.time_band > 0) band = fmt::format("+- {}", percent(estimate.time_band, 0));
  if (!band.empty() && !estimate.band_reason.empty()) band += fmt::format(", {}", estimate.band_reason);
  Facts facts;
  facts.push_back({{"step_time", "step time", ColumnKind::seconds}, Seconds(estimate.step_time_s), band});
  facts.push_back(number_fact("tokens_per_s_per_gpu", "tokens/s/GPU", estimate.tokens_per_s_per_gpu, 1, "padded rows"));
  facts.push_back(number_fact("useful_tokens_per_s_per_gpu", "useful tokens/s/GPU", estimate.useful_tokens_per_s_per_gpu, 1));
  facts.push_back(number_fact("samples_per_s", "samples/s", estimate.samples_per_s, 1));
  if (estimate.images_per_s > 0) facts.push_back(number_fact("images_per_s", "images/s", estimate.images_per_s, 1));
  facts.push_back(
      number_fact("model_tflops_per_gpu", "model TFLOP/s/GPU", estimate.model_tflops_per_gpu, 1, "text decoder, as published"));
  if (estimate.model_tflops_per_gpu_with_vision > 0 &&
      estimate.model_tflops_per_gpu_with_vision != estimate.model_tflops_per_gpu)
    facts.push_back(
        number_fact("model_tflops_per_gpu_with_vision", "with vision", estimate.model_tflops_per_gpu_with_vision, 1));
  facts.push_back(
      {{"mfu", "MFU", ColumnKind::ratio, 1}, estimate.mfu, fmt::format("of {} TFLOP/s", grouped(estimate.mfu_peak_tflops, 0))});
  facts.push_back({{"mfu_peak_tflops", "MFU peak", ColumnKind::number, 0, Shown::data_only}, estimate.mfu_peak_tflops, {}});
  facts.push_back({{"time_band", "time band", ColumnKind::ratio, 1, Shown::data_only}, estimate.time_band, {}});
  return {"throughput", "Throughput", std::move(facts), {}};
}

Section layout_section(const Estimate& estimate) {
  // The id names the parallel sizes already, so print adds only what the id lacks or a reader may not expect.
  Facts facts;
  facts.push_back({{"layout_id", "layout id"}, estimate.layout_id, {}});
  for (const LayoutField& field : layout_fields()) {
    Fact fact{column_of(field), field.read(estimate.layout, estimate.grid), {}};
    const std::string_view key = field.key;
    const bool derived = key == "dp" || key == "edp" || key == "microbatches";
    const bool in_id = field.axis || key == "sequence_parallel" || key == "expert_overlap" || key == "optimizer_offload";
    if (!derived && (in_id || !worth_saying(field, fact.value))) fact.column.shown = Shown::data_only;
    facts.push_back(std::move(fact));
  }
  return {"layout", "Layout", std::move(facts), {}};
}

}  // namespace shardfit::report

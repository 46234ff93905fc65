// SPDX-License-Identifier: Apache-2.0
#include "validation/assumed.hpp"

#include <fmt/format.h>

#include <functional>

#include "shardfit/spec/model_dims.hpp"

namespace shardfit::validation {
namespace {

/// Puts another value in the place of one; the run keeps everything else.
class Variations {
 public:
  /// `breaks`: the rule that the run breaks as it is.
  Variations(const MeasuredRun& run, const std::string& breaks, std::vector<AssumedEffect>& found)
      : run_(run), breaks_(breaks), found_(found) {}

  void add(const char* field, std::string now, std::string other, const std::function<void(Scenario&)>& change) {
    MeasuredRun varied = run_;
    change(varied.scenario);
    Row row = score(varied);
    if (!row.breaks.empty() && row.breaks != breaks_) row.reason = row.breaks, row.scores.clear();  // nobody ran this
    found_.push_back({run_.id, field, std::move(now), std::move(other), row.reason, row.scores});
  }
  /// Half and twice a size.
  void add_size(const char* field, int now, const std::function<void(Scenario&, int)>& set) {
    for (const int other : {now % 2 == 0 ? now / 2 : 0, 2 * now})
      if (other > 0) add(field, std::to_string(now), std::to_string(other), [&](Scenario& s) { set(s, other); });
  }

 private:
  const MeasuredRun& run_;
  const std::string& breaks_;
  std::vector<AssumedEffect>& found_;
};

struct SizeField {
  const char* name;
  int Layout::*size;
};
constexpr SizeField kSizes[] = {{"tp", &Layout::tp},
                                {"cp", &Layout::cp},
                                {"pp", &Layout::pp},
                                {"etp", &Layout::etp},
                                {"micro_batch_size", &Layout::micro_batch_size}};
struct TrainingField {
  const char* name;
  int TrainingSpec::*size;
};
constexpr TrainingField kTraining[] = {{"sequence_length", &TrainingSpec::sequence_length},
                                       {"global_batch_size", &TrainingSpec::global_batch_size}};

void vary_recompute(const Recompute& now, Variations& variations) {
  const Recompute kinds[] = {{}, {RecomputeGranularity::full, {}, RecomputeMethod::uniform, 1}};
  for (const Recompute& other : kinds)
    if (other.granularity != now.granularity)
      variations.add("recompute", std::string(name_of(now.granularity)), std::string(name_of(other.granularity)),
                     [&](Scenario& s) { s.base.recompute = other; });
}

void vary_gradients(DType now, Variations& variations) {
  const DType other = now == DType::fp32 ? DType::bf16 : DType::fp32;
  variations.add("grad_buffer_dtype", std::string(name_of(now)), std::string(name_of(other)),
                 [&](Scenario& s) { s.job.training.optimizer.grad_buffer_dtype = other; });
}

/// Images whose number, size and spread the run leaves to the tool: half and twice their tokens, or half and twice as many
/// where a data set that is taken for it has sizes; and nearly no spread.
void vary_images(const MeasuredRun& run, Variations& variations) {
  const std::optional<VisionWorkload>& vision = run.scenario.job.training.vision;
  const auto stated = [&](const char* field) { return run.fields.contains(std::string("training.vision") + field); };
  if (!vision || vision->mock || stated("") || stated(".preset") || stated(".visual_tokens_per_image") || stated(".image_size"))
    return;
  const bool sized = !vision->sizes.empty();
  const double now = sized ? vision->images_per_sample : vision->visual_tokens_per_image;
  for (const double factor : {0.5, 2.0}) {
    const double other = factor * now;
    variations.add(sized ? "images_per_sample" : "visual_tokens_per_image", fmt::format("{:g}", now),
                   fmt::format("{:g}", other), [&](Scenario& s) {
                     VisionWorkload& varied = *s.job.training.vision;
                     (sized ? varied.images_per_sample : varied.visual_tokens_per_image) = other;
                   });
  }
  if (vision->spread && !stated(".spread"))
    variations.add("spread", fmt::format("{:g}", *vision->spread), "0.1",
                   [&](Scenario& s) { s.job.training.vision->spread = 0.1; });
}

/// Rows whose text the run leaves open, taken as full: an eighth and a quarter of the length in text, as spread out as the
/// images. Where the step pads rows, neither changes anything.
void vary_text(const MeasuredRun& run, Variations& variations) {
  const std::optional<VisionWorkload>& vision = run.scenario.job.training.vision;
  if (!vision || vision->text_tokens > 0) return;
  for (const int part : {8, 4}) {
    const int tokens = run.scenario.job.training.sequence_length / part;
    variations.add("text_tokens", "full rows", std::to_string(tokens), [&](Scenario& s) {
      VisionWorkload& varied = *s.job.training.vision;
      varied.text_tokens = tokens;
      varied.text_spread = varied.spread.value_or(0);
    });
  }
}

/// Graphs of which a run says nothing, taken as none: the widest scopes that every dispatcher allows.
void vary_graphs(const MeasuredRun& run, Variations& variations) {
  const Scenario& s = run.scenario;
  const CudaGraph widest{CudaGraphImpl::transformer_engine,
                         {GraphScope::attn, GraphScope::moe_router, GraphScope::moe_preprocess}};
  const bool told = run.fields.contains("layout.cuda_graph.impl") || s.base.cuda_graph.impl != CudaGraphImpl::none;
  if (told || s.job.stack.framework != Framework::megatron || !has_moe(s.job.model.text) ||
      s.base.recompute.granularity == RecomputeGranularity::full)
    return;
  variations.add("cuda_graph", "none", "attn+moe_router+moe_preprocess", [&](Scenario& to) { to.base.cuda_graph = widest; });
}

}  // namespace

std::vector<AssumedEffect> vary_assumed(const MeasuredRun& run, const Row& row) {
  std::vector<AssumedEffect> found;
  if (row.status != RowStatus::ok || row.scores.empty()) return found;
  Variations variations(run, row.breaks, found);
  const auto assumed = [&](const char* field) { return run.fields.contains(std::string("assumed.") + field); };
  const Scenario& s = run.scenario;
  for (const SizeField& f : kSizes)
    if (assumed(f.name))
      variations.add_size(f.name, s.base.*f.size, [&](Scenario& to, int size) {
        to.base.*f.size = size;
        to.base.sequence_parallel = to.base.tp > 1 && s.sequence_parallel_above_tp_1;
      });
  for (const TrainingField& f : kTraining)
    if (assumed(f.name))
      variations.add_size(f.name, s.job.training.*f.size, [&](Scenario& to, int size) { to.job.training.*f.size = size; });
  if (assumed("recompute.granularity") || assumed("recompute")) vary_recompute(s.base.recompute, variations);
  if (assumed("grad_buffer_dtype")) vary_gradients(s.job.training.optimizer.grad_buffer_dtype, variations);
  vary_images(run, variations);
  vary_text(run, variations);
  vary_graphs(run, variations);
  return found;
}

}  // namespace shardfit::validation

// SPDX-License-Identifier: Apache-2.0
#include "io/read_workload.hpp"

#include <fmt/format.h>

#include "io/data_dir.hpp"
#include "io/load.hpp"

namespace shardfit::io {
namespace {

constexpr int kMaxSide = 100'000;
constexpr double kMaxSpread = 100, kMaxImages = 1e6, kMaxTokens = 1e9;

// Source: qwen-vl-utils vision_process.py FPS_MAX_FRAMES, transformers Qwen3VLVideoProcessor.
constexpr int kMostFrames = 768;

// What real data is where a run says that it is real and no more (estimates that fit published steps: 500 to 2,500
// tokens a sample, spread 0.1 to 1, explain them equally well).
constexpr double kRealTokens = 800, kRealSpread = 0.8;

ImageSize read_sides(const std::vector<Value>& list) {
  ImageSize size{list[0].as_int(1, kMaxSide), list[1].as_int(1, kMaxSide), 1};
  if (list.size() == 3) size.share = list[2].as_number(1e-9, 1e9);
  return size;
}

/// [width, height], or a list of [width, height] or [width, height, share].
std::vector<ImageSize> read_sizes(const Value& value) {
  const std::vector<Value> list = value.as_list();
  const char* form = "[width, height] in pixels, or a list of [width, height, share]";
  if (list.empty()) value.refuse(form);
  if (!list[0].is_list()) {
    if (list.size() != 2) value.refuse(form);
    return {read_sides(list)};
  }
  std::vector<ImageSize> sizes;
  for (const Value& item : list) {
    const std::vector<Value> sides = item.as_list();
    if (sides.size() != 2 && sides.size() != 3) item.refuse(form);
    sizes.push_back(read_sides(sides));
  }
  return sizes;
}

void read_pixel_limits(Object& o, VisionWorkload& w) {
  const auto v = o.find("pixel_limits");
  if (!v) return;
  const std::vector<Value> limits = v->as_list();
  if (limits.size() != 2) v->refuse("[least, most] pixels of an image");
  w.min_pixels = limits[0].as_int64(1);
  w.max_pixels = limits[1].as_int64(w.min_pixels);
}

/// What pictures come to: sizes, or visual tokens.
void read_pictures(Object& o, VisionWorkload& w) {
  if (const auto size = o.find("image_size")) w.sizes = read_sizes(*size);
  if (const auto tokens = o.find("visual_tokens_per_image")) {
    if (o.find("image_size")) tokens->refuse("either image_size or visual_tokens_per_image");
    w.sizes.clear();  // with all that a preset says of them
    w.size_spread = 0;
    w.frames = 0;
    w.visual_tokens_per_image = tokens->as_number(1, kMaxTokens);
  }
  w.size_spread = o.get("size_spread", w.size_spread, 0.0, kMaxSpread);
  w.frames = o.get("frames", w.frames, 0);
  read_pixel_limits(o, w);
  if (w.sizes.empty() && (w.frames > 0 || w.size_spread > 0))
    o.at(w.frames > 0 ? "frames" : "size_spread").refuse("an image_size beside it");
  if (const auto spread = o.find("spread")) w.spread = spread->as_number(0, kMaxSpread);
}

void read_fields(Object& o, VisionWorkload& w) {
  const std::string data = o.get("data", w.mock ? "mock" : "real");
  if (data != "real" && data != "mock") o.at("data").refuse_word(data, {"real", "mock"});
  w.mock = data == "mock";
  w.images_per_sample = o.get("images_per_sample", w.images_per_sample, 0.0, kMaxImages);
  w.images_spread = o.get("images_spread", w.images_spread, 0.0, kMaxSpread);
  read_pictures(o, w);
  w.text_tokens = o.get("text_tokens", w.text_tokens, 0.0, kMaxTokens);
  w.text_spread = o.get("text_spread", w.text_spread, 0.0, kMaxSpread);
}

VisionWorkload load_preset(const std::string& name, const Place& asked) {
  const Json json = parse_json_file(find_data("workloads", name, asked));
  Object o(Value(json, {find_data("workloads", name, asked), ""}));
  VisionWorkload w;
  w.preset = o.at("name").as_text();
  for (const char* words : {"description", "source"}) o.at(words).as_text();
  read_fields(o, w);
  o.done();
  return w;
}

/// Refuses clips that the processor would thin out.
VisionWorkload within_frames(VisionWorkload w, const VisionSpec& vision, const Value& at) {
  const bool native = vision.resolution.kind == VisionSpec::Resolution::Kind::native;
  if (native && w.frames > kMostFrames)
    at.refuse(fmt::format("at most {} frames: loaders sample no more of a clip", kMostFrames));
  return w;
}

}  // namespace

std::optional<VisionWorkload> read_vision_workload(Object& training, const ModelSpec& model, const StackDefaults& defaults,
                                                   bool text_only, std::vector<std::string>& notes) {
  const auto v = training.find("vision");
  if (!model.vision || text_only) {
    if (v) v->refuse("no vision block for a model without a tower or with text_only");
    return std::nullopt;
  }
  if (v && v->is_text()) return within_frames(load_preset(v->as_text(), v->place()), *model.vision, *v);
  Object o = v ? Object(*v) : Object::empty(training.place().down("vision"));
  VisionWorkload w;
  const auto preset = o.find("preset");
  if (preset) w = load_preset(preset->as_text(), preset->place());
  read_fields(o, w);
  o.done();
  if (v) w = within_frames(w, *model.vision, o.find("frames").value_or(*v));
  if (preset || w.mock || !w.sizes.empty()) return w;
  // Data that is said to be real is not the mock images of a recipe.
  const bool real = o.find("data").has_value();
  const double tokens = real ? kRealTokens : defaults.visual_tokens_per_image;
  const double spread = real ? kRealSpread : defaults.visual_spread;
  if (!o.find("visual_tokens_per_image")) {
    w.visual_tokens_per_image = tokens;
    notes.push_back(
        fmt::format("{:g} image of {:g} visual tokens a sample, spread {:g}, is assumed "
                    "(training.vision.images_per_sample, visual_tokens_per_image, spread; or training.vision.preset)",
                    w.images_per_sample, tokens, w.spread.value_or(spread)));
  }
  if (!w.spread) w.spread = spread;
  return w;
}

}  // namespace shardfit::io

namespace shardfit::io {

std::vector<std::string> list_workloads() { return list_folder("workloads"); }

NamedWorkload load_workload(const std::string& name_or_path) {
  const Json json = parse_json_file(find_data("workloads", name_or_path, {"", "workload"}));
  return {load_preset(name_or_path, {"", "workload"}), json["description"].get<std::string>(),
          json["source"].get<std::string>()};
}

}  // namespace shardfit::io

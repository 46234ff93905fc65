// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "cli/layout_flags.hpp"
#include "io/layout_words.hpp"
#include "io/words.hpp"
#include "report/layout_text.hpp"

// The table of layout flags. A field that is a search axis names the axis beside the field, so that a list of words can
// stand for several values.

namespace shardfit::cli {
namespace {

std::string word(int n) { return std::to_string(n); }
std::string word(double x) {
  std::string text = std::to_string(x);
  text.erase(text.find_last_not_of('0') + 1);
  return text.ends_with('.') ? text + "0" : text;
}
std::string word(bool on) { return on ? "true" : "false"; }
std::string word(const Recompute& r) { return report::recompute_text(r); }
std::string word(const PipelineSplit& s) { return report::split_text(s); }
std::string word(const CudaGraph& g) { return report::cuda_graph_text(g); }
template <class E>
requires std::is_enum_v<E> std::string word(E e) { return std::string(name_of(e)); }

/// The functions of a flag whose field is an axis: `get` reads the field of a layout.
template <auto axis, class Get>
struct Axis {
  static void narrow(SearchSpace& space, std::span<const Layout> layouts) {
    (space.*axis).clear();
    for (const Layout& layout : layouts) (space.*axis).push_back(Get{}(layout));
  }
  static std::vector<std::string> values(const SearchSpace& space) {
    std::vector<std::string> words;
    for (const auto& value : space.*axis) words.push_back(word(value));
    return words;
  }
  static std::string current(const Layout& layout) { return word(Get{}(layout)); }
};

template <auto axis, class Get>
constexpr LayoutFlag axis_flag(const char* flag, const char* type, const char* help, void (*set)(Layout&, const std::string&),
                               Get) {
  using A = Axis<axis, Get>;
  return {flag, type, help, set, &A::narrow, &A::values, &A::current};
}

constexpr LayoutFlag plain_flag(const char* flag, const char* type, const char* help,
                                void (*set)(Layout&, const std::string&)) {
  return {flag, type, help, set, nullptr, nullptr, nullptr};
}

/// A switch that is no axis, but one step aside of a layout.
template <class Get>
constexpr LayoutFlag switch_flag(const char* flag, const char* help, void (*set)(Layout&, const std::string&), Get) {
  return {flag, "BOOL", help, set, nullptr, nullptr, [](const Layout& layout) { return word(Get{}(layout)); }};
}

using L = Layout&;
using CL = const Layout&;
using Word = const std::string&;
using S = SearchSpace;

constexpr std::array<LayoutFlag, 27> kFlags = {{
    axis_flag<&S::tp>(
        "--tp", "N", "tensor-parallel size", [](L l, Word w) { l.tp = io::whole_number("--tp", w); },
        [](CL l) { return l.tp; }),
    axis_flag<&S::cp>(
        "--cp", "N", "context-parallel size", [](L l, Word w) { l.cp = io::whole_number("--cp", w); },
        [](CL l) { return l.cp; }),
    axis_flag<&S::pp>(
        "--pp", "N", "pipeline-parallel size", [](L l, Word w) { l.pp = io::whole_number("--pp", w); },
        [](CL l) { return l.pp; }),
    axis_flag<&S::vpp>(
        "--vpp", "N", "virtual pipeline chunks a stage", [](L l, Word w) { l.vpp = io::whole_number("--vpp", w); },
        [](CL l) { return l.vpp; }),
    axis_flag<&S::ep>(
        "--ep", "N", "expert-parallel size", [](L l, Word w) { l.ep = io::whole_number("--ep", w); },
        [](CL l) { return l.ep; }),
    axis_flag<&S::etp>(
        "--etp", "N", "tensor-parallel size of experts", [](L l, Word w) { l.etp = io::whole_number("--etp", w); },
        [](CL l) { return l.etp; }),
    axis_flag<&S::micro_batch_size>(
        "--micro-batch-size,--mbs", "N", "samples a micro-batch",
        [](L l, Word w) { l.micro_batch_size = io::whole_number("--micro-batch-size", w); },
        [](CL l) { return l.micro_batch_size; }),
    axis_flag<&S::recompute>(
        "--recompute", "WORD", "none, selective:MODULE+MODULE, full:uniform|block:LAYERS",
        [](L l, Word w) { l.recompute = io::recompute_of("--recompute", w); }, [](CL l) { return l.recompute; }),
    axis_flag<&S::sharding>(
        "--sharding", "WORD", "none, optimizer, optimizer_grads, full, full_torch, layerwise",
        [](L l, Word w) { l.sharding = io::word_of<Sharding>("--sharding", w); }, [](CL l) { return l.sharding; }),
    axis_flag<&S::optimizer_instances>(
        "--optimizer-instances", "N", "replicas of the sharded state (above 1: HSDP)",
        [](L l, Word w) { l.optimizer_instances = io::whole_number("--optimizer-instances", w); },
        [](CL l) { return l.optimizer_instances; }),
    axis_flag<&S::split>(
        "--pipeline-split", "WORD", "uniform, first_last:F:L, accounting:embedding+loss, layout:TEXT, pattern:TEXT",
        [](L l, Word w) { l.split = io::split_of("--pipeline-split", w); }, [](CL l) { return l.split; }),
    axis_flag<&S::dispatcher>(
        "--dispatcher", "WORD", "allgather, alltoall, deepep, hybridep",
        [](L l, Word w) { l.dispatcher = io::word_of<Dispatcher>("--dispatcher", w); }, [](CL l) { return l.dispatcher; }),
    axis_flag<&S::cuda_graph>(
        "--cuda-graph", "WORD", "none, local, transformer_engine:SCOPE+SCOPE, full_iteration",
        [](L l, Word w) { l.cuda_graph = io::cuda_graph_of("--cuda-graph", w); }, [](CL l) { return l.cuda_graph; }),
    axis_flag<&S::expert_alltoall_overlap>(
        "--expert-overlap", "BOOL", "hide expert traffic (combined 1F1B)",
        [](L l, Word w) { l.overlap.expert_alltoall = io::truth("--expert-overlap", w); },
        [](CL l) { return l.overlap.expert_alltoall; }),
    axis_flag<&S::optimizer_offload>(
        "--optimizer-offload", "FRACTION", "part of the optimizer state in host memory",
        [](L l, Word w) { l.offload.optimizer_fraction = io::fraction("--optimizer-offload", w); },
        [](CL l) { return l.offload.optimizer_fraction; }),
    axis_flag<&S::cp_comm_type>(
        "--cp-comm-type", "WORD", "p2p, a2a, all_gather, a2a+p2p",
        [](L l, Word w) { l.cp_comm_type = io::word_of<CpCommType>("--cp-comm-type", w); },
        [](CL l) { return l.cp_comm_type; }),
    plain_flag("--sequence-parallel", "BOOL", "sequence parallelism",
               [](L l, Word w) { l.sequence_parallel = io::truth("--sequence-parallel", w); }),
    plain_flag("--tp-pp-dp-mapping", "BOOL", "ranks in the order tp-cp-ep-pp-dp (Megatron's use_tp_pp_dp_mapping)",
               [](L l, Word w) { l.use_tp_pp_dp_mapping = io::truth("--tp-pp-dp-mapping", w); }),
    plain_flag("--microbatch-group-size", "N", "micro-batches that walk through the chunks together (vpp)",
               [](L l, Word w) { l.microbatch_group_size = io::whole_number("--microbatch-group-size", w, 0); }),
    plain_flag("--dispatcher-sms", "N", "SMs of the expert dispatcher (0: its default)",
               [](L l, Word w) { l.dispatcher_sms = io::whole_number("--dispatcher-sms", w, 0); }),
    plain_flag("--fsdp-double-buffer", "BOOL", "two buffers of unsharded weights",
               [](L l, Word w) { l.fsdp_double_buffer = io::truth("--fsdp-double-buffer", w); }),
    switch_flag(
        "--overlap-grad-reduce", "hide gradient reduction behind backward",
        [](L l, Word w) { l.overlap.grad_reduce = io::truth("--overlap-grad-reduce", w); },
        [](CL l) { return l.overlap.grad_reduce; }),
    switch_flag(
        "--overlap-param-gather", "hide the gather of parameters behind forward",
        [](L l, Word w) { l.overlap.param_gather = io::truth("--overlap-param-gather", w); },
        [](CL l) { return l.overlap.param_gather; }),
    plain_flag("--tp-comm-overlap", "BOOL", "chop tensor-parallel traffic up with its GEMMs",
               [](L l, Word w) { l.overlap.tp_comm = io::truth("--tp-comm-overlap", w); }),
    plain_flag("--delay-wgrad", "BOOL", "weight gradients later, to hide expert traffic",
               [](L l, Word w) { l.overlap.delay_wgrad = io::truth("--delay-wgrad", w); }),
    plain_flag("--offload-activations", "MODULES", "fine-grained activation offload, as in moe_act+core_attn",
               [](L l, Word w) { l.offload.activation_modules = io::words_of_set<OffloadModule>("--offload-activations", w); }),
    plain_flag("--offload-layers", "N", "layers whose activations go to host memory",
               [](L l, Word w) { l.offload.activation_layers = io::whole_number("--offload-layers", w, 0); }),
}};

}  // namespace

std::span<const LayoutFlag> layout_flags() { return kFlags; }

}  // namespace shardfit::cli

// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "shardfit/base/error.hpp"
#include "shardfit/estimate/estimator.hpp"

using namespace shardfit;

TEST_CASE("an id names the layout and parses back to it") {
  Layout l;
  l.tp = 2;
  l.pp = 4;
  l.vpp = 3;
  l.ep = 8;
  l.micro_batch_size = 2;
  l.sequence_parallel = true;
  l.sharding = Sharding::full;
  l.optimizer_instances = 2;
  l.fsdp_double_buffer = true;
  l.recompute = {RecomputeGranularity::selective, {RecomputeModule::moe_act, RecomputeModule::layernorm}};
  l.split = {.kind = SplitKind::layout_string, .text = "Et*4|(t*4|)*14tmL"};
  l.dispatcher = Dispatcher::hybridep;
  l.dispatcher_sms = 32;
  l.cp_comm_type = CpCommType::a2a_p2p;
  l.cuda_graph = {CudaGraphImpl::transformer_engine, {GraphScope::attn, GraphScope::moe_router}};
  l.overlap.expert_alltoall = true;
  l.offload.optimizer_fraction = 0.25;
  const std::string id = layout_id(l);
  CHECK(id.substr(0, 30) == "tp2-cp1-pp4-vpp3-ep8-etp1-mbs2");
  const Layout back = parse_layout_id(id);
  CHECK(layout_id(back) == id);
  CHECK(back.split.text == l.split.text);
  CHECK(back.recompute == l.recompute);
  CHECK(back.overlap == l.overlap);
  CHECK(back.offload == l.offload);
  CHECK(back.cuda_graph == l.cuda_graph);
}

TEST_CASE("the default layout's id is short") {
  CHECK(layout_id(Layout{}) == "tp1-cp1-pp1-vpp1-ep1-etp1-mbs1-sh:optimizer-rc:none-disp:alltoall-graph:none");
}

TEST_CASE("text that is no id says what stood where a word was expected") {
  for (const char* bad :
       {"", "tp", "tp0", "tpx", "zz3", "tp2-", "rc:selectve:moe", "off:x:none:0", "layout:%Z", "tp99999999999", "tp1-tp2",
        "tp2:4", "sp-sp", "disp:deepep:4", "graph:local:attn:moe", "split:3:4:5", "split:3:4-layout:Et", "off:0.5:none:0:1"})
    CHECK_THROWS_AS((void)parse_layout_id(bad), InputError);
}

// SPDX-License-Identifier: Apache-2.0
// Figures of a cluster that are no numbers of their own follow from others; docs/coefficients.md counts them no second time.
#include <doctest/doctest.h>

#include <cmath>

#include "io/load.hpp"

using namespace shardfit;

TEST_CASE("clusters without runs take a like GPU's sustained factor") {
  const double h100 = io::load_hardware("h100-hgx").gpu.sustained_factor.value;
  CHECK(io::load_hardware("h200-hgx").gpu.sustained_factor.value == h100);
  CHECK(io::load_hardware("a100-hgx").gpu.sustained_factor.value == h100);
}

TEST_CASE("A100's all-to-all takes the share of the NIC that H100's was measured to reach") {
  const auto h100 = io::load_hardware("h100-hgx").fabric, a100 = io::load_hardware("a100-hgx").fabric;
  CHECK(a100.nic_alltoall_gb_per_s.value / a100.nic_gb_per_s.value ==
        doctest::Approx(h100.nic_alltoall_gb_per_s.value / h100.nic_gb_per_s.value));
}

TEST_CASE("clusters on the same host link take one measured rate") {
  const double h200 = io::load_hardware("h200-hgx").node.host_link_gb_per_s.value;
  for (const char* name : {"h100-hgx", "b200-hgx", "b300-hgx"}) {
    CAPTURE(name);
    CHECK(io::load_hardware(name).node.host_link_gb_per_s.value == h200);
  }
  CHECK(io::load_hardware("gb200-nvl72").node.host_link_gb_per_s.value ==
        io::load_hardware("gb300-nvl72").node.host_link_gb_per_s.value);
}

// SPDX-License-Identifier: Apache-2.0
#include "calibrate/kernel_fit.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "io/load.hpp"
#include "shardfit/base/error.hpp"

using namespace shardfit;
using namespace shardfit::calibrate;

namespace {

std::string folder_with(const char* table, const std::string& text) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "shardfit_kernel_fit_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::ofstream(folder / table) << text;
  return folder.string();
}

/// A GEMM table of a GPU that reaches `rate` TFLOP/s whatever the shape, 5 us a launch.
std::string gemm_table(double rate) {
  std::string text = "system,dtype,m,n,k,time_us,kernel_us,cast_in_time,best,backend,version\n";
  for (int m = 512; m <= 32768; m *= 2)
    for (int n = 2048; n <= 16384; n *= 2)
      for (int k = 2048; k <= 8192; k *= 2) {
        const double us = 5 + 2.0 * m * n * k / (rate * 1e6);
        text += "h100-sxm,bf16," + std::to_string(m) + "," + std::to_string(n) + "," + std::to_string(k) + "," +
                std::to_string(us) + ",,none,1,x,1\n";
      }
  return text;
}

KernelPoints points_of(const std::string& folder) { return kernel_points(io::load_kernel_tables(folder)); }

}  // namespace

TEST_CASE("a refit finds the rate that points were made with; the shipped curve is reported as it is") {
  const HardwareSpec h100 = io::load_hardware("h100-hgx");
  const KernelPoints points = points_of(folder_with("gemm.csv", gemm_table(600)));
  CHECK(points.gemm.size() == 7 * 4 * 3);
  const std::vector<KernelFit> fits = fit_kernels(points, {h100, io::load_hardware("b200-hgx")});
  REQUIRE(fits.size() == 1);  // no B200 in the table
  CHECK(fits[0].system == "h100-hgx");
  CHECK(fits[0].kind == "bf16");
  CHECK(fits[0].values[0].shipped == h100.gpu.gemm[Math::bf16].rate_tflops);
  CHECK(fits[0].values[0].refitted == doctest::Approx(600).epsilon(0.03));
  CHECK(fits[0].refitted.median < fits[0].shipped.median);
  CHECK_FALSE(within_limits(fits[0].shipped));  // 799 against 600: 25 % too fast
  CHECK(within_limits(fits[0].refitted));
}

TEST_CASE("a table says what is wrong with it") {
  CHECK_THROWS_AS(points_of("no/such/folder"), InputError);
  CHECK_THROWS_AS(points_of(folder_with("gemm.csv", "system,dtype,m,n\nh100-sxm,bf16,512,512\n")), InputError);
  CHECK_THROWS_AS(
      points_of(folder_with("gemm.csv",
                            "system,dtype,m,n,k,time_us,kernel_us,cast_in_time,best\nh100-sxm,bf16,x,512,512,1,,none,1\n")),
      InputError);
}

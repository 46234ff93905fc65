// SPDX-License-Identifier: Apache-2.0
#include "cli/job_flags.hpp"

#include <CLI/CLI.hpp>

#include "io/read_run.hpp"

namespace shardfit::cli {

void add_job_flags(CLI::App& command, io::JobChoice& choice, bool lists) {
  const auto finish = [&](CLI::Option* option, const std::string& type) {
    option->group("Job")->type_name(lists ? type + ",..." : type)->delimiter(',')->allow_extra_args(false);
    if (!lists) option->expected(1);
  };
  finish(command.add_option("--hardware", choice.hardware, "A cluster of hardware/, instead of the scenario's"), "NAME");
  finish(command.add_option("--gpus", choice.gpus, "GPUs, instead of the scenario's")->check(CLI::Range(1, io::kMostGpus)),
         "N");
  command.add_option("--set", choice.set, "A field of the scenario, as in training.vision=coco-captions; may be given often")
      ->group("Job")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  finish(command.add_option("--precision", choice.precision, "Precision of training, instead of the scenario's"), "NAME");
}

}  // namespace shardfit::cli

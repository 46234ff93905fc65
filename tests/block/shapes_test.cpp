// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "block/shapes.hpp"
#include "shardfit/base/error.hpp"

using namespace shardfit;
using namespace shardfit::block;

namespace {

Job job_of() {
  Job job;
  job.model.text.hidden_size = 4096;
  job.model.text.vocab_size = 128256;
  job.training.sequence_length = 8192;
  return job;
}

}  // namespace

TEST_CASE("tokens are those of one context-parallel rank, the stream is split only by sequence parallelism") {
  Layout layout;
  layout.tp = 4;
  layout.cp = 2;
  layout.micro_batch_size = 3;
  const Shapes whole = make_shapes(job_of(), layout, 1);
  CHECK(whole.tokens == 8192 * 3 / 2);
  CHECK(whole.stream_tokens == whole.tokens);
  layout.sequence_parallel = true;
  CHECK(make_shapes(job_of(), layout, 1).stream_tokens == 8192 * 3 / 2 / 4);
  layout.tp = 1;
  CHECK_FALSE(make_shapes(job_of(), layout, 1).sequence_parallel);
}

TEST_CASE("the vocabulary is padded with tp, and not at all for counting parameters") {
  Layout layout;
  CHECK(make_shapes(job_of(), layout, 1).vocab == 128256);
  layout.tp = 8;
  CHECK(make_shapes(job_of(), layout, 1).vocab == 129024);  // 126 * 1024
  CHECK(undivided_shapes(job_of().model).vocab == 128256);
}

TEST_CASE("the gradient buffer and the activations have types of their own") {
  Job job = job_of();
  job.training.precision = Precision::mxfp8;
  job.training.optimizer.grad_buffer_dtype = DType::bf16;
  const Shapes s = make_shapes(job, Layout{}, 1);
  CHECK(s.e == 2);
  CHECK(s.grad_bytes == 2);
  job.training.precision = Precision::fp32;
  CHECK(make_shapes(job, Layout{}, 1).e == 4);
}

TEST_CASE("a frozen decoder still passes gradients to a trained tower") {
  Job job = job_of();
  job.training.frozen = {ModelPart::language_model};
  CHECK_FALSE(make_shapes(job, Layout{}, 1).needs_input_grad);
  job.model.vision.emplace();
  const Shapes s = make_shapes(job, Layout{}, 1);
  CHECK_FALSE(s.train_weights);
  CHECK(s.needs_input_grad);
  job.training.frozen = {ModelPart::language_model, ModelPart::vision_model, ModelPart::vision_projection};
  CHECK_FALSE(make_shapes(job, Layout{}, 1).needs_input_grad);
}

TEST_CASE("LoRA freezes the base and knows its targets") {
  Job job = job_of();
  job.training.task = Task::lora;
  job.training.lora = LoraSpec{16, 32, {"linear_qkv"}};
  const Shapes s = make_shapes(job, Layout{}, 1);
  CHECK_FALSE(s.train_weights);
  CHECK(s.lora_rank == 16);
  CHECK(s.lora_targets == EnumSet<LinearModule>{LinearModule::linear_qkv});
  job.training.lora->target_modules = {"linear_qvk"};
  CHECK_THROWS_AS((void)make_shapes(job, Layout{}, 1), InputError);
}

TEST_CASE("row counts are known to the host with padded capacity, a paged stash or a whole-iteration graph only") {
  Job job = job_of();
  Layout layout;
  CHECK_FALSE(make_shapes(job, layout, 1).host_free_dispatch);
  layout.cuda_graph.impl = CudaGraphImpl::full_iteration;
  CHECK(make_shapes(job, layout, 1).host_free_dispatch);
  layout.cuda_graph.impl = CudaGraphImpl::transformer_engine;
  CHECK_FALSE(make_shapes(job, layout, 1).host_free_dispatch);
  job.stack.paged_stash = true;
  CHECK(make_shapes(job, layout, 1).host_free_dispatch);
  job.stack.paged_stash = false;
  job.training.token_drop = true;
  job.training.expert_capacity_factor = 1.5;
  CHECK_FALSE(make_shapes(job, layout, 1).drop_and_pad);
  CHECK(make_shapes(job, layout, 1).capacity_factor == 1.5);
  job.training.pad_to_capacity = true;
  CHECK(make_shapes(job, layout, 1).host_free_dispatch);
}

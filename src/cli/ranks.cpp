// SPDX-License-Identifier: Apache-2.0
#include "cli/ranks.hpp"

#if defined(SHARDFIT_MPI)
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <exception>

#include "cli/context.hpp"
#endif

namespace shardfit::cli {

#if defined(SHARDFIT_MPI)

namespace {

constexpr int kSizeTag = 1, kTextTag = 2;
constexpr std::size_t kPiece = 1 << 28;  // MPI counts are int

/// Started by hand, a process would come up as a world of one, slowly and with daemons of its own; so MPI starts only
/// where a launcher (mpirun, srun with PMI) has left its traces.
bool launched() {
  for (const char* trace : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
    if (std::getenv(trace) != nullptr) return true;
  return false;
}

void send(const std::string& text, int to) {
  const std::uint64_t size = text.size();
  MPI_Send(&size, 1, MPI_UINT64_T, to, kSizeTag, MPI_COMM_WORLD);
  for (std::size_t at = 0; at < size; at += kPiece)
    MPI_Send(text.data() + at, int(std::min(kPiece, text.size() - at)), MPI_CHAR, to, kTextTag, MPI_COMM_WORLD);
}

std::string receive(int from) {
  std::uint64_t size = 0;
  MPI_Recv(&size, 1, MPI_UINT64_T, from, kSizeTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  std::string text(size, '\0');
  for (std::size_t at = 0; at < size; at += kPiece)
    MPI_Recv(text.data() + at, int(std::min(kPiece, text.size() - at)), MPI_CHAR, from, kTextTag, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  return text;
}

}  // namespace

Ranks::Ranks() {
  if (!launched()) return;
  int provided = 0;
  // Threads compute; MPI is called from the one that started it.
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  started_ = true;
}

Ranks::~Ranks() {
  if (!started_) return;
  // A process that fails alone would leave the others waiting for it.
  if (std::uncaught_exceptions() > 0) MPI_Abort(MPI_COMM_WORLD, kBadInput);
  MPI_Finalize();
}

std::vector<std::string> Ranks::gather(const std::string& mine) const {
  if (rank_ != 0) {
    send(mine, 0);
    return {};
  }
  std::vector<std::string> all{mine};
  for (int from = 1; from < size_; ++from) all.push_back(receive(from));
  return all;
}

#else

Ranks::Ranks() = default;
Ranks::~Ranks() = default;
std::vector<std::string> Ranks::gather(const std::string& mine) const { return {mine}; }

#endif

}  // namespace shardfit::cli

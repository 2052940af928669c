// Time of a warm-up of 30 keys whose searches are distributed over the processes that MPI started, one for each GPU:
//
//   mpirun -n N key_sharing_mpi_benchmark cpu|cuda sleep|matmul|llm STORE_FOLDER
//
// Each rank has a store of its own in STORE_FOLDER. The first warm-up ("cold") fills them, with code that ranks send to
// each other (RankPolicy::exchange_code). For the second one ("warm") the records are removed, and the code stays. Rank
// 0 prints a line of JSON for each: the seconds until the last rank was done, the searches of each rank, and whether
// all ranks run the same config of each key. Each rank prints a line with the milliseconds of its own thread by phase,
// as key_sharing_benchmark does.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/span.h"
#include "device_benchmark.h"
#include "key_sharing_workloads.h"
#include "trace_phases.h"
#include "tuneonce/device.h"
#include "tuneonce/mpi_rank_group.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
namespace {

std::unique_ptr<Workload> MakeNamed(const std::string& name, const AutotunePolicy& policy, StreamView stream) {
  if (name == "sleep") return MakeSleep(policy, stream);
  return name == "matmul" ? MakeMatmul(policy, stream) : MakeModel(policy, stream);
}

void Measure(const char* code, const std::string& name, StreamView stream, const std::shared_ptr<SqliteStore>& store,
             int attempt) {
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  AutotunePolicy policy;
  policy.store = store;
  policy.search.quiet = true;
  const std::shared_ptr<Runtime> runtime = OrDie(Runtime::Create(RuntimeOptions()));
  policy.search.runtime = runtime;
  policy.search.compile.num_workers =
      std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / std::max(1, size));
  MpiRankOptions options;
  options.attempt = attempt;
  policy.ranks.group = OrDie(MakeMpiRank(options));
  policy.ranks.exchange_code = std::string(code) == "cold";
  std::unique_ptr<Workload> workload = MakeNamed(name, policy, stream);
  MPI_Barrier(MPI_COMM_WORLD);
  runtime->BeginTrace();
  const auto begin = std::chrono::steady_clock::now();
  {
    Span span(&runtime->trace(), "rest", kWholeSpan);
    OrDie(workload->WarmUp(stream.get()));
  }
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), slowest = 0;
  MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  long tunes = 0;
  for (TunedKernel* kernel : workload->Kernels()) tunes += static_cast<long>(kernel->counters().tunes);
  std::vector<long> tunes_of(static_cast<std::size_t>(size));
  MPI_Gather(&tunes, 1, MPI_LONG, tunes_of.data(), 1, MPI_LONG, 0, MPI_COMM_WORLD);
  Fingerprinter digest;
  const std::map<std::string, std::string> selected = SelectedIn(*store);
  for (const auto& [key, config] : selected) digest.Add(key).Add(config);
  unsigned long mine = digest.Finish().low, least = 0, most = 0;
  MPI_Reduce(&mine, &least, 1, MPI_UNSIGNED_LONG, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&mine, &most, 1, MPI_UNSIGNED_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  std::string phases;
  for (const auto& [phase, ms] : PhasesOf(runtime->EndTrace())) {
    phases += (phases.empty() ? "" : ", ") + ('"' + phase + "\": " + std::to_string(ms));
  }
  std::printf(R"({"workload": "%s", "code": "%s", "ranks": %d, "rank": %d, "phases_ms": {%s}})"
              "\n",
              name.c_str(), code, size, rank, phases.c_str());
  std::fflush(stdout);
  if (rank != 0) return;
  std::string list;
  for (long each : tunes_of) list += (list.empty() ? "" : ", ") + std::to_string(each);
  std::printf(
      R"({"workload": "%s", "code": "%s", "ranks": %d, "keys": %zu, "seconds": %.4f, "tunes": [%s], "same": %s})"
      "\n",
      name.c_str(), code, size, selected.size(), slowest, list.c_str(), least == most ? "true" : "false");
  std::fflush(stdout);
}

void Run(const std::string& name, const std::string& folder) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Device first = OrDie(OpenDevice(device_name));
  const int devices = OrDie(Device::Count(first.api()));
  Device device = OrDie(Device::Get(first.api(), rank % devices));
  Context context = OrDie(Context::RetainPrimary(device));
  const ScopedContext current(context.view());
  Stream stream = OrDie(Stream::Create(device.api()));
  SqliteStoreOptions options;
  options.path = folder + "/rank" + std::to_string(rank) + ".db";
  const std::shared_ptr<SqliteStore> store = OrDie(SqliteStore::Open(options));
  Measure("cold", name, stream.view(), store, 1);
  for (int i = 0; i < 3; ++i) {
    for (const TuningRecord& record : OrDie(store->List())) OrDie(store->Remove(record.key));
    Measure("warm", name, stream.view(), store, 2 + i);
  }
}

}  // namespace
}  // namespace tuneonce

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s cpu|cuda sleep|matmul|llm STORE_FOLDER\n", argv[0]);
    return 2;
  }
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  tuneonce::device_name = argv[1];
  tuneonce::Run(argv[2], argv[3]);
  MPI_Finalize();
  return 0;
}

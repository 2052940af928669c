// Ranks that MPI started: all run the same config of each key, or say why not.
//
//   mpirun -n 4 tuneonce_ranks_mpi [--device cpu|cuda] [--json] [--hang-rank R] [--deadline-ms D]
//
// Each rank uses the device of its number, modulo how many there are, and prints one line (with --json a JSON object):
// what it runs, and a digest of it, or why the ranks did not agree. --hang-rank: that rank hangs before its warm-up, so
// that one sees what the others say after --deadline-ms (default 60000) without a word of it. Exit code 0 if the ranks
// agreed.
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include "tuneonce/device.h"
#include "tuneonce/mpi_rank_group.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuned_kernel.h"
#include "vector_add_bundle.h"

using namespace tuneonce;  // NOLINT(google-build-using-namespace)

struct Wanted {
  std::string device = "cpu";
  bool json = false;
  int hang_rank = -1;
  int deadline_ms = 60000;
};

/// What a rank runs, the same in all ranks that agree.
struct Runs {
  std::string config;
  Fingerprint digest;
};

Result<Runs> RunRank(const Wanted& wanted) {
  TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<RankGroup> group, MakeMpiRank());
  while (group->rank() == wanted.hang_rank) std::this_thread::sleep_for(std::chrono::seconds(1));
  TUNEONCE_ASSIGN_OR_RETURN(Device first, OpenDevice(wanted.device));
  TUNEONCE_ASSIGN_OR_RETURN(const int devices, Device::Count(first.api()));
  TUNEONCE_ASSIGN_OR_RETURN(Device device, Device::Get(first.api(), group->rank() % devices));
  TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(device));
  const ScopedContext current(context.view());
  TUNEONCE_RETURN_IF_ERROR(current.status());
  TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device.api()));

  AutotunePolicy policy;
  policy.store = MakeMemoryStore();  // Each rank its own, as ranks on hosts of their own have.
  policy.ranks.group = std::move(group);
  policy.ranks.silence_ms = wanted.deadline_ms;
  TUNEONCE_ASSIGN_OR_RETURN(TunedKernel kernel, TunedKernel::FromBundle(vector_add_bundle, policy));
  const TunedKernel::Shape shape = {{"N", 1 << 16}};
  TUNEONCE_RETURN_IF_ERROR(kernel.Warmup(stream.get(), {shape}));  // All ranks: one searches.
  TUNEONCE_ASSIGN_OR_RETURN(const LaunchPlan plan, kernel.Explain(stream.get(), shape));
  Runs runs;
  runs.config = plan.config ? plan.config->ToString() : "";
  runs.digest = Fingerprinter().Add(plan.key).Add(runs.config).Add(plan.variant).Finish();
  return runs;
}

/// In a JSON string: quotes, backslashes and what is not printed.
std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    const bool is_plain = c != '"' && c != '\\' && static_cast<unsigned char>(c) >= ' ';
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += is_plain || c == '"' || c == '\\' ? c : ' ';
  }
  return escaped;
}

void Print(int rank, const Result<Runs>& runs, bool json) {
  std::string line;
  if (json && runs.ok()) {
    line = "\"config\": \"" + Escaped(runs->config) + "\", \"digest\": \"" + runs->digest.ToString() + "\"";
  } else if (json) {
    line = "\"error\": \"" + Escaped(runs.status().ToString()) + "\"";
  } else {
    line = runs.ok() ? "{" + runs->config + "}, digest " + runs->digest.ToString() : runs.status().ToString();
  }
  const std::string number = std::to_string(rank);
  line = json ? "{\"rank\": " + number + ", " + line + "}" : "rank " + number + ": " + line;
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

int Usage() {
  std::fprintf(stderr, "usage: tuneonce_ranks_mpi [--device NAME] [--json] [--hang-rank R] [--deadline-ms D]\n");
  return 2;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Wanted wanted;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--json") {
      wanted.json = true;
      continue;
    }
    if (i + 1 == argc) return Usage();
    const char* value = argv[++i];
    if (option == "--device") wanted.device = value;
    if (option == "--hang-rank") wanted.hang_rank = std::atoi(value);
    if (option == "--deadline-ms") wanted.deadline_ms = std::atoi(value);
    if (option != "--device" && option != "--hang-rank" && option != "--deadline-ms") return Usage();
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const Result<Runs> runs = RunRank(wanted);
  Print(rank, runs, wanted.json);
  if (!runs.ok()) {
    // A host would stop here, or start its ranks anew. The launcher ends all ranks with the first: let them speak.
    std::this_thread::sleep_for(std::chrono::seconds(3));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}

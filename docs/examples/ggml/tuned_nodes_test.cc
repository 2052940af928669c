// Tuned kernels in ggml's graphs, beside ggml's own: tuned_nodes_test cpu|cuda. Exit code 0, or 1 and what was wrong.
#include "tuned_nodes.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "decode_graph.h"
#include "ggml-cpu.h"
#include "tuneonce/plugin/sqlite_store.h"

namespace {

using tuneonce::AutotunePolicy;

std::string device;
int failures = 0;

void Expect(bool is_true, const std::string& what) {
  if (is_true) return;
  std::printf("FAILED: %s\n", what.c_str());
  ++failures;
}
void Expect(const tuneonce::Status& status, const std::string& what) { Expect(status.ok(), what + status.ToString()); }

using Build = std::function<ggml_tensor*(BackendGraph*)>;

ggml_backend_ptr OpenBackend(int threads = 2) {
  ggml_backend_load_all();
  auto type = device == "cpu" ? GGML_BACKEND_DEVICE_TYPE_CPU : GGML_BACKEND_DEVICE_TYPE_GPU;
  ggml_backend_ptr backend(ggml_backend_init_by_type(type, nullptr));
  if (backend == nullptr) {
    std::printf("ggml has no backend for %s here\n", device.c_str());
    std::exit(77);
  }
  if (device == "cpu") ggml_backend_cpu_set_n_threads(backend.get(), threads);
  return backend;
}

std::unique_ptr<TunedNodes> MakeNodes(std::shared_ptr<tuneonce::RecordStore> store = tuneonce::MakeMemoryStore()) {
  AutotunePolicy policy;
  policy.store = std::move(store);
  policy.search.max_rounds = 20;
  auto nodes = TunedNodes::Create(device, policy);
  if (!nodes.ok()) {
    std::printf("%s\n", nodes.status().ToString().c_str());
    std::exit(1);
  }
  return *std::move(nodes);
}

/// The largest difference, as a share of the largest number.
double Difference(const std::vector<float>& a, const std::vector<float>& b) {
  double most = 0, largest = 1e-6;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::fabs(static_cast<double>(a[i]) - b[i]));
    largest = std::max(largest, std::fabs(static_cast<double>(b[i])));
  }
  return most / largest;
}

/// ggml's own result first, then `nodes`' in its place, twice: CUDA's backend captures a graph that it meets again.
void ExpectTheSame(TunedNodes* nodes, const Build& build, int threads, const std::string& what) {
  ggml_backend_ptr backend = OpenBackend(threads);
  BackendGraph graph(backend.get());
  Expect(graph.Finish(build(&graph)) && graph.Compute(), what + ": ggml's own");
  std::vector<float> own = graph.Output();
  nodes->Install();
  for (int run = 0; run < 4; ++run) {
    Expect(graph.Compute(), what + ": with tuned nodes");
    // ggml's CPU backend rounds the columns to float16 first, ours does not.
    Expect(Difference(graph.Output(), own) < 4e-3, what + ": another result than ggml's");
  }
  nodes->Remove();
}

void WarmUp(TunedNodes* nodes, const Build& build, const std::string& what) {
  ggml_backend_ptr backend = OpenBackend();
  BackendGraph graph(backend.get());
  Expect(graph.Finish(build(&graph)), what + ": no memory");
  Expect(nodes->Warmup(graph.graph()), what + ": ");
}

Build Norm(std::int64_t rows, std::int64_t columns) {
  return [=](BackendGraph* graph) {
    ggml_tensor* x = graph->Input(GGML_TYPE_F32, {columns, rows});
    ggml_tensor* norm = ggml_rms_norm(graph->context(), x, 1e-5f);
    return ggml_mul(graph->context(), norm, graph->Input(GGML_TYPE_F32, {columns}));
  };
}
Build Product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return [=](BackendGraph* graph) {
    ggml_tensor* w = graph->Input(GGML_TYPE_F16, {k, n});
    return ggml_mul_mat(graph->context(), w, graph->Input(GGML_TYPE_F32, {k, m}));
  };
}

struct Case {
  std::string name;
  Build build;
  bool is_taken;
};

void NodesOfOddShapesComputeWhatGgmlComputes() {
  const bool is_cpu = device == "cpu";
  const std::vector<Case> cases = {
      {"norm 1x1", Norm(1, 1), true},
      {"norm 3x257", Norm(3, 257), true},
      {"norm 5x4096", Norm(5, 4096), true},
      {"product 1x64x64", Product(1, 64, 64), true},
      {"product 3x37x40", Product(3, 37, 40), true},
      {"product 8x5x8", Product(8, 5, 8), true},
      {"product 1x1x2056", Product(1, 1, 2056), true},
      {"product 2x33x129", Product(2, 33, 129), is_cpu},
      {"product of too many columns", Product(9, 32, 32), false},
      {"norm alone", [](BackendGraph* g) { return ggml_rms_norm(g->context(), g->Input(GGML_TYPE_F32, {64}), 1e-5f); },
       false},
      {"norm of strided rows",
       [](BackendGraph* g) {
         ggml_tensor* x = g->Input(GGML_TYPE_F32, {96, 4});
         ggml_tensor* rows = ggml_view_2d(g->context(), x, 64, 4, x->nb[1], 0);
         return ggml_mul(g->context(), ggml_rms_norm(g->context(), rows, 1e-5f), g->Input(GGML_TYPE_F32, {64}));
       },
       false},
  };
  auto nodes = MakeNodes();
  for (const Case& c : cases) WarmUp(nodes.get(), c.build, c.name);
  nodes->Freeze();
  for (const Case& c : cases) {
    for (int threads : {1, 4}) {
      long before = nodes->norm().counters().hits + nodes->product().counters().hits;
      ExpectTheSame(nodes.get(), c.build, threads, c.name);
      bool is_taken = nodes->norm().counters().hits + nodes->product().counters().hits > before;
      Expect(is_taken == c.is_taken, c.name + (is_taken ? " was taken" : " was not taken"));
    }
  }
  Expect(nodes->refused() == 0, "a warmed node was refused");
}

void AWholeStepRunsByHitsAlone() {
  Build step = [](BackendGraph* graph) { return DecodeStep(graph, {2, 128, 352, 3}); };
  auto nodes = MakeNodes();
  WarmUp(nodes.get(), step, "step");
  nodes->Freeze();
  ExpectTheSame(nodes.get(), step, 3, "step");
  Expect(nodes->product().counters().frozen_misses + nodes->norm().counters().frozen_misses == 0, "a miss in a step");
}

void AShapeThatWasNotWarmedUpRunsTheFallbackOrGgmlsOwn() {
  auto nodes = MakeNodes();
  WarmUp(nodes.get(), Product(1, 64, 64), "warm");
  nodes->Freeze();
  ExpectTheSame(nodes.get(), Product(4, 48, 32), 2, "not warmed");
  Expect(nodes->product().counters().frozen_misses > 0, "it should have been a miss");
  auto cold = MakeNodes();
  cold->Freeze();
  ExpectTheSame(cold.get(), Norm(2, 64), 2, "nothing warmed");
  Expect(cold->refused() + cold->norm().counters().fallbacks > 0, "neither refused nor a fallback");
}

/// Without a warm-up, in the middle of a step. ggml's host memory is not the CPU device's, so that nothing can be tuned
/// on it: the baseline runs. On CUDA the key is tuned there and then.
void AMissInAStepIsTunedOrRunsTheBaseline() {
  auto nodes = MakeNodes();
  ExpectTheSame(nodes.get(), Product(2, 24, 48), 2, "missed product");
  auto counters = nodes->product().counters();
  Expect(nodes->refused() == 0, "a miss was refused");
  Expect(device == "cpu" ? counters.failed_tunes == 1 && counters.fallbacks == 4 : counters.tunes == 1, "no such miss");
}

void AnotherProcessFindsTheSelectionsInTheStore() {
  std::filesystem::path folder = std::filesystem::temp_directory_path() / ("tuned_nodes." + std::to_string(getpid()));
  for (int process = 0; process < 2; ++process) {
    tuneonce::SqliteStoreOptions options;
    options.path = (folder / "store.db").string();
    auto store = tuneonce::SqliteStore::Open(options);
    Expect(store.status(), "store: ");
    auto nodes = MakeNodes(*store);
    WarmUp(nodes.get(), Product(2, 64, 64), "stored");
    Expect(nodes->product().counters().tunes == (process == 0 ? 1 : 0), "tunes of process " + std::to_string(process));
    ExpectTheSame(nodes.get(), Product(2, 64, 64), 2, "stored");
  }
  std::filesystem::remove_all(folder);
}

}  // namespace

int main(int argc, char** argv) {
  device = argc == 2 ? argv[1] : "";
  if (device != "cpu" && device != "cuda") {
    std::printf("usage: tuned_nodes_test cpu|cuda\n");
    return 2;
  }
  NodesOfOddShapesComputeWhatGgmlComputes();
  AWholeStepRunsByHitsAlone();
  AShapeThatWasNotWarmedUpRunsTheFallbackOrGgmlsOwn();
  AMissInAStepIsTunedOrRunsTheBaseline();
  AnotherProcessFindsTheSelectionsInTheStore();
  std::printf(failures == 0 ? "passed\n" : "%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}

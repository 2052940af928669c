// A decode step in ggml before and after: tuned_nodes_bench cpu|cuda [LAYERS WIDTH INNER [ROUNDS]] > JSON lines.
//
// Before and after are the same graph on the same backend, without and with the tuned nodes, step by step in turn, each
// from the call to the backend's end. Nothing is tuned while the clock runs; `tuning_s` is what the warm-up took.
//
// Each line is one object and is written as soon as it is known: what is compared, the figures of each number of
// tokens, and, at the end, what the nodes counted. What is under way is said on stderr.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "decode_graph.h"
#include "ggml-cpu.h"
#include "tuned_nodes.h"
#include "tuneonce/plugin/record_store.h"

namespace {

constexpr int kWarmupSteps = 5;  // CUDA's backend captures a graph when it has met it some times.
constexpr auto kLongestComparison = std::chrono::seconds(10);  // Then fewer rounds than were asked for have to do.

double Microseconds(BackendGraph* graph) {
  auto start = std::chrono::steady_clock::now();
  if (!graph->Compute()) std::exit(1);
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

double Quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

void Say(const char* what, int tokens) {
  static const auto begin = std::chrono::steady_clock::now();
  std::chrono::duration<double> since = std::chrono::steady_clock::now() - begin;
  std::fprintf(stderr, "%7.2f s  %s, %d tokens\n", since.count(), what, tokens);
}

/// One graph for each way: what the backend remembers of a graph (a capture) is then its own.
bool Compare(ggml_backend_t backend, TunedNodes* nodes, const DecodeExtents& extents, int rounds) {
  Say("weights", extents.tokens);
  BackendGraph graphs[2] = {BackendGraph(backend), BackendGraph(backend)};
  for (BackendGraph& graph : graphs) {
    if (graph.Finish(DecodeStep(&graph, extents))) continue;
    std::fprintf(stderr, "no memory for the weights\n");
    return false;
  }
  Say("steps", extents.tokens);
  const auto deadline = std::chrono::steady_clock::now() + kLongestComparison;
  std::vector<double> times[2];
  for (int round = -kWarmupSteps; round < rounds; ++round) {
    if (round > 0 && std::chrono::steady_clock::now() > deadline) break;
    for (int way : {0, 1}) {
      if (way == 1) nodes->Install();
      double us = Microseconds(&graphs[way]);
      nodes->Remove();
      if (round >= 0) times[way].push_back(us);
    }
  }
  std::printf("{\"tokens\": %d, \"rounds\": %zu", extents.tokens, times[0].size());
  for (int way : {0, 1}) {
    std::printf(", \"%s_us\": {\"median\": %.1f, \"p10\": %.1f, \"p90\": %.1f}", way == 0 ? "before" : "after",
                Quantile(times[way], 0.5), Quantile(times[way], 0.1), Quantile(times[way], 0.9));
  }
  std::printf("}\n");
  std::fflush(stdout);
  return true;
}

void Warmup(ggml_backend_t backend, TunedNodes* nodes, const DecodeExtents& extents) {
  Say("tuning", extents.tokens);
  BackendGraph graph(backend);
  graph.Expand(DecodeStep(&graph, extents));
  tuneonce::Status warm = nodes->Warmup(graph.graph());
  if (!warm.ok()) std::fprintf(stderr, "%s\n", warm.ToString().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string device = argc > 1 ? argv[1] : "";
  if ((device != "cpu" && device != "cuda") || (argc != 2 && argc != 5 && argc != 6)) {
    std::fprintf(stderr, "usage: tuned_nodes_bench cpu|cuda [LAYERS WIDTH INNER [ROUNDS]]\n");
    return 2;
  }
  DecodeExtents extents;
  if (argc >= 5) {
    extents.layers = std::atoi(argv[2]);
    extents.width = std::atoi(argv[3]);
    extents.inner = std::atoi(argv[4]);
  }
  int rounds = argc == 6 ? std::atoi(argv[5]) : 100;
  ggml_backend_load_all();
  auto type = device == "cpu" ? GGML_BACKEND_DEVICE_TYPE_CPU : GGML_BACKEND_DEVICE_TYPE_GPU;
  ggml_backend_ptr backend(ggml_backend_init_by_type(type, nullptr));
  if (backend != nullptr && device == "cpu") {  // ggml's threads wait by spinning: no more than there are cores.
    ggml_backend_cpu_set_n_threads(backend.get(), static_cast<int>(std::thread::hardware_concurrency()));
  }
  tuneonce::AutotunePolicy policy;
  policy.store = tuneonce::MakeMemoryStore();
  auto nodes = TunedNodes::Create(device, policy);
  if (backend == nullptr || !nodes.ok()) {
    std::fprintf(stderr, "%s\n", backend == nullptr ? "ggml has no such backend" : nodes.status().message().c_str());
    return backend == nullptr ? 77 : 1;
  }
  const std::vector<int> tokens = {1, 2, 4, 8};
  for (int count : tokens) {
    extents.tokens = count;
    Warmup(backend.get(), nodes->get(), extents);
  }
  (*nodes)->Freeze();
  auto norms = (*nodes)->norm().counters(), products = (*nodes)->product().counters();
  std::printf(
      "{\"backend\": \"%s\", \"device\": \"%s\", \"is_cpu_device\": %s, \"layers\": %d, \"width\": %d, "
      "\"inner\": %d, \"tunes\": %ld, \"tuning_s\": %.2f}\n",
      ggml_backend_name(backend.get()), ggml_backend_dev_description(ggml_backend_get_device(backend.get())),
      device == "cpu" ? "true" : "false", extents.layers, extents.width, extents.inner,
      static_cast<long>(norms.tunes + products.tunes), norms.tuning_seconds + products.tuning_seconds);
  std::fflush(stdout);
  for (int count : tokens) {
    extents.tokens = count;
    if (!Compare(backend.get(), nodes->get(), extents, rounds)) return 1;
  }
  std::printf(
      "{\"refused\": %ld, \"frozen_misses\": %ld}\n", (*nodes)->refused(),
      static_cast<long>((*nodes)->norm().counters().frozen_misses + (*nodes)->product().counters().frozen_misses));
  return 0;
}

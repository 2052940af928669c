// What a whole search costs: the 16 configs of cuTile's matmul example (64/128 x 64/128 x 32/64, occupancy 1/2), with a
// cold and with a warm artifact cache, by both timers, verification included. search_cost --kernels=FOLDER [--shape
// MxNxK ...] prints JSON; FOLDER is what tests/cutile/export.py wrote. compare_search.py runs it beside
// cuTile's own search.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "measure/event_timer.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

using Json = nlohmann::ordered_json;

struct Shape {
  std::int64_t m, n, k;
};

KernelDefinition DefineMatmul(const std::string& folder) {
  SearchSpace space;
  IntAxis m = space.AddAxis("TILE_M", {64, 128});
  IntAxis n = space.AddAxis("TILE_N", {64, 128});
  IntAxis k = space.AddAxis("TILE_K", {32, 64});
  IntAxis occupancy = space.AddHintAxis("occupancy", {1, 2});
  space.SetBaseline({{m, 64}, {n, 64}, {k, 64}, {occupancy, 1}});
  Variant variant;
  variant.name = "tile";
  variant.convention = CallingConvention::kCutilePython;
  variant.source = [=](const Config& c, const Problem&) {
    std::ifstream file(folder + "/matmul." + std::to_string(c[m]) + "x" + std::to_string(c[n]) + "x" +
                           std::to_string(c[k]) + ".tileir",
                       std::ios::binary);
    std::ostringstream content;
    content << file.rdbuf();
    return KernelSource::TileIr(content.str(), "matmul");
  };
  variant.geometry = Grid::TileCoverage({{"M", m}, {"N", n}});
  KernelDefinition definition("matmul");
  definition.DimsInOrder({"M", "N", "K"})
      .Parameters({In("a", {"M", "K"}), In("b", {"K", "N"}), Out("c", {"M", "N"})})
      .Space(space)
      .AddVariant(variant);
  return definition;
}

Json Summary(const TuningRecord& result, double wall_s) {
  Json json = {{"wall_s", wall_s},
               {"compile_s", result.cost.compile_seconds},
               {"gpu_s", result.cost.gpu_seconds},
               {"rounds", result.cost.num_rounds},
               {"timer", result.timer},
               {"best", result.best.config.ToString()},
               {"best_us", result.best.measurement.mean_us},
               {"failures", result.failures().size()},
               {"notes", result.notes},
               {"mean_us", Json::object()}};
  for (const CandidateOutcome& success : result.successes())
    json["mean_us"][success.config.ToString()] = success.measurement.mean_us;
  return json;
}

/// One shape; the process's first search is the cold one.
Result<Json> Run(const std::string& folder, const Shape& shape, const DriverApi& api) {
  TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(api));
  std::vector<std::uint16_t> halves(static_cast<std::size_t>(std::max({shape.m * shape.k, shape.k * shape.n})));
  for (std::size_t i = 0; i < halves.size(); ++i) {
    halves[i] = static_cast<std::uint16_t>(0x2c00 + (i * 2654435761u >> 20) % 0x0c00);  // 0.06 to 1.
  }
  auto matrix = [&](std::int64_t rows, std::int64_t columns) -> Result<DeviceBuffer> {
    auto bytes = static_cast<std::size_t>(2 * rows * columns);
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer buffer, DeviceBuffer::Allocate(stream.view(), bytes));
    TUNEONCE_RETURN_IF_ERROR(buffer.CopyFromHost(halves.data(), std::min(bytes, 2 * halves.size())));
    TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
    return buffer;
  };
  TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer a, matrix(shape.m, shape.k));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer b, matrix(shape.k, shape.n));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer c,
                            DeviceBuffer::Allocate(stream.view(), static_cast<std::size_t>(2 * shape.m * shape.n)));
  TensorView a_view = TensorView::Contiguous(a.data(), DType::kFloat16, {shape.m, shape.k});
  TensorView b_view = TensorView::Contiguous(b.data(), DType::kFloat16, {shape.k, shape.n});
  TensorView c_view = TensorView::Contiguous(c.data(), DType::kFloat16, {shape.m, shape.n});
  KernelDefinition definition = DefineMatmul(folder);
  SearchOptions options;
  options.quiet = true;
  options.compile.cache = MakeMemoryStore();
  auto search = [&]() -> Result<Json> {
    auto start = std::chrono::steady_clock::now();
    TUNEONCE_ASSIGN_OR_RETURN(TuningRecord result,
                              exhaustive_search(definition, stream.get(), {a_view, b_view, c_view}, options));
    double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return Summary(result, wall);
  };
  Json json = {{"shape", {shape.m, shape.n, shape.k}}};
  TUNEONCE_ASSIGN_OR_RETURN(Json cold, search());
  json["cold"] = cold;
  json["warm"] = Json::array();
  for (int i = 0; i < 5; ++i) {
    TUNEONCE_ASSIGN_OR_RETURN(Json warm, search());
    json["warm"].push_back(warm);
  }
  EventTimer events;
  options.timer = &events;
  TUNEONCE_ASSIGN_OR_RETURN(Json by_events, search());
  json["events"] = by_events;
  return json;
}

}  // namespace
}  // namespace tuneonce

int main(int argc, char** argv) {
  CLI::App app("What a whole search of 16 matmul configs costs");
  std::string folder;
  std::vector<std::string> shapes = {"1024x256x512", "4096x4096x4096"};
  app.add_option("--kernels", folder, "What export.py wrote")->required();
  app.add_option("--shape", shapes, "MxNxK; may be repeated");
  CLI11_PARSE(app, argc, argv);
  using tuneonce::Result;
  auto run = [&]() -> Result<tuneonce::Json> {
    TUNEONCE_ASSIGN_OR_RETURN(tuneonce::Device device, tuneonce::OpenDevice("cuda"));
    TUNEONCE_ASSIGN_OR_RETURN(tuneonce::Context context, tuneonce::Context::RetainPrimary(device));
    tuneonce::ScopedContext current(context.view());
    tuneonce::Json all = tuneonce::Json::array();
    for (const std::string& text : shapes) {
      tuneonce::Shape shape{};
      if (std::sscanf(text.c_str(), "%ldx%ldx%ld", &shape.m, &shape.n, &shape.k) != 3) {
        return tuneonce::InvalidArgumentError("--shape " + text + " is no MxNxK");
      }
      TUNEONCE_ASSIGN_OR_RETURN(tuneonce::Json json, tuneonce::Run(folder, shape, device.api()));
      all.push_back(std::move(json));
    }
    return all;
  };
  Result<tuneonce::Json> json = run();
  if (!json.ok()) {
    std::fprintf(stderr, "search_cost: %s\n", json.status().message().c_str());
    return 1;
  }
  std::printf("%s\n", json->dump(2).c_str());
}

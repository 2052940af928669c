// Evaluates predictions and dispatch on a table that record_table wrote.
//
//   evaluate_tables --table T.csv... --bundle FOLDER (--leave-out N,K | --unseen U.csv) [--json]
//
// The shapes of the tables, which have the same configs, are grouped by their extents of the dims of --leave-out. Each
// group is left out in turn, and what the other shapes know predicts its shapes. With --unseen, the shapes of that
// table are predicted by all of the others. A fraction is the best time at a shape divided by the time of what was
// selected:
//
// - first: the config that ConfigPredictor ranks first; top8: the best of the first eight;
// - nearest: the fastest config of the nearest other shape;
// - dispatch: the config that the tree of `tuneonce records dispatch` selects, made of the other shapes.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/callback.h"
#include "cuda/driver_api.h"
#include "launch/assumption.h"
#include "launch/call_binder.h"
#include "records/config_dispatch.h"
#include "runtime/warmup_inputs.h"
#include "search/config_predictor.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"

namespace tuneonce {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct Arguments {
  std::vector<std::string> tables;
  std::string bundle;
  std::string leave_out;
  std::string unseen;
  bool json = false;
};

struct Table {
  std::string title;
  Target target;
  std::vector<Config> configs;
  std::vector<ConfigPredictor::Shape> shapes;
};

/// The fractions of one way to select configs, by shape.
struct Fractions {
  std::vector<double> values;

  Json ToJson() const {
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    double sum = 0;
    for (double value : sorted) sum += value;
    auto rounded = [](double value) { return std::round(value * 1e4) / 1e4; };
    return {{"mean", rounded(sum / static_cast<double>(sorted.size()))},
            {"p10", rounded(sorted[sorted.size() / 10])},
            {"least", rounded(sorted.front())}};
  }
};

std::string RowOf(const Config& config) {
  return absl::StrJoin(config.values(), ",",
                       [](std::string* text, const AxisValue& value) { *text += AxisValueString(value); });
}

/// Reads the target of "# matmul; NVIDIA H100; sm_90; 132 multiprocessors; ...".
Result<Target> TargetOf(const std::string& title) {
  const std::vector<std::string> parts = absl::StrSplit(title, "; ");
  if (parts.size() < 4) return InvalidArgumentError("the table's first line does not name the device");
  TUNEONCE_ASSIGN_OR_RETURN(Target target, Target::Named(parts[2]));
  target.num_sms = std::atoi(parts[3].c_str());
  return target;
}

Result<Dims> DimsOf(const KernelDefinition& definition, const Bundle::Example& example, const std::string& text) {
  Dims dims(static_cast<int>(definition.dims().size()));
  for (const auto& [name, extent] : example.dims) dims[definition.DimOf(name)] = extent;
  const std::vector<std::string> settings = absl::StrSplit(text, ' ');
  for (const std::string& setting : settings) {
    const std::vector<std::string> sides = absl::StrSplit(setting, '=');
    if (sides.size() != 2) return InvalidArgumentError("the column '" + text + "' does not name a shape");
    dims[definition.DimOf(sides[0])] = std::atoll(sides[1].c_str());
  }
  return dims;
}

/// Returns which of the target's variants dense tensors at these dims may run, as bits.
Result<std::uint64_t> VariantsAt(const KernelDefinition& definition, const Bundle::Example& example,
                                 const Target& target, const Dims& dims) {
  InputShape shape;
  shape.dims = dims;
  for (const Parameter& parameter : definition.parameters()) {
    const auto dtype = example.dtypes.find(parameter.name);
    shape.dtypes.push_back(dtype == example.dtypes.end() ? DType::kAny : dtype->second);
  }
  const DriverApi no_driver(DriverTable{}, "", /*is_cpu_device=*/true);  // Arguments without memory use none.
  TUNEONCE_ASSIGN_OR_RETURN(
      const WarmupInputs inputs,
      WarmupInputs::Create(definition, shape, StreamView(no_driver, nullptr), WarmupInputs::Use::kKey));
  BoundCall call;
  TUNEONCE_RETURN_IF_ERROR(CallBinder(definition).Bind(inputs.arguments().data(), inputs.arguments().size(), &call));
  TUNEONCE_ASSIGN_OR_RETURN(const std::vector<const Variant*> variants, definition.VariantsFor(target));
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    TUNEONCE_ASSIGN_OR_RETURN(const AssumptionChecks checks, AssumptionChecks::Create(definition, *variants[i]));
    if (checks.Hold(call)) bits |= std::uint64_t{1} << i;
  }
  return bits;
}

Result<Table> ReadTable(const std::string& path, const Bundle& bundle) {
  std::ifstream file(path);
  Table table;
  std::string header;
  if (!std::getline(file, table.title) || !std::getline(file, header)) return NotFoundError("cannot read " + path);
  TUNEONCE_ASSIGN_OR_RETURN(table.target, TargetOf(table.title));
  TUNEONCE_ASSIGN_OR_RETURN(table.configs, bundle.definition().space().Enumerate(table.target));
  std::map<std::string, std::size_t> place_of;
  for (const Config& config : table.configs) place_of.emplace(RowOf(config), place_of.size());
  const std::size_t num_axes = table.configs.front().values().size();
  const std::vector<std::string> columns = absl::StrSplit(header, ',');
  for (std::size_t i = num_axes; i < columns.size(); ++i) {
    TUNEONCE_ASSIGN_OR_RETURN(Dims dims, DimsOf(bundle.definition(), bundle.example(), columns[i]));
    TUNEONCE_ASSIGN_OR_RETURN(const std::uint64_t variants,
                              VariantsAt(bundle.definition(), bundle.example(), table.target, dims));
    table.shapes.push_back({dims, std::vector<double>(table.configs.size(), 0), variants});
  }
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> cells = absl::StrSplit(line, ',');
    const auto place =
        place_of.find(absl::StrJoin(cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(num_axes), ","));
    if (place == place_of.end() || cells.size() != columns.size()) {
      return InvalidArgumentError(path + ": the bundle has no config '" + line.substr(0, 60) + "...'");
    }
    for (std::size_t i = num_axes; i < cells.size(); ++i) {
      const bool has_time = !cells[i].empty();
      table.shapes[i - num_axes].times_us[place->second] =
          has_time ? std::atof(cells[i].c_str()) : std::numeric_limits<double>::infinity();
    }
  }
  return table;
}

double BestOf(const ConfigPredictor::Shape& shape) {
  return *std::min_element(shape.times_us.begin(), shape.times_us.end());
}

std::vector<double> SlowdownsOf(const ConfigPredictor::Shape& shape) {
  std::vector<double> slowdowns;
  for (double time_us : shape.times_us) slowdowns.push_back(time_us / BestOf(shape));
  return slowdowns;
}

std::vector<std::int64_t> ExtentsOf(const Dims& dims) {
  std::vector<std::int64_t> extents;
  for (int dim = 0; dim < dims.count(); ++dim) extents.push_back(dims[Dim{dim}]);
  return extents;
}

/// Returns the shapes by their extents of these dims.
std::vector<std::vector<std::size_t>> GroupsOf(const KernelDefinition& definition, const Table& table,
                                               const std::vector<std::string>& dims) {
  std::map<std::vector<std::int64_t>, std::vector<std::size_t>> groups;
  for (std::size_t shape = 0; shape < table.shapes.size(); ++shape) {
    std::vector<std::int64_t> extents;
    for (const std::string& dim : dims) extents.push_back(table.shapes[shape].dims[definition.DimOf(dim)]);
    groups[extents].push_back(shape);
  }
  std::vector<std::vector<std::size_t>> shapes;
  for (auto& [extents, group] : groups) shapes.push_back(std::move(group));
  return shapes;
}

class Evaluation {
 public:
  Evaluation(const KernelDefinition& definition, Table table) : definition_(definition), table_(std::move(table)) {}

  /// Leaves each of the groups of shapes out in turn.
  Json Run(const std::vector<std::vector<std::size_t>>& groups) {
    for (const std::vector<std::size_t>& shapes : groups) LeaveOut(shapes);
    Json json = {{"table", table_.title},
                 {"shapes", table_.shapes.size()},
                 {"configs", table_.configs.size()},
                 {"groups", groups.size()},
                 {"first", first_.ToJson()},
                 {"top8", top8_.ToJson()},
                 {"nearest", nearest_.ToJson()},
                 {"model_ms", model_ms_ / static_cast<double>(groups.size())},
                 {"predict_ms", predict_ms_ / static_cast<double>(first_.values.size())},
                 {"dispatch", Json::array()}};
    std::vector<std::vector<double>> slowdowns;
    std::vector<std::vector<std::int64_t>> extents;
    for (const ConfigPredictor::Shape& shape : table_.shapes) {
      slowdowns.push_back(SlowdownsOf(shape));
      extents.push_back(ExtentsOf(shape.dims));
    }
    for (double within : kWithin) {
      const std::vector<std::size_t> chosen = FewestConfigs(slowdowns, within);
      const DispatchTree tree = MakeDispatchTree(extents, slowdowns, chosen, within);
      Fractions seen;
      for (std::size_t shape = 0; shape < slowdowns.size(); ++shape) {
        seen.values.push_back(1 / slowdowns[shape][tree.ConfigAt(extents[shape])]);
      }
      json["dispatch"].push_back({{"within", within},
                                  {"configs", chosen.size()},
                                  {"leaves", tree.num_leaves()},
                                  {"seen", seen.ToJson()},
                                  {"left_out", dispatch_[within].ToJson()}});
    }
    return json;
  }

 private:
  static constexpr double kWithin[] = {0.01, 0.03, 0.05};

  void LeaveOut(const std::vector<std::size_t>& left_out) {
    std::vector<ConfigPredictor::Shape> known;
    for (std::size_t shape = 0; shape < table_.shapes.size(); ++shape) {
      if (std::count(left_out.begin(), left_out.end(), shape) == 0) known.push_back(table_.shapes[shape]);
    }
    Problem problem;
    problem.target = &table_.target;
    problem.dims = known.front().dims;
    problem.values = {};
    for (std::size_t i = 0; i < definition_.parameters().size(); ++i) {
      problem.dtypes[i] = definition_.parameters()[i].dtype;
    }
    Clock::time_point begin = Clock::now();
    const ConfigPredictor predictor(definition_, problem, table_.configs, known);
    for (std::size_t shape : left_out) {  // First predictions solve what they need.
      problem.dims = table_.shapes[shape].dims;
      (void)predictor.Predict(problem, table_.shapes[shape].variants);
    }
    model_ms_ += Milliseconds(begin);
    std::vector<std::vector<double>> slowdowns;
    std::vector<std::vector<std::int64_t>> extents;
    for (const ConfigPredictor::Shape& shape : known) {
      slowdowns.push_back(SlowdownsOf(shape));
      extents.push_back(ExtentsOf(shape.dims));
    }
    for (std::size_t shape : left_out) {
      const ConfigPredictor::Shape& unseen = table_.shapes[shape];
      problem.dims = unseen.dims;
      begin = Clock::now();
      const ConfigPredictor::Prediction prediction = predictor.Predict(problem, unseen.variants);
      predict_ms_ += Milliseconds(begin);
      first_.values.push_back(FractionOfBest(unseen, prediction.ranking, 1));
      top8_.values.push_back(FractionOfBest(unseen, prediction.ranking, 8));
      const std::vector<double>& near = known[prediction.nearest].times_us;
      std::vector<std::size_t> by_nearest(near.size());
      for (std::size_t config = 0; config < near.size(); ++config) by_nearest[config] = config;
      std::stable_sort(by_nearest.begin(), by_nearest.end(),
                       [&](std::size_t a, std::size_t b) { return near[a] < near[b]; });
      nearest_.values.push_back(FractionOfBest(unseen, by_nearest, 1));
    }
    for (double within : kWithin) {
      const std::vector<std::size_t> chosen = FewestConfigs(slowdowns, within);
      const DispatchTree tree = MakeDispatchTree(extents, slowdowns, chosen, within);
      for (std::size_t shape : left_out) {
        const ConfigPredictor::Shape& unseen = table_.shapes[shape];
        dispatch_[within].values.push_back(FractionOfBest(unseen, {tree.ConfigAt(ExtentsOf(unseen.dims))}, 1));
      }
    }
  }

  /// Of the first `count` configs of the ranking that run at the shape, as guards exclude the others before a launch.
  static double FractionOfBest(const ConfigPredictor::Shape& shape, const std::vector<std::size_t>& ranking,
                               std::size_t count) {
    double best_of_first = std::numeric_limits<double>::infinity();
    for (std::size_t config : ranking) {
      if (std::isinf(shape.times_us[config])) continue;
      best_of_first = std::min(best_of_first, shape.times_us[config]);
      if (--count == 0) break;
    }
    return BestOf(shape) / best_of_first;
  }

  static double Milliseconds(Clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  }

  const KernelDefinition& definition_;
  const Table table_;
  Fractions first_, top8_, nearest_;
  std::map<double, Fractions> dispatch_;
  double model_ms_ = 0, predict_ms_ = 0;
};

void Print(const Json& json) {
  std::printf("%s\n", json["table"].get<std::string>().c_str());
  std::printf("%d shapes, %d configs, %d groups left out; a model takes %.1f ms, a prediction %.3f ms\n",
              json["shapes"].get<int>(), json["configs"].get<int>(), json["groups"].get<int>(),
              json["model_ms"].get<double>(), json["predict_ms"].get<double>());
  for (const char* name : {"first", "top8", "nearest"}) {
    std::printf("%-8s mean %.4f, tenth percentile %.4f, least %.4f\n", name, json[name]["mean"].get<double>(),
                json[name]["p10"].get<double>(), json[name]["least"].get<double>());
  }
  for (const Json& each : json["dispatch"]) {
    std::printf("within %.0f %%: %d configs, %d leaves; mean %.4f of the recorded shapes, %.4f of shapes left out\n",
                100 * each["within"].get<double>(), each["configs"].get<int>(), each["leaves"].get<int>(),
                each["seen"]["mean"].get<double>(), each["left_out"]["mean"].get<double>());
  }
}

}  // namespace
}  // namespace tuneonce

int main(int argc, char** argv) {
  using namespace tuneonce;
  CLI::App app("Evaluate predictions and dispatch on a table of record_table");
  Arguments arguments;
  app.add_option("--table", arguments.tables, "Tables of the same configs")->required();
  app.add_option("--bundle", arguments.bundle, "The bundle whose configs it has")->required();
  CLI::Option_group* left_out = app.add_option_group("left out");
  left_out->add_option("--leave-out", arguments.leave_out, "Dims whose values make a group of shapes, such as N,K");
  left_out->add_option("--unseen", arguments.unseen, "Another table of these configs, whose shapes are predicted");
  left_out->require_option(1);
  app.add_flag("--json", arguments.json, "Print JSON instead of text");
  CLI11_PARSE(app, argc, argv);
  auto run = [&]() -> Result<Json> {
    TUNEONCE_ASSIGN_OR_RETURN(const Bundle bundle, Bundle::Load(arguments.bundle));
    TUNEONCE_ASSIGN_OR_RETURN(Table table, ReadTable(arguments.tables.front(), bundle));
    // Returns the places of the added shapes.
    auto add = [&](const std::string& path) -> Result<std::vector<std::size_t>> {
      TUNEONCE_ASSIGN_OR_RETURN(const Table other, ReadTable(path, bundle));
      if (other.target.num_sms != table.target.num_sms || other.target.name() != table.target.name()) {
        return InvalidArgumentError(path + " was recorded on another device than " + arguments.tables.front());
      }
      std::vector<std::size_t> places(other.shapes.size());
      std::iota(places.begin(), places.end(), table.shapes.size());
      table.shapes.insert(table.shapes.end(), other.shapes.begin(), other.shapes.end());
      return places;
    };
    for (std::size_t i = 1; i < arguments.tables.size(); ++i)
      TUNEONCE_RETURN_IF_ERROR(add(arguments.tables[i]).status());
    std::vector<std::vector<std::size_t>> groups;
    if (arguments.unseen.empty()) {
      groups = GroupsOf(bundle.definition(), table, absl::StrSplit(arguments.leave_out, ','));
    } else {
      TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::size_t> unseen, add(arguments.unseen));
      groups.push_back(std::move(unseen));
    }
    return CallUser("a function of kernel '" + bundle.definition().name() + "', which has no scalars here,",
                    [&] { return Evaluation(bundle.definition(), std::move(table)).Run(groups); });
  };
  const Result<Json> json = run();
  if (!json.ok()) {
    std::fprintf(stderr, "evaluate_tables: %s\n", json.status().message().c_str());
    return 1;
  }
  if (arguments.json) {
    std::printf("%s\n", json->dump(1).c_str());
  } else {
    Print(*json);
  }
  return 0;
}

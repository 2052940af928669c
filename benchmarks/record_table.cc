// Measures all configs of a bundle at many shapes, into a table on which predictions and dispatch are evaluated
// (evaluate_tables).
//
//   record_table --bundle FOLDER --shapes FILE --table OUT.csv [--device cuda] [--seconds 470] [--commit TEXT]
//
// Each line of FILE is a shape, "M=64 N=4096 K=4096". What it does not name has the value of the bundle's example.
// Lines that begin with "#" are comments. A shape is one exhaustive search as a TunedKernel makes it, on the values
// that the bundle declares: outputs are verified, and a config that is much slower than the fastest has fewer samples.
//
// The table is CSV behind one line that begins with "#". A row is a config, the first columns are its axes, and each
// other column is a shape, with mean times in microseconds. A cell is empty if the config failed or is not valid there.
// The file is replaced after each shape, and a shape that it has is not measured again, so that a run may be repeated.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tuneonce/autotune_policy.h"
#include "tuneonce/bundle.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/timer.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

struct Arguments {
  std::string bundle;
  std::string shapes;
  std::string table;
  std::string device = "cuda";
  std::string commit = "unknown";
  double seconds = 0;
  double gpu_ms = 200;
  bool is_isolated = false;
};

struct KeepRecord : AutotuneObserver {
  void OnTuned(const std::string&, const std::string&, const TuningRecord& tuned) override { record = tuned; }
  std::optional<TuningRecord> record;
};

/// The table in memory: `columns` by shape, each with one cell for each config.
struct Table {
  std::string axes;                  ///< The header's part of the axes.
  std::vector<std::string> configs;  ///< The rows' part of the axes.
  std::vector<std::pair<std::string, std::vector<std::string>>> columns;
};

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

std::string RowOf(const Config& config) {
  std::vector<std::string> values;
  for (const AxisValue& value : config.values()) values.push_back(AxisValueString(value));
  return Joined(values);
}

Result<std::vector<std::string>> LinesOf(const std::string& path) {
  std::ifstream file(path);
  if (!file) return NotFoundError("cannot read " + path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  if (!text.empty() && text.back() == separator) parts.emplace_back();
  return parts;
}

/// Adds the columns of the file, if it exists. Errors: InvalidArgument if it has other configs.
Status ReadColumns(const std::string& path, Table* table) {
  Result<std::vector<std::string>> lines = LinesOf(path);
  if (!lines.ok()) return Status();
  const auto num_axes = Split(table->axes, ',').size();
  if (lines->size() != table->configs.size() + 2 || (*lines)[1].rfind(table->axes, 0) != 0) {
    return InvalidArgumentError(path + " is a table of other configs: name another file");
  }
  const std::vector<std::string> header = Split((*lines)[1], ',');
  for (std::size_t i = num_axes; i < header.size(); ++i)
    table->columns.emplace_back(header[i], std::vector<std::string>());
  for (std::size_t row = 0; row < table->configs.size(); ++row) {
    const std::vector<std::string> cells = Split((*lines)[row + 2], ',');
    if (cells.size() != header.size() || (*lines)[row + 2].rfind(table->configs[row] + ",", 0) != 0) {
      return InvalidArgumentError(path + " is a table of other configs: name another file");
    }
    for (std::size_t i = num_axes; i < cells.size(); ++i) table->columns[i - num_axes].second.push_back(cells[i]);
  }
  return Status();
}

Status Write(const std::string& path, const std::string& title, const Table& table) {
  const std::string unfinished = path + ".unfinished";
  {
    std::ofstream file(unfinished);
    file << title << "\n" << table.axes;
    for (const auto& [shape, cells] : table.columns) file << "," << shape;
    for (std::size_t row = 0; row < table.configs.size(); ++row) {
      file << "\n" << table.configs[row];
      for (const auto& [shape, cells] : table.columns) file << "," << cells[row];
    }
    file << "\n";
    if (!file.flush()) return InternalError("cannot write " + unfinished);
  }
  if (std::rename(unfinished.c_str(), path.c_str()) == 0) return Status();
  return InternalError("cannot rename " + unfinished + " to " + path);
}

/// Returns the shape of a line, with the example's values for what it does not name.
Result<TunedKernel::Shape> ShapeOf(const Bundle& bundle, const std::string& line) {
  std::map<std::string, std::int64_t> dims = bundle.example().dims;
  for (const std::string& setting : Split(line, ' ')) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || dims.count(setting.substr(0, equals)) == 0) {
      return InvalidArgumentError("'" + line + "': " + setting + " is not a value of a dim of the bundle's example");
    }
    dims[setting.substr(0, equals)] = std::atoll(setting.c_str() + equals + 1);
  }
  TunedKernel::Shape shape;
  for (const auto& [dim, extent] : dims) shape.values.emplace_back(dim, extent);
  for (const auto& [tensor, dtype] : bundle.example().dtypes) shape.values.emplace_back(tensor, dtype);
  for (const auto& [scalar, value] : bundle.example().scalars) shape.values.emplace_back(scalar, value);
  return shape;
}

std::string MicrosecondsText(double us) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", us);
  return text;
}

/// Returns a cell for each row. A config whose code equals another one's has that one's time.
std::vector<std::string> CellsOf(const TuningRecord& record, const std::vector<std::string>& rows) {
  std::map<std::string, std::string> times;
  for (const CandidateOutcome& each : record.successes()) {
    times[RowOf(each.config)] = MicrosecondsText(each.measurement.mean_us);
  }
  for (const CandidateOutcome& each : record.duplicates()) {
    if (each.same_as) times[RowOf(each.config)] = times[RowOf(*each.same_as)];
  }
  std::vector<std::string> cells;
  cells.reserve(rows.size());
  for (const std::string& row : rows) cells.push_back(times[row]);
  return cells;
}

class Recorder {
 public:
  Recorder(const Arguments& arguments, Bundle bundle) : arguments_(arguments), bundle_(std::move(bundle)) {}

  /// Returns how many shapes failed or were not reached.
  Result<std::size_t> Run() {
    TUNEONCE_ASSIGN_OR_RETURN(Device device, OpenDevice(arguments_.device));
    TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device.Identity());
    TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(device));
    ScopedContext current(context.view());
    TUNEONCE_RETURN_IF_ERROR(current.status());
    TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(device.api()));
    const Target target = Target::Of(identity);
    TUNEONCE_RETURN_IF_ERROR(ListConfigs(target));
    TUNEONCE_RETURN_IF_ERROR(ReadColumns(arguments_.table, &table_));
    TUNEONCE_ASSIGN_OR_RETURN(TunedKernel kernel, MakeKernel());
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::string> lines, LinesOf(arguments_.shapes));
    lines.erase(std::remove_if(lines.begin(), lines.end(), [](const std::string& line) { return line[0] == '#'; }),
                lines.end());
    std::size_t num_missing = 0;
    for (const std::string& line : lines) {
      const bool is_known = std::any_of(table_.columns.begin(), table_.columns.end(),
                                        [&](const auto& column) { return column.first == line; });
      if (is_known) continue;
      if (arguments_.seconds > 0 && Seconds() > arguments_.seconds) {
        ++num_missing;
        continue;
      }
      const Status measured = Measure(&kernel, stream.get(), line);
      if (measured.sticky()) return measured;
      if (!measured.ok()) {
        ++num_missing;
        std::fprintf(stderr, "%s: %s\n", line.c_str(), measured.message().c_str());
        continue;
      }
      char date[16];
      const std::time_t now = std::time(nullptr);
      std::strftime(date, sizeof(date), "%Y-%m-%d", std::gmtime(&now));
      const std::string title = "# " + bundle_.definition().name() + "; " + identity.name + "; " + target.name() +
                                "; " + std::to_string(target.num_sms) + " multiprocessors; driver " +
                                std::to_string(identity.driver_version) + "; " + std::string(date) + "; commit " +
                                arguments_.commit + "; microseconds";
      TUNEONCE_RETURN_IF_ERROR(Write(arguments_.table, title, table_));
    }
    return num_missing;
  }

 private:
  double Seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

  Status ListConfigs(const Target& target) {
    const SearchSpace& space = bundle_.definition().space();
    TUNEONCE_ASSIGN_OR_RETURN(const std::vector<Config> configs, space.Enumerate(target));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < configs.front().values().size(); ++i) names.push_back(configs.front().AxisName(i));
    table_.axes = Joined(names);
    for (const Config& config : configs) table_.configs.push_back(RowOf(config));
    return Status();
  }

  /// Makes the kernel, whose key has the exact value of each dim.
  Result<TunedKernel> MakeKernel() {
    KernelDefinition definition = bundle_.definition();
    definition.ShippedSelections("");
    std::vector<KeyPart> key;
    for (const std::string& dim : definition.dims()) key.push_back(KeyOf(dim));
    for (const KeyPart& part : definition.key()) {
      if (part.kind != KeyPart::Kind::kDim) key.push_back(part);
    }
    definition.Key(std::move(key));
    AutotunePolicy policy;
    policy.store = MakeMemoryStore(std::int64_t{4} << 30);
    policy.observer = observer_;
    policy.max_ready_keys = 1;  // One shape is measured after the other.
    policy.on_tune_error = AutotunePolicy::OnTuneError::kReturn;
    policy.search.strategy = Strategy::kExhaustive;
    policy.search.budgets.gpu = Budgets::Milliseconds(arguments_.gpu_ms);
    policy.search.isolation = arguments_.is_isolated ? Isolation::kRequired : Isolation::kOff;
    return TunedKernel::Create(std::move(definition), std::move(policy));
  }

  Status Measure(TunedKernel* kernel, CUstream stream, const std::string& line) {
    TUNEONCE_ASSIGN_OR_RETURN(const TunedKernel::Shape shape, ShapeOf(bundle_, line));
    observer_->record.reset();
    const double begin = Seconds();
    TUNEONCE_RETURN_IF_ERROR(kernel->Warmup(stream, {shape}));
    if (!observer_->record) return InternalError("nothing was searched: is it the key of another line?");
    const TuningRecord& record = *observer_->record;
    table_.columns.emplace_back(line, CellsOf(record, table_.configs));
    kernel->ReleaseRetired();
    std::fprintf(stderr, "%s: %zu measured, %zu failed, best %.2f us {%s}, %.2f s, %.0f s in all\n", line.c_str(),
                 record.successes().size(), record.failures().size(), record.best.measurement.mean_us,
                 record.best.config.ToString().c_str(), Seconds() - begin, Seconds());
    return Status();
  }

  const Arguments& arguments_;
  const Bundle bundle_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::shared_ptr<KeepRecord> observer_ = std::make_shared<KeepRecord>();
  Table table_;
};

}  // namespace
}  // namespace tuneonce

int main(int argc, char** argv) {
  CLI::App app("Measure all configs of a bundle at many shapes");
  tuneonce::Arguments arguments;
  app.add_option("--bundle", arguments.bundle, "Folder or name of a bundle")->required();
  app.add_option("--shapes", arguments.shapes, "File with a shape on each line")->required();
  app.add_option("--table", arguments.table, "The table, which is continued if it exists")->required();
  app.add_option("--device", arguments.device, "cuda or cpu");
  app.add_option("--commit", arguments.commit, "The commit of the bundle, for the table's first line");
  app.add_option("--seconds", arguments.seconds, "Begin no shape after this time (default: no limit)");
  app.add_option("--gpu-ms", arguments.gpu_ms, "Device time of the race of one shape, in milliseconds");
  app.add_flag("--isolated", arguments.is_isolated, "Run candidates in a worker process");
  CLI11_PARSE(app, argc, argv);
  auto run = [&]() -> tuneonce::Result<std::size_t> {
    TUNEONCE_ASSIGN_OR_RETURN(tuneonce::Bundle bundle, tuneonce::Bundle::Load(arguments.bundle));
    return tuneonce::Recorder(arguments, std::move(bundle)).Run();
  };
  const tuneonce::Result<std::size_t> num_missing = run();
  if (!num_missing.ok()) {
    std::fprintf(stderr, "record_table: %s\n", num_missing.status().message().c_str());
    return 1;
  }
  if (*num_missing > 0) std::fprintf(stderr, "record_table: %zu shapes failed or were not reached\n", *num_missing);
  return *num_missing > 0 ? 1 : 0;
}

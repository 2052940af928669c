#include <algorithm>
#include <set>
#include <utility>

#include "base/number_text.h"
#include "console/numbers.h"
#include "launch/assumption.h"
#include "launch/call_binder.h"
#include "records/selections_file.h"
#include "runtime/warmup_inputs.h"
#include "search/record_origin.h"
#include "store/kernel_fingerprint.h"
#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Settings = std::map<std::string, std::string>;
using NamedConfig = std::vector<std::pair<std::string, AxisValue>>;

/// The text of a value as the axis has values: "2" is a whole number, "2" of an axis of strings a string.
AxisValue ValueLike(const AxisValue& like, const std::string& text) {
  if (std::holds_alternative<std::string>(like)) return text;
  if (text == "true" || text == "false") return text == "true";
  if (std::optional<std::int64_t> whole = ParseNumber<std::int64_t>(text)) return *whole;
  if (std::optional<double> real = ParseNumber<double>(text)) return *real;
  return text;
}

std::string Listed(const std::set<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + text;
  return list;
}

/// Names that other tuners give to axes which our bundles have, too.
constexpr std::pair<const char*, const char*> kKnownAxes[] = {
    {"BLOCK_SIZE_M", "TILE_M"}, {"BLOCK_SIZE_N", "TILE_N"}, {"BLOCK_SIZE_K", "TILE_K"}, {"BLOCK_M", "TILE_M"},
    {"BLOCK_N", "TILE_N"},      {"BLOCK_K", "TILE_K"},      {"TILE_SIZE_M", "TILE_M"},  {"TILE_SIZE_N", "TILE_N"},
    {"TILE_SIZE_K", "TILE_K"},  {"BM", "TILE_M"},           {"BN", "TILE_N"},           {"BK", "TILE_K"},
    {"BLOCK_SIZE", "BLOCK"},    {"SPLIT_K", "SPLITS"}};
/// Parts of a config that mean nothing to a kernel without such an axis: options of a compiler, and the order of
/// blocks.
constexpr const char* kOptionalAxes[] = {"num_warps", "num_stages", "num_ctas",     "maxnreg",
                                         "occupancy", "GROUP_M",    "GROUP_SIZE_M", "num_buffers_warp_spec"};

bool IsOptional(const std::string& name) {
  return std::any_of(std::begin(kOptionalAxes), std::end(kOptionalAxes),
                     [&](const char* each) { return name == each; });
}

/// Makes records of one file's selections, for one kernel on one device.
class Importer {
 public:
  Importer(const SelectionsFile& file, const Bundle& bundle, const Device& device, std::vector<std::string>* notes)
      : file_(file), example_(bundle.example()), definition_(bundle.definition()), device_(device), notes_(notes) {}

  Status Read(const SelectionMap& map);
  Result<std::vector<TuningRecord>> Records();

 private:
  Result<Config> ConfigOf(const SelectionsFile::Selection& selection) const;
  Status CheckListed(const Config& config) const;
  bool HasDim(const std::string& name) const {
    return std::find(definition_.dims().begin(), definition_.dims().end(), name) != definition_.dims().end();
  }
  bool HasAxis(const std::string& name) const { return configs_.front().Find(name) != nullptr; }
  /// Our name of a tuner's axis. Empty, with a note, for one that means nothing to this kernel. Errors: as OurName.
  Result<std::string> OurAxis(const std::string& theirs) const;
  /// Returns the first listed config with these values. If no config has all of them, optional values need not agree,
  /// and a note names them. Errors: as CheckListed.
  Result<Config> ListedConfig(const NamedConfig& named) const;
  void Note(const std::string& note) const {
    if (std::find(notes_->begin(), notes_->end(), note) == notes_->end()) notes_->push_back(note);
  }
  /// Returns the shape that determines the key. Dims that the selection does not name have the example's extents.
  Result<InputShape> ShapeOf(const SelectionsFile::Selection& selection) const;
  Result<TuningRecord> RecordOf(const SelectionsFile::Selection& selection, Config config) const;
  Status Add(const SelectionsFile::Selection& selection, std::vector<TuningRecord>* records) const;
  Status AddTo(std::vector<TuningRecord>* records, TuningRecord record,
               const SelectionsFile::Selection& selection) const;
  Result<std::string> OurName(const Settings& names, const std::string& theirs, const char* what) const;
  /// The key part of the dim by which the nearest serves.
  Result<std::size_t> NearestPart() const;

  const SelectionsFile& file_;
  const Bundle::Example& example_;
  KernelDefinition definition_;
  const Device& device_;
  std::vector<std::string>* const notes_;
  DeviceIdentity identity_;
  Target target_;
  std::vector<Config> configs_;
  Settings axes_, dims_, values_, shape_, dtypes_;
  std::set<std::string> ignored_;
};

Status Importer::Read(const SelectionMap& map) {
  TUNEONCE_RETURN_IF_ERROR(ValidateForLaunch(definition_));
  TUNEONCE_ASSIGN_OR_RETURN(identity_, device_.Identity());
  target_ = Target::Of(identity_);
  TUNEONCE_ASSIGN_OR_RETURN(configs_, definition_.space().Enumerate(target_));
  TUNEONCE_ASSIGN_OR_RETURN(axes_, ParseSettings(map.axes, "axis"));
  TUNEONCE_ASSIGN_OR_RETURN(dims_, ParseSettings(map.dims, "dim"));
  TUNEONCE_ASSIGN_OR_RETURN(values_, ParseSettings(map.values, "value"));
  TUNEONCE_ASSIGN_OR_RETURN(shape_, ParseSettings(map.shape, "shape"));
  TUNEONCE_ASSIGN_OR_RETURN(dtypes_, ParseSettings(map.dtypes, "dtype"));
  ignored_.insert(map.ignored.begin(), map.ignored.end());
  // A name that the kernel does not have is a mistake.
  std::set<std::string> theirs, extents;
  for (const auto& [name, value] : file_.about) extents.insert(name);
  for (const SelectionsFile::Selection& selection : file_.selections) {
    for (const auto& [name, value] : selection.config) theirs.insert(name);
    for (const auto& [name, value] : selection.extents) extents.insert(name);
  }
  for (const auto& [name, ours] : axes_) {
    if (theirs.count(name) == 0)
      return InvalidArgumentError("--axis " + name + ": the file has no such axis; it has: " + Listed(theirs));
  }
  for (const auto& [name, ours] : dims_) {
    if (extents.count(name) == 0)
      return InvalidArgumentError("--dim " + name + ": the file has no such dim; it has: " + Listed(extents));
  }
  for (const std::string& name : ignored_) {
    if (theirs.count(name) + extents.count(name) > 0) continue;
    theirs.insert(extents.begin(), extents.end());
    return InvalidArgumentError("--ignore " + name + ": the file has no such name; it has: " + Listed(theirs));
  }
  for (const auto& [name, value] : file_.about) {
    if (ignored_.count(name) > 0) continue;
    if (file_.is_of_tuner) {
      Note(name + "=" + value + " in the file's name was not checked: import only tables that fit the kernel");
      continue;
    }
    return InvalidArgumentError("the file's name contains " + name + "=" + value +
                                ", which is not a dim: if it fits this kernel, add --ignore " + name);
  }
  return Status();
}

Result<std::string> Importer::OurName(const Settings& names, const std::string& theirs, const char* what) const {
  auto named = names.find(theirs);
  const std::string& ours = named == names.end() ? theirs : named->second;
  std::set<std::string> known(definition_.dims().begin(), definition_.dims().end());
  if (&names == &axes_) {
    known.clear();
    for (std::size_t i = 0; i < configs_.front().values().size(); ++i) known.insert(configs_.front().AxisName(i));
  }
  if (known.count(ours) > 0) return ours;
  return InvalidArgumentError(theirs + " is no " + what + " of '" + definition_.name() +
                              "', which has: " + Listed(known) + ": translate the name with --" + what + " " + theirs +
                              "=OURS, or skip it with --ignore " + theirs);
}

Status Importer::CheckListed(const Config& config) const {
  if (std::any_of(configs_.begin(), configs_.end(), [&](const Config& each) { return each.IsSame(config); })) {
    return Status();
  }
  for (std::size_t i = 0; i < config.values().size(); ++i) {
    std::set<std::string> values;
    for (const Config& each : configs_) values.insert(AxisValueString(each.values()[i]));
    std::string value = AxisValueString(config.values()[i]);
    if (values.count(value) > 0) continue;
    return InvalidArgumentError(config.AxisName(i) + "=" + value + ": the axis has the values " + Listed(values));
  }
  return InvalidArgumentError("{" + config.ToString() +
                              "}: the kernel has each of these values, but no config that combines them");
}

Result<std::string> Importer::OurAxis(const std::string& theirs) const {
  if (file_.is_of_tuner && axes_.count(theirs) == 0 && !HasAxis(theirs)) {
    for (const auto& [name, ours] : kKnownAxes) {
      if (theirs == name && HasAxis(ours)) return std::string(ours);
    }
    if (IsOptional(theirs)) {
      Note(theirs + " was dropped: '" + definition_.name() + "' has no such axis");
      return std::string();
    }
  }
  return OurName(axes_, theirs, "axis");
}

Result<Config> Importer::ListedConfig(const NamedConfig& named) const {
  auto find = [&](bool with_optional) {
    return std::find_if(configs_.begin(), configs_.end(), [&](const Config& each) {
      return std::all_of(named.begin(), named.end(), [&](const auto& value) {
        const AxisValue* of_config = each.Find(value.first);
        const bool is_same = of_config != nullptr && IsSameValue(*of_config, value.second);
        return is_same || (!with_optional && IsOptional(value.first) && values_.count(value.first) == 0);
      });
    });
  };
  if (auto exact = find(/*with_optional=*/true); exact != configs_.end()) return *exact;
  auto close = find(/*with_optional=*/false);
  if (close == configs_.end()) {
    std::string text;
    for (const auto& [name, value] : named) text += (text.empty() ? "" : ", ") + name + "=" + AxisValueString(value);
    return InvalidArgumentError("'" + definition_.name() + "' has no config with " + text);
  }
  for (const auto& [name, value] : named) {
    if (!IsSameValue(*close->Find(name), value)) {
      Note(name + " was dropped where '" + definition_.name() + "' has no config with the file's value");
    }
  }
  return *close;
}

Result<Config> Importer::ConfigOf(const SelectionsFile::Selection& selection) const {
  NamedConfig named;
  for (const auto& [name, value] : selection.config) {
    if (ignored_.count(name) > 0) continue;
    TUNEONCE_ASSIGN_OR_RETURN(std::string ours, OurAxis(name));
    if (!ours.empty()) named.emplace_back(std::move(ours), value);
  }
  const Config& any = configs_.front();
  for (const auto& [axis, text] : values_) {
    const AxisValue* like = any.Find(axis);
    named.emplace_back(axis, like == nullptr ? AxisValue(text) : ValueLike(*like, text));
  }
  if (file_.is_of_tuner) return ListedConfig(named);
  // An axis of one value needs none.
  for (std::size_t i = 0; i < any.values().size(); ++i) {
    const std::string& axis = any.AxisName(i);
    bool is_given = std::any_of(named.begin(), named.end(), [&](const auto& each) { return each.first == axis; });
    if (is_given) continue;
    bool is_only = std::all_of(configs_.begin(), configs_.end(),
                               [&](const Config& each) { return IsSameValue(each.values()[i], any.values()[i]); });
    if (!is_only) {
      return InvalidArgumentError("the axis " + axis + " of '" + definition_.name() + "' has no value: give --value " +
                                  axis + "=..., or --axis THEIRS=" + axis);
    }
    named.emplace_back(axis, any.values()[i]);
  }
  TUNEONCE_ASSIGN_OR_RETURN(Config config, definition_.space().ConfigNamed(named, target_));
  TUNEONCE_RETURN_IF_ERROR(CheckListed(config));
  return config;
}

Result<InputShape> Importer::ShapeOf(const SelectionsFile::Selection& selection) const {
  Settings extents = shape_;
  for (const auto& [name, extent] : selection.extents) {
    if (ignored_.count(name) > 0) continue;
    if (file_.is_of_tuner && dims_.count(name) == 0 && !HasDim(name)) {
      Note("the extent " + name + " was dropped: '" + definition_.name() + "' has no such dim, and no --dim names one");
      continue;
    }
    TUNEONCE_ASSIGN_OR_RETURN(std::string ours, OurName(dims_, name, "dim"));
    if (!extents.emplace(ours, std::to_string(extent)).second) {
      return InvalidArgumentError("the dim " + ours + " has two extents: keep one of them");
    }
  }
  InputShape shape{Dims(static_cast<int>(definition_.dims().size())), {}, {}};
  for (const std::string& dim : definition_.dims()) {
    auto given = extents.find(dim);
    bool is_in_key = std::any_of(definition_.key().begin(), definition_.key().end(), [&](const KeyPart& part) {
      return part.kind == KeyPart::Kind::kDim && part.name == dim;
    });
    if (given == extents.end() && is_in_key) {
      return InvalidArgumentError("the key of '" + definition_.name() + "' has the dim " + dim +
                                  ", which has no extent in the file: give --shape " + dim +
                                  "=..., or --dim THEIRS=" + dim);
    }
    auto example = example_.dims.find(dim);
    std::optional<std::int64_t> extent = example == example_.dims.end() ? 1 : example->second;
    if (given != extents.end()) extent = ParseNumber<std::int64_t>(given->second);
    if (!extent || *extent < 1) {
      return InvalidArgumentError("the dim " + dim + " is " + given->second +
                                  ": give a whole number from 1 by --shape or the file");
    }
    shape.dims[definition_.DimOf(dim)] = *extent;
    extents.erase(dim);
  }
  if (!extents.empty())
    return InvalidArgumentError("--shape " + extents.begin()->first + ": '" + definition_.name() + "' has no such dim");
  for (const Parameter& parameter : definition_.parameters()) {
    if (parameter.kind != ParameterKind::kTensor) continue;
    auto given = dtypes_.find(parameter.name);
    auto example = example_.dtypes.find(parameter.name);
    DType dtype = parameter.dtype;
    if (dtype == DType::kAny && example != example_.dtypes.end()) dtype = example->second;
    if (given != dtypes_.end()) {
      std::optional<DType> named = DTypeNamed(given->second);
      if (!named) return InvalidArgumentError("--dtype " + parameter.name + "=" + given->second + " is not a dtype");
      dtype = *named;
    }
    shape.dtypes.push_back(dtype);
  }
  return shape;
}

Result<std::size_t> Importer::NearestPart() const {
  TUNEONCE_ASSIGN_OR_RETURN(std::string ours, OurName(dims_, file_.nearest, "dim"));
  const std::vector<KeyPart>& key = definition_.key();
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (key[i].kind == KeyPart::Kind::kDim && key[i].name == ours) return i;
  }
  return InvalidArgumentError("the key of '" + definition_.name() + "' has no dim " + ours +
                              ", by which the nearest selection is chosen");
}

Result<TuningRecord> Importer::RecordOf(const SelectionsFile::Selection& selection, Config config) const {
  TUNEONCE_ASSIGN_OR_RETURN(InputShape shape, ShapeOf(selection));
  CallBinder binder(definition_);
  TUNEONCE_ASSIGN_OR_RETURN(
      WarmupInputs places,
      WarmupInputs::Create(definition_, shape, StreamView(device_.api(), nullptr), WarmupInputs::Use::kKey));
  BoundCall call;
  TUNEONCE_RETURN_IF_ERROR(binder.Bind(places.arguments().data(), places.arguments().size(), &call));
  call.problem.target = &target_;
  TuningRecord record;
  TuningKey& key = record.key;
  key.kernel = definition_.name();
  TUNEONCE_ASSIGN_OR_RETURN(key.kernel_fingerprint, KernelFingerprint(definition_, call.problem));
  key.key_words.resize(binder.num_key_words());
  binder.KeyWords(call, key.key_words.data());
  key.device_name = identity_.name;
  key.capability = target_.capability();
  key.num_sms = identity_.num_sms;
  key.driver_version = 0;  // It has not run here yet.
  record.best.config = std::move(config);
  record.reason = SelectionReason::kImported;
  record.best.toolchain = file_.toolchain;
  StampOrigin(&record);
  return record;
}

/// Puts a selection's record beside the others, or as a row into the table that it belongs to.
Status Importer::AddTo(std::vector<TuningRecord>* records, TuningRecord record,
                       const SelectionsFile::Selection& selection) const {
  std::size_t nearest = record.key.key_words.size();
  if (!file_.nearest.empty()) {
    TUNEONCE_ASSIGN_OR_RETURN(nearest, NearestPart());
    auto named = std::find_if(selection.extents.begin(), selection.extents.end(), [&](const auto& each) {
      Result<std::string> ours = OurName(dims_, each.first, "dim");
      return ours.ok() && *ours == definition_.key()[nearest].name;
    });
    if (named == selection.extents.end()) {
      return InvalidArgumentError("the selection has no extent of " + file_.nearest +
                                  ", by which the nearest selection is chosen");
    }
    record.key.key_words[nearest] = 0;
    record.nearest_dim = definition_.key()[nearest].name;
    record.rows.push_back({named->second, record.best.config});
  }
  for (std::size_t i = 0; i < record.key.key_words.size(); ++i) {
    record.key.key_text += (i == 0 ? "" : ", ") + (i == nearest ? definition_.key()[i].name + "=nearest"
                                                                : definition_.KeyPartText(i, record.key.key_words[i]));
  }
  auto same = std::find_if(records->begin(), records->end(),
                           [&](const TuningRecord& each) { return each.key.key_words == record.key.key_words; });
  if (same == records->end()) {
    records->push_back(std::move(record));
    return Status();
  }
  const bool is_row = !file_.nearest.empty();
  const bool is_new_row = is_row && std::none_of(same->rows.begin(), same->rows.end(),
                                                 [&](const auto& row) { return row.at == record.rows.front().at; });
  if (!is_new_row) {
    const std::string row = is_row ? ", and " + same->nearest_dim + "=" + std::to_string(record.rows.front().at) : "";
    return InvalidArgumentError("another selection is for the same key, " + record.key.key_text + row +
                                ": keep one of them");
  }
  same->rows.push_back(std::move(record.rows.front()));
  return Status();
}

Status Importer::Add(const SelectionsFile::Selection& selection, std::vector<TuningRecord>* records) const {
  TUNEONCE_ASSIGN_OR_RETURN(Config config, ConfigOf(selection));
  TUNEONCE_ASSIGN_OR_RETURN(TuningRecord record, RecordOf(selection, std::move(config)));
  return AddTo(records, std::move(record), selection);
}

Result<std::vector<TuningRecord>> Importer::Records() {
  std::vector<TuningRecord> records;
  Status skipped;
  for (const SelectionsFile::Selection& selection : file_.selections) {
    Status added = Add(selection, &records).WithPrefix(selection.where);
    if (added.ok()) continue;
    if (!file_.is_of_tuner) return added;
    if (skipped.ok()) skipped = added;
    Note("skipped: " + added.message());
  }
  return records.empty() ? Result<std::vector<TuningRecord>>(skipped) : records;
}

}  // namespace

Result<std::vector<TuningRecord>> RecordsOf(const SelectionsFile& file, const SelectionMap& map, const Bundle& bundle,
                                            const Device& device, std::vector<std::string>* notes) {
  Importer importer(file, bundle, device, notes);
  TUNEONCE_RETURN_IF_ERROR(importer.Read(map));
  return importer.Records();
}

}  // namespace v0
}  // namespace tuneonce

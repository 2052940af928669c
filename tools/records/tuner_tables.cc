#include "records/tuner_tables.h"

#include <cctype>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/number_text.h"
#include "bundle/manifest.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using NamedValues = std::vector<std::pair<std::string, AxisValue>>;

/// Python's json writes the time of a config that failed as Infinity, which is not JSON: replaced by a number that no
/// time reaches. Strings stay.
std::string AsStrictJson(const std::string& text) {
  constexpr std::string_view kNever = "1e300";
  std::string strict;
  bool is_in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = std::string_view(text).substr(i);
    if (is_in_string && text[i] == '\\' && i + 1 < text.size()) {
      strict += text[i++];
    } else if (text[i] == '"') {
      is_in_string = !is_in_string;
    } else if (!is_in_string && (rest.substr(0, 8) == "Infinity" || rest.substr(0, 3) == "NaN")) {
      strict += kNever;
      i += text[i] == 'I' ? 7 : 2;
      continue;
    }
    strict += text[i];
  }
  return strict;
}

/// The entries of a key, each at its position, so that a position means the same in all keys of a kernel. Nothing
/// stands for True, None, 0.5 and whatever else has no whole number.
using KeyNumbers = std::vector<std::optional<std::int64_t>>;

/// The numbers and the quoted words of a Python tuple's text, in order: "('matmul', (64, 4096, torch.float16))". Names
/// of dtypes have no position.
struct TupleText {
  KeyNumbers numbers;
  std::vector<std::string> words;

  explicit TupleText(const std::string& text) {
    for (std::size_t i = 0; i < text.size();) {
      const char c = text[i];
      std::size_t end = i + 1;
      if (c == '\'' || c == '"') {
        end = std::min(text.find(c, i + 1), text.size());
        words.push_back(text.substr(i + 1, end - i - 1));
        ++end;
      } else if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-') {
        auto is_of_token = [&](std::size_t at) {
          const bool is_sign = (text[at] == '+' || text[at] == '-') && text[at - 1] == 'e';  // As in "1e-05".
          return std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_' || text[at] == '.' ||
                 is_sign;
        };
        while (end < text.size() && is_of_token(end)) ++end;
        AddToken(text.substr(i, end - i));
      }
      i = end;
    }
  }

 private:
  void AddToken(const std::string& token) {
    const bool is_value = token == "True" || token == "False" || token == "None" || ParseNumber<double>(token);
    if (is_value) numbers.push_back(ParseNumber<std::int64_t>(token));
  }
};

void AddExtents(const KeyNumbers& numbers, SelectionsFile::Selection* selection) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i]) selection->extents["key" + std::to_string(i)] = *numbers[i];
  }
}

/// Appends a value of a config, unless it is null.
Status AddValue(const std::string& name, const ManifestNode& node, NamedValues* config) {
  if (node.kind() == ManifestNode::Kind::kNull) return Status();
  TUNEONCE_ASSIGN_OR_RETURN(AxisValue value, ReadAxisValue(node));
  config->emplace_back(name, std::move(value));
  return Status();
}

// Triton: {"key": [4096, 1024, "torch.float16"], "configs_timings": [[{"kwargs": {...}, "num_warps": 4}, [0.1, ...]]]}.

/// The time by which Triton orders configs: the first of its quantiles.
Result<double> TimeOf(const ManifestNode& node) {
  if (node.kind() != ManifestNode::Kind::kArray) return node.Number();
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren quantiles, node.Array());
  if (quantiles.empty()) return node.Error("expected at least one time");
  return quantiles.front().Number();
}

Status ReadTritonConfig(const ManifestNode& node, NamedValues* config) {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren members, node.Object());
  for (const ManifestNode& member : members) {
    const std::string name(member.name());
    if (name == "kwargs") {
      TUNEONCE_RETURN_IF_ERROR(ReadTritonConfig(member, config));
      continue;
    }
    if (name == "pre_hook" || name == "ir_override") continue;
    TUNEONCE_RETURN_IF_ERROR(AddValue(name, member, config));
  }
  return Status();
}

Result<SelectionsFile> ReadTriton(const ManifestNode& root) {
  SelectionsFile file;
  SelectionsFile::Selection selection;
  selection.where = root.Place();
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* key, root.Get("key"));
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren parts, key->Array());
  KeyNumbers numbers;
  for (const ManifestNode& part : parts) {
    numbers.emplace_back();  // Dtypes have positions too: they are behind the numbers.
    if (part.kind() != ManifestNode::Kind::kInt) continue;
    TUNEONCE_ASSIGN_OR_RETURN(numbers.back(), part.Int());
  }
  AddExtents(numbers, &selection);
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* timings, root.Get("configs_timings"));
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren list, timings->Array());
  const ManifestNode* fastest = nullptr;
  double least = 1e300;  // What AsStrictJson made of an infinity.
  for (const ManifestNode& each : list) {
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren pair, each.Array());
    if (pair.size() != 2) return each.Error("expected a config and its times");
    TUNEONCE_ASSIGN_OR_RETURN(double time, TimeOf(pair[1]));
    if (time >= least) continue;
    least = time;
    fastest = &pair[0];
  }
  if (fastest == nullptr) return timings->Error("no config has a time");
  TUNEONCE_RETURN_IF_ERROR(ReadTritonConfig(*fastest, &selection.config));
  file.selections.push_back(std::move(selection));
  return file;
}

// TileGym and FlashInfer: tables whose names are the texts of Python tuples, with the operation first.

/// Returns whether the entry is of the operation that is asked for, and notes that there is such an operation.
bool IsOfOperation(const TupleText& key, const std::string& operation, std::set<std::string>* operations) {
  const std::string name = key.words.empty() ? "" : key.words.front();
  operations->insert(name);
  return operation.empty() || operation == name;
}

Status CheckOperation(const ManifestNode& root, const std::string& operation, const std::set<std::string>& operations) {
  std::string all;
  for (const std::string& each : operations) all += (all.empty() ? "" : ", ") + each;
  if (!operation.empty() && operations.count(operation) == 0) {
    return root.Error("the file has no operation '" + operation + "'; it has: " + all);
  }
  if (operation.empty() && operations.size() > 1) {
    return root.Error("the file has several operations: give --operation with one of: " + all);
  }
  return Status();
}

/// The values of "namespace(TILE_SIZE_M=128, swap=True, layout='row')".
NamedValues ReadNamespace(const std::string& text) {
  NamedValues config;
  const std::size_t begin = text.find('('), end = text.rfind(')');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return config;
  const std::string inside = text.substr(begin + 1, end - begin - 1);
  for (std::size_t at = 0; at < inside.size();) {
    const std::size_t comma = std::min(inside.find(',', at), inside.size());
    std::string part = inside.substr(at, comma - at);
    part.erase(0, part.find_first_not_of(' '));
    at = comma + 1;
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = part.substr(0, equals), value = part.substr(equals + 1);
    if (value == "None") continue;
    if (value == "True" || value == "False") {
      config.emplace_back(name, value == "True");
    } else if (std::optional<std::int64_t> number = ParseNumber<std::int64_t>(value)) {
      config.emplace_back(name, *number);
    } else if (value.size() >= 2 && (value.front() == '\'' || value.front() == '"')) {
      config.emplace_back(name, value.substr(1, value.size() - 2));
    } else {
      config.emplace_back(name, value);
    }
  }
  return config;
}

Result<SelectionsFile> ReadTilegym(const ManifestNode& root, const std::string& operation) {
  SelectionsFile file;
  std::set<std::string> operations;
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren members, root.Object());
  for (const ManifestNode& member : members) {
    const TupleText key{std::string(member.name())};
    if (!IsOfOperation(key, operation, &operations)) continue;
    SelectionsFile::Selection selection;
    selection.where = member.Place();
    AddExtents(key.numbers, &selection);
    TUNEONCE_ASSIGN_OR_RETURN(std::string config, member.GetString("best_config"));
    selection.config = ReadNamespace(config);
    if (selection.config.empty()) return member.Error("best_config has no values");
    file.selections.push_back(std::move(selection));
  }
  TUNEONCE_RETURN_IF_ERROR(CheckOperation(root, operation, operations));
  return file;
}

/// Adds a tactic's numbers, which may be nested, as `tactic0`, `tactic1` and so on; a single one as `tactic`.
Status ReadTactic(const ManifestNode& node, std::size_t* count, NamedValues* config) {
  if (node.kind() == ManifestNode::Kind::kArray) {
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren parts, node.Array());
    for (const ManifestNode& part : parts) TUNEONCE_RETURN_IF_ERROR(ReadTactic(part, count, config));
    return Status();
  }
  return AddValue("tactic" + std::to_string((*count)++), node, config);
}

Result<SelectionsFile> ReadFlashinfer(const ManifestNode& root, const std::string& operation) {
  SelectionsFile file;
  std::set<std::string> operations;
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren members, root.Object());
  for (const ManifestNode& member : members) {
    const std::string name(member.name());
    if (name == "_metadata") {
      TUNEONCE_RETURN_IF_ERROR(member.ReadOptional("gpu_name", &file.device));
      TUNEONCE_RETURN_IF_ERROR(member.ReadOptional("gpu", &file.device));
    }
    if (name.rfind('_', 0) == 0) continue;
    const TupleText key(name);
    if (!IsOfOperation(key, operation, &operations)) continue;
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren value, member.Array());
    if (value.size() != 2) return member.Error("expected a runner and its tactic");
    const ManifestNode& tactic = value[1];
    SelectionsFile::Selection selection;
    selection.where = member.Place();
    AddExtents(key.numbers, &selection);
    std::size_t count = 0;
    TUNEONCE_RETURN_IF_ERROR(ReadTactic(tactic, &count, &selection.config));
    if (tactic.kind() == ManifestNode::Kind::kInt) {
      TUNEONCE_ASSIGN_OR_RETURN(std::int64_t number, tactic.Int());
      if (number == -1) {
        file.notes.push_back(selection.where + ": skipped: tactic -1 is the fallback of its runner");
        continue;
      }
      selection.config.front().first = "tactic";
    }
    file.selections.push_back(std::move(selection));
  }
  TUNEONCE_RETURN_IF_ERROR(CheckOperation(root, operation, operations));
  return file;
}

}  // namespace

const std::vector<std::string>& TunerNames() {
  static const auto* const names =
      new std::vector<std::string>{"vllm", "sglang", "triton-cache", "tilegym", "flashinfer"};
  return *names;
}

Result<SelectionsFile> ReadTunerTable(const std::string& tuner, const std::string& path, const std::string& operation) {
  if (!operation.empty() && tuner != "tilegym" && tuner != "flashinfer") {
    return InvalidArgumentError("--operation is for files of tilegym and flashinfer");
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  return ParseTunerTable(tuner, text, path, operation);
}

Result<SelectionsFile> ParseTunerTable(const std::string& tuner, const std::string& text, const std::string& path,
                                       const std::string& operation) {
  TUNEONCE_ASSIGN_OR_RETURN(auto document, ManifestDocument::Parse(AsStrictJson(text), path));
  const ManifestNode& root = document->root();
  Result<SelectionsFile> file = tuner == "triton-cache" ? ReadTriton(root)
                                : tuner == "tilegym"    ? ReadTilegym(root, operation)
                                : tuner == "flashinfer" ? ReadFlashinfer(root, operation)
                                                        : ReadRowTable(root, path);
  TUNEONCE_RETURN_IF_ERROR(file.status());
  if (file->selections.empty()) return root.Error("the file contains no selection");
  file->is_of_tuner = true;
  return file;
}

}  // namespace v0
}  // namespace tuneonce

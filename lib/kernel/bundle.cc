#include "tuneonce/kernel/bundle.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/process.h"
#include "kernel/bundle_artifacts.h"
#include "kernel/manifest.h"

namespace tuneonce {

/// Reads one manifest. A class only because the parts share the definition that grows, and the way to the files.
class BundleReader {
 public:
  using ReadFn = std::function<Result<std::string>(const std::string& name)>;

  explicit BundleReader(ReadFn read) : read_(std::move(read)) {}

  Result<Bundle> Read(const ManifestNode& root) {
    TUNEONCE_RETURN_IF_ERROR(root.CheckFields({"tuneonce_bundle", "name", "version", "dims", "key", "parameters",
                                               "axes", "configs", "max_configs", "baseline", "guards", "variants",
                                               "tolerance", "unordered", "work", "example"}));
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* format, root.Get("tuneonce_bundle"));
    TUNEONCE_ASSIGN_OR_RETURN(std::int64_t version, format->Int());
    if (version != kFormat) {
      return format->Error(absl::StrCat("this is format ", version, "; this tuneonce reads format ", kFormat,
                                        version > kFormat ? ": update tuneonce" : ": export the bundle again"));
    }
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* name, root.Get("name"));
    TUNEONCE_ASSIGN_OR_RETURN(std::string kernel, name->String());
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* kernel_version, root.Get("version"));
    TUNEONCE_ASSIGN_OR_RETURN(std::string version_text, kernel_version->String());
    KernelDefinition definition(kernel, version_text);
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* dims, root.Get("dims"));
    TUNEONCE_ASSIGN_OR_RETURN(dims_, Strings(*dims));
    definition.Dims(dims_);
    TUNEONCE_RETURN_IF_ERROR(ReadParameters(root, &definition));
    TUNEONCE_RETURN_IF_ERROR(ReadKey(root, &definition));
    TUNEONCE_RETURN_IF_ERROR(ReadSpace(root));
    TUNEONCE_RETURN_IF_ERROR(ReadGuards(root));
    definition.Space(space_);
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* variants, root.Get("variants"));
    TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, variants->Array());
    for (const ManifestNode& variant : *list) TUNEONCE_RETURN_IF_ERROR(ReadVariant(variant, &definition));
    TUNEONCE_RETURN_IF_ERROR(ReadVerification(root, &definition));
    TUNEONCE_RETURN_IF_ERROR(ReadWork(root, &definition));
    if (Status valid = definition.Validate(); !valid.ok()) return root.Error(valid.message());
    TUNEONCE_RETURN_IF_ERROR(CheckArtifacts(definition));
    Bundle bundle(std::move(definition));
    TUNEONCE_RETURN_IF_ERROR(ReadExample(root, &bundle.example_));
    return bundle;
  }

 private:
  static constexpr std::int64_t kFormat = 1;

  /// A space's axis by its type.
  using AxisHandle = std::variant<IntAxis, Axis<double>, Axis<bool>, Axis<std::string>>;

  static Result<std::vector<std::string>> Strings(const ManifestNode& node) {
    TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* elements, node.Array());
    std::vector<std::string> strings;
    for (const ManifestNode& element : *elements) {
      TUNEONCE_ASSIGN_OR_RETURN(std::string text, element.String());
      strings.push_back(std::move(text));
    }
    return strings;
  }
  static Result<DType> ReadDType(const ManifestNode& node) {
    TUNEONCE_ASSIGN_OR_RETURN(std::string name, node.String());
    std::optional<DType> dtype = DTypeNamed(name);
    if (!dtype) return node.Error("unknown dtype '" + name + "'; dtypes are called float16, bfloat16, int32, ...");
    return *dtype;
  }
  Status CheckDim(const ManifestNode& node, const std::string& name) const {
    if (std::find(dims_.begin(), dims_.end(), name) != dims_.end()) return Status();
    return node.Error(absl::StrCat("unknown dim '", name, "'; the bundle has: ", absl::StrJoin(dims_, ", ")));
  }

  // --- parameters and key

  Status ReadParameters(const ManifestNode& root, KernelDefinition* definition) {
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* node, root.Get("parameters"));
    TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, node->Array());
    std::vector<Parameter> parameters;
    for (const ManifestNode& each : *list) {
      TUNEONCE_ASSIGN_OR_RETURN(Parameter parameter, ReadParameter(each));
      parameters.push_back(std::move(parameter));
    }
    definition->Parameters(std::move(parameters));
    return Status();
  }

  Result<Parameter> ReadParameter(const ManifestNode& node) const {
    TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"name", "kind", "access", "dtype", "dims", "dim"}));
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* kind_node, node.Get("kind"));
    TUNEONCE_ASSIGN_OR_RETURN(std::string kind, kind_node->String());
    DType dtype = DType::kAny;
    if (const ManifestNode* dtype_node = node.Find("dtype")) {
      TUNEONCE_ASSIGN_OR_RETURN(dtype, ReadDType(*dtype_node));
    }
    if (kind == "dim") {
      TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* dim_node, node.Get("dim"));
      TUNEONCE_ASSIGN_OR_RETURN(std::string dim, dim_node->String());
      TUNEONCE_RETURN_IF_ERROR(CheckDim(*dim_node, dim));
      return DimValue(dim, dtype == DType::kAny ? DType::kInt32 : dtype);
    }
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* name_node, node.Get("name"));
    TUNEONCE_ASSIGN_OR_RETURN(std::string name, name_node->String());
    if (kind == "scalar") {
      if (dtype == DType::kAny) return node.Error("a scalar needs a dtype");
      return Scalar(name, dtype);
    }
    if (kind != "tensor") return kind_node->Error("expected tensor, scalar or dim, got '" + kind + "'");
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* dims_node, node.Get("dims"));
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::string> dims, Strings(*dims_node));
    if (dims.empty()) return dims_node->Error("a tensor has at least one dim");
    for (const std::string& dim : dims) TUNEONCE_RETURN_IF_ERROR(CheckDim(*dims_node, dim));
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* access_node, node.Get("access"));
    TUNEONCE_ASSIGN_OR_RETURN(std::string access, access_node->String());
    if (access == "in") return In(name, dims, dtype);
    if (access == "out") return Out(name, dims, dtype);
    if (access == "inout") return InOut(name, dims, dtype);
    return access_node->Error("expected in, out or inout, got '" + access + "'");
  }

  Status ReadKey(const ManifestNode& root, KernelDefinition* definition) {
    const ManifestNode* node = root.Find("key");
    if (node == nullptr) return Status();
    TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, node->Array());
    std::vector<KeyPart> parts;
    for (const ManifestNode& each : *list) {
      TUNEONCE_RETURN_IF_ERROR(each.CheckFields({"dim", "bucket", "dtype_of", "value_of"}));
      if (const ManifestNode* dim = each.Find("dim")) {
        TUNEONCE_ASSIGN_OR_RETURN(std::string name, dim->String());
        TUNEONCE_RETURN_IF_ERROR(CheckDim(*dim, name));
        KeyPart part = KeyOf(name);
        if (const ManifestNode* bucket = each.Find("bucket")) {
          TUNEONCE_ASSIGN_OR_RETURN(std::string text, bucket->String());
          if (text != "next_pow2") return bucket->Error("expected next_pow2, got '" + text + "'");
          part = std::move(part).NextPow2();
        }
        parts.push_back(std::move(part));
      } else if (const ManifestNode* dtype_of = each.Find("dtype_of")) {
        TUNEONCE_ASSIGN_OR_RETURN(std::string name, dtype_of->String());
        parts.push_back(DTypeOf(name));
      } else if (const ManifestNode* value_of = each.Find("value_of")) {
        TUNEONCE_ASSIGN_OR_RETURN(std::string name, value_of->String());
        parts.push_back(ValueOf(name));
      } else {
        return each.Error("expected one of the fields dim, dtype_of and value_of");
      }
    }
    definition->Key(std::move(parts));
    return Status();
  }

  // --- the space

  Status ReadSpace(const ManifestNode& root) {
    if (const ManifestNode* most = root.Find("max_configs")) {
      TUNEONCE_ASSIGN_OR_RETURN(std::int64_t value, most->Int());
      if (value < 1 || value > 100000) return most->Error("expected 1 to 100000");
      space_.AllowConfigs(static_cast<int>(value));
    }
    if (const ManifestNode* axes = root.Find("axes")) {
      TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, axes->Array());
      for (const ManifestNode& axis : *list) TUNEONCE_RETURN_IF_ERROR(ReadAxis(axis));
    }
    if (const ManifestNode* configs = root.Find("configs")) {
      TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, configs->Array());
      std::vector<ConfigPattern> listed;
      for (const ManifestNode& config : *list) {
        TUNEONCE_ASSIGN_OR_RETURN(ConfigPattern pattern, ReadPattern(config, /*whole=*/true));
        listed.push_back(std::move(pattern));
      }
      space_.AddConstraint("listed in the bundle", [listed](const Config& config) {
        return std::any_of(listed.begin(), listed.end(), [&](const ConfigPattern& p) { return p.Matches(config); });
      });
    }
    const ManifestNode* baseline = root.Find("baseline");
    if (baseline == nullptr) return Status();
    TUNEONCE_ASSIGN_OR_RETURN(ConfigPattern pattern, ReadPattern(*baseline, /*whole=*/true));
    std::vector<AxisAssignment> assignments;
    for (const auto& [index, value] : pattern.values) {
      std::visit(
          [&, &axis_value = value](const auto& axis) {
            using T = std::decay_t<decltype(std::declval<Config>()[axis])>;
            assignments.emplace_back(axis, std::get<T>(axis_value));
          },
          axes_[index].handle);
    }
    space_.SetBaseline(std::move(assignments));
    return Status();
  }

  Status ReadAxis(const ManifestNode& node) {
    TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"name", "kind", "values"}));
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* name_node, node.Get("name"));
    TUNEONCE_ASSIGN_OR_RETURN(std::string name, name_node->String());
    std::string kind = "structural";
    if (const ManifestNode* kind_node = node.Find("kind")) {
      TUNEONCE_ASSIGN_OR_RETURN(kind, kind_node->String());
      if (kind != "structural" && kind != "hint") return kind_node->Error("expected structural or hint");
    }
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* values_node, node.Get("values"));
    TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* values, values_node->Array());
    if (values->empty()) return values_node->Error("an axis needs at least one value");
    AxisHandle handle;
    switch (values->front().kind()) {
      case ManifestNode::Kind::kInt: {
        TUNEONCE_ASSIGN_OR_RETURN(auto ints, (Each<std::int64_t>(*values, &ManifestNode::Int)));
        handle = kind == "hint" ? space_.AddHintAxis(name, std::move(ints)) : space_.AddAxis(name, std::move(ints));
        break;
      }
      case ManifestNode::Kind::kDouble: {
        TUNEONCE_ASSIGN_OR_RETURN(auto doubles, (Each<double>(*values, &ManifestNode::Number)));
        handle = space_.AddDoubleAxis(name, std::move(doubles));
        break;
      }
      case ManifestNode::Kind::kBool:
        handle = space_.AddBoolAxis(name);
        break;
      case ManifestNode::Kind::kString: {
        TUNEONCE_ASSIGN_OR_RETURN(auto strings, (Each<std::string>(*values, &ManifestNode::String)));
        handle = space_.AddStringAxis(name, std::move(strings));
        break;
      }
      default:
        return values_node->Error("an axis has numbers, strings, or false and true");
    }
    if (kind == "hint" && !std::holds_alternative<IntAxis>(handle))
      return values_node->Error("a hint's values are whole numbers");
    if (!space_.status().ok()) return node.Error(space_.status().message());
    axes_.push_back(NamedAxis{std::move(name), handle});
    return Status();
  }

  template <typename T>
  static Result<std::vector<T>> Each(const std::vector<ManifestNode>& nodes, Result<T> (ManifestNode::*get)() const) {
    std::vector<T> values;
    for (const ManifestNode& node : nodes) {
      TUNEONCE_ASSIGN_OR_RETURN(T value, (node.*get)());
      values.push_back(std::move(value));
    }
    return values;
  }

  Result<std::size_t> FindAxis(const ManifestNode& node, const std::string& name) const {
    auto it = std::find_if(axes_.begin(), axes_.end(), [&](const NamedAxis& axis) { return axis.name == name; });
    if (it != axes_.end()) return static_cast<std::size_t>(it - axes_.begin());
    return node.Error(absl::StrCat(
        "unknown axis '", name, "'; the bundle has: ",
        absl::StrJoin(axes_, ", ", [](std::string* out, const NamedAxis& axis) { out->append(axis.name); })));
  }

  /// {"TILE_M": 64, ...}. `whole`: it must name every axis.
  Result<ConfigPattern> ReadPattern(const ManifestNode& node, bool whole) const {
    TUNEONCE_ASSIGN_OR_RETURN(auto members, node.Object());
    ConfigPattern pattern;
    for (const auto& [name, value] : *members) {
      TUNEONCE_ASSIGN_OR_RETURN(std::size_t index, FindAxis(value, name));
      AxisValue of_axis;
      if (std::holds_alternative<IntAxis>(axes_[index].handle)) {
        TUNEONCE_ASSIGN_OR_RETURN(of_axis, value.Int());
      } else if (std::holds_alternative<Axis<double>>(axes_[index].handle)) {
        TUNEONCE_ASSIGN_OR_RETURN(of_axis, value.Number());
      } else if (std::holds_alternative<Axis<bool>>(axes_[index].handle)) {
        TUNEONCE_ASSIGN_OR_RETURN(of_axis, value.Bool());
      } else {
        TUNEONCE_ASSIGN_OR_RETURN(of_axis, value.String());
      }
      pattern.values.emplace_back(index, std::move(of_axis));
    }
    if (whole && pattern.values.size() != axes_.size()) {
      return node.Error(absl::StrCat("it names ", pattern.values.size(), " of ", axes_.size(), " axes"));
    }
    return pattern;
  }

  /// A sum of products: [[2, "M", "N"], [4, "M"]] is 2 M N + 4 M.
  struct SumOfProducts {
    std::vector<std::pair<double, std::vector<Dim>>> products;
    double Value(const Dims& dims) const {
      double sum = 0;
      for (const auto& [factor, factors] : products) {
        double product = factor;
        for (Dim dim : factors) product *= static_cast<double>(dims[dim]);
        sum += product;
      }
      return sum;
    }
  };
  Result<SumOfProducts> ReadSum(const ManifestNode& node) const {
    TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, node.Array());
    SumOfProducts formula;
    for (const ManifestNode& product : *list) {
      TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* factors, product.Array());
      if (factors->empty()) return product.Error("expected [number, dim, ...]");
      std::pair<double, std::vector<Dim>> term;
      TUNEONCE_ASSIGN_OR_RETURN(term.first, factors->front().Number());
      for (std::size_t i = 1; i < factors->size(); ++i) {
        TUNEONCE_ASSIGN_OR_RETURN(std::string dim, (*factors)[i].String());
        TUNEONCE_RETURN_IF_ERROR(CheckDim((*factors)[i], dim));
        term.second.push_back(Dim{static_cast<int>(std::find(dims_.begin(), dims_.end(), dim) - dims_.begin())});
      }
      formula.products.push_back(std::move(term));
    }
    return formula;
  }

  /// {"dim": "N", "at_most": "TILE_N"}, {"dim": "N", "divisible_by": 8}, {"dim": "D", "is": [[2, "R"]]}.
  Status ReadGuards(const ManifestNode& root) {
    const ManifestNode* guards = root.Find("guards");
    if (guards == nullptr) return Status();
    TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, guards->Array());
    for (const ManifestNode& guard : *list) {
      TUNEONCE_RETURN_IF_ERROR(guard.CheckFields({"dim", "at_most", "at_least", "divisible_by", "is"}));
      TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* dim_node, guard.Get("dim"));
      TUNEONCE_ASSIGN_OR_RETURN(std::string dim_name, dim_node->String());
      TUNEONCE_RETURN_IF_ERROR(CheckDim(*dim_node, dim_name));
      Dim dim{static_cast<int>(std::find(dims_.begin(), dims_.end(), dim_name) - dims_.begin())};
      struct Rule {
        const char* field;
        bool (*holds)(std::int64_t extent, std::int64_t bound);
      };
      const Rule rules[] = {{"at_most", [](std::int64_t e, std::int64_t b) { return e <= b; }},
                            {"at_least", [](std::int64_t e, std::int64_t b) { return e >= b; }},
                            {"divisible_by", [](std::int64_t e, std::int64_t b) { return b > 0 && e % b == 0; }}};
      bool any = false;
      for (const Rule& rule : rules) {
        const ManifestNode* bound_node = guard.Find(rule.field);
        if (bound_node == nullptr) continue;
        any = true;
        std::optional<IntAxis> axis;
        std::int64_t constant = 0;
        std::string text;
        if (bound_node->kind() == ManifestNode::Kind::kString) {
          TUNEONCE_ASSIGN_OR_RETURN(text, bound_node->String());
          TUNEONCE_ASSIGN_OR_RETURN(axis, FindIntAxis(*bound_node, text));
        } else {
          TUNEONCE_ASSIGN_OR_RETURN(constant, bound_node->Int());
          text = std::to_string(constant);
        }
        space_.AddGuard(absl::StrCat(dim_name, " ", rule.field, " ", text),
                        [dim, axis, constant, holds = rule.holds](const Config& config, const Dims& dims) {
                          return holds(dims[dim], axis ? config[*axis] : constant);
                        });
      }
      if (const ManifestNode* product = guard.Find("is")) {
        any = true;
        TUNEONCE_ASSIGN_OR_RETURN(SumOfProducts formula, ReadSum(*product));
        space_.AddGuard(absl::StrCat(dim_name, " is what the bundle says"),
                        [dim, formula](const Config&, const Dims& dims) {
                          return static_cast<double>(dims[dim]) == formula.Value(dims);
                        });
      }
      if (!any) return guard.Error("expected one of the fields at_most, at_least, divisible_by and is");
    }
    return Status();
  }

  Result<IntAxis> FindIntAxis(const ManifestNode& node, const std::string& name) const {
    TUNEONCE_ASSIGN_OR_RETURN(std::size_t index, FindAxis(node, name));
    if (const auto* axis = std::get_if<IntAxis>(&axes_[index].handle)) return *axis;
    return node.Error("axis '" + name + "' is not one of whole numbers");
  }

  // --- variants

  /// 4, "M" (a dim), or {"axis": "TILE_M"}.
  Result<Term> ReadTerm(const ManifestNode& node) const {
    if (node.kind() == ManifestNode::Kind::kInt) {
      TUNEONCE_ASSIGN_OR_RETURN(std::int64_t value, node.Int());
      return Term(value);
    }
    if (node.kind() == ManifestNode::Kind::kString) {
      TUNEONCE_ASSIGN_OR_RETURN(std::string dim, node.String());
      TUNEONCE_RETURN_IF_ERROR(CheckDim(node, dim));
      return Term(dim.c_str());
    }
    if (node.kind() != ManifestNode::Kind::kObject)
      return node.Error("expected a number, a dim's name, or {\"axis\": NAME}");
    TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"axis"}));
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* axis_node, node.Get("axis"));
    TUNEONCE_ASSIGN_OR_RETURN(std::string name, axis_node->String());
    TUNEONCE_ASSIGN_OR_RETURN(IntAxis axis, FindIntAxis(*axis_node, name));
    return Term(axis);
  }
  Result<Term> ReadTermField(const ManifestNode& node, std::string_view field) const {
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* term, node.Get(field));
    return ReadTerm(*term);
  }
  /// [["M", {"axis": "TILE_M"}], ...]: extents over tiles.
  Result<std::vector<Tiles>> ReadTiles(const ManifestNode& grid) const {
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* node, grid.Get("tiles"));
    TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, node->Array());
    std::vector<Tiles> tiles;
    for (const ManifestNode& each : *list) {
      TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* pair, each.Array());
      if (pair->size() != 2) return each.Error("expected [extent, tile]");
      TUNEONCE_ASSIGN_OR_RETURN(Term extent, ReadTerm((*pair)[0]));
      TUNEONCE_ASSIGN_OR_RETURN(Term tile, ReadTerm((*pair)[1]));
      tiles.push_back(Tiles{std::move(extent), std::move(tile)});
    }
    if (tiles.empty() || tiles.size() > 3) return node->Error("a grid over tiles has one to three dimensions");
    return tiles;
  }

  Result<Grid> ReadGrid(const ManifestNode& variant) const {
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* node, variant.Get("grid"));
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* pattern_node, node->Get("pattern"));
    TUNEONCE_ASSIGN_OR_RETURN(std::string pattern, pattern_node->String());
    if (pattern == "tile_coverage" || pattern == "one_d" || pattern == "attention_2d" ||
        pattern == "persistent_tiles") {
      TUNEONCE_RETURN_IF_ERROR(node->CheckFields({"pattern", "tiles", "num_ctas", "occupancy", "batch", "heads"}));
      TUNEONCE_ASSIGN_OR_RETURN(std::vector<Tiles> tiles, ReadTiles(*node));
      if (pattern == "tile_coverage") return Grid::TileCoverage(std::move(tiles));
      if (pattern == "one_d") return Grid::OneD(tiles.front());
      if (pattern == "attention_2d") {
        TUNEONCE_ASSIGN_OR_RETURN(Term batch, ReadTermField(*node, "batch"));
        TUNEONCE_ASSIGN_OR_RETURN(Term heads, ReadTermField(*node, "heads"));
        return Grid::Attention2D(tiles.front(), batch, heads);
      }
      TUNEONCE_ASSIGN_OR_RETURN(Term num_ctas, ReadTermField(*node, "num_ctas"));
      TUNEONCE_ASSIGN_OR_RETURN(Term occupancy, ReadTermField(*node, "occupancy"));
      return Grid::PersistentTiles(std::move(tiles), num_ctas, occupancy);
    }
    if (pattern == "persistent_rows") {
      TUNEONCE_RETURN_IF_ERROR(node->CheckFields({"pattern", "rows", "occupancy"}));
      TUNEONCE_ASSIGN_OR_RETURN(Term rows, ReadTermField(*node, "rows"));
      TUNEONCE_ASSIGN_OR_RETURN(Term occupancy, ReadTermField(*node, "occupancy"));
      return Grid::PersistentRows(rows, occupancy);
    }
    if (pattern == "fixed") {
      TUNEONCE_RETURN_IF_ERROR(node->CheckFields({"pattern", "blocks"}));
      TUNEONCE_ASSIGN_OR_RETURN(std::vector<Term> terms, ReadTerms(*node, "blocks"));
      return Grid::Fixed(terms[0], terms[1], terms[2]);
    }
    return pattern_node->Error(
        "expected tile_coverage, persistent_tiles, persistent_rows, attention_2d, one_d or fixed, got '" + pattern +
        "'");
  }

  /// One to three terms, the rest 1.
  Result<std::vector<Term>> ReadTerms(const ManifestNode& node, std::string_view field) const {
    std::vector<Term> terms;
    if (const ManifestNode* list_node = node.Find(field)) {
      TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, list_node->Array());
      if (list->empty() || list->size() > 3) return list_node->Error("expected one to three values");
      for (const ManifestNode& each : *list) {
        TUNEONCE_ASSIGN_OR_RETURN(Term term, ReadTerm(each));
        terms.push_back(std::move(term));
      }
    }
    terms.resize(3, Term(1));
    return terms;
  }

  Status ReadVariant(const ManifestNode& node, KernelDefinition* definition) {
    TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"name", "source", "convention", "targets", "grid", "block", "cluster",
                                               "shared_memory", "programmatic_launch", "parameters", "assumptions",
                                               "symbol", "artifacts", "defines", "options"}));
    Variant variant;
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* name_node, node.Get("name"));
    TUNEONCE_ASSIGN_OR_RETURN(variant.name, name_node->String());
    auto artifacts = std::make_shared<BundleArtifacts>();
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* source_node, node.Get("source"));
    TUNEONCE_ASSIGN_OR_RETURN(std::string source, source_node->String());
    std::optional<SourceKind> kind = SourceKindNamed(source);
    if (!kind) return source_node->Error("expected tile_ir, ptx, cubin, cuda_cpp or host_cpp, got '" + source + "'");
    artifacts->kind = *kind;
    variant.convention = *kind == SourceKind::kTileIr ? CallingConvention::kCutilePython : CallingConvention::kPlain;
    if (const ManifestNode* convention_node = node.Find("convention")) {
      TUNEONCE_ASSIGN_OR_RETURN(std::string convention, convention_node->String());
      if (convention == "plain") {
        variant.convention = CallingConvention::kPlain;
      } else if (convention == "cutile_python_v1") {
        variant.convention = CallingConvention::kCutilePython;
      } else if (convention == "triton") {
        variant.convention = CallingConvention::kTriton;
      } else {
        return convention_node->Error("expected plain, cutile_python_v1 or triton, got '" + convention + "'");
      }
    }
    TUNEONCE_RETURN_IF_ERROR(ReadTargets(node, *kind, &variant));
    if (const ManifestNode* names = node.Find("parameters")) {
      TUNEONCE_ASSIGN_OR_RETURN(variant.parameters, Strings(*names));
    }
    TUNEONCE_RETURN_IF_ERROR(ReadAssumptions(node, &variant));
    if (const ManifestNode* defines = node.Find("defines")) {
      TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::string> names, Strings(*defines));
      for (const std::string& name : names) {
        TUNEONCE_ASSIGN_OR_RETURN(IntAxis axis, FindIntAxis(*defines, name));
        artifacts->defines.emplace_back(name, axis);
      }
    }
    if (const ManifestNode* options = node.Find("options")) {
      TUNEONCE_ASSIGN_OR_RETURN(artifacts->options, Strings(*options));
    }
    TUNEONCE_RETURN_IF_ERROR(ReadArtifacts(node, artifacts.get()));
    TUNEONCE_ASSIGN_OR_RETURN(Grid grid, ReadGrid(node));
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<Term> block, ReadTerms(node, "block"));
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<Term> cluster, ReadTerms(node, "cluster"));
    GeometryFn geometry(std::move(grid));
    geometry.Block(block[0], block[1], block[2]).Cluster(cluster[0], cluster[1], cluster[2]);
    if (const ManifestNode* shared = node.Find("shared_memory")) {
      TUNEONCE_ASSIGN_OR_RETURN(Term bytes, ReadTerm(*shared));
      geometry.SharedMemory(bytes);
    }
    if (const ManifestNode* programmatic = node.Find("programmatic_launch")) {
      TUNEONCE_ASSIGN_OR_RETURN(bool is_programmatic, programmatic->Bool());
      if (is_programmatic) geometry.ProgrammaticLaunch();
    }
    TUNEONCE_RETURN_IF_ERROR(geometry.Resolve(dims_));
    if (artifacts->HasLaunchFields()) {
      variant.geometry = [geometry, artifacts](const Config& config, const Problem& problem) {
        Geometry of_call = geometry(config, problem);
        if (const BundleArtifact* artifact = artifacts->Find(config)) artifact->Apply(&of_call);
        return of_call;
      };
    } else {
      variant.geometry = geometry;
    }
    if (*kind != SourceKind::kTileIr) variant.hints = [](const Config&) { return Hints(); };
    variant.source = [artifacts](const Config& config, const Problem&) { return artifacts->SourceOf(config); };
    variants_.push_back(VariantArtifacts{&node, variant.name, artifacts});
    definition->Variant(std::move(variant));
    return Status();
  }

  /// {"device": "gpu" | "cpu", "min_capability": 80, "max_capability": 129}.
  static Status ReadTargets(const ManifestNode& node, SourceKind kind, Variant* variant) {
    variant->runs_on = kind == SourceKind::kHostCpp ? OnCpuDevice() : OnGpu();
    const ManifestNode* targets = node.Find("targets");
    if (targets == nullptr) return Status();
    TUNEONCE_RETURN_IF_ERROR(targets->CheckFields({"min_capability", "max_capability"}));
    std::int64_t from = 0, to = 10000;
    if (const ManifestNode* least = targets->Find("min_capability")) {
      TUNEONCE_ASSIGN_OR_RETURN(from, least->Int());
    }
    if (const ManifestNode* most = targets->Find("max_capability")) {
      TUNEONCE_ASSIGN_OR_RETURN(to, most->Int());
    }
    if (kind == SourceKind::kHostCpp) return targets->Error("the CPU device has no compute capability");
    variant->runs_on = CapabilityRange(static_cast<int>(from), static_cast<int>(to));
    return Status();
  }

  static Status ReadAssumptions(const ManifestNode& node, Variant* variant) {
    const ManifestNode* assumptions = node.Find("assumptions");
    if (assumptions == nullptr) return Status();
    TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, assumptions->Array());
    for (const ManifestNode& each : *list) {
      TUNEONCE_RETURN_IF_ERROR(each.CheckFields(
          {"tensor", "aligned", "dimension", "stride", "stride_divisible_by", "extent_divisible_by", "no_overlap"}));
      TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* tensor_node, each.Get("tensor"));
      TUNEONCE_ASSIGN_OR_RETURN(std::string tensor, tensor_node->String());
      int dimension = 0;
      if (const ManifestNode* dimension_node = each.Find("dimension")) {
        TUNEONCE_ASSIGN_OR_RETURN(std::int64_t value, dimension_node->Int());
        dimension = static_cast<int>(std::clamp<std::int64_t>(value, -1, kMaxRank));
      }
      std::size_t before = variant->assumptions.size();
      auto add = [&](const char* field, auto make) -> Status {
        const ManifestNode* value_node = each.Find(field);
        if (value_node == nullptr) return Status();
        TUNEONCE_ASSIGN_OR_RETURN(std::int64_t value, value_node->Int());
        variant->assumptions.push_back(make(value));
        return Status();
      };
      TUNEONCE_RETURN_IF_ERROR(add("aligned", [&](std::int64_t v) { return Aligned(tensor, v); }));
      TUNEONCE_RETURN_IF_ERROR(add("stride", [&](std::int64_t v) { return StrideIs(tensor, dimension, v); }));
      TUNEONCE_RETURN_IF_ERROR(
          add("stride_divisible_by", [&](std::int64_t v) { return StrideDivisibleBy(tensor, dimension, v); }));
      TUNEONCE_RETURN_IF_ERROR(
          add("extent_divisible_by", [&](std::int64_t v) { return ExtentDivisibleBy(tensor, dimension, v); }));
      if (const ManifestNode* other_node = each.Find("no_overlap")) {
        TUNEONCE_ASSIGN_OR_RETURN(std::string other, other_node->String());
        variant->assumptions.push_back(NoOverlap(tensor, other));
      }
      if (variant->assumptions.size() == before) return each.Error("it assumes nothing");
    }
    return Status();
  }

  Status ReadArtifacts(const ManifestNode& node, BundleArtifacts* artifacts) {
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* list_node, node.Get("artifacts"));
    TUNEONCE_ASSIGN_OR_RETURN(const std::vector<ManifestNode>* list, list_node->Array());
    if (list->empty()) return list_node->Error("a variant needs at least one artifact");
    for (const ManifestNode& each : *list) {
      TUNEONCE_RETURN_IF_ERROR(each.CheckFields({"config", "file", "symbol", "block", "shared_memory"}));
      BundleArtifact artifact;
      if (const ManifestNode* config = each.Find("config")) {
        TUNEONCE_ASSIGN_OR_RETURN(artifact.pattern, ReadPattern(*config, /*whole=*/false));
      }
      const ManifestNode* symbol = each.Find("symbol");
      if (symbol == nullptr) {
        TUNEONCE_ASSIGN_OR_RETURN(symbol, node.Get("symbol"));
      }
      TUNEONCE_ASSIGN_OR_RETURN(artifact.symbol, symbol->String());
      if (const ManifestNode* block = each.Find("block")) {
        TUNEONCE_ASSIGN_OR_RETURN(std::int64_t threads, block->Int());
        artifact.block = threads;
      }
      if (const ManifestNode* shared = each.Find("shared_memory")) {
        TUNEONCE_ASSIGN_OR_RETURN(std::int64_t bytes, shared->Int());
        artifact.shared_memory = bytes;
      }
      TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* file_node, each.Get("file"));
      TUNEONCE_ASSIGN_OR_RETURN(std::string file, file_node->String());
      if (file.empty() || file.front() == '/' || file.find('\\') != std::string::npos ||
          absl::StrCat("/", file, "/").find("/../") != std::string::npos) {
        return file_node->Error("'" + file + "' lies outside the bundle: give a path relative to its folder");
      }
      Result<std::string> content = read_(file);
      if (!content.ok()) {
        return Status(content.status().code(), file_node->Error(content.status().message()).message());
      }
      artifact.content = std::make_shared<const std::string>(*std::move(content));
      artifact.node = &each;
      artifacts->list.push_back(std::move(artifact));
    }
    return Status();
  }

  /// Each config has exactly one artifact in each variant that may build it, and that has the right kernel.
  Status CheckArtifacts(const KernelDefinition& definition) {
    // Without target filters and guards of one device: every config that there is anywhere.
    TUNEONCE_ASSIGN_OR_RETURN(std::vector<Config> configs, definition.space().Enumerate(Target()));
    for (std::size_t v = 0; v < variants_.size(); ++v) {
      const VariantArtifacts& variant = variants_[v];
      for (const Config& config : configs) {
        const AxisValue* backend = config.Find("backend");
        const std::string* named = backend == nullptr ? nullptr : std::get_if<std::string>(backend);
        if (named != nullptr && *named != variant.name) continue;
        auto matching = std::count_if(variant.artifacts->list.begin(), variant.artifacts->list.end(),
                                      [&](const BundleArtifact& a) { return a.pattern.Matches(config); });
        if (matching != 1) {
          return variant.node->Error(
              absl::StrCat("the config {", config.ToString(), "} has ", matching, " artifacts; it needs exactly one"));
        }
      }
      for (const BundleArtifact& artifact : variant.artifacts->list) {
        Status fits = CheckKernel(definition, definition.variants()[v], variant.artifacts->kind, artifact);
        if (!fits.ok()) return artifact.node->Error(fits.message());
      }
    }
    return Status();
  }

  // --- verification, work, example

  static Status ReadVerification(const ManifestNode& root, KernelDefinition* definition) {
    if (const ManifestNode* node = root.Find("tolerance")) {
      TUNEONCE_RETURN_IF_ERROR(node->CheckFields({"absolute", "relative"}));
      Tolerance tolerance;
      for (auto [field, value] :
           {std::pair("absolute", &tolerance.absolute), std::pair("relative", &tolerance.relative)}) {
        const ManifestNode* given = node->Find(field);
        if (given == nullptr) continue;
        TUNEONCE_ASSIGN_OR_RETURN(*value, given->Number());
        if (!(*value >= 0)) return given->Error("a tolerance is not negative");
      }
      definition->VerifyWithin(tolerance);
    }
    if (const ManifestNode* node = root.Find("unordered")) {
      TUNEONCE_ASSIGN_OR_RETURN(bool unordered, node->Bool());
      if (unordered) definition->Unordered();
    }
    return Status();
  }

  Result<KernelDefinition::WorkFn> ReadWorkField(const ManifestNode& work, std::string_view field) const {
    const ManifestNode* node = work.Find(field);
    if (node == nullptr) return KernelDefinition::WorkFn();
    TUNEONCE_ASSIGN_OR_RETURN(SumOfProducts formula, ReadSum(*node));
    return KernelDefinition::WorkFn([formula](const Problem& problem) { return formula.Value(problem.dims); });
  }
  Status ReadWork(const ManifestNode& root, KernelDefinition* definition) const {
    const ManifestNode* node = root.Find("work");
    if (node == nullptr) return Status();
    TUNEONCE_RETURN_IF_ERROR(node->CheckFields({"bytes", "operations"}));
    TUNEONCE_ASSIGN_OR_RETURN(KernelDefinition::WorkFn bytes, ReadWorkField(*node, "bytes"));
    TUNEONCE_ASSIGN_OR_RETURN(KernelDefinition::WorkFn operations, ReadWorkField(*node, "operations"));
    definition->Work(std::move(bytes), std::move(operations));
    return Status();
  }

  Status ReadExample(const ManifestNode& root, Bundle::Example* example) const {
    const ManifestNode* node = root.Find("example");
    if (node == nullptr) return Status();
    TUNEONCE_RETURN_IF_ERROR(node->CheckFields({"dims", "dtypes", "scalars"}));
    if (const ManifestNode* dims = node->Find("dims")) {
      TUNEONCE_ASSIGN_OR_RETURN(auto members, dims->Object());
      for (const auto& [name, value] : *members) {
        TUNEONCE_RETURN_IF_ERROR(CheckDim(value, name));
        TUNEONCE_ASSIGN_OR_RETURN(example->dims[name], value.Int());
      }
    }
    if (const ManifestNode* dtypes = node->Find("dtypes")) {
      TUNEONCE_ASSIGN_OR_RETURN(auto members, dtypes->Object());
      for (const auto& [name, value] : *members) {
        TUNEONCE_ASSIGN_OR_RETURN(example->dtypes[name], ReadDType(value));
      }
    }
    if (const ManifestNode* scalars = node->Find("scalars")) {
      TUNEONCE_ASSIGN_OR_RETURN(auto members, scalars->Object());
      for (const auto& [name, value] : *members) {
        TUNEONCE_ASSIGN_OR_RETURN(example->scalars[name], value.Number());
      }
    }
    return Status();
  }

  struct NamedAxis {
    std::string name;
    AxisHandle handle;
  };
  struct VariantArtifacts {
    const ManifestNode* node;
    std::string name;
    std::shared_ptr<BundleArtifacts> artifacts;
  };

  ReadFn read_;
  std::vector<std::string> dims_;
  SearchSpace space_;
  std::vector<NamedAxis> axes_;
  std::vector<VariantArtifacts> variants_;
};

Result<Bundle> Bundle::Load(const std::string& folder) {
  namespace fs = std::filesystem;
  std::string manifest = folder + "/manifest.json";
  std::error_code error;
  if (!fs::is_directory(folder, error)) return NotFoundError("there is no bundle folder '" + folder + "'");
  if (!fs::is_regular_file(manifest, error))
    return NotFoundError("'" + folder + "' is no bundle: it has no manifest.json");
  fs::path root = fs::weakly_canonical(folder, error);
  auto read = [&](const std::string& name) -> Result<std::string> {
    fs::path path = fs::weakly_canonical(fs::path(folder) / name, error);
    if (path.string().compare(0, root.string().size() + 1, root.string() + "/") != 0) {
      return InvalidArgumentError("'" + name + "' lies outside the bundle");  // By a symbolic link.
    }
    if (!fs::is_regular_file(path, error)) return NotFoundError("the artifact '" + name + "' is not there");
    return ReadFile(path.string());
  };
  TUNEONCE_ASSIGN_OR_RETURN(std::string text, ReadFile(manifest));
  TUNEONCE_ASSIGN_OR_RETURN(ManifestNode node, ManifestNode::Parse(text, manifest));
  return BundleReader(read).Read(node);
}

Result<Bundle> Bundle::Load(const EmbeddedBundle& embedded) {
  auto read = [&](const std::string& name) -> Result<std::string> {
    for (std::size_t i = 0; i < embedded.num_files; ++i) {
      const EmbeddedFile& file = embedded.files[i];
      if (name == file.name) return std::string(reinterpret_cast<const char*>(file.bytes), file.size);
    }
    return NotFoundError("the artifact '" + name + "' is not there");
  };
  std::string where = std::string("(embedded ") + embedded.name + ")/manifest.json";
  Result<std::string> text = read("manifest.json");
  if (!text.ok()) return NotFoundError(where + ": it was not embedded");
  TUNEONCE_ASSIGN_OR_RETURN(ManifestNode node, ManifestNode::Parse(*text, where));
  return BundleReader(read).Read(node);
}

}  // namespace tuneonce

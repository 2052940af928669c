// Tunes one kernel by KTT's exhaustive search, as suite/peers/ktt_tuner.py describes it. On standard input, word by
// word:
//   name KERNEL SOURCE_FILE     block X     block_y Y     shared BYTES
//   in|out FILE                 a tensor, in the kernel's order; out: one that it writes
//   scalar HEX                  a scalar's bytes
//   axis NAME VALUES...  ;      grid VALUES... = X Y Z      of the config with these values, in the axes' order
//   reference FILE              float32 numbers that the kernel must write
// Prints JSON: best, tried, failed, seconds.
#include <Ktt.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace {

constexpr double kTolerance = 2e-2;  // As the suite's other peers have it.

std::vector<std::uint8_t> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Axis {
  std::string name;
  std::vector<std::uint64_t> values;
};

/// What standard input says.
struct Work {
  std::string name, source;
  std::uint64_t block = 256, block_y = 1, shared = 0;
  std::vector<Axis> axes;
  std::map<std::vector<std::uint64_t>, std::array<std::uint64_t, 3>> grids;
  std::vector<std::pair<std::string, std::string>> arguments;  ///< in, out or scalar; file or hex.
  std::string reference;
};

Work ReadWork(std::istream& in) {
  Work work;
  for (std::string word; in >> word;) {
    if (word == "name") {
      in >> work.name >> work.source;
    } else if (word == "block") {
      in >> work.block;
    } else if (word == "block_y") {
      in >> work.block_y;
    } else if (word == "shared") {
      in >> work.shared;
    } else if (word == "in" || word == "out" || word == "scalar") {
      std::string what;
      in >> what;
      work.arguments.emplace_back(word, what);
    } else if (word == "reference") {
      in >> work.reference;
    } else if (word == "axis") {
      Axis axis;
      in >> axis.name;
      for (in >> word; word != ";"; in >> word) axis.values.push_back(std::stoull(word));
      work.axes.push_back(axis);
    } else if (word == "grid") {
      std::vector<std::uint64_t> values;
      for (in >> word; word != "="; in >> word) values.push_back(std::stoull(word));
      std::array<std::uint64_t, 3>& grid = work.grids[values];
      in >> grid[0] >> grid[1] >> grid[2];
    }
  }
  return work;
}

std::vector<std::uint8_t> OfHex(const std::string& hex) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

/// A tensor as KTT's argument: of float where its numbers are compared with a reference, else as bytes.
ktt::ArgumentId AddTensor(ktt::Tuner* tuner, const std::string& path, ktt::ArgumentAccessType access, bool is_float) {
  std::vector<std::uint8_t> bytes = ReadFile(path);
  if (!is_float) return tuner->AddArgumentVector<std::uint8_t>(bytes, access);
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
  return tuner->AddArgumentVector<float>(numbers, access);
}

std::vector<ktt::ArgumentId> AddArguments(ktt::Tuner* tuner, const Work& work) {
  std::vector<ktt::ArgumentId> arguments;
  for (const auto& [kind, what] : work.arguments) {
    if (kind == "scalar") {
      std::vector<std::uint8_t> bytes = OfHex(what);
      arguments.push_back(tuner->AddArgumentScalar(bytes.data(), bytes.size()));
      continue;
    }
    bool is_out = kind == "out";
    auto access = is_out ? ktt::ArgumentAccessType::WriteOnly : ktt::ArgumentAccessType::ReadOnly;
    bool is_checked = is_out && !work.reference.empty();
    arguments.push_back(AddTensor(tuner, what, access, is_checked));
    if (!is_checked) continue;
    tuner->SetReferenceComputation(arguments.back(), [&work](void* buffer) {
      std::vector<std::uint8_t> bytes = ReadFile(work.reference);
      std::memcpy(buffer, bytes.data(), bytes.size());
    });
    tuner->SetValidationMethod(ktt::ValidationMethod::SideBySideComparison, kTolerance);
  }
  if (work.shared > 0) arguments.push_back(tuner->AddArgumentLocal<std::uint8_t>(work.shared));
  return arguments;
}

void AddGrid(ktt::Tuner* tuner, ktt::KernelId kernel, ktt::KernelDefinitionId definition, const Work& work) {
  std::vector<std::string> names;
  for (const Axis& axis : work.axes) names.push_back(axis.name);
  const std::array dimensions = {ktt::ModifierDimension::X, ktt::ModifierDimension::Y, ktt::ModifierDimension::Z};
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    tuner->AddThreadModifier(
        kernel, {definition}, ktt::ModifierType::Global, dimensions[i], names,
        [&work, i](std::uint64_t, const std::vector<std::uint64_t>& values) { return work.grids.at(values)[i]; });
  }
}

int Tune(const Work& work) {
  ktt::Tuner::SetLoggingLevel(ktt::LoggingLevel::Error);
  ktt::Tuner tuner(0, 0, ktt::ComputeApi::CUDA);
  tuner.SetCompilerOptions("-std=c++17");
  ktt::KernelDefinitionId definition = tuner.AddKernelDefinitionFromFile(
      work.name, work.source, ktt::DimensionVector(1), ktt::DimensionVector(work.block, work.block_y));
  tuner.SetArguments(definition, AddArguments(&tuner, work));
  ktt::KernelId kernel = tuner.CreateSimpleKernel(work.name, definition);
  for (const Axis& axis : work.axes) tuner.AddParameter(kernel, axis.name, axis.values);
  AddGrid(&tuner, kernel, definition, work);
  auto start = std::chrono::steady_clock::now();
  const std::vector<ktt::KernelResult> results = tuner.Tune(kernel);
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::size_t failed = 0;
  for (const ktt::KernelResult& result : results) failed += result.IsValid() ? 0 : 1;
  if (failed == results.size()) {
    std::fprintf(stderr, "KTT: all %zu configurations failed\n", failed);
    return 1;
  }
  std::map<std::string, std::uint64_t> best;
  const ktt::KernelConfiguration configuration = tuner.GetBestConfiguration(kernel);  // Owns its pairs.
  for (const ktt::ParameterPair& pair : configuration.GetPairs()) {
    best[pair.GetName()] = pair.GetValueUint();
  }
  std::printf("{\"version\": \"%s\", \"tried\": %zu, \"failed\": %zu, \"seconds\": %.4f, \"best\": {",
              ktt::GetKttVersionString().c_str(), results.size(), failed, took.count());
  for (const Axis& axis : work.axes) {
    std::printf("%s\"%s\": %llu", &axis == &work.axes.front() ? "" : ", ", axis.name.c_str(),
                static_cast<unsigned long long>(best[axis.name]));
  }
  std::printf("}}\n");
  return 0;
}

}  // namespace

int main() {
  try {
    return Tune(ReadWork(std::cin));
  } catch (const std::exception& error) {  // KTT's.
    std::fprintf(stderr, "KTT: %s\n", error.what());
    return 1;
  }
}

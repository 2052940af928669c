#include "compile/nvrtc_program.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "compile/nvrtc_source.h"

namespace tuneonce {
inline namespace v0 {

NvrtcProgram::NvrtcProgram(const NvrtcLibrary& nvrtc, const KernelSource& source, const WaitLimits& limits)
    : nvrtc_(nvrtc), source_(source), limits_(limits) {}

NvrtcProgram::~NvrtcProgram() {
  if (program_ != nullptr) nvrtc_.DestroyProgram(&program_);
}

Status NvrtcProgram::Create(const Request& request) {
  std::vector<const char*> texts;
  std::vector<const char*> names;
  for (const auto& [name, header] : source_.headers) {
    names.push_back(name.c_str());
    texts.push_back(WithoutByteOrderMark(header).data());  // The end of the header is its own.
  }
  int result = nvrtc_.CreateProgram(&program_, request.text.c_str(), NvrtcFileOf(source_).c_str(),
                                    static_cast<int>(texts.size()), texts.data(), names.data());
  for (const std::string& expression : request.expressions) {
    if (result == 0) result = nvrtc_.AddNameExpression(program_, expression.c_str());
  }
  if (result == 0 && nvrtc_.SetFlowCallback != nullptr) result = nvrtc_.SetFlowCallback(program_, &IsOver, this);
  return result == 0 ? Status() : InternalError(absl::StrCat("nvrtcCreateProgram: ", nvrtc_.GetErrorString(result)));
}

int NvrtcProgram::Compile(const std::vector<std::string>& options) {
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());
  return result_ = nvrtc_.CompileProgram(program_, static_cast<int>(pointers.size()), pointers.data());
}

int NvrtcProgram::IsOver(void* self, void* /*reserved*/) {
  return static_cast<const NvrtcProgram*>(self)->WhyOver().ok() ? 0 : 1;
}

Status NvrtcProgram::WhyOver() const {
  if (limits_.cancelled != nullptr && limits_.cancelled->load()) return CancelledError("NVRTC was cancelled");
  if (std::chrono::steady_clock::now() - started_ < std::chrono::milliseconds(limits_.timeout_ms)) return Status();
  return DeadlineExceededError(absl::StrCat("NVRTC took longer than ", limits_.timeout_ms, " ms"));
}

Result<std::unique_ptr<NvrtcProgram>> NvrtcProgram::CompileAsKnown(const NvrtcLibrary& nvrtc,
                                                                   const KernelSource& source, const Request& request,
                                                                   const WaitLimits& limits,
                                                                   std::optional<TemporaryFolder>* folder) {
  std::unique_ptr<NvrtcProgram> program;
  for (bool without_cache : {true, false}) {
    for (bool with_trace : {true, false}) {
      if (with_trace && !*folder) continue;
      std::vector<std::string> all = request.options;
      if (without_cache) all.emplace_back("--no-cache");
      if (with_trace) all.push_back("--fdevice-time-trace=" + (*folder)->path() + "/trace");
      program.reset(new NvrtcProgram(nvrtc, source, limits));
      TUNEONCE_RETURN_IF_ERROR(program->Create(request));
      const int result = program->Compile(all);
      if (result == NvrtcLibrary::kCancelled) {
        const Status over = program->WhyOver();
        return over.ok() ? InternalError("NVRTC cancelled a compile unasked") : over;
      }
      if (result == NvrtcLibrary::kInvalidOption || result == NvrtcLibrary::kTraceNotWritten) continue;
      if (!with_trace) folder->reset();
      return program;
    }
  }
  folder->reset();
  return program;
}

std::string NvrtcProgram::Log() const {
  std::size_t size = 0;
  if (nvrtc_.GetProgramLogSize(program_, &size) != 0 || size <= 1) return "";
  std::string log(size, '\0');
  nvrtc_.GetProgramLog(program_, log.data());
  log.resize(log.find_last_not_of('\0') + 1);  // It ends with one NUL, or with two.
  return log;
}

Result<std::string> NvrtcProgram::LoweredName(const std::string& expression) const {
  const char* name = nullptr;
  int result = nvrtc_.GetLoweredName(program_, expression.c_str(), &name);
  if (result == 0 && name != nullptr) return std::string(name);
  return InternalError(absl::StrCat("NVRTC does not say what it calls '", expression, "'"));
}

Result<std::string> NvrtcProgram::Cubin() const {
  std::size_t size = 0;
  if (nvrtc_.GetCUBINSize(program_, &size) != 0 || size == 0) return InternalError("NVRTC made no cubin");
  std::string cubin(size, '\0');
  nvrtc_.GetCUBIN(program_, cubin.data());
  return cubin;
}

Result<std::string> NvrtcProgram::TileIr() const {
  std::size_t size = 0;
  if (nvrtc_.GetTileIRSize == nullptr || nvrtc_.GetTileIRSize(program_, &size) != 0 || size == 0) {
    return InternalError("NVRTC made no Tile IR");
  }
  std::string bytecode(size, '\0');
  nvrtc_.GetTileIR(program_, bytecode.data());
  return bytecode;
}

}  // namespace v0
}  // namespace tuneonce

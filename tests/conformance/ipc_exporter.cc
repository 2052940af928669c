#include "ipc_exporter.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <sstream>
#include <vector>

#include "driver_under_test.h"

namespace tuneonce::conformance {
namespace {

std::string ReadLine(std::FILE* from) {
  char line[256];
  if (from == nullptr || std::fgets(line, sizeof(line), from) == nullptr) return "";
  return std::string(line, std::strcspn(line, "\n"));
}

std::string Hex(const CUipcMemHandle& handle) {
  std::string text;
  for (char byte : handle.reserved) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(byte));
    text += digits;
  }
  return text;
}

}  // namespace

IpcExporter::IpcExporter() {
  int to[2];
  int from[2];
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) return;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  std::string driver = "--driver=" + driver_name;
  std::string mode = "--export";
  std::string program = "driver_conformance";
  char* arguments[] = {program.data(), driver.data(), mode.data(), nullptr};
  if (posix_spawn(&process_, "/proc/self/exe", &actions, nullptr, arguments, environ) != 0) process_ = 0;
  posix_spawn_file_actions_destroy(&actions);
  close(to[0]);
  close(from[1]);
  requests_ = fdopen(to[1], "w");
  answers_ = fdopen(from[0], "r");
  std::string text = ReadLine(answers_);
  for (std::size_t i = 0; i < sizeof(handle_.reserved) && text.size() == 2 * sizeof(handle_.reserved); ++i) {
    handle_.reserved[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  }
}

IpcExporter::~IpcExporter() {
  Kill();
  if (requests_ != nullptr) std::fclose(requests_);
  if (answers_ != nullptr) std::fclose(answers_);
}

void IpcExporter::Kill() {
  if (process_ == 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = 0;
}

std::string IpcExporter::Ask(const std::string& request) {
  std::fprintf(requests_, "%s\n", request.c_str());
  std::fflush(requests_);
  return ReadLine(answers_);
}

int RunIpcExporter() {
  const DriverTable& driver = Driver();
  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  CUipcMemHandle handle{};
  std::vector<float> values(IpcExporter::kCount);
  const std::size_t bytes = values.size() * sizeof(float);
  if (driver.DevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS || driver.CtxSetCurrent(context) != CUDA_SUCCESS ||
      driver.MemAlloc(&memory, bytes) != CUDA_SUCCESS || driver.IpcGetMemHandle(&handle, memory) != CUDA_SUCCESS) {
    return 1;
  }
  for (std::string answer = Hex(handle); !answer.empty();) {
    std::printf("%s\n", answer.c_str());
    std::fflush(stdout);
    std::istringstream request(ReadLine(stdin));
    std::string verb;
    int number = 0;
    request >> verb >> number;
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    if (verb == "fill") {
      values.assign(values.size(), static_cast<float>(number));
      result = driver.MemcpyHtoD(memory, values.data(), bytes);
      // A copy of this size returns once the values are staged; the other process is ordered by nothing but the answer.
      if (result == CUDA_SUCCESS) result = driver.CtxSynchronize();
      number = 0;
    } else if (verb == "read") {
      result = driver.MemcpyDtoH(values.data(), memory, bytes);
      number = static_cast<int>(values[static_cast<std::size_t>(number)]);
    } else if (verb == "free") {
      result = driver.MemFree(memory);
    }
    answer = result == CUDA_SUCCESS ? std::to_string(number) : "";
  }
  return 0;
}

}  // namespace tuneonce::conformance

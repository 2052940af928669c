#ifndef TUNEONCE_TESTS_CONFORMANCE_IPC_EXPORTER_H_
#define TUNEONCE_TESTS_CONFORMANCE_IPC_EXPORTER_H_

#include <cuda.h>
#include <sys/types.h>

#include <cstdio>
#include <string>

namespace tuneonce::conformance {

/// Another process with the same driver, which has exported a block of floats: this program again, with --export. Is
/// killed at its end.
class IpcExporter {
 public:
  static constexpr int kCount = 1024;

  IpcExporter();
  ~IpcExporter();
  IpcExporter(const IpcExporter&) = delete;
  IpcExporter& operator=(const IpcExporter&) = delete;

  /// All zero bytes if it could not be made.
  const CUipcMemHandle& handle() const { return handle_; }
  /// Sets all floats to a number, and waits until they are.
  void Fill(int value) { Ask("fill " + std::to_string(value)); }
  /// What the float at an index is, as its own process reads it.
  int Read(int index) { return std::stoi("0" + Ask("read " + std::to_string(index))); }
  /// cuMemFree.
  void Free() { Ask("free"); }
  /// SIGKILL; the process is gone afterwards.
  void Kill();

 private:
  /// The answer, a line; empty if there is none.
  std::string Ask(const std::string& request);

  pid_t process_ = 0;
  std::FILE* requests_ = nullptr;
  std::FILE* answers_ = nullptr;
  CUipcMemHandle handle_{};
};

/// What that process does: answers requests from stdin on stdout until they end. Its exit code.
int RunIpcExporter();

}  // namespace tuneonce::conformance

#endif  // TUNEONCE_TESTS_CONFORMANCE_IPC_EXPORTER_H_

// A profiler, as far as NVTX knows: loaded by NVTX_INJECTION64_PATH, it says each range of the process on stderr.
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace {

void Say(const std::string& line) { (void)!write(STDERR_FILENO, line.data(), line.size()); }

int g_domain;

nvtxDomainHandle_t OnDomainCreate(const char* name) {
  Say(std::string("nvtx domain ") + name + "\n");
  return reinterpret_cast<nvtxDomainHandle_t>(&g_domain);
}

int OnPush(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  bool is_ours = domain == reinterpret_cast<nvtxDomainHandle_t>(&g_domain);
  Say(std::string(is_ours ? "nvtx push " : "nvtx push elsewhere ") + attributes->message.ascii + "\n");
  return 0;
}

int OnPop(nvtxDomainHandle_t) {
  Say("nvtx pop\n");
  return 0;
}

template <typename Function>
NvtxFunctionPointer Pointer(Function* function) {
  return reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = Pointer(&OnDomainCreate);
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = Pointer(&OnPush);
  *table[NVTX_CBID_CORE2_DomainRangePop] = Pointer(&OnPop);
  return 1;
}

/* A double of libcuda.so.1 for cuTile's launches, where there is no GPU: one device of capability 9.0, on which nothing
   runs. Each image that is loaded and each launch is a line in the file LAUNCH_NOTHING_LOG. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int Say(const char* what) {
  const char* path = getenv("LAUNCH_NOTHING_LOG");
  FILE* file = path == NULL ? NULL : fopen(path, "a");
  if (file == NULL) return 0;
  fprintf(file, "%s\n", what);
  return fclose(file);
}

static int Nothing(void) { return 0; }
static int DriverVersion(int* version) { return *version = 13000, 0; }
static int DeviceCount(int* count) { return *count = 1, 0; }
static int DeviceGet(int* device, int index) { return *device = index, 0; }
static int ContextDevice(int* device) { return *device = 0, 0; }
static int Context(void** context) { return *context = (void*)0x1000, 0; }
static int StreamContext(void* stream, void** context) { return (void)stream, Context(context); }
static int Attribute(int* value, int attribute, int device) {
  (void)device;
  enum { kMaxGridX = 5, kMaxGridY, kMaxGridZ, kNumSms = 16, kMajor = 75, kMinor };
  *value = attribute == kMajor    ? 9
           : attribute == kMinor  ? 0
           : attribute == kNumSms ? 132
           : attribute >= kMaxGridX && attribute <= kMaxGridZ ? 65535
                                                              : 1024;
  return 0;
}
static int PointerAttribute(void* data, int attribute, unsigned long long pointer) {
  (void)pointer;
  enum { kContext = 1, kMemoryType = 2, kOrdinal = 9, kDeviceMemory = 2 };
  if (attribute == kContext) *(void**)data = (void*)0x1000;
  if (attribute == kMemoryType) *(int*)data = kDeviceMemory;
  if (attribute == kOrdinal) *(int*)data = 0;
  return 0;
}
static int Load(void** library) { return *library = (void*)0x2000, Say("load"); }
static int Kernel(void** kernel) { return *kernel = (void*)0x3000, 0; }
static int Launch(void) { return Say("launch"); }

static const struct {
  const char* name;
  void* function;
} kFunctions[] = {{"cuDriverGetVersion", DriverVersion},
                  {"cuDeviceGetCount", DeviceCount},
                  {"cuDeviceGet", DeviceGet},
                  {"cuDeviceGetAttribute", Attribute},
                  {"cuCtxGetDevice", ContextDevice},
                  {"cuCtxGetCurrent", Context},
                  {"cuDevicePrimaryCtxRetain", Context},
                  {"cuStreamGetCtx", StreamContext},
                  {"cuPointerGetAttribute", PointerAttribute},
                  {"cuLibraryLoadData", Load},
                  {"cuLibraryGetKernel", Kernel},
                  {"cuKernelGetFunction", Kernel},
                  {"cuLaunchKernel", Launch},
                  {"cuLaunchKernelEx", Launch}};

int cuInit(unsigned flags) { return (int)(flags * 0); }

int cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long long flags, int* status) {
  (void)version, (void)flags;
  if (status != NULL) *status = 0;
  *function = Nothing;
  for (size_t i = 0; i < sizeof(kFunctions) / sizeof(kFunctions[0]); ++i) {
    if (strcmp(kFunctions[i].name, name) == 0) *function = kFunctions[i].function;
  }
  return 0;
}

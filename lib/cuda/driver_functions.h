#ifndef TUNEONCE_LIB_CUDA_DRIVER_FUNCTIONS_H_
#define TUNEONCE_LIB_CUDA_DRIVER_FUNCTIONS_H_

/// All driver functions that the library uses: X(Name, version, need). The type is `PFN_cuName_vversion` of
/// cudaTypedefs.h, and cuGetProcAddress is called with the same version, so that type and address always match. `need`
/// is kRequired (a driver without it is refused) or kOptional (the pointer may be null, and the caller has an
/// alternative).
#define TUNEONCE_DRIVER_FUNCTIONS(X)                            \
  /* initialization and devices */                              \
  X(Init, 2000, kRequired)                                      \
  X(DriverGetVersion, 2020, kRequired)                          \
  X(GetProcAddress, 11030, kRequired)                           \
  X(GetErrorName, 6000, kRequired)                              \
  X(GetErrorString, 6000, kRequired)                            \
  X(DeviceGet, 2000, kRequired)                                 \
  X(DeviceGetCount, 2000, kRequired)                            \
  X(DeviceGetName, 2000, kRequired)                             \
  X(DeviceGetUuid, 11040, kRequired)                            \
  X(DeviceTotalMem, 3020, kRequired)                            \
  X(DeviceGetAttribute, 2000, kRequired)                        \
  /* contexts */                                                \
  X(DevicePrimaryCtxRetain, 7000, kRequired)                    \
  X(DevicePrimaryCtxRelease, 11000, kRequired)                  \
  X(DevicePrimaryCtxReset, 11000, kRequired)                    \
  X(DevicePrimaryCtxGetState, 7000, kRequired)                  \
  X(CtxCreate, 3020, kRequired)                                 \
  X(CtxDestroy, 4000, kRequired)                                \
  X(CtxGetCurrent, 4000, kRequired)                             \
  X(CtxSetCurrent, 4000, kRequired)                             \
  X(CtxPushCurrent, 4000, kRequired)                            \
  X(CtxPopCurrent, 4000, kRequired)                             \
  X(CtxGetDevice, 2000, kRequired)                              \
  X(CtxGetId, 12000, kRequired)                                 \
  X(CtxSynchronize, 2000, kRequired)                            \
  /* memory */                                                  \
  X(MemGetInfo, 3020, kRequired)                                \
  X(MemAlloc, 3020, kRequired)                                  \
  X(MemFree, 3020, kRequired)                                   \
  X(MemAllocAsync, 11020, kRequired)                            \
  X(MemFreeAsync, 11020, kRequired)                             \
  X(MemHostAlloc, 2020, kRequired)                              \
  X(MemFreeHost, 2000, kRequired)                               \
  X(MemcpyHtoD, 3020, kRequired)                                \
  X(MemcpyDtoH, 3020, kRequired)                                \
  X(MemcpyHtoDAsync, 3020, kRequired)                           \
  X(MemcpyDtoHAsync, 3020, kRequired)                           \
  X(MemcpyDtoDAsync, 3020, kRequired)                           \
  X(MemsetD8, 3020, kRequired)                                  \
  X(MemsetD8Async, 3020, kRequired)                             \
  X(MemsetD32Async, 3020, kRequired)                            \
  X(PointerGetAttribute, 4000, kRequired)                       \
  X(IpcGetMemHandle, 4010, kRequired)                           \
  X(IpcOpenMemHandle, 11000, kRequired)                         \
  X(IpcCloseMemHandle, 4010, kRequired)                         \
  /* streams and capture */                                     \
  X(StreamCreate, 2000, kRequired)                              \
  X(StreamDestroy, 4000, kRequired)                             \
  X(StreamSynchronize, 2000, kRequired)                         \
  X(StreamQuery, 2000, kRequired)                               \
  X(StreamWaitEvent, 3020, kRequired)                           \
  X(StreamGetCtx, 9020, kRequired)                              \
  X(LaunchHostFunc, 10000, kRequired)                           \
  X(StreamIsCapturing, 10000, kRequired)                        \
  X(StreamBeginCapture, 10010, kRequired)                       \
  X(StreamEndCapture, 10000, kRequired)                         \
  X(ThreadExchangeStreamCaptureMode, 10010, kRequired)          \
  /* events */                                                  \
  X(EventCreate, 2000, kRequired)                               \
  X(EventDestroy, 4000, kRequired)                              \
  X(EventRecord, 2000, kRequired)                               \
  X(EventRecordWithFlags, 11010, kRequired)                     \
  X(EventQuery, 2000, kRequired)                                \
  X(EventSynchronize, 2000, kRequired)                          \
  X(EventElapsedTime, 2000, kRequired)                          \
  /* code */                                                    \
  X(ModuleLoadData, 2000, kRequired)                            \
  X(ModuleUnload, 2000, kRequired)                              \
  X(ModuleGetFunction, 2000, kRequired)                         \
  X(LibraryLoadData, 12000, kRequired)                          \
  X(LibraryUnload, 12000, kRequired)                            \
  X(LibraryGetKernel, 12000, kRequired)                         \
  X(KernelGetFunction, 12000, kRequired)                        \
  X(KernelSetAttribute, 12000, kRequired)                       \
  X(FuncGetAttribute, 2020, kRequired)                          \
  X(FuncSetAttribute, 9000, kRequired)                          \
  X(FuncGetParamInfo, 12040, kOptional)                         \
  X(OccupancyMaxActiveBlocksPerMultiprocessor, 6050, kRequired) \
  X(LaunchKernelEx, 11060, kRequired)                           \
  X(TensorMapEncodeTiled, 12000, kOptional)                     \
  /* graphs */                                                  \
  X(GraphInstantiateWithFlags, 11040, kRequired)                \
  X(GraphLaunch, 10000, kRequired)                              \
  X(GraphExecDestroy, 10000, kRequired)                         \
  X(GraphDestroy, 10000, kRequired)                             \
  X(GraphGetNodes, 10000, kRequired)

#endif  // TUNEONCE_LIB_CUDA_DRIVER_FUNCTIONS_H_

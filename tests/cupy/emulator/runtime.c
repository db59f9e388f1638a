/* The CUDA runtime and driver on the CPU: what CuPy's wrapper modules call, as C functions over host memory.

   Device memory is host memory with a header that says which device it belongs to, filled with NaN so that a read before
   the first write shows. Work is done at once, but for one thing: a copy to the device on a stream that somebody made
   waits until somebody waits for it, through an event or a synchronisation, so that a forgotten wait shows. What would
   wait or copy on a GPU is counted in `counters`. What is given to a stream that is capturing goes into a list; the rules
   then are those of CUDA's strictest mode, and a copy to or from the host is refused, too: a graph would go on with what
   lies there later.
   A compiled "kernel" is a shared object (see compiler.py) with a launch function and the sizes of its parameters. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define DEVICES 2
#define MEMORY ((int64_t)1 << 30)
#define HEADER 512
#define NONE do { Py_INCREF(Py_None); return Py_None; } while (0)

enum { LAUNCHES, SYNCS, TO_HOST, TO_DEVICE, ON_DEVICE, PAGEABLE, COUNTERS };
EXPORT int64_t emu_counters[COUNTERS];
EXPORT int64_t emu_used[DEVICES];
static __thread int device = 0;
static intptr_t capturing = 0;          /* the stream that is; 0: none */
static __thread int captures_here = 0;  /* whether this thread began it */
static int invalid = 0;                 /* whether something was refused since */
static intptr_t handles = 1000;

typedef struct { size_t size; int device; } header;

static PyObject *refuse(const char *message) { PyErr_SetString(PyExc_RuntimeError, message); return NULL; }
static PyObject *not_captured(const char *what) {
  invalid = 1;
  PyErr_Format(PyExc_RuntimeError, "cudaErrorStreamCaptureUnsupported: %s while a stream is capturing", what);
  return NULL;
}
EXPORT int emu_is_capturing(intptr_t stream) { return capturing && stream == capturing; }

/* As CuPy raises it: with a cudaError. */
static intptr_t out_of_memory(void) {
  PyObject *module = PyImport_ImportModule("cupy_backends.cuda.api.runtime");
  PyObject *type = module ? PyObject_GetAttrString(module, "CUDARuntimeError") : NULL;
  PyObject *error = type ? PyObject_CallFunction(type, "i", 2) : NULL;
  if (error) PyErr_SetObject(type, error);
  return 0;
}

EXPORT PyObject *emu_set_device(int index) {
  if (index < 0 || index >= DEVICES) return refuse("cudaErrorInvalidDevice: invalid device ordinal");
  device = index;
  NONE;
}
EXPORT int emu_get_device(void) { return device; }
EXPORT PyObject *emu_memory_info(void) {
  return Py_BuildValue("(LL)", (long long)(MEMORY - emu_used[device]), (long long)MEMORY);
}

static intptr_t allocate(size_t size, int on) {
  header *memory = NULL;
  if (posix_memalign((void **)&memory, HEADER, size + HEADER)) return out_of_memory();
  memory->size = size;
  memory->device = on;
  memset((char *)memory + HEADER, 0xFF, size);
  return (intptr_t)memory + HEADER;
}
EXPORT intptr_t emu_malloc(size_t size) {
  if (captures_here) { not_captured("cudaMalloc"); return 0; }
  if (emu_used[device] + (int64_t)size > MEMORY) return out_of_memory();
  emu_used[device] += size;
  return allocate(size, device);
}
static intptr_t pinned[4096];
EXPORT intptr_t emu_host_alloc(size_t size) {
  intptr_t made = allocate(size, -1);
  for (int i = 0; made && i < 4096; i++)
    if (!pinned[i]) { pinned[i] = made; break; }
  return made;
}
static int is_pinned(intptr_t pointer) {
  for (int i = 0; i < 4096; i++)
    if (pinned[i] && pointer >= pinned[i] && pointer < pinned[i] + (intptr_t)((header *)(pinned[i] - HEADER))->size) return 1;
  return 0;
}
EXPORT int emu_memory_type(intptr_t pointer) { return is_pinned(pointer) ? 1 : 2; }
EXPORT void emu_free(intptr_t pointer) {
  if (!pointer) return;
  header *memory = (header *)(pointer - HEADER);
  for (int i = 0; memory->device < 0 && i < 4096; i++)
    if (pinned[i] == pointer) pinned[i] = 0;
  if (memory->device >= 0) emu_used[memory->device] -= memory->size;
  free(memory);
}

/* Something that makes the host wait. */
EXPORT PyObject *emu_sync(void) {
  if (captures_here) return not_captured("a synchronisation");
  emu_counters[SYNCS]++;
  NONE;
}

/* ---- kernels ------------------------------------------------------------------------------------------------ */
typedef void (*launcher)(const unsigned *grid, void **parameters);
typedef size_t (*sizer)(int);
typedef struct { launcher launch; sizer size; } function;

EXPORT intptr_t emu_load(PyObject *binary) {
  char *bytes, path[] = "/tmp/emulated-kernel-XXXXXX";
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(binary, &bytes, &size)) return 0;
  int file = mkstemp(path);
  if (file < 0 || write(file, bytes, size) != size) { refuse("the emulator cannot write a kernel to /tmp"); return 0; }
  close(file);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  unlink(path);
  if (!library) refuse(dlerror());
  return (intptr_t)library;
}
EXPORT intptr_t emu_function(intptr_t module, PyObject *name) {
  char symbol[1024];
  const char *text = PyUnicode_AsUTF8(name);
  if (!text) return 0;
  function *found = calloc(1, sizeof *found);
  snprintf(symbol, sizeof symbol, "emu_launch_%s", text);
  found->launch = (launcher)dlsym((void *)module, symbol);
  snprintf(symbol, sizeof symbol, "emu_size_%s", text);
  found->size = (sizer)dlsym((void *)module, symbol);
  if (!found->launch) { PyErr_Format(PyExc_RuntimeError, "CUDA_ERROR_NOT_FOUND: no kernel %s", text); return 0; }
  return (intptr_t)found;
}

/* ---- capture: a list of what to do ---------------------------------------------------------------------------- */
typedef void (*action)(void *);
typedef struct node { action run; void *argument; struct node *next; } node;
typedef struct { node *first, *last; } graph;
static graph *recording = NULL;

EXPORT void emu_record(action run, void *argument) {
  node *item = calloc(1, sizeof *item);
  item->run = run;
  item->argument = argument;
  if (recording->last) recording->last->next = item; else recording->first = item;
  recording->last = item;
}
EXPORT PyObject *emu_begin_capture(intptr_t stream) {
  if (!stream || capturing) return refuse("cudaErrorStreamCaptureUnsupported: the legacy stream, or a second capture");
  recording = calloc(1, sizeof *recording);
  capturing = stream;
  captures_here = 1;
  invalid = 0;
  NONE;
}
EXPORT intptr_t emu_end_capture(void) {
  graph *made = recording;
  recording = NULL;
  capturing = captures_here = 0;
  if (invalid) { refuse("cudaErrorStreamCaptureInvalidated: something was refused in it"); return 0; }
  return (intptr_t)made;
}
EXPORT void emu_replay(intptr_t made) {
  emu_counters[LAUNCHES]++;
  for (node *item = ((graph *)made)->first; item; item = item->next) item->run(item->argument);
}

typedef struct { function *target; unsigned grid[6]; void **parameters; } launch;
static void run_launch(void *argument) { launch *l = argument; l->target->launch(l->grid, l->parameters); }

EXPORT PyObject *emu_launch(intptr_t target, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                            intptr_t stream, void **parameters) {
  launch once = {(function *)target, {gx, gy, gz, bx, by, bz}, parameters};
  if ((size_t)bx * by * bz > 1024) return refuse("CUDA_ERROR_INVALID_VALUE: more than 1024 threads in a block");
  if (!gx || !gy || !gz || gy > 65535 || gz > 65535) return refuse("CUDA_ERROR_INVALID_VALUE: a grid of that size");
  if (!emu_is_capturing(stream)) { emu_counters[LAUNCHES]++; run_launch(&once); NONE; }
  int count = 0;
  while (once.target->size(count)) count++;
  launch *kept = malloc(sizeof *kept);
  *kept = once;
  kept->parameters = calloc(count + 1, sizeof(void *));
  for (int i = 0; i < count; i++) {
    size_t size = once.target->size(i);
    kept->parameters[i] = memcpy(malloc(size), parameters[i], size);
  }
  emu_record(run_launch, kept);
  NONE;
}

/* ---- copies: 1 to the device, 2 to the host, 3 on the device ---------------------------------------------------- */
typedef struct { void *to; const void *from; size_t size; int value; } copy;
static void run_copy(void *argument) { copy *c = argument; memmove(c->to, c->from, c->size); }
static void run_set(void *argument) { copy *c = argument; memset(c->to, c->value, c->size); }
static void now_or_later(action run, copy once, intptr_t stream) {
  if (!emu_is_capturing(stream)) { run(&once); return; }
  copy *kept = malloc(sizeof *kept);
  *kept = once;
  emu_record(run, kept);
}

/* Copies to the device that nobody has waited for, oldest first; an event knows how many its stream had been given. */
typedef struct delayed { copy what; intptr_t stream; int64_t number; struct delayed *next; } delayed;
typedef struct { intptr_t stream; int64_t number; } event;
static delayed *waiting = NULL;
static int64_t delayed_so_far = 0;
EXPORT intptr_t emu_event(void) { return (intptr_t)calloc(1, sizeof(event)); }
EXPORT void emu_event_record(intptr_t e, intptr_t stream) { *(event *)e = (event){stream, delayed_so_far}; }
EXPORT int emu_event_query(intptr_t e) { /* 600 is cudaErrorNotReady */
  for (delayed *item = waiting; item; item = item->next)
    if (item->stream == ((event *)e)->stream && item->number <= ((event *)e)->number) return 600;
  return 0;
}
static void run_delayed(int all, intptr_t stream, int64_t number) {
  for (delayed **place = &waiting; *place;) {
    delayed *item = *place;
    if (!all && (item->stream != stream || item->number > number)) { place = &item->next; continue; }
    run_copy(&item->what);
    *place = item->next;
    free(item);
  }
}
EXPORT void emu_wait_event(intptr_t e) { run_delayed(0, ((event *)e)->stream, ((event *)e)->number); }
EXPORT PyObject *emu_event_sync(intptr_t e) { emu_wait_event(e); return emu_sync(); }
EXPORT PyObject *emu_stream_sync(intptr_t stream) { run_delayed(0, stream, delayed_so_far); return emu_sync(); }
EXPORT PyObject *emu_device_sync(void) { run_delayed(1, 0, 0); return emu_sync(); }

EXPORT PyObject *emu_copy(intptr_t to, intptr_t from, size_t size, int kind, intptr_t stream) {
  if (kind < 3 && emu_is_capturing(stream)) return not_captured("a copy to or from the host");
  emu_counters[kind == 1 ? TO_DEVICE : kind == 2 ? TO_HOST : ON_DEVICE]++;
  if (kind == 1 && !is_pinned(from)) emu_counters[PAGEABLE]++;
  if (kind == 1 && stream > 2 && is_pinned(from)) { /* 0 to 2 are CUDA's own streams */
    delayed *item = malloc(sizeof *item), **end = &waiting;
    *item = (delayed){{(void *)to, (const void *)from, size, 0}, stream, ++delayed_so_far, NULL};
    while (*end) end = &(*end)->next;
    *end = item;
    NONE;
  }
  now_or_later(run_copy, (copy){(void *)to, (const void *)from, size, 0}, stream);
  NONE;
}
EXPORT PyObject *emu_set(intptr_t to, int value, size_t size, intptr_t stream) {
  now_or_later(run_set, (copy){(void *)to, NULL, size, value}, stream);
  NONE;
}

EXPORT int emu_attribute(int which) {
  switch (which) { /* of cudaDeviceAttr: threads and dimensions of a block and a grid, shared memory, warp, sm_90 */
    case 1: case 2: case 3: return 1024;
    case 4: return 64;
    case 5: return 2147483647;
    case 6: case 7: return 65535;
    case 8: return 49152;
    case 10: return 32;
    case 12: return 65536;
    case 16: return 132;
    case 39: return 2048;
    case 75: return 9;
    case 76: return 0;
    case 81: return 233472;
    case 97: return 232448;
    default: return 1;
  }
}
EXPORT PyObject *emu_properties(void) {
  return Py_BuildValue("{s:y,s:i,s:i,s:i,s:i,s:i,s:i,s:L}", "name", "a CPU that pretends to be sm_90", "major", 9, "minor",
                       0, "multiProcessorCount", 132, "sharedMemPerBlock", 49152, "maxThreadsPerBlock", 1024, "warpSize",
                       32, "totalGlobalMem", (long long)MEMORY);
}
EXPORT intptr_t emu_handle(void) { return ++handles; }

/* ---- generated by build.py: one function per function that CuPy's modules export --------------------------------- */

/* A PJRT plugin that stands for a TPU's: it hands every call to another plugin, counts what a program costs, and can write programs out.
 *
 * TorchTPU loads whatever plugin TPU_LIBRARY_PATH names. XLALINT_PJRT_PLUGIN names the one that does the work, XLA's for the CPU, which
 * refuses TorchTPU's options of a TPU client: it gets one of its own, a single device, as a process of TorchTPU has.
 *
 * PJRT's interface is a table of functions that only grows at its end, and takes the arguments of a call in one structure that begins with
 * its size. Declared here is what is read of both; tests/verify/test_plugin.py compares it with PJRT's own header.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct head {
  size_t size;
  void *extensions;
};

struct named_value {
  struct head head;
  const char *name;
  size_t name_size;
  int type;
  union {
    int64_t integer;
    const char *text;
  } value;
  size_t value_size;
};

struct client_create {
  struct head head;
  const struct named_value *options;
  size_t option_count;
};

struct program {
  struct head head;
  char *code;
  size_t code_size;
};

struct client_compile {
  struct head head;
  void *client;
  const struct program *program;
};

struct to_host {
  struct head head;
  void *source;
  void *layout;
  void *destination; /* NULL: only the size is asked for */
};

typedef void *function(void *arguments); /* gives an error, NULL for none */

struct api {
  struct head head;
  struct {
    struct head head;
    int major, minor;
  } version;
  function *functions[];
};

enum { CLIENT_CREATE = 10, CLIENT_COMPILE = 20, TO_HOST = 70 }; /* places in the table */
enum { INTEGER = 1 };                                          /* a type of named values */

static const struct api *real;
static atomic_long compilations, reads;
static char folder[4096];

long xlalint_compilations(void) { return compilations; }
long xlalint_reads(void) { return reads; }

/* Writes each program that is compiled from now on into a folder, as NNNNN.mlir; an empty name ends that. */
void xlalint_write_programs(const char *name) { snprintf(folder, sizeof folder, "%s", name); }

static void write_program(const struct program *program, long number) {
  char path[sizeof folder + 32];
  snprintf(path, sizeof path, "%s/%05ld.mlir", folder, number);
  FILE *file = fopen(path, "wb");
  if (file) {
    fwrite(program->code, 1, program->code_size, file);
    fclose(file);
  }
}

static void *create(void *arguments) {
  static const char name[] = "cpu_device_count";
  struct client_create *asked = arguments;
  const struct named_value *options = asked->options;
  size_t count = asked->option_count;
  struct named_value one = {{sizeof one, NULL}, name, sizeof name - 1, INTEGER, {1}, 1};
  asked->options = &one;
  asked->option_count = 1;
  void *error = real->functions[CLIENT_CREATE](arguments);
  asked->options = options;
  asked->option_count = count;
  return error;
}

static void *compile(void *arguments) {
  const struct client_compile *asked = arguments;
  long number = ++compilations;
  if (folder[0]) write_program(asked->program, number);
  return real->functions[CLIENT_COMPILE](arguments);
}

static void *to_host(void *arguments) {
  const struct to_host *asked = arguments;
  if (asked->destination) reads++;
  return real->functions[TO_HOST](arguments);
}

static const struct api *load(void) {
  const char *path = getenv("XLALINT_PJRT_PLUGIN");
  void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  const struct api *(*get)(void) = library ? (const struct api *(*)(void))dlsym(library, "GetPjrtApi") : NULL;
  if (!get) fprintf(stderr, "xlalint: no PJRT plugin in %s\n", path ? path : "XLALINT_PJRT_PLUGIN, which is not set");
  return get ? get() : NULL;
}

const void *GetPjrtApi(void) {
  static struct api *own;
  if (own) return own;
  real = load();
  if (!real) return NULL;
  own = malloc(real->head.size);
  if (!own) return NULL;
  memcpy(own, real, real->head.size);
  own->functions[CLIENT_CREATE] = create;
  own->functions[CLIENT_COMPILE] = compile;
  own->functions[TO_HOST] = to_host;
  return own;
}
